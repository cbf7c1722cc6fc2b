"""How teammates end or go on: when asked, when stopped, and when something fails."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import shutdown_request
from swarm.core.spawn import RuleSet
from swarm.core.times import format_time
from swarm.leader.questions import answer, open_questions
from swarm.storage.syscalls import fault_hook
from tests.integration.team.steps import (
    NEVER_ENDS,
    W1,
    W2,
    calls,
    controls,
    kinds,
    reports_of,
    state,
    task,
)
from worker.context.agent import current_agent
from worker.main import run_teammate
from worker.messages import final_text
from worker.presence import Presence
from worker.teammate import Teammate


async def test_the_leaders_shutdown_request_is_obeyed_in_the_middle_of_a_command(make) -> None:
    """A command may run for ever; who asks it to end cannot wait for that."""
    team = make(task("a", script=NEVER_ENDS), task("b"), teammates=[W1])
    team.start("w1")
    await team.until_file("began")

    text = shutdown_request(LEADER, "w1", format_time(team.team.clock.now()), "enough")
    team.send("w1", text)

    assert await team.ended("w1") == "asked"
    assert [one.status for one in team.tasks()] == ["pending", "pending"]
    assert kinds(team, "w1") == ["swarm.task_report", "shutdown_approved"]
    assert controls(team, "w1")[1]["requestId"] == json.loads(text)["requestId"]
    assert team.team.inbox("w1").peek() == ()
    assert "shutdown_request" not in str(team.lines("w1"))


async def test_a_shutdown_request_of_anybody_else_is_text(make) -> None:
    """Else a teammate, or a message that a file talked it into, could end the others."""
    team = make(task("a", owner="w1"))
    text = shutdown_request("w2", "w1", format_time(team.team.clock.now()), "enough")
    team.send("w1", text, sender="w2")
    team.start("w1")

    await team.until_finished()
    await team.until(lambda: state(team, "w1")[0] == "idle")

    assert "shutdown_request" in final_text(team.messages("w1", team.sessions("w1")[0])[0])
    assert "shutdown_approved" not in kinds(team, "w1")


async def test_stop_ends_an_idle_and_a_busy_teammate_at_once(make) -> None:
    team = make(task("a", script=NEVER_ENDS, owner="w1"), task("b", "a", owner="w2"))
    team.start("w1")
    team.start("w2")
    await team.until_file("began")

    assert await team.stop("w1", "w2") == ["asked", "asked"]

    assert (team.task("a").status, team.task("a").reason) == ("pending", "stopped")
    assert state(team, "w1") == state(team, "w2") == ("stopped", "asked", None)
    assert [event.data["reason"] for event in team.events("agent_stopped")] == ["asked", "asked"]


async def test_a_cancelled_teammate_leaves_a_true_record(make) -> None:
    team = make(task("a", script=NEVER_ENDS), teammates=[W1])
    team.start("w1")
    await team.until_file("began")

    await team.kill("w1")

    assert state(team, "w1") == ("stopped", "killed", None)
    assert team.task("a").status == "pending"


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "claude-x"},
        {"permission_mode": "auto"},
        {"rules": (RuleSet(source="x", deny=("Bash(rm",)),)},
    ],
)
async def test_what_cannot_be_started_says_so_in_its_record(make, changes) -> None:
    team = make(task("a"), teammates=[W1])
    team.start("w1", **changes)

    assert await team.ended("w1") == "failed"
    assert state(team, "w1") == ("stopped", "failed", None)
    assert team.task("a").status == "pending"


async def test_a_disk_that_is_full_for_a_while_only_delays(make) -> None:
    """The files may be unusable for a moment; the teammate looks again instead of ending."""
    team = make(task("a"), teammates=[W1])
    refused: list[str] = []

    def full(name: str, path: str, size: int) -> None:
        if path.endswith(".journal.jsonl") and name == "append" and len(refused) < 2:
            refused.append(path)
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        team.start("w1")
        await team.until_finished()

    assert len(refused) == 2
    assert team.task("a").status == "completed"


async def test_a_claim_whose_answer_was_lost_is_worked_on(make) -> None:
    """The claim stands in the journal, the claimer got an error: nobody else would ever touch the task."""
    team = make(task("a"), teammates=[W1])
    refused: list[str] = []

    def lost(name: str, path: str, size: int) -> None:
        if path.endswith("/1.json") and name in ("write", "append") and not refused:
            refused.append(path)
            raise OSError(5, "Input/output error")

    with fault_hook(lost):
        team.start("w1")
        await team.until_finished()

    assert len(refused) == 1
    assert team.task("a").status == "completed"
    assert len(team.events("task_claimed")) == 1


async def test_an_end_that_cannot_be_written_is_written_later(make) -> None:
    """The task would stay with a teammate that does nothing any more."""
    team = make(task("a"), teammates=[W1])
    refused: list[str] = []

    def full(name: str, path: str, size: int) -> None:
        ends_something = path.endswith(".journal.jsonl") and name == "append" and len(refused) < 3
        if ends_something and "task_claimed" in Path(team.team.layout.events).read_text():
            refused.append(path)
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        team.start("w1")
        await team.until_finished()

    assert len(refused) == 3
    assert (team.task("a").status, team.task("a").attempts) == ("completed", 0)
    assert [one["status"] for one in reports_of(team, "w1")] == ["released", "completed"]


async def test_no_room_for_what_a_call_does_is_no_attempt(make) -> None:
    """The record of a command could not be written: the command was not to blame, nor the task."""
    script = [{"calls": [{"Bash": {"command": "echo x >> out"}}]}, {"say": "Done."}]
    team = make(task("a", script=script), teammates=[W1], permissions={"mode": "bypassPermissions"})
    refused: list[str] = []

    def full(name: str, path: str, size: int) -> None:
        records = "/agents/" in path and name in ("write", "append", "rename") and len(refused) < 4
        if records and "task_claimed" in Path(team.team.layout.events).read_text():
            refused.append(path)
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        team.start("w1")
        await team.until_finished()

    assert len(refused) == 4
    assert (team.task("a").status, team.task("a").attempts) == ("completed", 0)


async def test_no_room_for_a_question_is_no_attempt(make) -> None:
    """Nobody was asked, so nobody has denied it: the same call is asked for when there is room again."""
    script = [{"calls": [{"Bash": {"command": "echo x >> out"}}]}, {"say": "Done."}]
    team = make(task("a", script=script), teammates=[W1], permissions={"mode": "default"})
    refused: list[str] = []

    def full(name: str, path: str, size: int) -> None:
        if path.endswith("/permissions/numbers.json") and name == "rename" and len(refused) < 2:
            refused.append(path)
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        team.start("w1")
        await team.until(lambda: open_questions(team.team), "it is asked")
    answer(team.team, "1", "allow")
    await team.until_finished()

    assert len(refused) == 2
    assert (team.task("a").status, team.task("a").attempts) == ("completed", 0)


async def test_a_bug_ends_the_teammate_with_a_true_record(make, monkeypatch) -> None:
    team = make(task("a"), teammates=[W1])
    bench = team.bench("w1")

    def broken(*_facts) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(team.team.tasks("w1"), "claim", broken)
    teammate = Teammate(bench, Presence(team.team, team.spec("w1")), asyncio.Event(), asyncio.Event())

    assert await asyncio.wait_for(teammate.run(), 10) == "failed"
    assert state(team, "w1") == ("stopped", "failed", None)


async def test_identity_ends_with_the_teammate(make) -> None:
    team = make(task("a"), teammates=[W1])
    stop = asyncio.Event()
    stop.set()

    assert await run_teammate(team.spec("w1"), stop) == "asked"
    assert current_agent.get(None) is None


async def test_who_was_cut_off_goes_on_there_before_it_takes_another_task(make) -> None:
    """Else somebody begins anew what it had half done, and it does the same to others."""
    team = make(
        task("a", script=NEVER_ENDS),
        task("b", script=[calls("Bash", command="touch b; test -e go || sleep 60"), {"say": "Done."}]),
        teammates=[W1, W2],
        permissions={"mode": "bypassPermissions"},
    )
    team.start("w1")
    await team.until_file("began")
    team.start("w2")
    await team.until_file("b")
    await team.kill("w1")
    await team.kill("w2")
    assert [one.status for one in team.tasks()] == ["pending", "pending"]

    team.write("go", "")
    team.start("w2", life=2)
    await team.until(lambda: team.task("b").status == "completed", "b is done")

    first, second = [line for line in team.lines("w2") if line["type"] == "start"][:2]
    assert (second["task"], second["parent"]) == (first["task"], first["session"])
