"""Calls a person who looks elsewhere: the bell, and a command for the desktop, once per question."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Self, TextIO

from swarm.cli.question import summary
from swarm.cli.render import printable
from swarm.core.permission import PermissionRequest

VARIABLE = "SWARM_NOTIFY"
_MAX_CHARS = 200
_AT_ONCE = 4
_LONGEST_SECONDS = 10.0


class Alert:
    """Tells of each question once. What the command does is its own affair: it is never waited for.

    It gets the text as its last argument, no input, and ten seconds. That it fails is noted once.
    """

    def __init__(self, screen: TextIO, environ: Mapping[str, str], note: Callable[[str], None]) -> None:
        self._screen = screen
        self._environ = environ
        self._note = note
        self._known: set[str] = set()
        self._running: list[tuple[subprocess.Popen[bytes], float]] = []
        self._failed = False
        self._command = self._split(environ.get(VARIABLE, ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._reap(longest=0.0)

    def look(self, team: str, requests: Sequence[PermissionRequest]) -> None:
        """Ring for what is open now and was not before."""
        self._reap(longest=_LONGEST_SECONDS)
        new = [request for request in requests if request.id not in self._known]
        self._known.update(request.id for request in new)
        if new and self._screen.isatty():
            with suppress(OSError):
                self._screen.write("\a")
                self._screen.flush()
        for request in new if self._command else ():
            self._call(_saying(team, request))

    def _split(self, command: str) -> list[str]:
        try:
            return shlex.split(command)
        except ValueError as error:
            self._fail(str(error))
            return []

    def _call(self, text: str) -> None:
        if len(self._running) >= _AT_ONCE:
            return
        nothing = subprocess.DEVNULL
        try:
            started = subprocess.Popen(
                [*self._command, text],
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                env=dict(self._environ),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._fail(str(error))
            return
        self._running.append((started, time.monotonic()))

    def _reap(self, longest: float) -> None:
        left = []
        for process, since in self._running:
            if process.poll() is None and time.monotonic() - since >= longest:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            elif process.returncode is None:
                left.append((process, since))
            elif process.returncode:
                self._fail(f"it ended with {process.returncode}")
        self._running = left

    def _fail(self, why: str) -> None:
        if not self._failed:
            self._failed = True
            self._note(f"Warning: {VARIABLE} does not work: {printable(why)}")


def _saying(team: str, request: PermissionRequest) -> str:
    text = f"{summary(request, unicode=True)} (team {printable(team)})"
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
