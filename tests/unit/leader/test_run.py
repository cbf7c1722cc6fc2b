"""A run with teammates that misbehave: it ends, tells the truth, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from swarm.backends.in_process import InProcessBackend, TeammateBody
from swarm.core.identity import LEADER
from swarm.core.spawn import TeammateSpec
from swarm.core.task import Task
from swarm.errors import BackendError
from swarm.leader.launch import prepare
from swarm.leader.options import RunOptions
from swarm.leader.records import leader_record
from swarm.leader.run import Run
from swarm.settings import Settings
from swarm.storage.team import Team
from swarm.teamfile.reader import load_team_file
from worker.presence import Presence

SETTINGS = Settings(durability="none").scaled(0.02)
TEAM = """
name: t1
workspace: ws
model: scripted
teammates: [{name: w1}]
tasks:
  - {key: a, subject: A, script: [{say: ok}]}
  - {key: b, subject: B, blocked_by: [a], script: [{say: ok}]}
"""


class Looks:
    def __init__(self) -> None:
        self.times = 0

    def look(self) -> None:
        self.times += 1


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


def ready(spec: TeammateSpec, team: Team) -> None:
    team.agents.update(spec.name, state="idle")


async def test_a_teammate_that_dies_with_a_task_gives_it_back(folder: Path) -> None:
    """The task is free again with the reason, and the run ends since nobody is left to take it."""

    async def dies(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        assert isinstance(team.tasks(spec.name).claim(spec.name, None, spec.run_id), Task)
        await asyncio.sleep(0)
        raise RuntimeError("boom")

    run, team = a_run(folder, dies)
    result = await run.to_the_end(Looks())

    assert result.outcome == "tasks_failed"
    first = team.tasks(LEADER).get_task("1")
    assert (first.status, first.owner, first.crashes) == ("pending", None, 1)
    assert "boom" in str(first.reason)


async def test_the_leader_frees_what_dead_agents_of_others_held(folder: Path) -> None:
    """A worker that somebody else started, and that was killed: its teammates need not be there to see it."""

    async def idle(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        await stop.wait()
        return "asked"

    run, team = a_run(folder, idle, timeout=0.3)
    ghost = leader_record("zzzzzzzz.team-lead.1", "process", "working", team.clock.now())
    team.agents.save(ghost.replace(name="ghost", run_id="zzzzzzzz.ghost.1", start_ticks=-1))
    assert isinstance(team.tasks("ghost").claim("ghost", None, "zzzzzzzz.ghost.1"), Task)

    await run.to_the_end(Looks())

    first = team.tasks(LEADER).get_task("1")
    assert (first.status, first.crashes, first.reason) == ("pending", 1, "ghost died: its process is gone")


async def test_a_teammate_that_never_reports_ready_ends_the_run_with_its_name(folder: Path) -> None:
    """Success is not reported before the start is confirmed; the leader's record says that it has gone."""

    async def mute(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        await stop.wait()
        return "asked"

    run, team = a_run(folder, mute)
    with pytest.raises(BackendError, match="w1 did not start"):
        await run.to_the_end(Looks())

    leader = team.agents.load(LEADER)
    assert leader is not None
    assert (leader.state, leader.reason) == ("stopped", "failed")


async def test_who_ends_at_once_for_want_of_a_model_has_started_all_the_same(folder: Path) -> None:
    """Its service may be faster than our look; the run says what is left, and why."""

    async def unserved(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        presence = Presence(team, spec)
        presence.ready()
        presence.stopped("failed", "no access: the key is not valid")
        return "failed"

    run, team = a_run(folder, unserved)
    result = await run.to_the_end(Looks())

    assert (result.outcome, result.exit_code) == ("tasks_failed", 6)
    assert result.gone == {"w1": "no access: the key is not valid"}
    told = "no teammate that may take it is left (w1 ended: no access: the key is not valid)"
    assert told in str(result.tasks[0].reason)


async def test_interrupting_asks_the_teammates_and_ends_in_130(folder: Path) -> None:
    """Asked, they release what they hold."""

    async def slow(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        run.interrupt()
        await stop.wait()
        return "asked"

    run, team = a_run(folder, slow)
    looks = Looks()
    result = await run.to_the_end(looks)

    assert (result.outcome, result.exit_code) == ("interrupted", 130)
    assert looks.times >= 1
    assert "the run was interrupted" in Path(result.report).read_text(encoding="utf-8")


async def test_a_second_interrupt_cancels_who_does_not_hear(folder: Path) -> None:
    """Nobody has to wait for a deaf teammate."""

    async def deaf(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        run.interrupt()
        run.interrupt()
        await asyncio.Event().wait()
        return "never"

    run, team = a_run(folder, deaf)
    async with asyncio.timeout(5):
        result = await run.to_the_end(Looks())

    assert result.exit_code == 130


async def test_the_time_limit_ends_a_run_that_waits(folder: Path) -> None:
    """A task held by somebody else is not waited for beyond the limit."""

    async def idle(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        team.tasks("w1").claim("w1", None, spec.run_id)
        await stop.wait()
        return "asked"

    run, team = a_run(folder, idle, timeout=0.05)
    result = await run.to_the_end(Looks())

    assert result.exit_code == 124
    assert team.tasks(LEADER).get_task("1").status == "pending"


async def test_mail_for_the_leader_is_acknowledged(folder: Path) -> None:
    """The leader's inbox does not grow: what came is in its history."""
    from swarm.storage.mail import send

    async def writes(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        ready(spec, team)
        send(team, spec.name, LEADER, "hello")
        await stop.wait()
        return "asked"

    run, team = a_run(folder, writes, timeout=0.05)
    await run.to_the_end(Looks())

    assert team.inbox(LEADER).peek() == ()
    assert [message.text for message in team.inbox(LEADER).history()] == ["hello"]
