"""What an agent does now, from the end of its transcript."""

from __future__ import annotations

import json
from pathlib import Path

from swarm.leader.activity import Activity, last_activity


def assistant(*blocks: dict[str, object]) -> str:
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}) + "\n"


def test_the_newest_text_and_tool_are_shown(tmp_path: Path) -> None:
    """One line for a person: what was said last and which tool was called last."""
    file = tmp_path / "a.jsonl"
    file.write_text(
        json.dumps({"type": "start"}) + "\n"
        + assistant(
            {"type": "text", "text": "Old."},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "a"}},
        )
        + assistant({"type": "text", "text": "New\n  text."})
        + assistant({"type": "tool_use", "name": "Bash", "input": {"command": "ls  -l"}})
        + '{"torn'
    )  # fmt: skip

    assert last_activity(str(file)) == Activity(said="New text.", tool="Bash", target="ls -l")


def test_an_earlier_session_is_not_shown(tmp_path: Path) -> None:
    """What the agent did for its last task is not what it does now."""
    file = tmp_path / "a.jsonl"
    file.write_text(assistant({"type": "text", "text": "Old."}) + json.dumps({"type": "start"}) + "\n")

    assert last_activity(str(file)) == Activity()


def test_no_transcript_and_a_long_one_are_fine(tmp_path: Path) -> None:
    """Only the end of a transcript is read."""
    file = tmp_path / "a.jsonl"
    file.write_text(
        assistant({"type": "text", "text": "x" * 100_000}) + assistant({"type": "text", "text": "End."})
    )

    assert last_activity(str(tmp_path / "none.jsonl")) == Activity()
    assert last_activity(str(file)).said == "End."
