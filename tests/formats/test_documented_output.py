"""The examples in docs/json.md hold what they promise, and its table of codes is the one in force."""

from __future__ import annotations

import re
from typing import Any

import pytest

from swarm.core.agent import AgentRecord, derive_state
from swarm.core.event import parse_event, render_event
from swarm.core.message import parse_message, render_message
from swarm.core.permission import parse_request
from swarm.core.table import TaskTable
from swarm.core.task import parse_task, render_task, verified
from swarm.errors import EXIT_CODES, SwarmError
from tests.support.documented import blocks, example, page_text

PAGE = "json.md"
COUNTS = list(TaskTable("any").counts())


def output(name: str) -> Any:
    return example(PAGE, f"output: {name}")


@pytest.mark.parametrize("name", ["task show", "task claim"])
def test_a_shown_task_is_its_file_and_what_follows_from_it(name: str) -> None:
    shown = output(name)
    derived = {"open_blockers", "ready", "verified", "token"}
    in_file = {key: value for key, value in shown.items() if key not in derived}
    task = parse_task(in_file)

    assert render_task(task) == in_file
    assert shown["verified"] == verified(task)
    assert shown["ready"] == (task.status == "pending" and not shown["open_blockers"])


def test_a_claim_shows_its_token() -> None:
    seq, _, run_id = output("task claim")["token"].partition("/")

    assert int(seq) == output("task claim")["metadata"]["swarm"]["seq"]
    assert run_id.split(".")[1:] == [output("task claim")["owner"], "cli"]


def test_task_counts_have_the_keys_of_the_table() -> None:
    assert list(output("status")["tasks"]) == COUNTS
    assert list(output("team list")["teams"][0]["tasks"]) == COUNTS


def test_a_shown_agent_has_a_state_that_can_be_derived() -> None:
    agent = output("status")["agents"][0]
    record = AgentRecord(
        name=agent["name"],
        run_id=agent["run_id"],
        backend=agent["backend"],
        state=agent["state"],
        since=agent["since"],
        pid=agent["pid"],
    )

    assert derive_state(record, "alive", agent["heartbeat_age_seconds"], 60.0) == agent["state"]


def test_shown_mail_is_the_message_without_its_envelope() -> None:
    shown = output("mail")["messages"][0]
    message = parse_message(shown)

    assert message.extra == {"acked": False}
    assert render_message(message).items() >= shown.items()


def test_a_shown_request_is_part_of_the_request() -> None:
    shown = output("permissions")["pending"][0]
    request = parse_request(shown | {"run_id": "r.a.1", "digest": "sha256:0"})

    assert request.extra == {"asker": "alive"}


def test_an_event_is_its_line_and_an_offset() -> None:
    shown = output("events")
    event = parse_event(shown)

    assert event.extra == {"offset": shown["offset"]}
    assert render_event(event) == shown


def test_errors_carry_a_code_that_exists() -> None:
    error = output("error")["error"]
    made = SwarmError(error["message"], code=error["code"], details=error["details"])

    assert made.as_json() == output("error")
    assert output("send")["results"][1]["error"]["code"] in EXIT_CODES


def test_the_table_of_codes_is_the_one_in_force() -> None:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]*) \|$", page_text(PAGE), re.MULTILINE)
    documented = {code: int(number) for number, codes in rows for code in re.findall(r"`(\w+)`", codes)}

    assert documented == EXIT_CODES


def test_every_output_is_one_line() -> None:
    """One object and a line end: a reader may take it line by line."""
    assert [body.count("\n") for body in blocks(PAGE).values()] == [1] * len(blocks(PAGE))
    assert page_text(PAGE).count("```json") == len(blocks(PAGE))
