"""From the start of a worker to its word that it is ready, against a Python that does nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.measuring import FULL, Effort, Row, interleaved
from swarm.backends.port import Backend
from swarm.backends.process import ProcessBackend
from swarm.backends.tmux import tmux_backend
from swarm.core.identity import make_run_id
from swarm.core.spawn import TeammateSpec
from swarm.leader.spawning import start_teammates
from swarm.storage.processes import new_run
from swarm.storage.team import Team
from tests.support.worker_process import make_quick_team

_ROUNDS = 21


def _in_tmux(team: Team) -> Backend:
    """Return a backend whose panes are on a server of this benchmark's own."""
    environ = {name: value for name, value in os.environ.items() if name != "TMUX"}
    return tmux_backend(team, {**environ, "TMUX_TMPDIR": str(Path(team.root).parent)})


_BACKENDS: Mapping[str, Callable[[Team], Backend]] = {
    "process": ProcessBackend,
    **({"tmux": _in_tmux} if shutil.which("tmux") else {}),
}
_MEGABYTE = 1024.0
_LIMIT_MB = 30.0


def rows(effort: Effort = FULL) -> list[Row]:
    """Wall time of a confirmed start; and what a worker holds in memory at that moment, against 30 MB."""
    with tempfile.TemporaryDirectory() as folder:
        team = make_quick_team(Path(folder))
        starters = {name: _Starter(team, name, make(team)) for name, make in _BACKENDS.items()}
        things: dict[str, Callable[[], object]] = {name: one.start for name, one in starters.items()}
        things["nothing"] = partial(subprocess.run, [sys.executable, "-c", "pass"], check=True)
        after = {name: one.stop for name, one in starters.items()}
        taken = interleaved(_ROUNDS if effort is FULL else effort.rounds, things, after=after)
        found = [
            Row(f"start, {name}: until it is ready", taken[name], "python -c pass", taken["nothing"])
            for name in starters
        ]
        # Told as milliseconds, a megabyte as one of them: the table knows nothing else.
        found += [
            Row(f"MB of a ready worker, {name}", one.megabytes / 1e3, "30 MB", _LIMIT_MB / 1e3)
            for name, one in starters.items()
        ]
        for one in starters.values():
            one.end()
        team.close()
    return found


class _Starter:
    """Starts one teammate after the other and looks at how large each is when it is ready."""

    def __init__(self, team: Team, backend_name: str, backend: Backend) -> None:
        self._team = team
        self._backend_name = backend_name
        self._backend = backend
        self._run = new_run()
        self._lives = count(1)
        self.megabytes = 0.0

    def start(self) -> None:
        spec = TeammateSpec(
            root=self._team.root,
            team=self._team.name,
            name="w1",
            run_id=make_run_id(self._run, "w1", next(self._lives)),
            workspace=str(Path(self._team.root).parent / "work"),
            model="scripted",
            backend=self._backend_name,
            environ=dict(os.environ),
        )
        asyncio.run(start_teammates(self._team, self._backend, [spec]))
        record = self._team.agents.load("w1")
        if record is not None and record.pid is not None:
            self.megabytes = max(self.megabytes, _resident(record.pid))

    def stop(self) -> None:
        asyncio.run(self._backend.stop(timeout=10))

    def end(self) -> None:
        asyncio.run(self._backend.cleanup())


def _resident(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / _MEGABYTE
    return 0.0
