from __future__ import annotations

import errno
from pathlib import Path

from swarm.errors import StateError, StorageIOError
from swarm.storage import network, syscalls


def test_what_ought_to_be_there_is_looked_for_a_few_times() -> None:
    found = iter([None, None, "here"])

    assert network.look_again(lambda: next(found)) == "here"
    assert network.look_again(lambda: None) is None


def test_a_look_anew_opens_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("four")
    calls: list[str] = []

    with syscalls.fault_hook(lambda call, path, size: calls.append(call)):
        found = network.find_stat_anew(str(tmp_path / "file"))
        missing = network.find_stat_anew(str(tmp_path / "nosuch"))

    assert found is not None
    assert (found.st_size, missing) == (4, None)
    assert calls == ["open", "fstat", "open"]


def test_only_one_error_says_that_a_file_has_gone_elsewhere() -> None:
    assert network.is_stale(StorageIOError("/x", OSError(errno.ESTALE, "stale")))
    assert not network.is_stale(StorageIOError("/x", OSError(errno.EIO, "io")))
    assert not network.is_stale(StateError("busy", code="busy"))
