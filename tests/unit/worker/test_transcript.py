"""A transcript is only ever added to, and can be read whatever a kill left behind."""

from __future__ import annotations

import json
from pathlib import Path

from swarm.testing.clock import FakeClock
from worker.messages import assistant_message, tool_result, user_message
from worker.session.transcript import Transcript, mail_given, read_transcript


def open_transcript(path: Path, session: str = "a") -> Transcript:
    return Transcript(str(path), FakeClock(), session=session, run_id="r.w.1", task="7")


def test_lines_are_whole_and_numbered_and_private(tmp_path) -> None:
    path = tmp_path / "transcripts" / "w.jsonl"
    transcript = open_transcript(path)

    transcript.start(cause="claim", model="scripted", carried=["m1"])
    transcript.user(user_message("mail"), msg_ids=["m2"])
    transcript.assistant(assistant_message("Hm."), "end_turn", {"output_tokens": 1})
    transcript.result(tool_result("t1", "x"), 0.123456, "t1.txt")
    transcript.note("retry", "attempt 2", {"attempts": 1})
    transcript.end(why="completed", outcome="completed")

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["type"], line["n"]) for line in lines] == [
        ("start", 1),
        ("user", 2),
        ("assistant", 3),
        ("result", 4),
        ("note", 5),
        ("end", 6),
    ]
    assert all((line["session"], line["task"], line["run_id"]) == ("a", "7", "r.w.1") for line in lines)
    assert (lines[3]["elapsed_seconds"], lines[3]["persisted"]) == (0.123, "t1.txt")
    assert path.stat().st_mode & 0o777 == 0o600
    assert mail_given(lines) == {"m2"}


def test_a_torn_last_line_is_cut_and_nothing_before_it(tmp_path) -> None:
    """Its reader has never seen it; left in, it would swallow the line that follows."""
    path = tmp_path / "w.jsonl"
    open_transcript(path).start(cause="claim", model="scripted")
    with path.open("ab") as file:
        file.write(b'{"type": "user", "sess')

    assert [line["type"] for line in read_transcript(str(path))] == ["start"]
    open_transcript(path, session="b").start(cause="resume", model="scripted", parent="a")

    assert [line["session"] for line in read_transcript(str(path))] == ["a", "b"]


def test_a_damaged_line_does_not_hide_the_others(tmp_path) -> None:
    path = tmp_path / "w.jsonl"
    open_transcript(path).start(cause="claim", model="scripted")
    with path.open("ab") as file:
        file.write(b"\x00\xff not json\n[1]\n")
    open_transcript(path, session="b").start(cause="claim", model="scripted")

    assert [line["session"] for line in read_transcript(str(path))] == ["a", "b"]


def test_no_transcript_is_an_empty_one(tmp_path) -> None:
    assert read_transcript(str(tmp_path / "w.jsonl")) == []


def test_text_that_only_an_escape_can_hold_is_kept(tmp_path) -> None:
    """Half of a surrogate pair, as a model that is cut in the middle may write."""
    path = tmp_path / "w.jsonl"
    open_transcript(path).user(user_message("\ud83d"))

    (line,) = read_transcript(str(path))
    assert line["message"] == user_message("\ud83d")
