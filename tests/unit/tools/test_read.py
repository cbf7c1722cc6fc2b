"""Read shows text as numbered lines, keeps within its limits, and remembers what was seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.tools import SETTINGS, ToolBench, make_team


def put(folder: Path, data: bytes, name: str = "a.txt") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


async def test_lines_are_numbered(bench: ToolBench, workspace: Path) -> None:
    """Edit's description tells the model to leave exactly this prefix out."""
    text = await bench.ok("Read", file_path=put(workspace, b"one\ntwo\n"))

    assert text == "1\tone\n2\ttwo"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"one\r\ntwo\r\n", "1\tone\n2\ttwo"),
        (b"one\rtwo", "1\tone\n2\ttwo"),
        (b"\xef\xbb\xbfone\n", "1\tone"),
        (b"caf\xe9\n", "1\tcaf\ufffd"),
        (b"one\n\n", "1\tone\n2\t"),
    ],
    ids=["crlf", "lone cr", "byte order mark", "latin-1", "empty last line"],
)
async def test_any_text_is_shown(bench: ToolBench, workspace: Path, data: bytes, shown: str) -> None:
    assert await bench.ok("Read", file_path=put(workspace, data)) == shown


async def test_relative_paths_start_at_the_working_directory(bench: ToolBench, workspace: Path) -> None:
    """Scripts of team files name files so."""
    put(workspace, b"here\n")

    assert await bench.ok("Read", file_path="a.txt") == "1\there"


async def test_part_of_a_file(bench: ToolBench, workspace: Path) -> None:
    path = put(workspace, b"".join(b"%d\n" % n for n in range(1, 11)))

    text = await bench.ok("Read", file_path=path, offset=4, limit=2)

    assert text.startswith("4\t4\n5\t5\n<system-reminder>\nLines 4 to 5 of 10; go on with offset 6.")


async def test_long_files_are_cut_at_the_default(bench: ToolBench, workspace: Path) -> None:
    path = put(workspace, b"x\n" * 2_500)

    text = await bench.ok("Read", file_path=path)

    assert text.splitlines()[1_999] == "2000\tx"
    assert "Lines 1 to 2,000 of 2,500; go on with offset 2001." in text.splitlines()[2_001]


async def test_long_lines_are_cut_with_a_mark(bench: ToolBench, workspace: Path) -> None:
    text = await bench.ok("Read", file_path=put(workspace, b"x" * 2_300))

    assert text == f"1\t{'x' * 2_000}… [300 more characters]"


async def test_the_whole_result_is_bounded_at_a_line(bench: ToolBench, workspace: Path) -> None:
    """Read's results are never moved to a file, so it must bound them itself."""
    path = put(workspace, (b"y" * 1_500 + b"\n") * 200)

    text = await bench.ok("Read", file_path=path)

    assert len(text) < SETTINGS.read_result_max_chars + 200
    assert "go on with offset 67." in text


async def test_empty_file_is_told_in_words(bench: ToolBench, workspace: Path) -> None:
    text = await bench.ok("Read", file_path=put(workspace, b""))

    assert "<system-reminder>" in text
    assert "is empty" in text


async def test_offset_beyond_the_end_is_told_in_words(bench: ToolBench, workspace: Path) -> None:
    text = await bench.ok("Read", file_path=put(workspace, b"one\n"), offset=9)

    assert "has 1 lines; there is none at offset 9" in text


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0", b"%PDF-1.7\n", b"\x01\x02\x03\x04 text"],
    ids=["nul", "pdf", "controls"],
)
async def test_binary_files_are_refused(bench: ToolBench, workspace: Path, data: bytes) -> None:
    assert "is a binary file" in await bench.error("Read", file_path=put(workspace, data))


async def test_folders_are_refused(bench: ToolBench, workspace: Path) -> None:
    assert "is a folder" in await bench.error("Read", file_path=str(workspace))


async def test_a_pipe_is_refused_at_once(bench: ToolBench, workspace: Path) -> None:
    """Opening a pipe that nobody writes to would wait for ever."""
    os.mkfifo(workspace / "pipe")

    assert "not a regular file" in await bench.error("Read", file_path="pipe")


@pytest.mark.parametrize("path", ["", "~/x", "a\0b", "nowhere.txt"])
async def test_a_wrong_path_is_answered_with_a_sentence(bench: ToolBench, path: str) -> None:
    assert (await bench.error("Read", file_path=path)).endswith(".")


async def test_large_files_are_read_in_parts_only(tmp_path: Path) -> None:
    settings = SETTINGS.replace(read_file_max_bytes=100, read_part_file_max_bytes=1_000)
    bench = ToolBench(make_team(tmp_path / "root", tmp_path / "work", settings), tmp_path / "work")
    path = put(tmp_path / "work", b"line\n" * 50)

    assert "offset and limit" in await bench.error("Read", file_path=path)
    assert (await bench.ok("Read", file_path=path, limit=1)).startswith("1\tline")

    put(tmp_path / "work", b"line\n" * 500)
    assert "Grep" in await bench.error("Read", file_path=path, limit=1)


async def test_what_was_seen_is_remembered_by_real_path(bench: ToolBench, workspace: Path) -> None:
    """A file read through a link may be changed by its own name."""
    path = put(workspace, b"one\n")
    (workspace / "link").symlink_to("a.txt")

    await bench.ok("Read", file_path="link")

    stamp = bench.context.read_state.find(path)
    assert stamp is not None
    assert stamp.path == os.path.realpath(path)
    assert stamp.size == 4
    assert stamp.mtime_ns == os.stat(path).st_mtime_ns


async def test_last_read_comes_last(bench: ToolBench, workspace: Path) -> None:
    for name in ("a", "b", "a"):
        put(workspace, b"x", name)
        await bench.ok("Read", file_path=name)

    assert [os.path.basename(stamp.path) for stamp in bench.context.read_state.list_stamps()] == ["b", "a"]
