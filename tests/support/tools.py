"""A bench for tools: a real team, a workspace, and calls that go through the executor as a model's do."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.identity import make_run_id
from swarm.core.roster import Member
from swarm.core.task import NewTask, Task
from swarm.permissions.calls import Call, Decision
from swarm.settings import Settings
from swarm.storage.processes import new_run
from swarm.storage.team import Team, create_team
from swarm.testing.clock import FakeClock
from swarm.testing.wait import eventually
from worker.context.agent import AgentContext
from worker.messages import Block, tool_use
from worker.tools.contract import MayRead, Tool, ToolContext
from worker.tools.executor import execute
from worker.tools.life import Gate
from worker.tools.registry import built_in_tools
from worker.tools.tracking import ProcessTracker

NAMES = ("builder-1", "builder-2", "tester")
SETTINGS = Settings(durability="none", bash_timeout_seconds=10.0, bash_kill_wait_seconds=3.0)


async def allow(tool: object, given: object, call: Call) -> Decision:
    return Decision(behavior="allow", reason="Allowed.", why="rule")


def make_team(root: Path, workspace: Path, settings: Settings = SETTINGS) -> Team:
    """Return a new team of `NAMES` and the leader."""
    workspace.mkdir(exist_ok=True)
    clock = FakeClock()
    team = create_team(str(root), "demo", workspace=str(workspace), settings=settings, clock=clock)
    for name in NAMES:
        role = name.partition("-")[0]
        member = Member(agent_id=f"{name}@demo", name=name, joined_at=0, cwd=str(workspace), role=role)
        team.roster.add_member(member)
    return team


def fake_ripgrep(folder: Path, script: str) -> str:
    """Return the path of a program to take the place of rg."""
    program = folder / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


class ToolBench:
    """One agent's session: `call` and `turn` play what a model would send, and keep what came back."""

    def __init__(self, team: Team, workspace: Path, name: str = "builder-1") -> None:
        self.team = team
        self.name = name
        self.workspace = workspace
        self.run_id = make_run_id(new_run(), name, 1)
        self.tools: tuple[Tool[Any], ...] = built_in_tools(team.settings)
        self.heard: list[tuple[Block, float, str | None]] = []
        self.gate: Gate = allow
        self.may_read: MayRead | None = None
        self._ids = itertools.count(1)
        team.agents.save(
            AgentRecord(
                name=name, run_id=self.run_id, host="here", boot_id="boot", pid_ns=1, backend="in-process",
                handle={}, state="working", since="2026-11-30T12:00:00.000Z",
            )
        )  # fmt: skip
        self.context = self._context(team.settings)

    def _context(self, settings: Settings) -> ToolContext:
        agent = AgentContext(
            name=self.name, team="demo", role=None, run_id=self.run_id, color=None, model="scripted",
            permission_mode="default",
        )  # fmt: skip
        return ToolContext(
            agent=agent,
            cwd=str(self.workspace),
            workspace=str(self.workspace),
            team=self.team,
            task_id=None,
            token=None,
            settings=settings,
            environ={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
            results_dir=self.team.layout.tool_results(self.name),
            track=ProcessTracker(self.team.agents, self.run_id, self.team.clock),
            denied_reads=lambda: self.may_read,
        )

    def add_task(self, subject: str, **fields: Any) -> Task:
        """Add a task as a person would."""
        (task,) = self.team.tasks("user").create(NewTask(subject=subject, **fields))
        return task

    def take_task(self, subject: str = "The task in hand", **fields: Any) -> Task:
        """Add a task and let this agent work on it."""
        task = self.add_task(subject, **fields)
        claimed = self.team.tasks(self.name).claim(self.name, None, self.run_id, task.id)
        assert isinstance(claimed, Task)
        assert claimed.claim is not None
        self.context.task_id, self.context.token = claimed.id, claimed.claim.token
        return claimed

    def use(self, tool: str, **given: Any) -> Block:
        """Return a call as a model sends it; `A=3` stands for the parameter `-A`."""
        named = {f"-{key}" if len(key) == 1 else key: value for key, value in given.items()}
        return tool_use(f"toolu_{next(self._ids)}", tool, named)

    async def turn(self, *calls: Block, tools: Iterable[Tool[Any]] | None = None) -> list[Block]:
        """Run the calls of one turn and return their results."""
        chosen = self.tools if tools is None else tuple(tools)
        return await execute(calls, chosen, self.context, self.gate, self._hear)

    def _hear(self, block: Block, elapsed: float, persisted: str | None) -> None:
        self.heard.append((block, elapsed, persisted))

    async def heard_results(self, count: int) -> None:
        """Wait until this many results were told of."""
        await eventually(lambda: len(self.heard) == count)

    async def call(self, tool: str, **given: Any) -> Block:
        """Run one call in a turn of its own and return its result."""
        (block,) = await self.turn(self.use(tool, **given))
        return block

    async def ok(self, tool: str, **given: Any) -> str:
        """Return the text of a call that must succeed."""
        block = await self.call(tool, **given)
        assert not block["is_error"], block["content"]
        return str(block["content"])

    async def error(self, tool: str, **given: Any) -> str:
        """Return the text of a call that must fail."""
        block = await self.call(tool, **given)
        assert block["is_error"], block["content"]
        return str(block["content"])
