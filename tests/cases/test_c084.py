"""Text that held ` -t ` was taken as a target option and went to the active pane."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW

pytestmark = [*needs_tmux, SLOW]

TEXTS = ("ssh -t h", "-t 0", "-l", "send-keys -t %0 x;", "C-c", "Enter", "`id` $HOME ⌘ \ta", "kill-server ;")


def test_no_text_is_ever_an_instruction_to_tmux(tmp_path: Path) -> None:
    """Subjects, prompts and mail arrive byte for byte, and nothing is typed into the pane of the user."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    sends = [{"SendMessage": {"to": "w1", "message": text}} for text in TEXTS]
    script = [{"say": text, "calls": [call]} for text, call in zip(TEXTS, sends, strict=True)]
    task = {
        "key": "a",
        "subject": TEXTS[0],
        "description": "\n".join(TEXTS),
        "owner": "w2",
        "script": [*script, {"say": "Done."}],
    }
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "teammates": [{"name": "w1"}, {"name": "w2"}],
    }
    (cwd / "team.yaml").write_text(yaml.safe_dump({**team, "tasks": [task]}))
    with private_tmux() as tmux:
        tmux.run("new-session", "-d", "-s", "lead", "--", "cat")
        own = tmux.panes()[0]
        inside = tmux.inside(own)
        ended = Shell(home, cwd).swarm(
            *("run", "team.yaml", "--backend", "tmux", "--json"),
            TMUX=inside["TMUX"],
            TMUX_PANE=own,
            TMUX_TMPDIR=tmux.folder,
        )

        assert ended.code == 0, ended.err + ended.out
        assert tmux.panes() == [own]
        assert tmux.run("capture-pane", "-p", "-t", own) == ""
    folder = home / ".claude/teams/t1"
    transcript = (folder / "transcripts/w2.jsonl").read_text()
    lines = [json.loads(line) for line in transcript.splitlines()]
    first = next(line["message"]["content"] for line in lines if line["type"] == "user")
    assert "\n".join(TEXTS) in "".join(block["text"] for block in first)
    unread = json.loads((folder / "inboxes/w1.json").read_text())
    history = folder / "history/w1.jsonl"
    read = [json.loads(line) for line in history.read_text().splitlines()] if history.exists() else []
    assert [message["text"] for message in (*read, *unread)][: len(TEXTS)] == list(TEXTS)
