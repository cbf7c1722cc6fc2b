"""How the kernel's FUSE protocol (7.31) writes what it asks for and what it is told."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence

HEAD = 40
"""Bytes before the body of a request."""
NO_ANSWER = frozenset({2, 36, 42})  # FORGET, INTERRUPT, BATCH_FORGET
FLOCK_LOCKS = 1 << 10
DIRECT_IO = 1
BY_HANDLE = 1
SET_MODE, SET_SIZE, SET_BY_HANDLE = 1 << 0, 1 << 3, 1 << 6

Kept = tuple[int, int]
"""For how long an answer is believed, in seconds and nanoseconds."""


def answer(unique: int, number: int, body: bytes) -> bytes:
    return struct.pack("<IiQ", 16 + len(body), -number, unique) + body


def forget_attributes(node: int) -> bytes:
    """Return the notice that what the kernel knows of a file's size and times is old."""
    return struct.pack("<IiQQqq", 40, 2, 0, node, -1, 0)


def hello(readahead: int, flags: int, minor: int) -> bytes:
    return struct.pack("<IIIIHHIIHHI28x", 7, min(minor, 31), readahead, flags, 16, 12, 1 << 17, 1, 32, 0, 0)


def entry(node: int, state: os.stat_result, kept: Kept) -> bytes:
    whole, rest = kept
    return struct.pack("<QQQQII", node, 0, whole, whole, rest, rest) + _attributes(state)


def attributes(state: os.stat_result, kept: Kept) -> bytes:
    return struct.pack("<QII", *kept, 0) + _attributes(state)


def opened(handle: int, flags: int) -> bytes:
    return struct.pack("<QII", handle, flags, 0)


def _attributes(state: os.stat_result) -> bytes:
    times = state.st_atime_ns, state.st_mtime_ns, state.st_ctime_ns
    seconds, rest = zip(*(divmod(at, 10**9) for at in times), strict=True)
    whole = state.st_ino, state.st_size, state.st_blocks, *seconds
    small = *rest, state.st_mode, state.st_nlink, state.st_uid, state.st_gid, 0, 4096, 0
    return struct.pack("<6Q10I", *whole, *small)


def names_from(names: Sequence[str], offset: int, size: int) -> Iterator[bytes]:
    """Yield the entries of a folder from a place on, as many as fit."""
    for place, name in enumerate(names[offset:], offset + 1):
        raw = os.fsencode(name)
        entry = struct.pack("<QQII", place, place, len(raw), 0) + raw.ljust(-(-len(raw) // 8) * 8, bytes(1))
        size -= len(entry)
        if size < 0:
            return
        yield entry
