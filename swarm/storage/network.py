"""What is different on a network mount: it believes what it knows, and files go while they are open."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import TypeVar

from swarm.errors import StateError, StorageIOError
from swarm.storage import syscalls

_LOOKS = 4
_PAUSE = 0.002

T = TypeVar("T")


def find_stat_anew(path: str) -> os.stat_result | None:
    """Return what a path leads to, as it is now on a network mount, too; None when there is nothing.

    For up to a minute such a mount believes what it knows of a path. Opening a file makes it ask.
    """
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        return None
    try:
        return syscalls.stat_file(fd, path)
    finally:
        syscalls.close(fd)


def is_stale(error: StateError) -> bool:
    """Tell whether the server of a network mount has removed the file of an open descriptor."""
    return isinstance(error, StorageIOError) and error.details["errno"] == errno.ESTALE


def look_again(find: Callable[[], T | None]) -> T | None:
    """Return what this finds, looking a few times: some mounts remove a file before they replace it."""
    for _ in range(_LOOKS - 1):
        found = find()
        if found is not None:
            return found
        time.sleep(_PAUSE)
    return find()
