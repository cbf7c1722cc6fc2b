"""Rules: what is read, what is refused, and which calls they speak of."""

from __future__ import annotations

import pytest

from swarm.errors import ConfigError
from swarm.permissions.rules import Rule, is_denied_as_a_whole, parse_rule, render_rule


def rule(text, behavior="allow"):
    return parse_rule(text, behavior, "team file")


@pytest.mark.parametrize("text", ["Bash", "Bash()", "Bash(*)", "Bash(:*)", " Bash ", "Bash( )"])
def test_a_rule_for_all_has_no_content(text):
    """Several spellings of one thing must not be several rules."""
    assert rule(text) == Rule(tool="Bash", content=None, behavior="allow", source="team file")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Bash(npm run test)", "npm run test"),
        ('Bash(python -c "print(1)")', 'python -c "print(1)"'),
        (r'Bash(python -c "print\(1\)")', 'python -c "print(1)"'),
        (r"Bash(echo \\n)", r"echo \n"),
        (r"Bash(echo \n)", r"echo \n"),
        ("Bash(echo ()", "echo ("),
        ("Bash(git:*)", "git:*"),
        ("Read(~/notes/**)", "~/notes/**"),
        ("mcp__server__tool", None),
        ("mcp__server__*", None),
        ("WebFetch(domain:example.org)", "domain:example.org"),
    ],
)
def test_content_is_read_and_written_back(text, content):
    """Brackets may be escaped or not; what is written parses to the same rule."""
    parsed = rule(text)

    assert parsed.content == content
    assert rule(render_rule(parsed)) == parsed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write Tool"),
        ("Bash(git push", "write Tool"),
        ("Bash git push", "write Tool"),
        ("(ls)", "write Tool"),
        ("Bash(ls) x", "write Tool"),
        ("bash(ls)", "called Bash"),
        ("READ", "called Read"),
        ("TaskList(all)", "has no content"),
        ("Read(!x)", "negated"),
        ("Read(../x)", "no '..'"),
        ("Write(a/../../b)", "no '..'"),
        ("Write(~bob/x)", "another's"),
        ("Write(a\nb)", "one line"),
    ],
)
def test_a_rule_that_could_not_be_meant_is_refused(text, said):
    """A deny rule that silently matches nothing is the worst of all; so each has to be understood."""
    with pytest.raises(ConfigError, match=said) as caught:
        rule(text, "deny")
    assert caught.value.code == "bad_value"
    assert "team file" in str(caught.value)


ALLOWED = [
    # exact
    ("Bash(pytest -q)", "pytest -q", True),
    ("Bash(pytest -q)", "  pytest -q\t", True),
    ("Bash(pytest -q)", "pytest -q tests", False),
    ("Bash(pytest -q)", "pytest  -q", False),
    (r"Bash(ls \\*)", "ls *", True),
    (r"Bash(ls \\*)", "ls x", False),
    (r"Bash(grep a.b)", "grep axb", False),
    # prefix, at a word boundary
    ("Bash(git:*)", "git", True),
    ("Bash(git:*)", "git status", True),
    ("Bash(git:*)", "git\tstatus", True),
    ("Bash(git:*)", "gitk", False),
    ("Bash(git:*)", "git-evil", False),
    ("Bash(git diff:*)", "git diff HEAD~1", True),
    ("Bash(git diff:*)", "git push", False),
    ("Bash(git diff:*)", "git\u00a0diff", False),
    # wildcard
    ("Bash(git add *)", "git add x y", True),
    ("Bash(git add *)", "git add", True),
    ("Bash(git add *)", "git adds", False),
    ("Bash(* --version)", "node --version", True),
    ("Bash(* --version)", "node --version x", False),
    ("Bash(npm run *:check)", "npm run lint:check", True),
    ("Bash(npm*test)", "npm run test", True),
    ("Bash(npm*test)", "npm run tests", False),
    ("Bash(a*b*c)", "a1b2c", True),
    ("Bash(a*b*c)", "acb", False),
    ("Bash(a**c)", "abc", True),
    # what hides another command is matched by nothing
    *[
        ("Bash(git add *)", command, False)
        for command in (
            "git add x && rm -rf y",
            "git add x; rm y",
            "git add x | tee y",
            "git add x & rm y",
            "git add $(rm y)",
            "git add `rm y`",
            "git add x > y",
            "git add < y",
            "git add x\nrm y",
            "git add $X",
            "git add (x)",
        )
    ],
    ("Bash", "ls; rm x", False),
    ("Bash(*x)", "{rm,x}", False),
    ("Bash(*x)", "/bin/r? x", False),
    ("Bash(*x)", "r[m] x", False),
    # an environment or a wrapper in front is another command
    ("Bash(pytest:*)", "FOO=1 pytest", False),
    ("Bash(pytest:*)", "env pytest", False),
    ("Bash(pytest:*)", "./pytest", False),
    ("Bash(pytest:*)", "sudo pytest", False),
    ("Bash(pytest:*)", '"pytest" x', False),
]


