"""Paths: what they mean after links and steps, which are refused as they stand, which are never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swarm.permissions.paths import BadPathError, is_inside, locate
from swarm.permissions.pipeline import decide

IMMUNE = [
    # the repository's own files
    "{ws}/.git/config",
    "{ws}/.git",
    "{ws}/.git/hooks/pre-commit",
    ".git/config",
    "./.git/config",
    "src/../.git/config",
    "{ws}/sub/module/.git/config",
    "{ws}/src/git-link/config",
    "src/to-git",
    # other names that some file system takes for the same
    "{ws}/.GIT/config",
    "{ws}/.Git/HOOKS/x",
    "{ws}/git~1/config",
    "{ws}/.git./config",
    "{ws}/.git /config",
    "{ws}/.git::$INDEX_ALLOCATION/config",
    "{ws}/\uff0egit/config",
    "{ws}/.g\u0131t/../.git/x",
    # what a shell or git reads when it starts
    "~/.bashrc",
    "{home}/.zshrc",
    "{home}/.bash_profile",
    "{home}/.profile",
    "{home}/.zshenv",
    "{home}/.gitconfig",
    "{home}/.config/git/config",
    "{home}/.BASHRC",
    "{ws}/.bashrc",
    "~/.ssh/authorized_keys",
    "~/.ssh/new/key",
    # agents' settings
    "{ws}/.claude/settings.json",
    "{ws}/.claude/settings.local.json",
    "{ws}/.claude/hooks/x.sh",
    "{ws}/.claude/agents/x.md",
    "{ws}/.claude/commands/x.md",
    "{ws}/.CLAUDE/Settings.JSON",
    "{ws}/.mcp.json",
    "{home}/.claude.json",
    "{root}/settings.json",
    "{root}/CLAUDE.md",
    "{root}/projects/p/memory/team/MEMORY.md",
    # the swarm's own folders
    "{root}/teams",
    "{root}/teams/demo/config.json",
    "{root}/teams/demo/permissions/resolved/perm-1.json",
    "{root}/teams/new/deep/x.json",
    "{root}/tasks/demo/1.json",
    "{root}/tasks",
    "~/.claude/teams/x",
    "../home/.claude/teams/x",
    "{root}/skills/../teams/x",
    "{root_upper}/TEAMS/x",
    "{ws}/door/demo/config.json",
    "{ws}/door",
    "{ws}/src/far/../teams/x",
    "{also_home}/.claude/teams/x",
    "/proc/self/root{root}/teams/x",
    "/{root}/teams/new/x",
    "///{root}/teams/new/x",
]


@pytest.fixture
def linked(world, tmp_path):
    """Links that lead from harmless places to protected ones."""
    os.symlink(f"{world.ws}/.git", f"{world.ws}/src/git-link")
    os.symlink("../.git/config", f"{world.ws}/src/to-git")
    os.symlink(f"{world.root}/teams", f"{world.ws}/door")
    os.symlink(f"{world.root}/tasks", f"{world.ws}/src/far")
    os.symlink(world.home, tmp_path / "also-home")
    world.also_home = f"{tmp_path}/also-home"
    return world


@pytest.mark.parametrize("path", IMMUNE)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_what_is_never_written(linked, tool, path):
    """In no mode and by no rule: these files decide what runs, and who may do what."""
    path = path.format(
        ws=linked.ws,
        home=linked.home,
        root=linked.root,
        root_upper=linked.root.upper(),
        also_home=linked.also_home,
    )

    decision = linked.decide(tool, path, "bypassPermissions", allow=[tool])

    assert (decision.behavior, decision.why) == ("deny", "immune")
    assert "never written" in decision.reason


WRITABLE = [
    ".gitignore",
    ".github/workflows/x.yml",
    ".gitattributes",
    "src/git/config",
    "src/settings.json",
    ".claude/notes.md",
    ".claude-x/settings.json",
    "docs/.bashrc.md",
    "teams/demo/config.json",
    "tasks/1.json",
    "docs/CLAUDE.md",
    "ssh/id",
    "größe/日本.txt",
    "with space.txt",
    "-dash",
    "a…b.txt",
    "\uff21\uff22.txt",
    "x=1$y%z`w`[*]?.txt",
    "...",
    ".../x",
]


@pytest.mark.parametrize("path", WRITABLE)
def test_what_only_looks_like_it_may_be_written(world, path):
    """A name that merely holds a protected one is somebody's ordinary file."""
    assert world.decide("Write", f"{world.ws}/{path}", "acceptEdits").behavior == "allow"


