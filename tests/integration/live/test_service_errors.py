"""C019 with a service: an answer that is an error, or empty, never makes a task completed.

What is wrong with the request, or with the answer, costs an attempt; a service that serves its teammate
nothing costs none, and ends that teammate instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.steps import status_of
from tests.support.command import Shell, processes_of_run
from tests.support.live_runs import (
    BACKENDS,
    access,
    begin,
    live_team,
    placed,
    state_of,
    work,
    write_live_team,
)
from tests.support.live_team import LiveTeam
from tests.support.messages_api import Exchange, MessagesApi, Reply, http_error, reply

pytestmark = pytest.mark.timeout(120)

FAULTS: dict[str, tuple[Reply, str]] = {
    "400": (http_error(400, "messages: something odd"), "something odd"),
    "empty end of a turn": (reply(stop_reason="end_turn"), "neither text nor a tool call"),
}
UNSERVED: dict[str, tuple[Reply, str]] = {
    "401": (http_error(401, "invalid x-api-key"), "ANTHROPIC_API_KEY"),
    "403": (http_error(403, "no access to this"), "no access to this"),
    "404": (http_error(404, "model: claude-sonnet-5-5"), "check the model's name"),
    "usage limit": (http_error(429, "You have reached your usage limits"), "usage limit"),
    "no credit": (http_error(400, "Your credit balance is too low"), "usage limit"),
    "too long a wait": (http_error(429, "slow down", retry_after=3_600), "slow down"),
    "six tries": (http_error(529), "tried 6 times"),
}
TASKS = [work("a"), work("b", blocked_by=["a"]), work("c")]


def by_task(answer: Reply) -> Any:
    """Return a script by which the first task gets this answer always, and the others are done."""

    def turn(exchange: Exchange) -> Reply:
        return answer if exchange.task == "1" else reply("All done.")

    return turn


def reports(team: LiveTeam) -> list[dict[str, Any]]:
    controls = [json.loads(mail.text) for mail in team.mail() if mail.text.startswith("{")]
    return [one for one in controls if one["type"] == "swarm.task_report"]


@pytest.mark.parametrize(("answer", "why"), FAULTS.values(), ids=FAULTS)
async def test_the_task_is_not_completed_and_the_leader_knows_why(
    isolated_home: Path, answer: Reply, why: str
) -> None:
    team = live_team(isolated_home, *TASKS)

    with MessagesApi(by_task(answer)) as api:
        begin(team, api)
        await team.until(lambda: team.task("a").finished and team.task("c").finished, "a and c have ended")
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        await team.stop()

    ended = team.task("a")
    assert (ended.status, ended.result) == ("failed", None)
    assert why in str(ended.reason)
    told = [one for one in reports(team) if one["taskId"] == ended.id]
    assert [one["status"] for one in told] == ["released", "released", "failed"]
    assert all(why in one["reason"] for one in told)
    assert (team.task("b").status, team.task("b").owner) == ("pending", None)
    assert api.of_task(team.ids["b"]) == []
    assert team.task("c").status == "completed"
    assert [one["taskId"] for one in reports(team) if one["status"] == "completed"] == [team.ids["c"]]


@pytest.mark.parametrize(("answer", "why"), UNSERVED.values(), ids=UNSERVED)
async def test_who_is_not_served_ends_and_the_others_go_on(
    isolated_home: Path, answer: Reply, why: str
) -> None:
    """No attempt is counted, the leader is told once, and w2, whose model answers, does it all."""
    team = live_team(isolated_home, *TASKS, teammates=[{"name": "w1"}, {"name": "w2"}])

    def turn(exchange: Exchange) -> Reply:
        return answer if exchange.agent == "w1" else reply("All done.")

    with MessagesApi(turn) as api:
        begin(team, api)
        assert await team.ended("w1") == "failed"
        given_back = team.task("a")
        begin(team, api, "w2")
        await team.until_finished()
        await team.until(lambda: state_of(team, "w2") == "idle", "it is idle")
        await team.stop()

    assert (given_back.status, given_back.owner, given_back.attempts) == ("pending", None, 0)
    assert why in str(given_back.reason)
    assert [task.status for task in team.tasks()] == ["completed"] * 3
    assert {exchange.task for exchange in api.exchanges if exchange.agent == "w1"} == {"1"}
    told = [mail.text for mail in team.mail() if mail.sender == "w1"]
    assert [json.loads(text)["status"] for text in told if text.startswith("{")] == ["released"]
    (farewell,) = [text for text in told if not text.startswith("{")]
    assert why in farewell
    record = team.team.agents.load("w1")
    assert record is not None
    assert (record.state, record.reason) == ("stopped", "failed")
    assert why in str(record.why)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_run_ends_by_itself_and_names_the_task(isolated_home: Path, tmp_path: Path, backend: str) -> None:
    shell = Shell(isolated_home, tmp_path)
    answer, why = FAULTS["empty end of a turn"]
    file = write_live_team(shell, TASKS)

    with placed(backend) as place, MessagesApi(by_task(answer)) as api:
        ended = shell.swarm("run", file, **place, **access(api))

    assert ended.code == 6, ended.err
    (line,) = [line for line in ended.out.splitlines() if why in line]
    assert line.startswith("task 1: ")
    assert [status_of(shell, task)["status"] for task in "123"] == ["failed", "pending", "completed"]
    record = json.loads((shell.root / "teams/t1/agents/w1.json").read_text())
    assert processes_of_run(record["run_id"].partition(".")[0]) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_nobody_serves_ends_and_goes_on_when_the_service_is_back(
    isolated_home: Path, tmp_path: Path, backend: str
) -> None:
    """Each task that is left says why, and so does the report; none has used up an attempt."""
    shell = Shell(isolated_home, tmp_path)
    file = write_live_team(shell, TASKS, teammates=[{"name": "w1"}, {"name": "w2"}])
    is_back: list[bool] = []

    def turn(exchange: Exchange) -> Reply:
        return reply("All done.") if is_back else http_error(401, "invalid x-api-key")

    with placed(backend) as place, MessagesApi(turn) as api:
        ended = shell.swarm("run", file, **place, **access(api))
        asked = len(api.exchanges)
        waited = shell.swarm("-t", "t1", "task", "wait", "--timeout", "30")
        shown = shell.swarm("-t", "t1", "status").out
        left = [status_of(shell, task) for task in "123"]
        report = (shell.root / "teams/t1/report.md").read_text()
        is_back.append(True)
        resumed = shell.swarm("resume", "t1", "--json", **place, **access(api))

    assert ended.code == 6, ended.err
    assert asked == 2
    assert "No task failed" in ended.out
    assert [task["status"] for task in left] == ["pending"] * 3
    assert all("attempts" not in task["metadata"]["swarm"] for task in left)
    for task in "13":
        (line,) = [line for line in ended.out.splitlines() if line.startswith(f"task {task}: ")]
        assert "invalid x-api-key" in line
        assert line.partition(": ")[2][:40] in report
    assert waited.code == 6, waited.out
    assert "task 2 cannot go on" in waited.err
    assert "invalid x-api-key" in waited.err
    assert "failed: no access" in shown
    assert resumed.code == 0, resumed.err
    assert [(task["status"], task["attempts"]) for task in resumed.json()["tasks"]] == [("completed", 0)] * 3
