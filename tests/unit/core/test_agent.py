from __future__ import annotations

from typing import Any

import pytest

from swarm.core.agent import STATES, AgentRecord, derive_state, parse_agent, render_agent

RECORD = AgentRecord(name="w1", run_id="r.w1.1", backend="process", state="working", since="t", pid=1)


@pytest.mark.parametrize(
    ("state", "pid", "liveness", "age", "shown"),
    [
        ("working", 1, "alive", 1.0, "working"),
        ("working", 1, "alive", 60.0, "working"),
        ("working", 1, "alive", 60.1, "stalled"),
        ("paused", 1, "alive", None, "paused"),
        ("working", 1, "dead", 1.0, "dead"),
        ("working", 1, "unknown", 900.0, "unknown"),
        ("stopped", 1, "dead", 900.0, "stopped"),
        ("starting", None, "unknown", None, "starting"),
        ("starting", None, "dead", None, "starting"),
        ("starting", 1, "dead", None, "dead"),
    ],
)
def test_readers_work_out_what_is_shown(
    state: str, pid: int | None, liveness: str, age: float | None, shown: str
) -> None:
    """Silence makes an agent stalled at most; a stopped one is not dead; one without a process starts."""
    record = RECORD.replace(state=state, pid=pid)

    assert derive_state(record, liveness, age, stalled_after=60.0) == shown


def test_derived_states_are_never_written() -> None:
    assert not {"stalled", "dead", "unknown"} & set(STATES)


def test_an_agent_that_is_not_ready_has_no_process_yet() -> None:
    record = RECORD.replace(pid=None, state="starting")

    assert "pid" not in render_agent(record)
    assert parse_agent(render_agent(record)) == record


def test_a_reason_stands_with_what_is_waited_for() -> None:
    record = RECORD.replace(state="idle", reason="waiting_for_task", on="3", until="t2")

    assert parse_agent(render_agent(record)) == record


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "dead"}, "state should be one of"),
        ({"tools": {}}, "tools should be a list"),
        ({"tools": [1]}, "a tool should be an object"),
        ({"handle": "%5"}, "handle should be an object"),
        ({"run_id": None}, "run_id should be text"),
    ],
)
def test_a_record_that_we_do_not_understand_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_agent(render_agent(RECORD) | changes)