@pytest.mark.parametrize(("text", "command", "expected"), ALLOWED)
def test_what_an_allow_rule_for_bash_matches(world, text, command, expected):
    """The command as it stands, and nothing that the shell could take apart."""
    assert (world.decide("Bash", command, allow=[text]).behavior == "allow") is expected


DENIED = [
    "rm",
    "rm x",
    "rm\tx",
    "  rm x",
    "rm -rf build",
    "/bin/rm x",
    "/usr/bin/../bin/rm x",
    "./rm x",
    r"\rm x",
    "'rm' x",
    'r"m" x',
    "r''m x",
    "rm\u00a0x",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls & rm x",
    "ls | rm x",
    "ls\nrm x",
    "echo $(rm x)",
    "echo `rm x`",
    "(rm x)",
    "cat <(rm x)",
    "FOO=1 rm x",
    "FOO=1 BAR='a b' rm x",
    "env rm x",
    "env -i A=1 /bin/rm x",
    "command rm x",
    "sudo -u root rm x",
    "sudo -n -- rm x",
    "nohup rm x",
    "time rm x",
    "timeout 5 rm x",
    "nice -n 5 rm x",
    "xargs rm",
    "find . -exec rm {} +",
    "bash -c 'rm x'",
    'sh -c "ls; rm x"',
    "eval rm x",
    "exec rm x",
    "builtin rm x",
    "if true; then rm x; fi",
    "while rm x; do ls; done",
    "! rm x",
    "{ rm x; }",
    "{rm,x}",
    "trap 'rm x' EXIT",
    "rm${IFS}x",
    "rm>out x",
    "rm<in",
    "ls;rm x",
    "$'rm' x",
    r"$'\x72m' x",
    "r\\\nm x",
    "busybox rm x",
    "uv run rm x",
    "a=rm; rm",
    "function f { rm x; }",
    "coproc rm x",
    # by another word that runs what follows it
    *(
        f"{wrapper} rm x"
        for wrapper in (
            *("taskset 1", "chrt 1", "runuser -u x", "pkexec", "systemd-run", "setpriv", "fakeroot"),
            *("prlimit", "setarch", "linux64", "unbuffer", "entr", "numactl", "start-stop-daemon --exec"),
            *("toybox", "xvfb-run", "tini --", "gosu x", "firejail", "bwrap", "gdb --args", "valgrind"),
            *(
                "perf stat",
                "hyperfine",
                "gtimeout 5",
                "caffeinate",
                "tmux new-session",
                "screen -dm",
                "at now",
            ),
            *("npm exec", "pnpm dlx", "yarn exec", "conda run", "pdm run", "pipenv run", "bundle exec"),
            *(
                "mise exec --",
                "/lib64/ld-linux-x86-64.so.2",
                "mapfile -C",
                "sg root -c",
                "sshpass -p y ssh h",
            ),
        )
    ),
    # in the value of an option or a variable
    "env -S'rm x'",
    "env --split-string='rm x'",
    "su --command='rm x'",
    "script -qc'rm x'",
    "ssh -oProxyCommand='rm x' h",
    "flock f -c'rm x'",
    "GIT_PAGER='rm x' git log",
    "EDITOR=rm git commit",
    "env PAGER='rm x' man ls",
    "a[1]=2 rm x",
    "A[i]+=x rm y",
]


