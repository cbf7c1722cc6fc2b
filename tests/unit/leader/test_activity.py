"""What an agent does now, from the end of its transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.leader.activity import Activity, TranscriptTail
from swarm.storage import syscalls


def a_line(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, **fields}) + "\n"


def assistant(*blocks: dict[str, object]) -> str:
    return a_line("assistant", message={"role": "assistant", "content": list(blocks)})


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def use(tool: str, call: str = "c1", **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": call, "name": tool, "input": given}


def result(call: str) -> str:
    return a_line("result", block={"type": "tool_result", "tool_use_id": call, "content": "x"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def test_the_newest_text_and_tool_are_shown(file: Path) -> None:
    file.write_text(
        a_line("start")
        + assistant(text("Old."), use("Read", file_path="a"))
        + assistant(text("New\n  text."))
        + assistant(text("  "), use("Bash", "c2", command="ls  -l"))
        + '{"torn'
    )

    shown = TranscriptTail(str(file)).look()
    assert shown == Activity(said="New text.", tool="Bash", target="ls -l", is_running=True)


def test_an_earlier_session_is_not_shown(file: Path) -> None:
    """What the agent did for its last task is not what it does now."""
    file.write_text(assistant(text("Old."), use("Read")) + a_line("start"))

    assert TranscriptTail(str(file)).look() == Activity()


def test_a_tool_runs_until_its_own_result_is_there(file: Path) -> None:
    """It may start, and even end, before the answer it stands in is written."""
    tail, running = TranscriptTail(str(file)), []
    file.write_text("")
    for line in (
        a_line("call", block=use("Grep", "c7", pattern="x")),
        result("c6"),
        result("c7"),
        assistant(use("Grep", "c7", pattern="x")),
        assistant(use("Grep", "c8", pattern="y")),
    ):
        with file.open("a") as more:
            more.write(line)
        running.append(tail.look().is_running)

    assert running == [True, True, False, False, True]


def test_a_look_reads_only_what_was_added(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a look does not grow with the transcript; a long result does not hide what was said."""
    read: list[int] = []
    real = syscalls.read_at

    def counted(fd: int, path: str, count: int, offset: int) -> bytes:
        data = real(fd, path, count, offset)
        read.append(len(data))
        return data

    monkeypatch.setattr(syscalls, "read_at", counted)
    file.write_text(a_line("note", text="x" * 1000) * 5000 + assistant(text("Here.")))
    tail = TranscriptTail(str(file))
    assert tail.look().said == "Here."
    assert sum(read) <= 64 * 1024

    read.clear()
    assert tail.look().said == "Here."
    assert read == []
    with file.open("a") as more:
        more.write(a_line("result", block={"tool_use_id": "c1", "content": "x" * 200_000}))
    assert tail.look().said == "Here."
    assert sum(read) <= 64 * 1024
    with file.open("a") as more:
        more.write(assistant(text("There.")))
    assert tail.look().said == "There."


def test_half_a_line_is_read_when_it_is_whole(file: Path) -> None:
    tail, whole = TranscriptTail(str(file)), assistant(text("All of it."))
    file.write_text(assistant(text("Before.")) + whole[:40])
    assert tail.look().said == "Before."
    with file.open("a") as more:
        more.write(whole[40:])
    assert tail.look().said == "All of it."


def test_a_new_file_in_its_place_is_read_from_the_start(file: Path) -> None:
    tail = TranscriptTail(str(file))
    assert tail.look() == Activity()
    file.write_text(assistant(text("One."), use("Read")) * 3)
    assert tail.look().said == "One."
    file.write_text(assistant(text("Two.")))
    assert tail.look() == Activity(said="Two.")


@pytest.mark.parametrize(
    "line",
    ["[]", "7", '{"type": "assistant"}', '{"type": "call", "block": []}', '{"type": "result", "block": 1}'],
)
def test_lines_that_are_not_ours_are_passed_over(file: Path, line: str) -> None:
    file.write_text(assistant(text("Fine.")) + line + "\n")
    assert TranscriptTail(str(file)).look().said == "Fine."
