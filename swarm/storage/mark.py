"""The mark in the task lock file: up to which journal line files and events are known to be written."""

from __future__ import annotations

from typing import NamedTuple

from swarm.storage import files, processes, syscalls

MARK_SIZE = 64


class Mark(NamedTuple):
    """Generation of the journal, its last line with all its views, and the boot in which that was true."""

    gen: int
    seq: int
    boot_id: str

    @property
    def of_this_boot(self) -> bool:
        return self.boot_id == processes.boot_id()


def render_mark(gen: int, seq: int) -> bytes:
    """Return the mark of this boot."""
    text = f"{gen} {seq} {processes.boot_id()}"
    return text.encode("ascii", "replace")[:MARK_SIZE].ljust(MARK_SIZE)


def read_raw(fd: int, path: str) -> bytes:
    return syscalls.read_at(fd, path, MARK_SIZE, 0)


def parse_mark(raw: bytes) -> Mark | None:
    """Return the mark; None when there is none, or none that makes sense."""
    words = raw.decode("ascii", "replace").split()
    if len(words) != len(Mark._fields) or not (words[0].isdigit() and words[1].isdigit()):
        return None
    return Mark(int(words[0]), int(words[1]), words[2])


def find_mark(path: str) -> Mark | None:
    """Return the mark without the lock, which its holder may be about to write anew."""
    data = files.find_bytes(path)
    return None if data is None else parse_mark(data[:MARK_SIZE])


def is_of_this_boot(mark: Mark | None) -> bool:
    return mark is not None and mark.of_this_boot


def write_mark(fd: int, path: str, gen: int, seq: int) -> None:
    """Write the mark: one write inside one page, which SIGKILL cannot tear."""
    syscalls.write_at(fd, path, render_mark(gen, seq), 0)
