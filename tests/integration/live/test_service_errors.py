"""C019 with a service: an answer that is an error, or empty, never makes a task completed."""

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

ERRORS: dict[str, tuple[Reply, str]] = {
    "400": (http_error(400, "messages: something odd"), "something odd"),
    "401": (http_error(401, "invalid x-api-key"), "ANTHROPIC_API_KEY"),
    "403": (http_error(403, "no access to this"), "no access to this"),
    "404": (http_error(404, "model: claude-sonnet-5-5"), "check the model's name"),
    "usage limit": (http_error(429, "You have reached your usage limits"), "usage limit"),
    "no credit": (http_error(400, "Your credit balance is too low"), "usage limit"),
    "empty end of a turn": (reply(stop_reason="end_turn"), "neither text nor a tool call"),
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


@pytest.mark.parametrize(("answer", "why"), ERRORS.values(), ids=ERRORS)
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("error", ["401", "empty end of a turn"])
def test_the_run_ends_by_itself_and_names_the_task(
    isolated_home: Path, tmp_path: Path, backend: str, error: str
) -> None:
    shell = Shell(isolated_home, tmp_path)
    answer, why = ERRORS[error]
    file = write_live_team(shell, TASKS)

    with placed(backend) as place, MessagesApi(by_task(answer)) as api:
        ended = shell.swarm("run", file, **place, **access(api))

    assert ended.code == 6, ended.err
    (line,) = [line for line in ended.out.splitlines() if why in line]
    assert line.startswith("task 1: ")
    assert [status_of(shell, task)["status"] for task in "123"] == ["failed", "pending", "completed"]
    record = json.loads((shell.root / "teams/t1/agents/w1.json").read_text())
    assert processes_of_run(record["run_id"].partition(".")[0]) == []
