"""What a person sees in the pane of a teammate: what it says and does, as it happens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress

from swarm.core.agent import WHY_STOPPED, AgentRecord
from swarm.core.page import TranscriptPage
from swarm.core.permission import called
from swarm.core.shown import local_time, paint, printable
from swarm.core.spawn import TeammateSpec
from swarm.errors import SwarmError
from swarm.storage.files import read_lines
from swarm.storage.team import Team

_LOOK_SECONDS = 0.25
_STDOUT = 1
_WAITING_MAX = 64 * 1024
_ASKS = ("permission", "plan")


class PaneView:
    """Follows the agent's own transcript and record, from where they are when it begins.

    A terminal that takes nothing, because somebody has pressed Ctrl-S in it, costs lines; nobody waits.
    """

    def __init__(self, team: Team, spec: TeammateSpec) -> None:
        self._team = team
        self._spec = spec
        self._page = TranscriptPage(color=True, when=_clock, columns=_columns)
        self._path = team.layout.transcript(spec.name)
        self._position = os.path.getsize(self._path) if os.path.exists(self._path) else 0
        self._told: tuple[str | None, ...] = ()
        self._waiting = bytearray()

    async def follow(self) -> None:
        """Print what comes until cancelled; a last look then tells the end."""
        spec = self._spec
        self._print(
            paint(
                f"{spec.name} of team {spec.team}, model {spec.model}. Ctrl-C stops it.", "bold", enabled=True
            )
        )
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Print what came since the last look."""
        with suppress(SwarmError):  # files that cannot be read now are read at the next look
            for line in (*self._new_lines(), *self._new_state()):
                self._print(line)
        self._write()

    def _new_lines(self) -> Iterator[str]:
        for offset, raw in read_lines(self._path, self._position):
            self._position = offset + len(raw) + 1
            yield from self._page.shown(raw)

    def _new_state(self) -> Iterator[str]:
        record = self._team.agents.load(self._spec.name)
        if record is None or record.run_id != self._spec.run_id:
            return
        now = (record.state, record.reason, record.on)
        if now != self._told:
            self._told = now
            if record.state != "working":
                said = f"{_clock(record.since)}  -- {self._state(record)}"
                yield paint(said, "blue", enabled=True)

    def _state(self, record: AgentRecord) -> str:
        """Return what an agent does, and on what it waits, by the names that people use."""
        reason, on = (record.reason or "").replace("_", " "), record.on or ""
        if record.reason in _ASKS and on:
            reason, on = "an answer to question", self._number(on)
        elif record.state == "stopped":
            reason = WHY_STOPPED.get(reason, reason)
        why = f" {on}" if on else ""
        return printable(record.state + (f": {reason}{why}" if reason else ""))

    def _number(self, request_id: str) -> str:
        """Return the number by which people answer, and how it is shown."""
        with suppress(SwarmError):
            name = called(self._team.permissions.find(request_id))
            return f"{name}   (swarm permissions {name.removeprefix('#')} -t {self._team.name})"
        return request_id

    def _print(self, line: str) -> None:
        if len(self._waiting) < _WAITING_MAX:
            self._waiting += f"{line}\n".encode()

    def _write(self) -> None:
        """Write as much as the terminal takes now; the rest waits for the next look."""
        with suppress(OSError):
            os.set_blocking(_STDOUT, False)
            while self._waiting:
                del self._waiting[: os.write(_STDOUT, self._waiting)]


def _columns() -> int | None:
    try:
        return os.get_terminal_size(_STDOUT).columns or None
    except OSError:
        return None


def _clock(text: str) -> str:
    return local_time(text).rpartition(" ")[2]
