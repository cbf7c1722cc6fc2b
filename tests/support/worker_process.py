"""A teammate in a process of its own, as a backend starts it, and a team for it whose tasks end at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from swarm.core.identity import USER, agent_id, make_run_id
from swarm.core.roster import Member
from swarm.core.task import NewTask, Task
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.processes import new_run
from swarm.storage.team import Team, create_team
from swarm.testing.wait import wait_until

REPOSITORY = Path(__file__).parents[2]
TEAM_FILE = """
name: demo
workspace: {workspace}
model: scripted
teammates: [{{name: w1}}]
tasks: [{{key: quick, subject: Quick, script: [{{say: Done.}}]}}]
"""
_CODE = """
import asyncio, json, signal, sys
from swarm.core.spawn import TeammateSpec
from worker.main import run_teammate

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    return await run_teammate(TeammateSpec(**json.loads(sys.argv[1])), stop)

print(asyncio.run(main()))
"""


def make_quick_team(folder: Path, *names: str) -> Team:
    """Make a team with these members; tasks made by `quick` are done as soon as they are begun."""
    workspace = folder / "work"
    workspace.mkdir(parents=True)
    settings = Settings(durability="none")
    team = create_team(
        str(folder / "R"), "demo", workspace=str(workspace), settings=settings, clock=SystemClock()
    )
    for name in names:
        member = Member(
            agent_id=agent_id(name, "demo"), name=name, joined_at=0, cwd=str(workspace), model="scripted"
        )
        team.roster.add_member(member)
    Path(team.layout.team_file).write_text(TEAM_FILE.format(workspace=workspace))
    return team


def quick(**facts: Any) -> NewTask:
    return NewTask(subject="Quick", key="quick", **facts)


class WorkerProcess:
    """One life of one teammate. With a long time scale only hints can make it quick. A context manager."""

    def __init__(self, team: Team, name: str, *, time_scale: float = 1.0, before: Sequence[str] = ()) -> None:
        self._team = team
        self.name = name
        self.run_id = make_run_id(new_run(), name, 1)
        spec = {
            "root": team.root,
            "team": team.name,
            "name": name,
            "run_id": self.run_id,
            "workspace": str(Path(team.root).parent / "work"),
            "model": "scripted",
            "backend": "process",
            "environ": dict(os.environ),
            "time_scale": time_scale,
        }
        command = [*before, sys.executable, "-c", _CODE, json.dumps(spec)]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        try:
            self.until_idle()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def until_idle(self) -> None:
        """Wait until it has said why it has nothing to do."""
        wait_until(self._is_idle, timeout=15, what=f"{self.name} is idle")

    def _is_idle(self) -> bool:
        """Whether its last event is that it is idle; its record says so from the start."""
        own = [event.event for _, event in self._team.events.read() if event.agent == self.name]
        told = [kind for kind in own if kind in ("agent_idle", "task_claimed")]
        return told[-1:] == ["agent_idle"]

    def until_holds(self, task_id: str, timeout: float) -> Task:
        """Wait until it has claimed this task and return the task."""

        def claimed() -> bool:
            return self._team.tasks(USER).table().get(task_id).claim is not None

        wait_until(claimed, timeout=timeout, what=f"{self.name} has claimed task {task_id}")
        found = self._team.tasks(USER).table().get(task_id)
        assert found.owner == self.name
        return found

    def cpu_seconds(self) -> float:
        """Return how long it has run on a processor, all its threads together."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    def end(self) -> str:
        """Ask it to stop, and return why it says that it ended."""
        self.process.send_signal(signal.SIGTERM)
        try:
            out, _ = self.process.communicate(timeout=10)
        finally:
            self.process.kill()
        return out.strip()
