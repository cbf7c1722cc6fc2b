"""Start lines over 255 bytes, 1 KB or 16 KB were split, cut or refused by tmux; the worker sat at a shell."""

from __future__ import annotations

import json
import os
from html import unescape
from pathlib import Path

import yaml

from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW

pytestmark = [*needs_tmux, SLOW]

PROMPT = "".join(f"line {number}: $HOME `x` \"q\" 'q' \\ ; ü☃\n" for number in range(900)).strip()
NAME = "n" * 64


def test_a_long_prompt_in_a_deep_folder_arrives_byte_for_byte(tmp_path: Path) -> None:
    """Neither travels by a command line."""
    assert len(PROMPT) > 30_000
    deep = tmp_path / ("d" * 110) / ("ü #{x}" + "e" * 104)
    home = deep / "home"
    home.mkdir(parents=True)
    task = {"key": "a", "subject": "Do it", "description": PROMPT, "script": [{"say": "Done."}]}
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "teammates": [{"name": NAME}],
        "tasks": [task],
    }
    (deep / "team.yaml").write_text(yaml.safe_dump(team))
    with private_tmux() as tmux:
        own = tmux.session("lead")
        inside = tmux.inside(own)
        ended = Shell(home, deep).swarm(
            *("run", "team.yaml", "--backend", "tmux", "--json"),
            LANG="",
            PATH=f"{os.environ['PATH']}:/{'x' * 20_000}",
            TMUX=inside["TMUX"],
            TMUX_PANE=inside["TMUX_PANE"],
            TMUX_TMPDIR=tmux.folder,
        )

        assert ended.code == 0, ended.err
        assert tmux.panes() == [own]
    transcript = home / ".claude/teams/t1/transcripts" / f"{NAME}.jsonl"
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    first = next(line["message"]["content"] for line in lines if line["type"] == "user")
    assert PROMPT in unescape("".join(block["text"] for block in first))
