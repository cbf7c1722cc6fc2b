"""What a result shows of a change is small, however large the change is."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from tests.support.tools import ToolBench
from worker.tools.excerpts import difference, excerpt

LONG = "".join(f"{n}\n" for n in range(1, 101))


def test_an_excerpt_shows_lines_around_the_change() -> None:
    at = LONG.index("50\n")

    assert excerpt(LONG, at, at + 2).splitlines() == [f"{n}\t{n}" for n in range(47, 54)]


def test_a_long_excerpt_leaves_out_its_middle() -> None:
    lines = excerpt(LONG, 0, len(LONG)).splitlines()

    assert lines[14:17] == ["15\t15", "[70 lines left out]", "86\t86"]


def test_long_lines_and_odd_bytes_are_shown_short() -> None:
    assert excerpt("x" * 500, 0, 1) == "1\t" + "x" * 200 + "…"
    assert excerpt("caf\udce9", 0, 1) == "1\tcaf\ufffd"


def test_a_long_difference_is_cut() -> None:
    lines = difference(LONG, "").splitlines()

    assert len(lines) == 31
    assert lines[-1] == "[71 lines left out]"


def test_very_long_texts_are_not_compared() -> None:
    """The comparison would take longer than the write."""
    assert difference("a\n" * 3_000, "b\n") == ""


async def test_a_file_system_without_locks_on_folders_is_written_to(
    bench: ToolBench, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the content is still compared before it is replaced."""

    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)

    await bench.ok("Write", file_path="a.txt", content="x")
    assert (workspace / "a.txt").read_text() == "x"


async def test_a_folder_that_cannot_be_locked_is_told(
    bench: ToolBench, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = fcntl.flock

    def broken(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:  # a lock of an earlier test may be collected just now
            return unbroken(descriptor, operation)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", broken)

    assert "what was there is untouched" in await bench.error("Write", file_path="a.txt", content="x")
    assert os.listdir(workspace) == []
