"""The mode setting, tmux or in-process, was ignored in favour of auto."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, agents

pytestmark = [*needs_tmux, SLOW]

TEAM = """
name: t1
workspace: .
model: scripted
teammates: [{name: w1}]
tasks: [{key: a, subject: Do it, script: [{say: Done.}]}]
"""


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize(
    ("flag", "variable", "settings", "taken"),
    [
        ("tmux", "in-process", "in-process", "tmux"),
        ("in-process", "tmux", "tmux", "in-process"),
        ("auto", "in-process", "in-process", "tmux"),
        ("process", "", "tmux", "process"),
        ("process", "", None, "process"),
        (None, "tmux", "in-process", "tmux"),
        (None, "in-process", "tmux", "in-process"),
        (None, "tmux", None, "tmux"),
        (None, "", "in-process", "in-process"),
        (None, "", "tmux", "tmux"),
        (None, "", "auto", "tmux"),
        (None, "", None, "tmux"),
    ],
)
def test_what_was_asked_for_is_taken(
    tmp_path: Path, flag: str | None, variable: str, settings: str | None, taken: str, inside: bool
) -> None:
    """A flag wins over the variable, that over the settings, all over `auto`; inside and outside of tmux."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    (home / ".claude").mkdir(parents=True)
    cwd.mkdir()
    (cwd / "team.yaml").write_text(TEAM)
    if settings is not None:
        (home / ".claude/settings.json").write_text(json.dumps({"theme": "dark", "teammateMode": settings}))
    shell = Shell(home, cwd)
    with private_tmux() as tmux:
        told = tmux.inside(tmux.session("lead")) if inside else {"TMUX": "", "TMUX_PANE": ""}
        words = ("run", "team.yaml", *(("--backend", flag) if flag else ()), "--json")
        ended = shell.swarm(
            *words,
            SWARM_BACKEND=variable,
            TMUX=told["TMUX"],
            TMUX_PANE=told["TMUX_PANE"],
            TMUX_TMPDIR=tmux.folder,
        )

        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["backend"] == taken
        (record,) = agents(shell).values()
        assert record.backend == taken
        if taken == "tmux":
            assert (record.handle["socket"] == tmux.socket) is inside
        roster = json.loads((shell.root / "teams/t1/config.json").read_text())
        (member,) = (member for member in roster["members"] if member["name"] == "w1")
        assert (member["backendType"], member["tmuxPaneId"]) == (taken, record.handle.get("pane", taken))


def test_the_project_s_settings_decide_where_nobody_else_does(tmp_path: Path) -> None:
    """Those that one person has for it come before those of its repository; the choice is said."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / ".claude").mkdir(parents=True)
    (cwd / "team.yaml").write_text(TEAM)
    (cwd / ".claude/settings.json").write_text('{"teammateMode": "in-process"}')
    shell = Shell(home, cwd)

    ended = shell.swarm("run", "team.yaml", "--name", "t2", SWARM_BACKEND="")
    assert ended.code == 0, ended.err
    assert f"Backend in-process: asked for by teammateMode in {cwd}/.claude/settings.json\n" in ended.err

    (cwd / ".claude/settings.local.json").write_text('{"teammateMode": "panes"}')
    for words in (("run", "team.yaml", "--name", "t3"), ("spawn", "helper", "-t", "t2")):
        ended = shell.swarm(*words, SWARM_BACKEND="")
        assert (ended.code, ended.out) == (2, ""), ended.err
        assert f"error: teammateMode in {cwd}/.claude/settings.local.json is 'panes'" in ended.err
    assert not (shell.root / "teams/t3").exists()

    ended = shell.swarm("run", "team.yaml", "--name", "t3", SWARM_BACKEND="in-process")
    assert ended.code == 0, ended.err


def test_spawn_and_demo_follow_the_settings(tmp_path: Path) -> None:
    """A teammate started by hand never is in-process: where that is usual it gets the best there is."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    (home / ".claude").mkdir(parents=True)
    cwd.mkdir()
    (cwd / "team.yaml").write_text(TEAM)
    (home / ".claude/settings.json").write_text('{"teammateMode": "in-process"}')
    shell = Shell(home, cwd)
    ended = shell.swarm("demo", "--json", SWARM_BACKEND="")
    assert ended.code == 0, ended.err
    assert ended.json()["backend"] == "in-process"

    assert shell.swarm("run", "team.yaml", SWARM_BACKEND="").code == 0
    with private_tmux() as tmux:
        ended = shell.swarm("spawn", "w2", "-t", "t1", "--json", SWARM_BACKEND="", TMUX_TMPDIR=tmux.folder)
        assert (ended.code, ended.json().get("backend")) == (0, "tmux"), ended.err
        assert shell.swarm("stop", "w2", "-t", "t1", TMUX_TMPDIR=tmux.folder).code == 0
