from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from swarm.errors import CorruptStateError, NotFoundError
from swarm.storage.processes import boot_id, host, own_start_ticks, pid_ns
from swarm.storage.team import Team


def a_record(name: str = "w1") -> AgentRecord:
    since = "2026-11-30T12:31:02.410Z"
    run_id = f"k3v9qd7m.{name}.1"
    return AgentRecord(name=name, run_id=run_id, backend="in-process", state="starting", since=since)


def test_record_is_saved_loaded_and_changed_in_part(team: Team) -> None:
    assert team.agents.load("w1") is None
    team.agents.save(a_record())
    assert team.agents.load("w1") == a_record()
    changed = team.agents.update("w1", state="working", task="7")
    assert team.agents.load("w1") == changed == a_record().replace(state="working", task="7")


def test_update_of_an_agent_that_never_ran_names_those_that_did(team: Team) -> None:
    team.agents.save(a_record("w2"))
    with pytest.raises(NotFoundError) as caught:
        team.agents.update("w1", state="idle")
    assert caught.value.code == "no_such_agent"
    assert caught.value.details["valid"] == ["w2"]


def test_a_life_begins_once(team: Team) -> None:
    """Two that start a name at the same time have read the same record, and so mean the same next life."""
    first = a_record()
    assert team.agents.begin_life(first)
    assert not team.agents.begin_life(first.replace(backend="process"))
    assert team.agents.load("w1") == first

    second = first.replace(run_id="k3v9qd7m.w1.2")
    assert team.agents.begin_life(second)
    assert not team.agents.begin_life(first)
    assert team.agents.load("w1") == second


def test_no_life_begins_beside_one_that_lives(team: Team) -> None:
    here = {"host": host(), "boot_id": boot_id(), "pid_ns": pid_ns()}
    alive = a_record().replace(state="idle", pid=os.getpid(), start_ticks=own_start_ticks(), **here)
    another = a_record().replace(run_id="aaaaaaaa.w1.1")
    team.agents.save(alive)
    assert not team.agents.begin_life(another)

    for over in (alive.replace(state="stopped"), alive.replace(start_ticks=1)):
        team.agents.save(over)
        assert team.agents.begin_life(another)
        assert team.agents.load("w1") == another


def test_a_damaged_record_keeps_nobody_from_a_new_life(team: Team) -> None:
    Path(team.layout.agent("w1")).write_text("{half")
    assert team.agents.begin_life(a_record())
    assert team.agents.load("w1") == a_record()


def test_list_passes_over_drafts_of_killed_writers(team: Team) -> None:
    team.agents.save(a_record("w2"))
    team.agents.save(a_record("w1"))
    Path(team.layout.agents_dir, ".w3.4711.tmp").write_text("{half")
    Path(team.layout.agents_dir, ".w3.json").write_text("{half")
    assert [record.name for record in team.agents.list_agents()] == ["w1", "w2"]


def test_unknown_fields_of_a_record_survive(team: Team) -> None:
    team.agents.save(a_record())
    path = Path(team.layout.agent("w1"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": [1]}))
    team.agents.update("w1", state="idle", reason="no_task")
    assert json.loads(path.read_text())["later"] == [1]


def test_damaged_record_is_an_error(team: Team) -> None:
    path = Path(team.layout.agent("w1"))
    path.write_text('{"name": "w1"}')
    with pytest.raises(CorruptStateError) as caught:
        team.agents.load("w1")
    assert caught.value.details["path"] == str(path)


def test_a_life_that_was_replaced_or_ended_changes_nothing(team: Team) -> None:
    """A stopped process that is continued must not speak for the one that took its place."""
    assert team.agents.update_life("k3v9qd7m.w1.1", state="idle") is None
    team.agents.save(a_record())
    assert team.agents.update_life("k3v9qd7m.w1.1", state="working") == a_record().replace(state="working")
    assert team.agents.update_life("k3v9qd7m.w1.2", state="idle") is None

    assert team.agents.end_life("k3v9qd7m.w1.1", "killed")
    assert not team.agents.end_life("k3v9qd7m.w1.1", "killed")
    assert team.agents.update_life("k3v9qd7m.w1.1", state="working") is None
    record = team.agents.load("w1")
    assert record is not None
    assert (record.state, record.reason) == ("stopped", "killed")
