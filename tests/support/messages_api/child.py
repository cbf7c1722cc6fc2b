"""The server as a process of its own, for clients in other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.messages_api.exchange import Exchange, Exchanges, exchange_from_line

REPOSITORY = Path(__file__).parents[3]


class ChildApi(Exchanges):
    """Runs `python -m tests.support.messages_api` on this script file while its `with` block runs.

    Exchanges are read from the log, where the last line about each counts.
    """

    def __init__(self, script: Path, log: Path) -> None:
        self._script = script
        self._log = log
        self.url = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.support.messages_api"]
        self.process = subprocess.Popen(
            [*command, "--script", self._script, "--log", self._log],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self._end()
            raise RuntimeError(f"the server did not start; it ended with {self.process.returncode}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self._end()

    def all_exchanges(self) -> Sequence[Exchange]:
        lines = self._log.read_text().splitlines(keepends=True) if self._log.exists() else []
        found = [exchange_from_line(line) for line in lines if line.endswith("\n")]
        latest = {exchange.number: exchange for exchange in found}
        return [latest[number] for number in sorted(latest)]

    def _end(self) -> None:
        assert self.process.stdout is not None
        self.process.wait(timeout=10)
        self.process.stdout.close()