@pytest.mark.parametrize("command", DENIED)
def test_what_a_deny_rule_for_bash_finds(world, command):
    """However it is wrapped or spelled; in any mode."""
    decision = world.decide("Bash", command, "default", allow=["Bash"], deny=["Bash(rm:*)"])

    assert (decision.behavior, decision.why) == ("deny", "rule")


@pytest.mark.parametrize(
    "command",
    [
        *("rmdir x", "git rm x", "echo rm", "grep rm file", "ls rm", "cat farm", "git commit -m rm", "alarm"),
        *("docker rm x", "npm rm x", "make X=rm", "pytest --deselect=rm", "env FOO=farm ls"),
    ],
)
def test_what_a_deny_rule_for_bash_leaves_alone(world, command):
    """A word among the arguments is not the program."""
    assert world.decide("Bash", command, allow=["Bash"], deny=["Bash(rm:*)"]).behavior == "allow"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        # options of the program in front of what it is told to do
        ("Bash(git push:*)", "git -C . push origin"),
        ("Bash(git push:*)", "git --no-pager push"),
        ("Bash(git push:*)", "git -c a.b=c --git-dir=x -C y push --force"),
        ("Bash(git push:*)", "git --git-dir x --work-tree y push"),
        ("Bash(git push:*)", "sudo -u x git -C y push"),
        ("Bash(git push:*)", "ls; env A=b /usr/bin/git -P push"),
        ("Bash(kubectl delete:*)", "kubectl -n x delete pod y"),
        ("Bash(docker rm:*)", "docker --host x rm y"),
        ("Bash(git push:*)", "git " + "-p " * 40 + "push"),
        # blanks around what separates commands
        ("Bash(curl * | sh)", "curl x|sh"),
        ("Bash(curl *|sh)", "curl x  |  sh"),
        ("Bash(make&&make install)", "make && make install"),
        ("Bash(echo * > /etc/x)", "echo a>/etc/x"),
        # rules that are written with too much
        ("Bash(rm :*)", "rm x"),
        ("Bash(rm:**)", "rm x"),
        ("Bash('rm':*)", "rm x"),
        ('Bash("git" push:*)', "git push"),
        ("Bash(echo 'a b')", 'echo "a b"'),
        ("Bash(/bin/rm:*)", "rm x"),
        ("Bash(/bin/rm:*)", "/usr/bin/rm x"),
        ("Bash(./deploy.sh:*)", "bash /x/deploy.sh now"),
    ],
)
def test_a_deny_rule_is_read_generously(world, text, command):
    """One that silently missed what it was written for would be worse than none."""
    assert world.decide("Bash", command, allow=["Bash"], deny=[text]).behavior == "deny"
    assert world.bash(command, ask=[text]).behavior != "allow"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Bash(git push:*)", "git --no-pager stash push"),
        ("Bash(git push:*)", "git -C x log push"),
        ("Bash(git push:*)", "git log --oneline push"),
        ("Bash(docker rm:*)", "docker run --rm x"),
        (r"Bash(ls \*)", "ls x"),
        ("Bash(./x.sh:*)", "./y.sh"),
    ],
)
def test_and_yet_not_for_anything(world, text, command):
    assert world.decide("Bash", command, allow=["Bash"], deny=[text]).behavior == "allow"


def test_an_allow_rule_is_not_read_generously(world):
    for text, command in (
        ("Bash(git status:*)", "git -C /x status"),
        ("Bash(rm :*)", "rm x"),
        ("Bash('ls':*)", "ls"),
        ("Bash(/bin/ls:*)", "ls"),
    ):
        assert world.decide("Bash", command, allow=[text]).behavior == "ask"


