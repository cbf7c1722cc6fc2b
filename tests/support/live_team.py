"""A small real team in a temporary folder: real files, real git, real tools; only the model is none."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

import worker.main
from swarm.core.event import Event
from swarm.core.identity import LEADER, USER, agent_id, make_run_id
from swarm.core.message import Message
from swarm.core.roster import Member
from swarm.core.spawn import TeammateSpec
from swarm.core.task import Task
from swarm.leader.inheritance import rules_of_file
from swarm.settings import settings_from
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.processes import new_run
from swarm.storage.team import create_team
from swarm.teamfile.reader import load_team_file, members, new_tasks
from swarm.testing.wait import eventually
from tests.support.models import Answer, FakeModel, OneModel, check_array
from worker.claim import HeldClaim, Outcome
from worker.engine import Session
from worker.model.port import Model
from worker.presence import Presence
from worker.session.history import fold_session
from worker.session.transcript import Line, read_transcript
from worker.workbench import Workbench

NAME = "demo"


def make_repository(workspace: Path, files: dict[str, str]) -> None:
    """Put these files into a new git repository, committed, and nothing else."""
    workspace.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    git(
        workspace,
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.invalid",
        "commit",
        "-qm",
        "start",
        "--allow-empty",
    )


def git(workspace: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=workspace, check=True, capture_output=True, text=True)
    return done.stdout


class LiveTeam:
    """A team made from a team file, and the teammates of it that a test starts in this process."""

    def __init__(self, home: Path, **team: Any) -> None:
        self.run = new_run()  # its own: by this mark leftovers are found, on the whole machine
        self.workspace = home / "work"
        self.workspace.mkdir(exist_ok=True)
        self.root = str(home / ".claude")
        self.environ = {**os.environ, "HOME": str(home)}
        self.settings = settings_from(dict(os.environ)).replace(durability="none")
        self._loaded = self._load(home / "team.yaml", team)
        self.team = create_team(
            self.root,
            NAME,
            workspace=str(self.workspace),
            settings=self.settings,
            clock=SystemClock(),
        )
        Path(self.team.layout.team_file).write_text((home / "team.yaml").read_text())
        self.ids: dict[str, str] = {}
        self._add_members()
        self._add_tasks()
        self._bodies: dict[str, asyncio.Task[str]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._hints: dict[str, asyncio.Event] = {}

    def _load(self, path: Path, team: dict[str, Any]) -> Any:
        whole = {"name": NAME, "workspace": str(self.workspace), "model": "scripted"} | team
        path.write_text(yaml.safe_dump(whole, sort_keys=False))
        return load_team_file(str(path))

    def _add_members(self) -> None:
        for member in members(self._loaded.team):
            self.team.roster.add_member(
                Member(
                    agent_id=agent_id(member.name, NAME),
                    name=member.name,
                    joined_at=0,
                    cwd=str(self.workspace),
                    role=member.role,
                    model="scripted",
                    permission_mode=self._loaded.team.permissions.mode,
                )
            )

    def _add_tasks(self) -> None:
        for new in new_tasks(self._loaded.team):
            blockers = tuple(self.ids[key] for key in new.blocked_by)
            (task,) = self.team.tasks(USER).create(new.replace(blocked_by=blockers))
            self.ids[str(new.key)] = task.id

    # Teammates

    def run_id(self, name: str, life: int = 1) -> str:
        return make_run_id(self.run, name, life)

    def spec(self, name: str, life: int = 1, **changes: Any) -> TeammateSpec:
        permissions = self._loaded.team.permissions
        facts: dict[str, Any] = {
            "root": self.root,
            "team": NAME,
            "name": name,
            "role": self.team.roster.load().role_of(name),
            "run_id": self.run_id(name, life),
            "workspace": str(self.workspace),
            "model": "scripted",
            "permission_mode": permissions.mode or "default",
            "backend": "in-process",
            "rules": (rules_of_file(self._loaded.team),),
            "environ": self.environ,
            "time_scale": float(os.environ["SWARM_TIME_SCALE"]),
        }
        return TeammateSpec(**facts | changes)

    def start(self, name: str, life: int = 1, **changes: Any) -> None:
        spec = self.spec(name, life, **changes)
        self._stops[name], self._hints[name] = asyncio.Event(), asyncio.Event()
        body = worker.main.run_teammate(spec, self._stops[name], self._hints[name])
        self._bodies[name] = asyncio.create_task(body, name=name)

    async def stop(self, *names: str) -> list[str]:
        """Stop these teammates, or all, and return how each ended."""
        stopping = names or tuple(self._bodies)
        for name in stopping:
            self._stops[name].set()
        return [await self.ended(name) for name in stopping]

    async def ended(self, name: str) -> str:
        return await asyncio.wait_for(self._bodies.pop(name), timeout=15)

    async def kill(self, name: str) -> None:
        """Cancel a teammate as a backend does that has waited long enough."""
        body = self._bodies.pop(name)
        body.cancel()
        await asyncio.gather(body, return_exceptions=True)

    def hint(self) -> None:
        for hint in self._hints.values():
            hint.set()

    async def until(
        self, condition: Callable[[], Any], what: str = "the condition", *, timeout: float = 15
    ) -> Any:
        """Wait for it while nudging the teammates, as a leader does; one that has failed ends the wait."""

        def look() -> Any:
            for body in self._bodies.values():
                if body.done():
                    body.result()
            self.hint()
            return condition()

        return await eventually(look, timeout=timeout, what=what)

    async def until_looked(self, name: str) -> None:
        """Hint at something and wait until this idle teammate has looked at all there is."""
        self._hints[name].set()
        await eventually(lambda: not self._hints[name].is_set(), what=f"{name} has looked")

    async def until_file(self, name: str) -> None:
        """Wait until a command has made this file in the workspace."""
        await eventually((self.workspace / name).exists, timeout=10, what=name)

    async def until_finished(self) -> None:
        await self.until(lambda: all(task.finished for task in self.tasks()), "every task is finished")

    async def session(self, name: str, *answers: Answer, life: int = 1, **changes: Any) -> Outcome | None:
        """Claim what is next for this agent and play one session, by the script or with these answers."""
        model = FakeModel(*answers) if answers else None
        return await self.begin(self.bench(name, model, life=life, **changes)).run()

    def bench(self, name: str, model: Model | None = None, *, life: int = 1, **changes: Any) -> Workbench:
        spec = self.spec(name, life, **changes)
        bench = worker.main.make_workbench(spec, self.team)
        return bench if model is None else bench.replace(models=OneModel(model))

    def begin(self, bench: Workbench, stop: asyncio.Event | None = None) -> Session:
        """Claim what is next for this agent and return the session, not played yet."""
        store = self.team.tasks(bench.agent.name)
        claimed = store.claim(bench.agent.name, bench.agent.role, bench.agent.run_id)
        assert isinstance(claimed, Task), claimed
        record = self.team.agents.load(bench.agent.name)
        if record is None or record.run_id != bench.agent.run_id:
            Presence(self.team, self.spec(bench.agent.name, run_id=bench.agent.run_id)).ready()
        return Session(bench, HeldClaim(store, claimed), stop or asyncio.Event())

    # What is on disk

    def task(self, key: str) -> Task:
        return self.team.tasks(USER).get_task(self.ids[key])

    def tasks(self) -> tuple[Task, ...]:
        return self.team.tasks(USER).list_tasks()

    def lines(self, name: str) -> list[Line]:
        return read_transcript(self.team.layout.transcript(name))

    def sessions(self, name: str) -> list[str]:
        return [line["session"] for line in self.lines(name) if line["type"] == "start"]

    def messages(self, name: str, session: str) -> list[dict[str, Any]]:
        """Return the conversation of a session as its transcript has it, checked to be valid."""
        messages = fold_session(self.lines(name), session)
        check_array(messages)
        return messages

    def results(self, name: str) -> list[dict[str, Any]]:
        return [line["block"] for line in self.lines(name) if line["type"] == "result"]

    def events(self, *kinds: str) -> list[Event]:
        return [event for _, event in self.team.events.read() if not kinds or event.event in kinds]

    def mail(self, name: str = LEADER) -> Sequence[Message]:
        """Return what an agent got, read or not, in the order of arrival."""
        inbox = self.team.inbox(name)
        return [*inbox.history(), *inbox.peek()]

    def send(self, to: str, text: str, sender: str = LEADER) -> str:
        (result,) = send(self.team, sender, to, text)
        assert result.msg_id is not None
        return result.msg_id

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
