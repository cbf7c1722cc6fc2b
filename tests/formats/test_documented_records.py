"""Each record in docs/formats.md parses, renders to the same, and keeps what it does not know."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from swarm.core.agent import STATES, parse_agent, render_agent
from swarm.core.costs import Cost, parse_entry, render_entry
from swarm.core.event import EVENT_KINDS, parse_event, parse_event_line, render_event, render_event_line
from swarm.core.fold import Fold, changes_of
from swarm.core.journal import parse_line, render_line
from swarm.core.message import (
    CONTROL_KINDS,
    idle_notification,
    parse_control,
    parse_messages,
    pause_order,
    render_message,
    shutdown_reply,
    shutdown_request,
    task_report,
)
from swarm.core.permission import (
    parse_request,
    parse_resolution,
    render_request,
    render_resolution,
    request_digest,
)
from swarm.core.price import cost_of
from swarm.core.roster import parse_roster, render_roster
from swarm.core.table import TaskTable
from swarm.core.task import STATUSES, parse_task, render_task
from swarm.core.transcript import Position, assistant_line, fold_messages, result_line, start_line, user_line
from swarm.pricing import known_prices
from tests.support.documented import blocks, example, objects, page_text

PAGE = "formats.md"
Place = tuple[str | int, ...]


def through_messages(array: list[Any]) -> list[Any]:
    return [render_message(message) for message in parse_messages(array)]


ROUND_TRIPS: dict[str, Callable[[Any], Any]] = {
    "record: task": lambda obj: render_task(parse_task(obj)),
    "record: roster": lambda obj: render_roster(parse_roster(obj)),
    "record: agent": lambda obj: render_agent(parse_agent(obj)),
    "record: messages": through_messages,
    "record: request": lambda obj: render_request(parse_request(obj)),
    "record: resolution": lambda obj: render_resolution(parse_resolution(obj)),
    "record: event": lambda obj: render_event(parse_event(obj)),
}


def objects_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield where each object stands, itself included."""
    if isinstance(value, dict):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from objects_in(inner, (*place, key))


def with_unknown(value: Any, place: Place) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for key in place:
        inner = inner[key]
    inner["fromAnotherClient"] = {"kept": [1, None]}
    return changed


@pytest.mark.parametrize("label", ROUND_TRIPS)
def test_an_example_renders_as_it_was_parsed(label: str) -> None:
    """Also in the same order of fields, so that a file changes only where something changed."""
    obj = example(PAGE, label)

    assert json.dumps(ROUND_TRIPS[label](obj)) == json.dumps(obj)


@pytest.mark.parametrize(
    ("label", "place"),
    [(label, place) for label in ROUND_TRIPS for place in objects_in(example(PAGE, label))],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else part,
)
def test_an_unknown_field_survives_wherever_it_stands(label: str, place: Place) -> None:
    """Another client, or a later version, may have put it there."""
    changed = with_unknown(example(PAGE, label), place)

    assert ROUND_TRIPS[label](changed) == changed


def journal_lines() -> list[bytes]:
    return blocks(PAGE)["record: journal"].encode().splitlines(keepends=True)


@pytest.mark.parametrize("raw", journal_lines())
def test_a_journal_line_is_rendered_to_the_byte(raw: bytes) -> None:
    assert render_line(parse_line(raw)) == raw


@pytest.mark.parametrize("raw", journal_lines())
def test_an_unknown_field_of_a_journal_line_survives(raw: bytes) -> None:
    body = parse_line(raw) | {"fromAnotherClient": {"kept": [1]}}

    assert parse_line(render_line(body)) == body


def test_the_journal_lines_make_the_documented_task() -> None:
    """The examples of journal and task are one story: created, claimed, completed."""
    table = TaskTable("rename-api")
    table.apply({"op": "head", "gen": 1, "seq": 11, "next": 7})
    created, claimed, done = map(parse_line, journal_lines())
    table.apply(created)
    fold = Fold(find=table.find, team="rename-api")
    task = changes_of(claimed, fold)["7"]
    task = changes_of(done, Fold(find=lambda _: task, team="rename-api"))["7"]

    assert task is not None
    documented = parse_task(example(PAGE, "record: task"))
    assert (task.owner, task.claim, task.result) == (documented.owner, documented.claim, documented.result)
    assert (task.seq, task.status, task.updated_at) == (185, "completed", documented.updated_at)


