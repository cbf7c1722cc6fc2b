"""A teammate that is held back: it ends what it is doing, asks no model and takes no task until it may."""

from __future__ import annotations

import pytest

from swarm.core.message import pause_order
from swarm.core.times import format_time
from tests.integration.team.steps import W1, WAITS_FOR_GO, kinds, state, task
from tests.support.live_team import LiveTeam


def order(team: LiveTeam, name: str, sender: str = "team-lead", *, go_on: bool = False) -> None:
    team.send(name, pause_order(format_time(team.team.clock.now()), go_on=go_on), sender=sender)


def turns(team: LiveTeam, name: str) -> int:
    return sum(line["type"] == "assistant" for line in team.lines(name))


async def test_a_pause_lets_the_running_command_end_and_asks_no_model(make) -> None:
    team = make(task("a", script=WAITS_FOR_GO), task("b"), teammates=[W1])
    team.start("w1")
    await team.until_file("began")

    order(team, "w1")
    await team.until(lambda: not team.team.inbox("w1").peek(), "the order is taken")
    assert state(team, "w1") == ("working", None, "1")
    team.write("go", "")
    await team.until(lambda: state(team, "w1") == ("paused", None, "1"))

    assert len(team.results("w1")) == 1
    assert turns(team, "w1") == 1
    assert team.task("a").status == "in_progress"

    order(team, "w1", go_on=True)
    await team.until_finished()
    assert [event.event for event in team.events("agent_paused", "agent_continued")] == [
        "agent_paused",
        "agent_continued",
    ]
    assert "swarm.pause" not in str(team.lines("w1"))


async def test_a_paused_teammate_takes_no_task_and_says_nothing(make) -> None:
    team = make(task("a"), teammates=[W1])
    order(team, "w1")
    team.start("w1")
    await team.until(lambda: state(team, "w1")[:1] == ("paused",))
    before = team.team.agents.load("w1")

    def has_beaten() -> bool:
        now = team.team.agents.load("w1")
        assert now is not None
        assert before is not None
        return bool(now.heartbeat != before.heartbeat)

    await team.until(has_beaten)
    assert team.task("a").status == "pending"
    assert kinds(team, "w1") == []

    order(team, "w1", go_on=True)
    await team.until_finished()
    await team.until(lambda: state(team, "w1") == ("idle", "finished", None))


async def test_orders_are_obeyed_in_the_order_of_their_sending(make) -> None:
    team = make(task("a"), teammates=[W1])
    order(team, "w1")
    order(team, "w1", go_on=True)
    team.start("w1")

    await team.until_finished()
    assert team.events("agent_paused") == []


async def test_a_pause_of_anybody_else_is_text(make) -> None:
    """Else a teammate could bring all the others to a stand."""
    team = make(task("a", owner="w1"))
    order(team, "w1", sender="w2")
    team.start("w1")

    await team.until_finished()
    assert team.events("agent_paused") == []


@pytest.mark.parametrize("busy", [True, False])
async def test_a_paused_teammate_ends_when_asked(make, busy: bool) -> None:
    team = make(task("a", script=WAITS_FOR_GO), teammates=[W1])
    if busy:
        team.start("w1")
        await team.until_file("began")
    order(team, "w1")
    if not busy:
        team.start("w1")
    await team.until(lambda: not team.team.inbox("w1").peek(), "the order is taken")
    team.write("go", "")
    await team.until(lambda: state(team, "w1")[:1] == ("paused",))

    assert await team.stop("w1") == ["asked"]
    assert team.task("a").status == "pending"
    assert state(team, "w1") == ("stopped", "asked", None)
    assert turns(team, "w1") == (1 if busy else 0)
