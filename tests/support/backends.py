"""Every backend with a real team under it, so that one suite can hold them all to the same contract."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from swarm.backends.in_process import InProcessBackend
from swarm.backends.iterm2 import iterm2_backend
from swarm.backends.port import Backend
from swarm.backends.process import ProcessBackend
from swarm.backends.tmux import tmux_backend
from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.leader.records import starting_record
from swarm.storage.team import Team
from swarm.testing.wait import eventually
from tests.support import fake_iterm2
from tests.support.command import processes_of_run
from tests.support.live_team import LiveTeam
from worker.main import run_teammate

DEAF = "deaf"
"""A teammate of this name hears no order to stop."""

TEAM: dict[str, Any] = {
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": name} for name in ("w1", "w2", "w3", "w4", DEAF)],
    "tasks": [
        {
            "key": "long",
            "subject": "Take long",
            "owner": "w1",
            "script": [
                {"calls": [{"Bash": {"command": "(setsid sleep 600 &) ; touch began; sleep 600"}}]},
                {"say": "Done."},
            ],
        },
    ],
}


async def _body(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
    return await run_teammate(spec, asyncio.Event() if spec.name == DEAF else stop, hint)


def _in_process(team: Team) -> Backend:
    return InProcessBackend(_body, limit=8)


def _iterm2(team: Team) -> Backend:
    return iterm2_backend(team, {**os.environ, "PATH": fake_iterm2.install(Path(team.root, "iterm2"))})


def _tmux(team: Team) -> Backend:
    return tmux_backend(team, os.environ)


MAKERS: dict[str, Callable[[Team], Backend]] = {
    "in-process": _in_process,
    "process": ProcessBackend,
    "tmux": _tmux,
    "iterm2": _iterm2,
}
"""How each backend is made for a team. Who builds another one adds it here."""


class Bed:
    """A team whose teammates are started by one backend."""

    def __init__(self, kind: str, home: Path) -> None:
        self.kind = kind
        self.live = LiveTeam(home, **TEAM)
        self.team = self.live.team
        self.backend = self.another_backend()

    @property
    def own_process(self) -> bool:
        """Whether a teammate has a process of its own."""
        return self.kind != "in-process"

    @property
    def rounds(self) -> int:
        """How often something is repeated that should leave nothing: less where a start takes longer."""
        return {"tmux": 8, "iterm2": 3}.get(self.kind, 20)

    def another_backend(self) -> Backend:
        """Return one that has started nothing yet, as another leader has it."""
        return MAKERS[self.kind](self.team)

    async def spawn(self, name: str, life: int = 1, **changes: Any) -> TeammateSpec:
        """Start a teammate, whether or not it comes up."""
        spec = self.live.spec(name, life, backend=self.kind, **changes)
        self.team.agents.save(starting_record(spec, self.team.clock.now()))
        await self.backend.spawn(spec)
        return spec

    async def start(self, *names: str, life: int = 1) -> None:
        """Start these teammates and wait until they are ready."""
        for name in names:
            await self.spawn(name, life)
        for name in names:
            await self.until_ready(name)
        if DEAF in names and self.own_process:
            self._deafen()

    async def until_ready(self, name: str) -> None:
        await eventually(lambda: self.record(name).state != "starting", 15, what=f"{name} is ready")

    def _deafen(self) -> None:
        """Let it hear no order. tmux wakes what is paused in its panes, so there no order is given."""
        if self.kind != "tmux":
            os.kill(self.pid(DEAF), signal.SIGSTOP)
            return
        ask = self.backend.ask_to_stop
        self.backend.ask_to_stop = lambda name: None if name == DEAF else ask(name)  # type: ignore[method-assign]

    def record(self, name: str) -> AgentRecord:
        record = self.team.agents.load(name)
        assert record is not None
        return record

    def pid(self, name: str) -> int:
        pid = self.record(name).pid
        assert pid is not None
        return pid

    def marked(self) -> list[int]:
        """Return all processes that carry the mark of this run: workers and what they started."""
        return processes_of_run(self.live.run)

    async def end(self) -> None:
        """Leave nothing running, whatever the test did."""
        await self.backend.kill(timeout=10)
        await self.backend.cleanup()
        for pid in self.marked():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
