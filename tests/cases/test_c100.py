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
    ("flag", "variable", "taken"),
    [
        ("tmux", "in-process", "tmux"),
        ("in-process", "tmux", "in-process"),
        (None, "tmux", "tmux"),
        (None, "in-process", "in-process"),
        (None, "", "tmux"),
        ("auto", "in-process", "tmux"),
        ("process", "", "process"),
    ],
)
def test_what_was_asked_for_is_taken(
    tmp_path: Path, flag: str | None, variable: str, taken: str, inside: bool
) -> None:
    """A flag wins over the variable, both over `auto`; inside and outside of tmux alike."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    (cwd / "team.yaml").write_text(TEAM)
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