REFUSED = {
    "empty": "",
    "nul": "src/a\0.py",
    "nul at the end": "src/a.py\0",
    "line end": "src/a\n.py",
    "escape": "src/\x1b[2Ja.py",
    "delete": "src/\x7f",
    "c1": "src/\x9b31m",
    "zero width space": "src/a\u200b.py",
    "zero width joiner": ".g\u200dit/config",
    "right to left": "src/\u202egnp.exe",
    "isolate": "src/\u2066x",
    "byte order mark": "\ufeffsrc/a",
    "soft hyphen": ".g\u00adit/config",
    "tag letter": "src/\U000e0041",
    "variation selector": "src/a\ufe0f",
    "hangul filler": "src/\u3164",
    "line separator": "src/a\u2028",
    "half a character": "src/\ud800",
    "somebody's home": "~root/x",
    "previous folder": "~-/x",
    "full-width steps": "\uff0e\uff0e/\uff0e\uff0e/etc/passwd",
    "two dot leader": "\u2025/x",
    "full-width slash": "..\uff0f..\uff0fetc",
    "one dot leaders": "\u2024\u2024/x",
    "endless link": "loop",
    "below an endless link": "loop/x",
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("tool", ["Read", "Write"])
def test_paths_that_hide_what_they_are_are_refused(world, tool, name):
    """What a person sees in a question must be what happens."""
    os.symlink("loop2", f"{world.ws}/loop")
    os.symlink("loop", f"{world.ws}/loop2")

    decision = world.decide(tool, REFUSED[name], "bypassPermissions")

    assert (decision.behavior, decision.why) == ("deny", "bad_path")


OUTSIDE = [
    "/etc/hostname",
    "../ws2/x",
    "..",
    "/",
    "src/../../x",
    "src/out/x",
    "src/out-file",
    "src/dangling",
    "{base}/in/src/a.py",
    "{ws}x/a",
    "/proc/self/root/etc/hostname",
    "//etc/hostname",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_is_outside_is_asked_for(world, tmp_path, path):
    """A link into the workspace is as much outside as one out of it: both ends have to be inside."""
    os.symlink("/var/tmp", f"{world.ws}/src/out")
    os.symlink("/etc/hostname", f"{world.ws}/src/out-file")
    os.symlink("/var/tmp/not-yet", f"{world.ws}/src/dangling")
    os.symlink(world.ws, tmp_path / "in")
    path = path.format(base=world.base, ws=world.ws)

    assert world.decide("Read", path).behavior == "ask"
    assert world.decide("Write", path, "acceptEdits").behavior == "ask"


INSIDE = [
    "src/a.py",
    "./src/a.py",
    "{ws}",
    ".",
    "src/new/deep/a.py",
    "src/../src/a.py",
    "src/side/a.py",
    "a..b",
]


@pytest.mark.parametrize("path", INSIDE)
def test_what_is_inside_is_inside(world, path):
    """New files too, and links that stay in the workspace."""
    os.symlink("../other", f"{world.ws}/src/side")

    assert world.decide("Read", path.format(ws=world.ws)).behavior == "allow"


def test_steps_after_a_link_are_taken_where_it_leads(world):
    """`link/..` is the folder above the target, whatever the text looks like."""
    os.makedirs(f"{world.base}/far/away")
    os.symlink(f"{world.base}/far/away", f"{world.ws}/link")

    place = locate("link/../x", world.ws, world.home)

    assert place.lexical == f"{world.ws}/x"
    assert place.real == f"{world.base}/far/x"
    assert not is_inside(place, world.ws)


def test_relative_paths_start_where_the_agent_is(world):
    """Not where this process happens to run."""
    assert world.decide("Read", "a.py", cwd=f"{world.ws}/src").behavior == "allow"
    assert world.decide("Read", "a.py", cwd="/etc").behavior == "ask"
    assert world.decide("Read", "../a.py", cwd=f"{world.ws}/src").behavior == "allow"


def test_a_mounted_or_renamed_control_folder_is_known_by_identity(world, monkeypatch):
    """A second mount has another name and no link to follow; here the look at the disk is played."""
    real_stat = os.stat
    mount = f"{world.ws}/mount"
    os.makedirs(f"{mount}/demo")

    def stat(path, *args, **kwargs):
        path = f"{world.root}/teams" if path == mount else path
        return real_stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)

    assert world.decide("Write", f"{mount}/demo/config.json", "bypassPermissions").why == "immune"


def test_a_workspace_inside_the_configuration_folder_can_be_worked_in(world):
    """Only what is beside it, and the swarm's own folders, stay protected."""
    workspace = f"{world.root}/scratch/ws"
    os.makedirs(workspace)
    policy = world.policy("acceptEdits", workspace=workspace)

    assert decide(policy, world.call("Write", f"{workspace}/a.py")).behavior == "allow"
    assert decide(policy, world.call("Write", f"{world.root}/scratch/x")).why == "immune"
    assert decide(policy, world.call("Write", f"{world.root}/teams/x")).why == "immune"


def test_a_workspace_above_the_configuration_folder_does_not_open_it(world):
    """Working in one's home folder is common; the swarm's files lie in it."""
    policy = world.policy("acceptEdits", workspace=world.home)

    assert decide(policy, world.call("Write", f"{world.home}/notes.txt")).behavior == "allow"
    assert decide(policy, world.call("Write", f"{world.root}/teams/demo/x")).why == "immune"
    assert decide(policy, world.call("Bash", "echo $PATH $A/$B")).behavior == "ask"


def test_reading_immune_files_is_an_ordinary_read(world):
    """They are protected against writing; `git` config in the workspace is no secret."""
    assert world.decide("Read", f"{world.ws}/.git/config").behavior == "allow"
    assert world.decide("Read", f"{world.root}/teams/demo/config.json").behavior == "ask"


def test_a_home_sign_means_home_only_at_the_start(world):
    with pytest.raises(BadPathError, match="somebody's home"):
        locate("~bob", world.ws, world.home)
    assert locate("~", world.ws, world.home).lexical == world.home
    assert locate("src/~bob", world.ws, world.home).lexical == f"{world.ws}/src/~bob"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize(
    "path",
    ["AGENTS.md", "CLAUDE.md", "./src/../CLAUDE.md", ".claude/CLAUDE.md", "claude.local.md", "src/guide.md"],
)
def test_what_agents_are_told_as_the_projects_word_is_a_persons_to_change(world, mode, path):
    """An agent that could write it would give its own word, or a text that it read, that weight."""
    (Path(world.ws) / "src/guide.md").touch()
    os.symlink("src/guide.md", f"{world.ws}/AGENTS.md")

    decision = world.decide("Write", path, mode)

    assert (decision.behavior, decision.why) == ("ask", "instructions")
    assert world.decide("Write", path, mode, allow=["Write"]).behavior == "allow"
    assert world.decide("Edit", path, mode, deny=["Edit"], allow=["Edit"]).behavior == "deny"
    assert world.decide("Read", path, mode).behavior == "allow"


def test_a_rule_is_suggested_for_them(world):
    rule = world.decide("Write", "CLAUDE.md", "acceptEdits").suggested_rule

    assert world.decide("Write", "CLAUDE.md", "acceptEdits", allow=[rule]).behavior == "allow"
