"""What `--json` prints has the shape that docs/json.md shows: the same keys, in the same order."""

from typing import Any

import pytest

from swarm.storage.team import Team
from tests.support.documented import example
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed, with_members


def documented(name: str) -> Any:
    return example("json.md", f"output: {name}")


def keys(value: Any) -> list[str]:
    return list(value)


def test_task_list(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    printed, shown = demo("task", "list", "--json").json(), documented("task list")

    assert keys(printed) == keys(shown)
    assert keys(printed["tasks"][1]) == [key for key in keys(shown["tasks"][0]) if key != "key"]


def test_task_show_and_claim(demo: Swarm) -> None:
    add(demo, "first")

    assert keys(demo("task", "show", "1", "--json").json()) == keys(documented("task show"))
    assert keys(demo("task", "claim", "1", "--as", "w1", "--json").json()) == keys(documented("task claim"))


@pytest.mark.usefixtures("team")
def test_send_and_mail(demo: Swarm) -> None:
    sent = demo("send", "team-lead", "hi", "--json").json()
    read = demo("mail", "team-lead", "--json").json()

    assert keys(sent) == keys(documented("send"))
    assert keys(sent["results"][0]) == ["to", "msg_id"]  # nobody has started it, so that it has no state
    assert keys(read) == keys(documented("mail"))
    assert keys(read["messages"][0]) == keys(documented("mail")["messages"][0])


def test_send_tells_the_state_of_a_recipient(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1", "idle", reason="no_task"))
    sent = demo("send", "w1", "hi", "--json").json()

    assert keys(sent["results"][0]) == keys(documented("send")["results"][0])
    assert sent["results"][0]["recipient"] == "idle"


def test_status(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1", task="1"))
    printed, shown = demo("status", "--json").json(), documented("status")

    assert keys(printed) == keys(shown)
    assert keys(printed["agents"][0]) == keys(shown["agents"][0])
    assert keys(printed["tasks"]) == keys(shown["tasks"])


def test_stop(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1", "stopped", reason="asked"))
    printed, shown = demo("stop", "w1", "--json").json(), documented("stop")

    assert keys(printed) == keys(shown)
    assert keys(printed["agents"][0]) == keys(shown["agents"][0])


def test_team_list(demo: Swarm) -> None:
    printed, shown = demo("team", "list", "--json").json(), documented("team list")

    assert keys(printed) == keys(shown)
    assert keys(printed["teams"][0]) == keys(shown["teams"][0])


def test_events(demo: Swarm) -> None:
    import json

    with_members(demo, {"name": "w1"})
    add(demo, "first")
    claimed(demo, "1")
    (claim,) = [json.loads(line) for line in demo("events", "--json").lines if "task_claimed" in line]

    assert keys(claim) == keys(documented("events"))


def test_errors(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    error = demo("task", "claim", "2", "--as", "w1", "--json").error()

    assert keys(error) == keys(documented("error")["error"])
    assert error["code"] == documented("error")["error"]["code"]
    assert keys(error["details"]) == keys(documented("error")["error"]["details"])
