"""Runs verbs inside this process: the same code as the command's, without the time that its start takes."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from swarm.cli.entry import execute
from swarm.cli.session import Io
from tests.support.command import Ended

RACER = "from tests.support.verbs import verb\nfrom pathlib import Path\nroot = Path(sys.argv[1])\n"
"""Start of the code of a `Racer` that runs verbs."""


def verb(root: Path, *words: str, **environ: str) -> Ended:
    """Run one verb on the teams below `root`; the team is demo unless the words say otherwise."""
    out, err = io.StringIO(), io.StringIO()
    own = {"CLAUDE_CONFIG_DIR": str(root), "SWARM_TEAM": "demo"}
    code = execute(words, Io(out, err, io.StringIO(), own | environ))
    return Ended(code, out.getvalue(), err.getvalue())


def error_of(ended: Ended) -> dict[str, Any]:
    """Return the error object that a verb with `--json` printed, with nothing on stdout."""
    assert ended.out == ""
    error: dict[str, Any] = json.loads(ended.err)["error"]
    return error


class Reader:
    """Parses JSON files over and over, without any lock.

    With two `looks` only a file that makes no sense twice in a row is a fault.
    """

    def __init__(self, folder: Path, pattern: str, looks: int = 1) -> None:
        self._folder = folder
        self._pattern = pattern
        self._looks = looks
        self._stop = threading.Event()
        self.reads = 0
        self.faults: list[str] = []

    def run(self) -> None:
        while not self._stop.is_set():
            for path in self._folder.rglob(self._pattern):
                self._read(path)

    def stop(self) -> None:
        self._stop.set()

    def _read(self, path: Path) -> None:
        self.reads += 1
        found = [self._fault(path) for _ in range(self._looks)]
        if None not in found:
            self.faults += filter(None, found)

    @staticmethod
    def _fault(path: Path) -> str | None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            json.loads(data)
        except ValueError as error:
            return f"{path.name}: {error}: {data[:80]!r}"
        return None


@contextmanager
def reading(
    folder: Path, pattern: str = "*.json", readers: int = 1, looks: int = 1
) -> Iterator[list[Reader]]:
    """Let threads parse every file below a folder while the block runs."""
    looking = [Reader(folder, pattern, looks) for _ in range(readers)]
    threads = [threading.Thread(target=reader.run) for reader in looking]
    for thread in threads:
        thread.start()
    try:
        yield looking
    finally:
        for reader in looking:
            reader.stop()
        for thread in threads:
            thread.join()
