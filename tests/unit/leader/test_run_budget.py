"""A run whose budget is spent ends when nobody can go on, and says what is left."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from swarm.backends.in_process import InProcessBackend, TeammateBody
from swarm.core.spawn import TeammateSpec
from swarm.core.task import Task, TaskResult
from swarm.errors import StateError
from swarm.leader.launch import prepare
from swarm.leader.options import RunOptions
from swarm.leader.run import Run
from swarm.settings import Settings
from swarm.storage.team import Team
from swarm.teamfile.reader import load_team_file

SETTINGS = Settings(durability="none").scaled(0.02)
MODEL = "claude-sonnet-5-5"
TEAM = """
name: t1
workspace: ws
model: scripted
budget: {usd: 0.1}
teammates: [{name: w1}, {name: w2}]
tasks:
  - {key: a, subject: A, script: [{say: ok}]}
  - {key: b, subject: B, script: [{say: ok}]}
  - {key: c, subject: C, blocked_by: [b], script: [{say: ok}]}
"""


class Nobody:
    def look(self) -> None:
        """Nobody looks on."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "team.yaml").write_text(TEAM, encoding="utf-8")
    return tmp_path


def a_run(folder: Path, body: TeammateBody, timeout: float | None = None) -> tuple[Run, Team]:
    loaded = load_team_file(str(folder / "team.yaml"))
    options = RunOptions(root=str(folder / "R"), environ={"HOME": str(folder)}, timeout_seconds=timeout)
    team = prepare(loaded, options, SETTINGS)
    return Run(team, loaded, options, SETTINGS, InProcessBackend(body, limit=8)), team


def claim(team: Team, spec: TeammateSpec) -> Task:
    claimed = team.tasks(spec.name).claim(spec.name, None, spec.run_id)
    assert isinstance(claimed, Task)
    assert claimed.claim is not None
    return claimed


def call(team: Team, spec: TeammateSpec, task: Task, output_tokens: int) -> None:
    """Make a call that may cost 10 cents, and costs a cent for each 1,000 tokens."""
    team.costs.reserve(spec.run_id, MODEL, 0, 10_000)
    usage = {"output_tokens": output_tokens}
    team.costs.record(agent=spec.name, run_id=spec.run_id, task=task.id, model=MODEL, usage=usage)


def release(team: Team, spec: TeammateSpec, task: Task) -> None:
    assert task.claim is not None
    team.tasks(spec.name).release(task.id, task.claim.token, "the budget is spent")


async def test_a_run_without_money_ends_in_7_and_tells_what_is_left(folder: Path) -> None:
    async def spends(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        team.agents.update(spec.name, state="idle")
        if spec.name == "w1":
            task = claim(team, spec)
            call(team, spec, task, 4_000)
            assert task.claim is not None
            team.tasks("w1").complete(task.id, task.claim.token, TaskResult(summary="Done."))
        task = claim(team, spec)
        with suppress(StateError):
            call(team, spec, task, 1_000)
        release(team, spec, task)
        await stop.wait()
        return "asked"

    run, team = a_run(folder, spends)
    async with asyncio.timeout(20):
        result = await run.to_the_end(Nobody())

    assert (result.outcome, result.exit_code) == ("budget_spent", 7)
    reasons = {task.id: (task.status, task.reason) for task in result.tasks}
    assert reasons["2"] == ("pending", "the budget is spent")
    assert reasons["3"] == ("pending", "not started: waits for task 2 (pending)")
    assert result.spending.limit == 100_000
    assert 0 < result.spending.micros <= 100_000
    report = Path(result.report).read_text(encoding="utf-8")
    assert "Team `t1`: 1 of 3 tasks completed, none of them verified; the budget was spent" in report
    assert "of \\$0.10" in report
    *_, ended = team.events.read()
    assert ended[1].data["outcome"] == "budget_spent"


async def test_a_run_goes_on_as_long_as_one_can(folder: Path) -> None:
    """w1 is refused while the other call is under way; what that leaves is enough for it to go on."""

    async def spends(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        team.agents.update(spec.name, state="idle")
        if spec.name == "w2":
            team.costs.reserve(spec.run_id, MODEL, 0, 10_000)
            await asyncio.sleep(0.5)
            task = claim(team, spec)
            usage = {"output_tokens": 0}
            team.costs.record(agent=spec.name, run_id=spec.run_id, task=task.id, model=MODEL, usage=usage)
        else:
            await asyncio.sleep(0.1)
            task = claim(team, spec)
            with pytest.raises(StateError):
                call(team, spec, task, 0)
            release(team, spec, task)
            while team.costs.table().is_short(spec.run_id):
                await asyncio.sleep(0.01)
            task = claim(team, spec)
        assert task.claim is not None
        team.tasks(spec.name).complete(task.id, task.claim.token, TaskResult(summary="Done."))
        await stop.wait()
        return "asked"

    run, team = a_run(folder, spends, timeout=1.5)
    async with asyncio.timeout(20):
        result = await run.to_the_end(Nobody())

    assert [task.status for task in result.tasks][:2] == ["completed", "completed"]
    assert result.outcome == "timed_out"  # nobody takes the third one, which is no matter of money


async def test_tasks_that_wait_for_a_failed_one_are_no_matter_of_money(folder: Path) -> None:
    async def fails(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        team.agents.update(spec.name, state="idle")
        with pytest.raises(StateError):
            team.costs.reserve(spec.run_id, MODEL, 0, 1_000_000)
        task = claim(team, spec)
        assert task.claim is not None
        team.tasks(spec.name).fail(task.id, task.claim.token, "cannot")
        await stop.wait()
        return "asked"

    run, _ = a_run(folder, fails)
    team = run.team
    async with asyncio.timeout(20):
        result = await run.to_the_end(Nobody())

    assert result.outcome == "tasks_failed"
