"""Teammates in panes of a terminal, whichever terminal makes them.

A pane only shows a teammate. Whether it lives is a question of its process, by pid and start time: so no
passing failure of a terminal can make it dead, and no pane that stays open can keep it alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from swarm.backends.last_words import how_it_ended, last_words
from swarm.backends.own_process import UNDO_SECONDS, Life, OwnProcessBackend
from swarm.backends.start import Start, prepare_start
from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError, SwarmError
from swarm.storage.team import Team
from swarm.workspace.processes import Leader, start_ticks

_ORDERLY = ("asked", "orphaned")
_TOLD = frozenset("CLAUDE_CONFIG_DIR HOME LANG PYTHONPATH TMPDIR TZ".split())


class Terminal(Protocol):
    """Makes panes. Its calls block; a pane is known by its handle, and by the pid of what runs in it."""

    @property
    def name(self) -> str:
        """The word for it on the command line and in records."""
        ...

    def open(self, agent: str, argv: Sequence[str], *, mark: str, cwd: str) -> tuple[dict[str, str], int]:
        """Run `argv` in a new pane, without a shell; return handle and pid. `mark` is in no other argv."""
        ...

    def knows(self, handle: Mapping[str, Any]) -> bool:
        """Whether this is a handle of a terminal of this kind."""
        ...

    def read(self, handle: Mapping[str, Any], pid: int) -> tuple[int | None, tuple[str, ...]]:
        """Return how the program ended, as `subprocess` says it, and the lines in its pane; if known."""
        ...

    def close(self, handle: Mapping[str, Any], pid: int) -> None:
        """Close the pane if it is there and still that of `pid`."""
        ...

    def show(self, handle: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the command that brings the pane before a person."""
        ...

    def tidy(self) -> None:
        """End what was made for panes and holds none any more."""
        ...

    def sweep(self, handles: Collection[Mapping[str, Any]], agents: Collection[str] | None) -> None:
        """Close the team's panes of these agents, or of all, in which nothing runs, and tidy up.

        These are looked for where panes come now, and where those of the `handles` are or were.
        """
        ...


class PaneBackend(OwnProcessBackend["_Known"]):
    """Each teammate runs in a pane of its own; the panes of those that failed can be read until `cleanup`."""

    def __init__(self, team: Team, terminal: Terminal) -> None:
        super().__init__(terminal.name, team)
        self._terminal = terminal
        self._one_at_a_time = asyncio.Lock()

    async def spawn(self, spec: TeammateSpec) -> None:
        """Start a teammate in a pane; see `Backend.spawn`."""
        self._refuse_running(spec.name)
        await self._clear([spec.name])
        self._known.pop(spec.name, None)
        start = prepare_start(self._team.layout, spec)
        opening = asyncio.ensure_future(self._open(spec, start))
        try:
            known = await asyncio.shield(opening)
            self._team.agents.update_life(
                spec.run_id, pid=known.leader.pid, start_ticks=known.leader.start_ticks, handle=known.handle
            )
        except BaseException as error:
            await asyncio.wait([opening])  # also when we are cancelled: a pane that comes up is closed again
            await self.kill(timeout=UNDO_SECONDS, names=[spec.name])
            with suppress(BackendError):  # why it was not started is what counts
                await asyncio.to_thread(self._terminal.tidy)
            if isinstance(error, BackendError):
                why = f"{spec.name} was not started: {error.message}"
                raise BackendError(why, code=error.code, details=error.details) from error
            raise

    async def _open(self, spec: TeammateSpec, start: Start) -> _Known:
        mark = f"SWARM_RUN_ID={spec.run_id}"
        async with self._one_at_a_time:
            handle, pid = await asyncio.to_thread(
                self._terminal.open, spec.name, pane_argv(start), mark=mark, cwd=spec.workspace
            )
        # One that has ended already has no start time: no other process has that either.
        known = self._known[spec.name] = _Known(spec.run_id, Leader(pid, start_ticks(pid) or 0), handle)
        return known

    def adopt(self, record: AgentRecord) -> bool:
        """Take over a teammate whose process lives, in whatever pane."""
        leader = self._process_of(record)
        if leader is None or not self._terminal.knows(record.handle):
            return False
        self._known[record.name] = _Known(record.run_id, leader, record.handle)
        return True

    def failure(self, name: str) -> str | None:
        """Return how the process ended and what stands last in its pane, or else in its log."""
        known = self._known.get(name)
        if known is None or self.is_alive(name):
            return None
        if known.failure is None:
            known.failure = self._find_failure(name, known)
        return known.failure or None

    def _find_failure(self, name: str, known: _Known) -> str:
        try:
            record = self._team.agents.load(name)
            if record is not None and record.run_id == known.run_id and record.reason in _ORDERLY:
                return ""
            code, lines = self._terminal.read(known.handle, known.leader.pid)
        except SwarmError:
            code, lines = None, ()
        if code is not None and code < 0:  # what stands there tells of its work, not of its end
            return how_it_ended(code)
        said = lines[-1] if lines else last_words(self._team.layout.log(name))
        return how_it_ended(code) + (f": {said}" if said else "")

    def show(self, name: str) -> tuple[str, ...] | None:
        """Return the command that brings the pane before a person; None for a teammate without one."""
        known = self._known.get(name)
        return None if known is None else self._terminal.show(known.handle)

    async def cleanup(self) -> None:
        """Close the panes of teammates that have ended, and the windows and servers that are empty then."""
        await super()._clear([*self._known])
        for name in self._known:
            await self._close(name)
        await asyncio.to_thread(self._terminal.tidy)

    async def _clear(self, names: Sequence[str]) -> None:
        """Close their panes, too. Nothing fails by it: `cleanup` tries again."""
        await super()._clear(names)
        with suppress(BackendError):
            for name in names:
                await self._close(name)

    async def _close(self, name: str) -> None:
        known = self._known.get(name)
        if known is not None and not self.is_alive(name) and not known.is_closed:
            await asyncio.to_thread(self.failure, name)  # while it can be read
            await asyncio.to_thread(self._terminal.close, known.handle, known.leader.pid)
            known.is_closed = True


def pane_argv(start: Start) -> tuple[str, ...]:
    """Return the command for a pane: whatever the terminal has in its environment stays out.

    It can be seen by others and its length is limited, so of the environment it says only what a start
    needs; the worker takes all else from its spawn file.
    """
    told = (
        f"{name}={value}"
        for name, value in sorted(start.environ.items())
        if name in _TOLD or name.startswith(("LC_", "SWARM_"))
    )
    return ("/usr/bin/env", "-i", "TERM=screen-256color", *told, *start.argv)


class _Known(Life):
    """`failure` is None until somebody looked why it ended, and "" when there is nothing to say."""

    def __init__(self, run_id: str, leader: Leader, handle: Mapping[str, Any]) -> None:
        super().__init__(run_id, leader)
        self.handle = handle
        self.failure: str | None = None
        self.is_closed = False