def test_a_deny_rule_for_several_words_needs_them_in_order(world):
    rules = {"allow": ["Bash"], "deny": ["Bash(git push:*)"]}

    assert world.decide("Bash", "git  push origin", **rules).behavior == "deny"
    assert world.decide("Bash", "git 'push'", **rules).behavior == "deny"
    assert world.decide("Bash", "git status", **rules).behavior == "allow"


def test_an_ask_rule_finds_what_a_deny_rule_finds(world):
    """A person wants to be asked, whatever the wrapping, in bypass too."""
    assert world.bash("ls; git push", ask=["Bash(git push:*)"]).behavior == "ask"


def test_a_command_too_long_to_take_apart_is_not_allowed_and_is_denied(world):
    """Thousands of words hide anything; looking at all of them would take minutes."""
    command = "ls " + "a " * 20_000

    assert world.decide("Bash", command, allow=["Bash(ls:*)"]).behavior == "ask"
    assert world.bash(command, deny=["Bash(rm:*)"]).behavior == "deny"


PATHS = [
    # rule, tool, path, matches
    ("Edit(src/**)", "Edit", "{ws}/src/a.py", True),
    ("Edit(src/**)", "Edit", "{ws}/src/deep/a.py", True),
    ("Edit(src/**)", "Edit", "{ws}/lib/src/a.py", False),
    ("Edit(/src/**)", "Edit", "{ws}/src/a.py", True),
    ("Edit(./src/**)", "Edit", "{ws}/src/a.py", True),
    ("Edit(src)", "Edit", "{ws}/src/a.py", True),
    ("Edit(*.py)", "Edit", "{ws}/src/deep/a.py", True),
    ("Edit(*.py)", "Edit", "/var/tmp/a.py", False),
    ("Edit(src/*.py)", "Edit", "{ws}/src/deep/a.py", False),
    ("Edit(src/a.py)", "Edit", "{ws}/src/a.py", True),
    ("Edit(src/a.py)", "Edit", "{ws}/src/b/../a.py", True),
    ("Edit(src/a.py)", "Edit", "src/a.py", True),
    ("Edit(#x)", "Edit", "{ws}/#x", True),
    ("Edit(//var/tmp/**)", "Edit", "/var/tmp/x/y", True),
    ("Edit(//var/tmp/**)", "Edit", "/var/tmp2/x", False),
    ("Edit(~/notes/**)", "Edit", "{home}/notes/a", True),
    ("Edit(~/notes/**)", "Edit", "~/notes/a", True),
    ("Edit(~/notes/**)", "Edit", "{ws}/notes/a", False),
    ("Edit(src/**)", "Write", "{ws}/src/a.py", True),
    ("Write(src/**)", "Edit", "{ws}/src/a.py", False),
    ("Edit(src/**)", "Read", "{ws}/../x", False),
    ("Read(//etc/**)", "Read", "/etc/hostname", True),
    ("Read(//etc/**)", "Grep", "/etc", True),
    ("Read(//etc/ssl/**)", "Grep", "/etc", False),
    ("Edit(src/**)", "Edit", "{ws}/src", False),
    ("mcp__x(y)", "mcp__x", "", False),
    ("Edit(src/\u2003)", "Edit", "{ws}/src/\u2003", True),
    ("Edit(src/\u2003)", "Edit", "{ws}/src/a.py", False),
    ("Edit(src/a\\\\\u2003)", "Edit", "{ws}/src/a\u2003", True),
]


@pytest.mark.parametrize(("text", "tool", "path", "expected"), PATHS)
def test_what_an_allow_rule_for_paths_matches(world, text, tool, path, expected):
    """Globs start at the workspace, at home or at the root; all that a call touches has to fit."""
    path = path.format(ws=world.ws, home=world.home)

    assert (world.decide(tool, path, allow=[text]).behavior == "allow") is expected