def test_an_unknown_field_of_a_task_survives_claim_and_completion() -> None:
    table = TaskTable("rename-api")
    created = with_unknown(parse_line(journal_lines()[0]), ("task",)) | {"seq": 1}
    created = with_unknown(created, ("task", "metadata", "swarm"))
    table.apply(created)
    table.apply(parse_line(journal_lines()[1]) | {"seq": 2})

    task = render_task(table.get("7"))
    assert task["fromAnotherClient"] == task["metadata"]["swarm"]["fromAnotherClient"]


def test_an_event_line_is_compact_and_whole() -> None:
    event = parse_event(example(PAGE, "record: event"))
    line = render_event_line(event)

    assert b": " not in line
    assert line.endswith(b"}\n")
    assert parse_event_line(line) == event


def test_control_messages_are_made_as_documented() -> None:
    at, request_id = "2026-11-30T12:34:32.000Z", "shutdown-1796042071455@builder-1"
    made = [
        idle_notification("builder-1", "no_task", "2026-11-30T12:35:00.000Z"),
        shutdown_request("team-lead", "builder-1", "2026-11-30T12:34:31.455Z", "work done"),
        shutdown_reply(request_id, "builder-1", at, approved=True),
        pause_order("2026-11-30T12:36:00.000Z"),
        task_report(
            "7", "completed", "Renamed in api/ and its tests.", None, ["9"], "2026-11-30T12:34:11.020Z"
        ),
    ]

    assert [parse_control(text) for text in made] == objects(blocks(PAGE)["record: control"])


def test_transcript_lines_are_made_as_documented() -> None:
    documented = objects(blocks(PAGE)["record: transcript"])
    start, user, assistant, result = documented

    def at(line: dict[str, Any]) -> Position:
        return Position(
            session=line["session"], n=line["n"], time=line["time"], task=line["task"], run_id=line["run_id"]
        )

    made = [
        start_line(at(start), cause="claim", model="scripted", carried=start["carried"]),
        user_line(at(user), message=user["message"], msg_ids=user["msg_ids"]),
        assistant_line(
            at(assistant), message=assistant["message"], stop_reason="tool_use", usage=assistant["usage"]
        ),
        result_line(at(result), block=result["block"], elapsed_seconds=6.6),
    ]
    assert json.dumps(made) == json.dumps(documented)


def test_unknown_fields_of_transcript_lines_do_not_disturb() -> None:
    lines = objects(blocks(PAGE)["record: transcript"])

    expected = fold_messages(lines, "q7m2xk4d")
    assert [message["role"] for message in expected] == ["user", "assistant", "user"]
    assert fold_messages([with_unknown(line, ()) for line in lines], "q7m2xk4d") == expected


def test_the_documented_digest_is_the_digest_of_its_call() -> None:
    request = example(PAGE, "record: request")

    assert request["digest"] == request_digest(request["tool"], request["input"], request["cwd"])
    assert request["digest"] == example(PAGE, "record: resolution")["digest"]


COST_LINES = objects(blocks(PAGE)["record: costs"])


@pytest.mark.parametrize("line", COST_LINES)
def test_cost_lines_render_as_they_were_parsed(line: dict[str, Any]) -> None:
    assert json.dumps(render_entry(parse_entry(line))) == json.dumps(line)
    for place in objects_in(line):
        changed = with_unknown(line, place) if place[-1:] != ("prices",) else line
        assert render_entry(parse_entry(changed)) == changed


def test_the_documented_cost_is_that_of_its_tokens() -> None:
    costs = parse_entry(COST_LINES[2])
    assert isinstance(costs, Cost)

    assert costs.micros == cost_of(costs.usage, known_prices()[costs.model])


def section(title: str) -> str:
    return page_text(PAGE).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def words_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_.]+)`", text))


def test_the_page_names_every_kind_and_status() -> None:
    table = section("Event").partition("| about |")[2].partition("\n\n")[0]

    assert words_in(table) == set(EVENT_KINDS)
    assert set(STATUSES) <= words_in(section("Task"))
    assert set(STATES) <= words_in(section("Agent record"))
    assert words_in(section("Message")) >= CONTROL_KINDS


def test_every_json_block_of_the_page_is_checked() -> None:
    checked = {*ROUND_TRIPS, "record: journal", "record: control", "record: transcript", "record: costs"}

    assert set(blocks(PAGE)) == checked
    assert page_text(PAGE).count("```json") == len(checked)
