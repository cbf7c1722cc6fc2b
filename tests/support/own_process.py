"""A teammate in a process of its own, which a test may pause, continue and kill.

    python -m tests.support.own_process < SPEC

where SPEC is a `TeammateSpec` as a spawn file has it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from swarm.core.spawn import TeammateSpec, parse_spec, render_spec
from swarm.testing.wait import wait_until
from tests.support import pausing
from tests.support.leftovers import end_life
from tests.support.live_team import LiveTeam
from worker.main import run_teammate

REPOSITORY = Path(__file__).parents[2]


class OwnProcess:
    """One life of a teammate of this team. Its process carries no mark, so that only its record names it.

    As a context manager it ends with all that its commands have left running.
    """

    def __init__(self, team: LiveTeam, name: str, life: int = 1, **changes: Any) -> None:
        spec = team.spec(name, life, backend="process", **changes)
        text = json.dumps(render_spec(spec))
        self.name = name
        self.run_id = spec.run_id
        self._team = team
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.own_process"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        assert self.process.stdin is not None
        with self.process.stdin as stdin:
            stdin.write(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        end_life(self.run_id)

    def until_ready(self) -> None:
        wait_until(self._is_ready, timeout=15, what=f"{self.run_id} is ready")

    def _is_ready(self) -> bool:
        assert self.process.poll() is None
        record = self._team.team.agents.load(self.name)
        return record is not None and (record.run_id, record.pid) == (self.run_id, self.process.pid)

    def until_idle(self) -> None:
        self.until_ready()
        wait_until(lambda: self.state() == "idle", timeout=15, what=f"{self.run_id} is idle")

    def state(self) -> str:
        record = self._team.team.agents.load(self.name)
        assert record is not None
        return record.state

    def kill(self) -> None:
        """Kill it as `kill -9` does, and nothing that it has started."""
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL

    def pause(self) -> None:
        """Stop it where it holds no lock; it is alive and does nothing."""
        pausing.pause(self.process, self._team.team)

    def go_on(self) -> None:
        pausing.go_on(self.process)

    def ended(self) -> int:
        """Wait until it has ended by itself and return its exit code."""
        return self.process.wait(timeout=15)


async def _live(spec: TeammateSpec) -> str:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    return await run_teammate(spec, stop)


if __name__ == "__main__":
    fields = json.load(sys.stdin)
    how = asyncio.run(_live(parse_spec(fields)))
    sys.exit(0 if how == "asked" else 1)
