from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swarm.errors import LockTimeoutError, StorageIOError
from swarm.settings import Settings
from swarm.storage import syscalls
from swarm.storage.clock import SystemClock
from swarm.storage.lock import FileLock
from tests.support.faults import FailAt, Point, Recorder

SETTINGS = Settings(lock_timeout_seconds=0.1)


def a_lock(path: Path, name: str = "w1@demo") -> FileLock:
    return FileLock(str(path), SETTINGS, SystemClock(), name)


@contextmanager
def held_elsewhere(path: Path) -> Iterator[None]:
    """Hold the kernel's lock by a descriptor of its own: to the kernel that is another holder."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        os.close(fd)


def test_second_holder_gets_a_time_out_that_names_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b" " * 64 + b"4711 8812345 lead@demo".ljust(64))
    with held_elsewhere(path), pytest.raises(LockTimeoutError) as caught:
        a_lock(path).acquire()
    assert caught.value.details["lock"] == str(path)
    assert caught.value.details["holder"] == "lead@demo (pid 4711)"
    assert caught.value.details["waited_seconds"] >= 0.1


def test_lock_is_free_again_after_the_block_even_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(KeyError), a_lock(path):
        raise KeyError
    with held_elsewhere(path):
        pass
    with a_lock(path):
        assert a_lock(path).holder() == f"w1@demo (pid {os.getpid()})"


def test_two_objects_of_one_path_exclude_each_other(tmp_path: Path) -> None:
    """The kernel would grant the second `flock` of a process on the same descriptor."""
    (tmp_path / "link").symlink_to(tmp_path)
    first, second = a_lock(tmp_path / "lock"), a_lock(tmp_path / "link" / "lock")
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()
    second.release()


def test_release_by_an_object_that_does_not_hold_it_changes_nothing(tmp_path: Path) -> None:
    first, second = a_lock(tmp_path / "lock"), a_lock(tmp_path / "lock")
    first.acquire()
    second.release()
    assert not second.try_acquire()
    first.release()


def test_thread_that_holds_it_is_refused_at_once(tmp_path: Path) -> None:
    """Waiting for itself would take the whole time limit and then fail."""
    with a_lock(tmp_path / "lock"), pytest.raises(LockTimeoutError) as caught:
        a_lock(tmp_path / "lock").acquire()
    assert caught.value.details["waited_seconds"] == 0


def test_other_thread_waits_until_it_is_free(tmp_path: Path) -> None:
    first, second = a_lock(tmp_path / "lock"), a_lock(tmp_path / "lock", "w2@demo")
    order: list[str] = []

    def come_second() -> None:
        with second:
            order.append("second")

    first.acquire()
    thread = threading.Thread(target=come_second)
    thread.start()
    order.append("first")
    first.release()
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 300])
def test_old_content_of_the_lock_file_blocks_nobody(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    with a_lock(path) as lock:
        assert lock.holder() == f"w1@demo (pid {os.getpid()})"


@pytest.mark.parametrize("content", [b"", b"garbage", b" " * 64 + b"x y z"])
def test_holder_that_is_not_recorded_is_none(tmp_path: Path, content: bytes) -> None:
    lock = a_lock(tmp_path / "lock")
    assert lock.holder() is None
    (tmp_path / "lock").write_bytes(content)
    assert lock.holder() is None


def test_lock_of_a_file_that_was_replaced_is_taken_on_the_new_one(tmp_path: Path) -> None:
    """A deleted and newly made team has another lock file under the same path."""
    path = tmp_path / "lock"
    with a_lock(path):
        pass
    path.rename(tmp_path / "old")
    with held_elsewhere(path), pytest.raises(LockTimeoutError):
        a_lock(path).acquire()
    path.unlink()
    with a_lock(path):
        assert path.exists()


def test_failure_at_any_call_leaves_it_free(tmp_path: Path) -> None:
    recorder = Recorder()
    with syscalls.fault_hook(recorder), a_lock(tmp_path / "fresh"):
        pass
    for point in recorder.points():
        lock = a_lock(tmp_path / f"lock-{point.number}")
        with syscalls.fault_hook(FailAt(Point(point.number, point.call))), pytest.raises(StorageIOError):
            lock.acquire()
        with held_elsewhere(Path(lock.path)):
            pass
        with lock:
            pass


def test_file_is_closed_with_the_last_lock_on_it(tmp_path: Path) -> None:
    """Else a process that meets many teams would run out of descriptors."""

    def open_files() -> list[str]:
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return [os.readlink(link) for link in links if os.path.exists(link)]

    path = str(tmp_path / "lock")
    first, second = a_lock(tmp_path / "lock"), a_lock(tmp_path / "lock")
    with second:
        del first
        assert path in open_files()
    assert path in open_files()
    del second
    assert path not in open_files()


def test_descriptor_is_only_there_while_it_is_held(tmp_path: Path) -> None:
    lock = a_lock(tmp_path / "lock")
    with pytest.raises(RuntimeError):
        _ = lock.fd
    with lock:
        assert os.fstat(lock.fd).st_ino == os.stat(lock.path).st_ino
