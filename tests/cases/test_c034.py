"""An overload inside a stream that began well was retried by nobody: the program crashed, or gave up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.live.conftest import one_session
from tests.support.live_runs import begin, live_team, work
from tests.support.live_team import LiveTeam
from tests.support.messages_api import MessagesApi, Reply, call, error_event, http_error, reply, thinking
from worker.messages import final_text

APPEND = call("Bash", {"command": "echo ran >> ran"})
STORM = [
    http_error(529),
    http_error(529),
    reply("Looking around", faults=(error_event(after=0),)),
    reply(thinking("hm"), "Looking around", faults=(error_event(after=7),)),
]
QUICK: dict[str, Any] = {"model_retry_min_seconds": 0.01, "model_retry_max_seconds": 0.02}


def reports(team: LiveTeam) -> list[dict[str, Any]]:
    controls = [json.loads(mail.text) for mail in team.mail() if mail.text.startswith("{")]
    return [one for one in controls if one["type"] == "swarm.task_report"]


def stopped(team: LiveTeam) -> str | None:
    record = team.team.agents.load("w1")
    return record.reason if record is not None and record.state == "stopped" else None


async def test_it_is_waited_out_and_nothing_comes_twice(isolated_home: Path) -> None:
    team = live_team(isolated_home, work())

    with MessagesApi([*STORM, reply("Looking.", APPEND), *STORM, reply("All done.")]) as api:
        outcome = await one_session(team, api, **QUICK)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done."), outcome.reason
    assert (team.workspace / "ran").read_text().split() == ["ran"]
    turns = [line["message"] for line in team.lines("w1") if line["type"] == "assistant"]
    assert [final_text(message) for message in turns] == ["Looking.", "All done."]
    assert team.task("job").attempts == 0
    assert api.refused == []


async def test_the_wait_that_the_service_names_is_kept_and_others_differ(isolated_home: Path) -> None:
    team = live_team(isolated_home, work())
    named = http_error(429, retry_after=3)

    with MessagesApi([named, *[http_error(529)] * 4, reply("All done.")]) as api:
        outcome = await one_session(team, api, **QUICK)

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    first, second, *_ = api.exchanges
    assert second.received - first.received >= 3
    notes = [line for line in team.lines("w1") if (line["type"], line.get("what")) == ("note", "recovered")]
    waits = [line["data"]["wait_seconds"] for line in notes]
    assert waits[0] >= 3
    assert all(0.01 <= wait <= 0.02 for wait in waits[1:])
    assert len(set(waits[1:])) > 1


@pytest.mark.parametrize(
    "overload", [http_error(529), reply("Looking around", faults=(error_event(after=4),))], ids=["529", "200"]
)
async def test_after_the_limit_the_task_is_freed_and_the_leader_told(
    isolated_home: Path, overload: Reply
) -> None:
    """Six tries; then the agent gives the task back, which is no failed attempt at it, and ends as failed."""
    team = live_team(isolated_home, work())

    with MessagesApi(lambda _: overload) as api:
        begin(team, api, time_scale=0.001)
        await team.until(lambda: stopped(team) is not None, "the agent ends")
        await team.stop()

    job = team.task("job")
    assert (job.status, job.owner, job.attempts) == ("pending", None, 0)
    assert len(api.exchanges) == 6
    (told,) = reports(team)
    assert told["status"] == "released"
    assert "verloaded" in told["reason"]
    assert "tried 6 times" in told["reason"]
    assert stopped(team) == "failed"
