"""A first-run question on the screen swallowed the prompt, so the agent hung."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize(("mode", "denied"), [("bypassPermissions", 0), ("default", 1)])
def test_no_question_keeps_a_worker_from_its_work(tmp_path: Path, mode: str, denied: int) -> None:
    """An empty home, a folder never seen before; what nobody is there to be asked is denied, and listed."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    turn: dict[str, Any] = {"calls": [{"Write": {"file_path": "new.txt", "content": "x"}}]}
    if denied:
        turn["expect"] = "error"
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": mode},
        "teammates": [{"name": "w1"}],
        "tasks": [{"key": "a", "subject": "Do it", "script": [turn, {"say": "Done."}]}],
    }
    (cwd / "team.yaml").write_text(yaml.safe_dump(team))
    with private_tmux() as tmux:
        words = ("run", "team.yaml", "--backend", "tmux", "--json", "--headless")
        ended = Shell(home, cwd).swarm(*words, TMUX_TMPDIR=tmux.folder, timeout=40)

        assert ended.code in (0, 5), ended.err
        result = json.loads(ended.out)
        assert len(result["denied"]) == denied
        assert (cwd / "new.txt").exists() is (denied == 0)
        assert tmux.sockets() == []