@pytest.mark.parametrize(
    ("text", "tool", "path"),
    [
        ("Read(.env)", "Read", "{ws}/deep/.env"),
        ("Read(.env)", "Read", "{ws}/.ENV"),
        ("Read(secrets/**)", "Grep", "{ws}/secrets"),
        ("Grep(secrets/**)", "Read", "{ws}/secrets/a"),
        ("Write(secrets/**)", "Edit", "{ws}/secrets/a"),
        ("Read(secrets/)", "Read", "{ws}/secrets/a"),
        ("Read( .env)", "Read", "{ws}/.env"),
        ("Read(\t.env )", "Read", "{ws}/.env"),
        ("Edit(.)", "Write", "{ws}/src/a.py"),
        ("Read(.)", "Grep", "{ws}"),
        ("Read(./.)", "Read", "{ws}/src/a.py"),
        ("Edit(./src/./a.py)", "Edit", "{ws}/src/a.py"),
        ("Edit(src//a.py)", "Edit", "{ws}/src/a.py"),
        ("Edit(//var/**)", "Write", "/var/tmp/x"),
        ("Read(link/**)", "Read", "{ws}/link/a"),
        ("Read(target/**)", "Read", "{ws}/link/a"),
        ("mcp__x(y)", "mcp__x", ""),
    ],
)
def test_what_a_deny_rule_for_paths_finds(world, tmp_path, text, tool, path):
    """Through links, other cases and tools of the same kind; a content that nobody knows fits."""
    (tmp_path / "ws" / "target").mkdir()
    (tmp_path / "ws" / "link").symlink_to("target")

    decision = world.decide(tool, path.format(ws=world.ws), "bypassPermissions", deny=[text])

    assert decision.behavior == "deny"


def test_an_allow_rule_needs_the_link_and_its_target(world, tmp_path):
    """Otherwise a link in an allowed folder opens any file."""
    (tmp_path / "ws" / "src" / "door").symlink_to("/var/tmp")
    path = f"{world.ws}/src/door/x"

    assert world.decide("Write", path, allow=["Write(src/**)"]).behavior == "ask"
    assert world.decide("Write", path, allow=["Write(//var/tmp/**)"]).behavior == "ask"
    assert world.decide("Write", path, "acceptEdits").behavior == "ask"


def test_the_workspace_may_be_reached_through_a_link(world, tmp_path):
    """The temporary folder of some systems is one; rules mean the same there."""
    (tmp_path / "link").symlink_to(world.ws)
    policy = {"workspace": str(tmp_path / "link")}
    for start in (world.ws, str(tmp_path / "link")):
        assert world.decide("Read", f"{start}/src/a.py", **policy).behavior == "allow"
        assert world.decide("Edit", f"{start}/src/a.py", allow=["Edit(src/**)"], **policy).behavior == "allow"


@pytest.mark.parametrize(
    ("text", "tool", "expected"),
    [
        ("mcp__web__fetch", "mcp__web__fetch", True),
        ("mcp__web__fetch", "mcp__web__fetch2", False),
        ("mcp__web", "mcp__web__fetch", True),
        ("mcp__web", "mcp__webs__fetch", False),
        ("mcp__web__*", "mcp__web__fetch", True),
        ("mcp__web__*", "mcp__files__read", False),
        ("mcp__*", "mcp__files__read", True),
        ("WebFetch(domain:example.org)", "mcp__web__fetch", False),
    ],
)
def test_a_rule_for_a_server_is_for_all_its_tools(world, text, tool, expected):
    """As those who have written such rules elsewhere mean them."""
    assert (world.decide(tool, allow=[text]).behavior == "allow") is expected
    assert (world.decide(tool, mode="bypassPermissions", deny=[text]).behavior == "deny") is expected


def test_which_tools_are_denied_as_a_whole():
    """What is denied for some calls is still offered; what another behaviour names, too."""
    rules = [rule("Bash(rm:*)", "deny"), rule("Write", "deny"), rule("Read", "ask"), rule("mcp__web", "deny")]

    tools = ["Bash", "Write", "Edit", "Read", "mcp__web__fetch"]
    assert [tool for tool in tools if is_denied_as_a_whole(tool, rules)] == ["Write", "mcp__web__fetch"]
