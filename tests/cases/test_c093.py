"""An edit changes the bytes that it names and no other: line ends, encoding, mode and links stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.tools import ToolBench, make_team

FILES = {
    "crlf": b"first line\r\nthe old word\r\nlast line\r\n",
    "mixed": b"first line\r\nthe old word\nlast line\rend\r\n",
    "lone cr": b"first line\rthe old word\rlast line\r",
    "byte order mark": b"\xef\xbb\xbffirst line\nthe old word\n",
    "byte order mark and crlf": b"\xef\xbb\xbfthe old word\r\nlast\r\n",
    "no final newline": b"first line\nthe old word",
    "latin-1": b"caf\xe9\nthe old word \xff\xfe\nna\xefve\n",
    "cut utf-8": b"\xe2\x82\nthe old word\n\xf0\x9f",
    "trailing blanks": b"first \t \n\n\n  the old word  \n\n",
    "form feed": b"a\x0cb\x0bc\nthe old word\x1cd\xc2\x85e\n",
}


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    work = tmp_path / "work"
    return ToolBench(make_team(tmp_path / "root", work), work)


@pytest.mark.parametrize("before", FILES.values(), ids=FILES.keys())
async def test_only_the_word_differs(bench: ToolBench, before: bytes) -> None:
    path = bench.workspace / "file.txt"
    path.write_bytes(before)

    await bench.ok("Read", file_path="file.txt")
    await bench.ok("Edit", file_path="file.txt", old_string="old", new_string="new")

    assert path.read_bytes() == before.replace(b"old", b"new")


@pytest.mark.parametrize(
    "before", [FILES["crlf"], FILES["mixed"], FILES["lone cr"]], ids=["crlf", "mixed", "cr"]
)
async def test_a_passage_over_several_lines_is_found_and_keeps_its_ends(
    bench: ToolBench, before: bytes
) -> None:
    """A model writes plain line breaks, whatever the file has."""
    path = bench.workspace / "file.txt"
    path.write_bytes(before)

    await bench.ok("Read", file_path="file.txt")
    await bench.ok(
        "Edit",
        file_path="file.txt",
        old_string="first line\nthe old word\nlast line",
        new_string="first line\nthe new word\nlast line",
    )

    assert path.read_bytes() == before.replace(b"old", b"new")


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o600, 0o4755])
@pytest.mark.parametrize(
    ("tool", "given"),
    [("Edit", {"old_string": "old", "new_string": "new"}), ("Write", {"content": "new\n"})],
    ids=["Edit", "Write"],
)
async def test_mode_is_kept(bench: ToolBench, tool: str, given: dict[str, str], mode: int) -> None:
    path = bench.workspace / "run.sh"
    path.write_bytes(b"old\n")
    path.chmod(mode)

    await bench.ok("Read", file_path="run.sh")
    await bench.ok(tool, file_path="run.sh", **given)

    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_owner_is_kept(bench: ToolBench) -> None:
    path = bench.workspace / "theirs"
    path.write_bytes(b"old\n")
    os.chown(path, 12345, 23456)

    await bench.ok("Read", file_path="theirs")
    await bench.ok("Edit", file_path="theirs", old_string="old", new_string="new")

    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Edit", {"old_string": "old", "new_string": "new"}), ("Write", {"content": "new\n"})],
    ids=["Edit", "Write"],
)
async def test_a_link_stays_a_link(
    bench: ToolBench, tmp_path: Path, tool: str, given: dict[str, str]
) -> None:
    """Also one to a file in another folder, by way of a second link."""
    target = tmp_path / "elsewhere" / "real.txt"
    target.parent.mkdir()
    target.write_bytes(b"old\n")
    (tmp_path / "second").symlink_to(target)
    link = bench.workspace / "link"
    link.symlink_to("../second")

    await bench.ok("Read", file_path="link")
    await bench.ok(tool, file_path="link", **given)

    assert os.readlink(link) == "../second"
    assert (tmp_path / "second").is_symlink()
    assert target.read_bytes() == b"new\n"
    assert os.listdir(target.parent) == ["real.txt"]
