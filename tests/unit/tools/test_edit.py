"""Edit and Write change files that the session knows, whole or not at all, and tell the model how else."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.storage.team import Team
from swarm.testing.wait import eventually
from tests.support.tools import SETTINGS, ToolBench, make_team
from worker.tools import file_writing


@pytest.fixture
def file(workspace: Path) -> Path:
    path = workspace / "a.py"
    path.write_bytes(b"def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    return path


async def test_edit_shows_the_change(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path=str(file))

    text = await bench.ok("Edit", file_path="a.py", old_string="return 1", new_string="return 11")

    assert file.read_bytes() == b"def one():\n    return 11\n\n\ndef two():\n    return 2\n"
    assert text.startswith("Changed a.py:\n1\tdef one():\n2\t    return 11\n3\t")
    assert bench.context.touched == {os.path.realpath(file)}


async def test_second_edit_needs_no_second_read(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="a.py")
    await bench.ok("Edit", file_path="a.py", old_string="one", new_string="eins")
    await bench.ok("Edit", file_path="a.py", old_string="eins", new_string="uno")

    assert file.read_bytes().startswith(b"def uno()")


async def test_edit_after_write_needs_no_read(bench: ToolBench, workspace: Path) -> None:
    await bench.ok("Write", file_path="new/deep/b.txt", content="first\n")
    await bench.ok("Edit", file_path="new/deep/b.txt", old_string="first", new_string="second")

    assert (workspace / "new/deep/b.txt").read_bytes() == b"second\n"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"old_string": "one", "new_string": "x"}),
        ("Write", {"content": "all new"}),
    ],
)
class TestChangesOfKnownFilesOnly:
    async def test_unread_files_are_refused(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        before = file.read_bytes()

        assert "read it with Read first" in await bench.error(tool, file_path="a.py", **given)
        assert file.read_bytes() == before

    async def test_files_changed_since_are_refused(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        await bench.ok("Read", file_path="a.py")
        file.write_bytes(b"def one(): other\n")

        text = await bench.error(tool, file_path="a.py", **given)

        assert "changed since you read it" in text
        assert "Read it again" in text
        assert file.read_bytes() == b"def one(): other\n"

    async def test_same_size_and_time_do_not_hide_a_change(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        """Clocks of file systems are coarse: two writes may carry one time. The content decides."""
        await bench.ok("Read", file_path="a.py")
        status = file.stat()
        file.write_bytes(file.read_bytes().replace(b"return 1", b"return 7"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

        assert "changed since you read it" in await bench.error(tool, file_path="a.py", **given)

    async def test_a_newer_time_alone_is_no_change(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        await bench.ok("Read", file_path="a.py")
        os.utime(file, ns=(1, 1))

        await bench.ok(tool, file_path="a.py", **given)

    async def test_another_agent_s_change_counts(
        self, bench: ToolBench, team: Team, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        other = ToolBench(team, bench.workspace, "builder-2")
        await bench.ok("Read", file_path="a.py")
        await other.ok("Read", file_path="a.py")
        await other.ok("Edit", file_path="a.py", old_string="two", new_string="zwei")

        assert "perhaps by a teammate" in await bench.error(tool, file_path="a.py", **given)
        assert b"zwei" in file.read_bytes()

    async def test_a_full_disk_leaves_the_old_file(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await bench.ok("Read", file_path="a.py")
        before = file.read_bytes()

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        text = await bench.error(tool, file_path="a.py", **given)

        assert "No space left on device" in text
        assert file.read_bytes() == before
        assert os.listdir(file.parent) == ["a.py"]

    async def test_write_protected_files_are_left(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A rename would replace them, since it asks the folder's permission only."""
        await bench.ok("Read", file_path="a.py")
        monkeypatch.setattr(os, "access", lambda path, mode: False)

        assert "write-protected" in await bench.error(tool, file_path="a.py", **given)

    async def test_the_folder_lock_is_waited_for(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between comparing and writing nobody else may write: this is where edits would be lost."""
        await bench.ok("Read", file_path="a.py")
        tries = []
        try_lock = file_writing._try_lock

        def count(descriptor: int) -> bool:
            tries.append(descriptor)
            return try_lock(descriptor)

        monkeypatch.setattr(file_writing, "_try_lock", count)

        async with file_writing.folder_held(str(file), 1.0):
            call = asyncio.ensure_future(bench.ok(tool, file_path="a.py", **given))
            await eventually(lambda: len(tries) > 2)
            assert not call.done()
        await call

    async def test_a_lock_that_is_never_free_is_given_up(
        self, tmp_path: Path, tool: str, given: dict[str, str]
    ) -> None:
        settings = SETTINGS.replace(file_lock_seconds=0.05)
        bench = ToolBench(make_team(tmp_path / "root", tmp_path / "work", settings), tmp_path / "work")
        (tmp_path / "work" / "a.py").write_bytes(b"def one(): pass\n")
        await bench.ok("Read", file_path="a.py")

        async with file_writing.folder_held(str(tmp_path / "work" / "a.py"), 1.0):
            assert "try again later" in await bench.error(tool, file_path="a.py", **given)

    async def test_binary_content_is_left(
        self, bench: ToolBench, file: Path, tool: str, given: dict[str, str]
    ) -> None:
        await bench.ok("Read", file_path="a.py")
        file.write_bytes(b"\0\1\2")

        assert "binary" in await bench.error(tool, file_path="a.py", **given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"file_path": "none.py", "old_string": "", "new_string": "x"}, "use Write"),
        ({"file_path": "none.py", "old_string": "a", "new_string": "x"}, "create it with Write"),
        ({"file_path": ".", "old_string": "a", "new_string": "x"}, "is a folder"),
        ({"file_path": "~/a", "old_string": "a", "new_string": "x"}, "absolute path"),
        ({"file_path": "a.py", "old_string": "a", "new_string": "a"}, "are equal"),
        ({"file_path": "a.py", "old_string": "nowhere", "new_string": "a"}, "was not found"),
        ({"file_path": "a.py", "old_string": "return", "new_string": "a"}, "occurs 2 times"),
    ],
)
async def test_edits_that_cannot_be_made(
    bench: ToolBench, file: Path, given: dict[str, str], told: str
) -> None:
    await bench.ok("Read", file_path="a.py")

    assert told in await bench.error("Edit", **given)
    assert bench.context.touched == set()


async def test_replace_all(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="a.py")

    text = await bench.ok("Edit", file_path="a.py", old_string="return", new_string="yield", replace_all=True)

    assert file.read_bytes().count(b"yield") == 2
    assert "at 2 places" in text


async def test_a_vanished_file_is_told(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="a.py")
    file.unlink()

    text = await bench.error("Edit", file_path="a.py", old_string="one", new_string="x")
    assert "does not exist" in text


async def test_too_large_files_are_not_edited(tmp_path: Path) -> None:
    settings = SETTINGS.replace(edit_file_max_bytes=20)
    bench = ToolBench(make_team(tmp_path / "root", tmp_path / "work", settings), tmp_path / "work")
    (tmp_path / "work" / "a").write_bytes(b"x" * 30)
    await bench.ok("Read", file_path="a")

    assert "too large" in await bench.error(
        "Edit", file_path="a", old_string="xx", new_string="y", replace_all=True
    )
    assert "smaller files" in await bench.error("Write", file_path="b", content="y" * 30)
    assert not (tmp_path / "work" / "b").exists()


async def test_write_creates_with_the_usual_mode(bench: ToolBench, workspace: Path) -> None:
    text = await bench.ok("Write", file_path="b.txt", content="one\ntwo\n")

    assert text == "Created b.txt (2 lines)."
    mask = os.umask(0)
    os.umask(mask)
    assert (workspace / "b.txt").stat().st_mode & 0o777 == 0o666 & ~mask


async def test_write_shows_what_it_replaced(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="a.py")

    text = await bench.ok("Write", file_path="a.py", content="def one():\n    return 1\n")

    assert text.startswith("Replaced a.py (2 lines):\n@@")
    assert "-def two():" in text


@pytest.mark.parametrize(
    ("old", "content", "expected"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"a\n", "x", b"x"),
    ],
    ids=[
        "crlf",
        "cr",
        "mixed is left to the model",
        "explicit ends are kept",
        "byte order mark",
        "no last end",
    ],
)
async def test_write_keeps_the_form_of_the_old_file(
    bench: ToolBench, file: Path, old: bytes, content: str, expected: bytes
) -> None:
    file.write_bytes(old)
    await bench.ok("Read", file_path="a.py")
    await bench.ok("Write", file_path="a.py", content=content)

    assert file.read_bytes() == expected


@pytest.mark.parametrize("before", [b"one\ntwo\n", b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo\n"])
async def test_write_of_what_is_there_already_succeeds_without_reading(
    bench: ToolBench, file: Path, before: bytes
) -> None:
    """A new attempt repeats its steps; the file counts as its work, and is known from then on."""
    file.write_bytes(before)
    file.chmod(0o444)

    output = await bench.ok("Write", file_path=str(file), content="one\ntwo\n")

    assert "already has this content" in output
    assert file.read_bytes() == before
    assert bench.context.touched == {str(file)}
    file.chmod(0o644)
    await bench.ok("Edit", file_path=str(file), old_string="two", new_string="three")


async def test_write_of_anything_else_than_what_is_there_needs_reading(bench: ToolBench, file: Path) -> None:
    file.write_text("one\ntwo\n")

    assert "has not been read" in await bench.error("Write", file_path=str(file), content="one\ntwo")
    assert file.read_text() == "one\ntwo\n"


async def test_write_does_not_lose_bytes_that_it_cannot_show(bench: ToolBench, file: Path) -> None:
    file.write_bytes(b"caf\xe9\n")
    await bench.ok("Read", file_path="a.py")

    assert "not UTF-8" in await bench.error("Write", file_path="a.py", content="caf\ufffd!\n")
    assert file.read_bytes() == b"caf\xe9\n"


@pytest.mark.parametrize("path", [".", "sub/", "~/x", ""])
async def test_write_wants_the_path_of_a_file(bench: ToolBench, path: str) -> None:
    assert (await bench.error("Write", file_path=path, content="x")).endswith(".")


async def test_write_through_a_link_that_leads_nowhere_makes_its_target(
    bench: ToolBench, workspace: Path
) -> None:
    (workspace / "link").symlink_to("target.txt")

    await bench.ok("Write", file_path="link", content="x")

    assert (workspace / "link").is_symlink()
    assert (workspace / "target.txt").read_text() == "x"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that is full after a few pages; chmod is no stand-in, as root may write anywhere."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_really_full_disk(bench: ToolBench, tiny_disk: Path) -> None:
    path = tiny_disk / "a.txt"
    path.write_bytes(b"old\n")
    await bench.ok("Read", file_path=str(path))

    text = await bench.error("Write", file_path=str(path), content="x" * 200_000)

    assert "No space left" in text
    assert path.read_bytes() == b"old\n"
    assert os.listdir(tiny_disk) == ["a.txt"]
