"""A task that is meant for an agent which is not there is shown as nobody's, and the leader hears of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.core.task import NewTask, Requires, Task
from swarm.core.times import format_time
from swarm.storage import assignments, processes
from swarm.storage.dead import free_dead_claims
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import claim_task, token_of

GONE = processes.own_start_ticks() + 1
BY_HAND = "k3v9qd7m.w1.cli"


def a_record(clock: FakeClock, **changes: Any) -> AgentRecord:
    """The record of w1, which lives in this process as far as anybody can tell."""
    at = format_time(clock.now())
    facts: dict[str, Any] = {
        "name": "w1",
        "run_id": "k3v9qd7m.w1.1",
        "backend": "process",
        "state": "idle",
        "since": at,
        "started_at": at,
        "host": processes.host(),
        "boot_id": processes.boot_id(),
        "pid_ns": processes.pid_ns(),
        "pid": os.getpid(),
        "start_ticks": processes.own_start_ticks(),
    }
    return AgentRecord(**facts | changes)


@pytest.fixture
def held(team: Team) -> Task:
    """A task for w1, claimed in its name at the command line."""
    team.tasks("user").create(NewTask(subject="first", requires=Requires(agent="w1")))
    task = team.tasks("w1").claim("w1", None, BY_HAND, "1")
    assert isinstance(task, Task)
    return task


def released(team: Team, _clock: FakeClock) -> Task:
    return assignments.release(team, "w1", "1", token_of(team, "1"), "later")


def retried(team: Team, _clock: FakeClock) -> Task:
    team.tasks("w1").fail("1", token_of(team, "1"), "no luck")
    return assignments.retry(team, "user", "1")


def mail(team: Team) -> list[tuple[str, str]]:
    return [(message.sender, message.text) for message in team.inbox(LEADER).peek()]


@pytest.mark.parametrize("give_back", [released, retried])
@pytest.mark.parametrize(
    ("changes", "told"),
    [({"state": "stopped"}, "but w1 has stopped."), ({"start_ticks": GONE}, "but w1 died.")],
)
def test_what_is_for_an_agent_that_is_gone_goes_to_nobody_and_the_leader_is_told(
    team: Team,
    clock: FakeClock,
    held: Task,
    give_back: Callable[[Team, FakeClock], Task],
    changes: dict[str, Any],
    told: str,
) -> None:
    """Else it is shown as in the hands of somebody who will never do it, and nobody hears of that."""
    team.agents.save(a_record(clock, **changes))
    task = give_back(team, clock)

    assert (task.status, task.owner) == ("pending", None)
    assert task.requires == Requires(agent="w1")
    ((sender, text),) = mail(team)
    assert sender == "runtime"
    assert text.startswith("Task 1 (first) was given back and is for w1 alone, ")
    assert told in text
    assert text.endswith("swarm task edit 1 --owner NAME")


@pytest.mark.parametrize("give_back", [released, retried])
@pytest.mark.parametrize(
    "changes", [None, {}, {"state": "paused"}, {"host": "elsewhere", "start_ticks": GONE}]
)
def test_what_is_for_an_agent_that_may_come_is_given_back_to_it(
    team: Team,
    clock: FakeClock,
    held: Task,
    give_back: Callable[[Team, FakeClock], Task],
    changes: dict[str, Any] | None,
) -> None:
    """It is there, nobody can tell, or it was never started."""
    if changes is not None:
        team.agents.save(a_record(clock, **changes))
    assert give_back(team, clock).owner == "w1"
    assert mail(team) == []


def test_a_retry_that_changes_nothing_tells_nothing(team: Team, clock: FakeClock, held: Task) -> None:
    team.agents.save(a_record(clock, state="stopped"))
    released(team, clock)
    assignments.retry(team, "user", "1")
    assert len(mail(team)) == 1


def test_the_leader_hears_of_a_death_that_leaves_a_task_with_nobody(team: Team, clock: FakeClock) -> None:
    """Of a task that others may take it need not hear."""
    team.tasks("user").create(
        NewTask(subject="first", requires=Requires(agent="w1")), NewTask(subject="second")
    )
    claim_task(team, "w1", "1")
    claim_task(team, "w2", "2")
    for name in ("w1", "w2"):
        team.agents.save(a_record(clock, name=name, run_id=f"k3v9qd7m.{name}.1", start_ticks=GONE))
    freed = free_dead_claims(team, lambda life: None, "w2")

    assert [(one.task.id, one.task.owner) for one in freed] == [("1", None), ("2", None)]
    ((_, text),) = mail(team)
    assert "is for w1 alone, but w1 died." in text


def test_a_later_life_of_the_agent_will_take_it(team: Team, clock: FakeClock) -> None:
    team.tasks("user").create(NewTask(subject="first", requires=Requires(agent="w1")))
    claim_task(team, "w1", "1")
    team.agents.save(a_record(clock, run_id="k3v9qd7m.w1.2"))
    assert free_dead_claims(team, lambda life: None)
    assert mail(team) == []


def test_mail_that_cannot_be_sent_undoes_nothing(team: Team, clock: FakeClock, held: Task) -> None:
    team.agents.save(a_record(clock, state="stopped"))
    team.roster.remove_member(LEADER)
    assert released(team, clock).status == "pending"


def test_damaged_record_says_nothing_about_its_agent(team: Team, clock: FakeClock, held: Task) -> None:
    with open(team.layout.agent("w1"), "w", encoding="utf-8") as file:
        file.write("{")
    assert released(team, clock).owner == "w1"
