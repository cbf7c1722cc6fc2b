from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from swarm.errors import StorageIOError
from swarm.storage import syscalls


def test_refusal_of_the_system_names_path_and_errno(tmp_path: Path) -> None:
    path = str(tmp_path / "missing" / "file")
    with pytest.raises(StorageIOError) as caught:
        syscalls.create_file(path, os.O_RDWR)
    assert caught.value.details == {"path": path, "errno": errno.ENOENT}


def test_expected_outcomes_are_values(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    assert syscalls.find_file(path, os.O_RDONLY) is None
    assert syscalls.find_stat(path) is None
    assert not syscalls.unlink(path)
    assert syscalls.list_folder(path) == []
    assert syscalls.make_folder(path)
    assert not syscalls.make_folder(path)
    (tmp_path / "a").touch()
    assert syscalls.link(str(tmp_path / "a"), str(tmp_path / "b"))
    assert not syscalls.link(str(tmp_path / "a"), str(tmp_path / "b"))


def test_other_failures_of_the_same_calls_are_errors(tmp_path: Path) -> None:
    """A file where a folder should be is neither missing nor already there."""
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "x")
    for call in (
        lambda: syscalls.find_stat(below),
        lambda: syscalls.unlink(below),
        lambda: syscalls.make_folder(below),
        lambda: syscalls.link(str(tmp_path / "file"), below),
    ):
        with pytest.raises(StorageIOError):
            call()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_what_is_made_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        syscalls.make_folders(f"{tmp_path}/a/b")
        os.close(syscalls.create_file(f"{tmp_path}/a/b/file", os.O_RDWR))
        os.close(syscalls.create_draft(f"{tmp_path}/a/b/draft"))
    finally:
        os.umask(old)
    modes = [os.stat(f"{tmp_path}/{name}").st_mode & 0o777 for name in ("a", "a/b", "a/b/file", "a/b/draft")]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_short_write_is_continued(tmp_path: Path) -> None:
    """The kernel may write less than it was given, on a disk that is nearly full."""
    path = str(tmp_path / "x")
    fd = syscalls.create_file(path, os.O_RDWR | os.O_APPEND)
    with syscalls.fault_hook(lambda _call, _path, size: 3 if size else None):
        syscalls.append(fd, path, b"0123456789")
    assert syscalls.read_at(fd, path, 100, 0) == b"0123456789"
    other = os.open(path, os.O_RDWR)
    with syscalls.fault_hook(lambda _call, _path, size: 4 if size else None):
        syscalls.write_at(other, path, b"abcdefghij", 5)
    assert syscalls.read_at(fd, path, 100, 0) == b"01234abcdefghij"
    os.close(other)
    os.close(fd)


def test_short_read_is_continued(tmp_path: Path, monkeypatch) -> None:
    path = str(tmp_path / "x")
    Path(path).write_bytes(b"0123456789")
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 3), offset))
    fd = os.open(path, os.O_RDONLY)
    assert syscalls.read_at(fd, path, 8, 1) == b"12345678"
    assert syscalls.read_at(fd, path, 100, 7) == b"789"
    os.close(fd)


def test_hook_sees_calls_only_while_it_is_there(tmp_path: Path) -> None:
    seen: list[str] = []
    with syscalls.fault_hook(lambda call, _path, _size: seen.append(call)):
        syscalls.find_stat(str(tmp_path))
    syscalls.find_stat(str(tmp_path))
    assert seen == ["stat"]


def test_descriptors_are_not_inherited(tmp_path: Path) -> None:
    """A child of a tool must not keep a lock or a journal open."""
    fd = syscalls.create_file(str(tmp_path / "x"), os.O_RDWR)
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "empty").mkdir()

    assert not syscalls.remove_empty_folder(str(tmp_path / "full"))
    assert syscalls.remove_empty_folder(str(tmp_path / "empty"))
    assert os.listdir(tmp_path) == ["full"]
    with pytest.raises(StorageIOError):
        syscalls.remove_empty_folder(str(tmp_path / "nosuch"))
