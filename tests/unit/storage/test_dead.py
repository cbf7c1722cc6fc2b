"""Who may be taken for dead, what happens then, and what it costs to look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord, ToolProcess
from swarm.core.task import NewTask, Task
from swarm.core.times import format_time
from swarm.storage import processes
from swarm.storage.dead import find_dead_lives, free_dead_claims, is_due
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.faults import Recorder
from tests.support.stores import RESULT, RUN_OF, claim_task, reopened, token_of

OWN = processes.own_start_ticks()
GONE = OWN + 1
"""With our pid: a process that started at another time, so it is another one, which has ended."""
TOOL = ToolProcess(
    tool_use_id="toolu_01", name="Bash", since="2026-11-30T12:33:29.000Z", pgid=7, start_ticks=8
)


def a_record(clock: FakeClock, name: str = "w1", **changes) -> AgentRecord:
    """The record of an agent that was started now and lives in this process, as far as anybody can tell."""
    at = format_time(clock.now())
    facts: dict[str, Any] = {
        "name": name,
        "run_id": f"k3v9qd7m.{name}.1",
        "backend": "process",
        "state": "working",
        "since": at,
        "started_at": at,
        "host": processes.host(),
        "boot_id": processes.boot_id(),
        "pid_ns": processes.pid_ns(),
        "pid": os.getpid(),
        "start_ticks": OWN,
    }
    return AgentRecord(**facts | changes)


@pytest.fixture
def held(team: Team, clock: FakeClock) -> Task:
    """A task that w1 has, and since then a second has passed."""
    team.tasks("user").create(NewTask(subject="first"), NewTask(subject="second"))
    task = claim_task(team, "w1")
    clock.advance(1.0)
    return task


class Ended:
    """Stands for the end of the commands, and remembers whose."""

    def __init__(self, team: Team) -> None:
        self._team = reopened(team)
        self.lives: list[AgentRecord] = []

    def __call__(self, life: AgentRecord) -> None:
        assert self._team.tasks("w2").get_task("1").status == "in_progress"
        self.lives.append(life)


def events(team: Team, kind: str) -> list:
    return [event for _, event in team.events.read() if event.event == kind]


def test_what_a_dead_process_held_is_freed_and_counted_as_a_crash(team, clock, held) -> None:
    """Its commands first, while the task is still its own; then the task; then its record; one event."""
    team.agents.save(a_record(clock, start_ticks=GONE, task="1", session="q7m2xk4d", tools=(TOOL,)))
    ended = Ended(team)

    (freed,) = free_dead_claims(team, ended, "w2")

    assert [life.tools for life in ended.lives] == [(TOOL,)]
    assert (freed.task.status, freed.task.owner, freed.task.claim) == ("pending", None, None)
    assert (freed.task.crashes, freed.task.attempts) == (1, 0)
    assert freed.task.reason == freed.reason == "w1 died: its process is gone"
    record = team.agents.load("w1")
    assert record is not None
    assert (record.state, record.reason, record.task, record.tools) == ("stopped", "killed", None, ())
    (died,) = events(team, "agent_died")
    assert (died.agent, died.run_id) == ("w1", RUN_OF["w1"])
    (released,) = events(team, "task_released")
    assert (released.agent, released.task, released.data["crashes"]) == ("w2", "1", 1)


def test_freeing_again_finds_nothing(team, clock, held) -> None:
    team.agents.save(a_record(clock, start_ticks=GONE))
    assert free_dead_claims(team, Ended(team))
    assert free_dead_claims(team, Ended(team)) == ()
    assert len(events(team, "agent_died")) == 1


def test_what_the_dead_one_says_later_is_refused(team, clock, held) -> None:
    from swarm.errors import TaskError

    token = token_of(team, "1")
    team.agents.save(a_record(clock, start_ticks=GONE))
    free_dead_claims(team, Ended(team))
    claim_task(team, "w2", "1")

    with pytest.raises(TaskError) as caught:
        team.tasks("w1").complete("1", token, RESULT)

    assert caught.value.code == "stale_token"
    assert team.agents.update_life(RUN_OF["w1"], state="working") is None


def test_a_stopped_agent_holds_nothing(team, clock, held) -> None:
    """It could not give its task back, perhaps because the disk was full. It said itself that it ended."""
    team.agents.save(a_record(clock, state="stopped", reason="asked"))
    (freed,) = free_dead_claims(team, Ended(team))
    assert freed.reason == "w1 stopped without giving it back"
    record = team.agents.load("w1")
    assert record is not None
    assert record.reason == "asked"
    assert events(team, "agent_died") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"start_ticks": OWN},
        {"start_ticks": OWN, "state": "idle", "heartbeat": "2001-01-01T00:00:00.000Z"},
        {"host": "elsewhere", "start_ticks": GONE},
        {"pid_ns": 1, "start_ticks": GONE},
        {"host": "elsewhere", "state": "stopped"},
        {"state": "starting", "pid": None, "start_ticks": None},
        {"name": "w2", "run_id": "k3v9qd7m.w2.1", "start_ticks": GONE},
    ],
    ids="alive silent other-host other-namespace stopped-elsewhere not-up-yet no-record".split(),
)
def test_who_may_be_alive_keeps_its_task(team, clock, held, changes) -> None:
    team.agents.save(a_record(clock, **changes))
    assert free_dead_claims(team, Ended(team)) == ()
    assert team.tasks("user").get_task("1") == held


def test_a_damaged_record_proves_nothing(team, clock, held) -> None:
    """And does not keep anybody from working."""
    Path(team.layout.agent("w1")).write_text("{half")
    assert find_dead_lives(team) == ()
    team.agents.save(a_record(clock, run_id="rubbish", start_ticks=GONE))
    assert find_dead_lives(team) == ()


def test_a_claim_of_the_command_line_stays_whoever_died(team, clock) -> None:
    """No process stands behind it that could be dead."""
    team.tasks("user").create(NewTask(subject="first"))
    assert isinstance(team.tasks("w1").claim("w1", None, "c4hq2m7e.w1.cli"), Task)
    clock.advance(1.0)
    team.agents.save(a_record(clock, start_ticks=GONE))
    assert free_dead_claims(team, Ended(team)) == ()


@pytest.mark.parametrize(
    "now", [{}, {"start_ticks": GONE}, {"state": "stopped"}], ids=["alive", "dead", "stopped"]
)
@pytest.mark.parametrize("run_id", ["k3v9qd7m.w1.2", "zzzzzzzz.w1.1"], ids=["restarted", "another run"])
def test_a_later_life_of_the_agent_ends_the_earlier_one(team, clock, held, run_id, now) -> None:
    """The earlier one is killed by its mark; what the record says of commands is about the later."""
    team.agents.save(a_record(clock, run_id=run_id, tools=(TOOL,), **now))
    before = team.agents.load("w1")
    ended = Ended(team)

    (freed,) = free_dead_claims(team, ended)

    assert [(life.run_id, life.tools) for life in ended.lives] == [(RUN_OF["w1"], ())]
    assert (freed.run_id, freed.reason) == (RUN_OF["w1"], "w1 was started anew")
    assert team.agents.load("w1") == before
    assert [event.run_id for event in events(team, "agent_died")] == [RUN_OF["w1"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "k3v9qd7m.w1.0"},
        {"run_id": "k3v9qd7m.w1.2", "state": "starting", "pid": None},
        {"run_id": "zzzzzzzz.w1.1", "started_at": "2001-01-01T00:00:00.000Z"},
    ],
    ids=["earlier life", "not up yet", "started before the claim"],
)
def test_another_life_that_is_no_later_one_proves_nothing(team, clock, held, changes) -> None:
    """As when the record could not be written: then it is still that of the life before."""
    team.agents.save(a_record(clock, **changes))
    assert free_dead_claims(team, Ended(team)) == ()


def test_after_a_boot_no_command_is_ended(team, clock, held) -> None:
    """The numbers on record mean other people's processes by now."""
    team.agents.save(a_record(clock, boot_id="the one before", tools=(TOOL,)))
    ended = Ended(team)
    assert free_dead_claims(team, ended)
    assert ended.lives == []


def test_a_task_that_kills_each_time_is_parked(team, clock, held) -> None:
    """The fifth death on one task ends it: it would go on like this."""
    for death in range(1, 5):
        team.agents.save(a_record(clock, start_ticks=GONE))
        (freed,) = free_dead_claims(team, Ended(team))
        assert (freed.task.status, freed.task.crashes) == ("pending", death)
        claim_task(team, "w1", "1")
    team.agents.save(a_record(clock, start_ticks=GONE))
    (freed,) = free_dead_claims(team, Ended(team))

    assert freed.task.status == "failed"
    assert str(freed.task.reason).startswith("parked: w1 died")
    assert len(events(team, "task_failed")) == 1


def test_who_is_killed_before_the_end_leaves_the_rest_to_others(team, clock, held) -> None:
    """Between commands and task nothing is lost: the next one does it all."""
    team.agents.save(a_record(clock, start_ticks=GONE))

    def dies(life: AgentRecord) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        free_dead_claims(team, dies)
    assert team.tasks("user").get_task("1") == held
    assert free_dead_claims(reopened(team), Ended(team))


def calls_of_a_look(team: Team) -> list[str]:
    recorder = Recorder()
    with fault_hook(recorder):
        assert find_dead_lives(team) == ()
    return [point.call for point in recorder.points()]


def test_without_a_task_in_progress_no_record_is_read(team, clock) -> None:
    team.tasks("user").create(NewTask(subject="first"))
    Path(team.layout.agent("w1")).write_text("{half")
    find_dead_lives(team)  # the journal is open from now on
    assert set(calls_of_a_look(team)) <= {"stat"}


def test_a_look_costs_the_same_however_many_tasks_there_are(team, clock, held) -> None:
    """It reads the records of those who are on something, and nothing else."""
    team.agents.save(a_record(clock))
    find_dead_lives(team)
    few = calls_of_a_look(team)
    store = team.tasks("user")
    store.create(*(NewTask(subject=f"more {number}") for number in range(200)))
    for task in store.table().tasks()[1:100]:
        store.cancel(task.id, "done elsewhere")
    find_dead_lives(team)

    assert calls_of_a_look(team) == few


def test_loops_look_once_in_a_while_whoever_asks_in_this_process(team, clock) -> None:
    """Eight teammates in one process need no eight looks."""
    assert is_due(team)
    assert not is_due(reopened(team))
    clock.advance(team.settings.idle_check_seconds)
    assert is_due(reopened(team))
    assert not is_due(team)
