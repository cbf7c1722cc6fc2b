"""A shared file was truncated and then written; readers met half a file, and the state was reset."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.task import NewTask
from tests.support.racers import Racer, race
from tests.support.stores import NAMES, check_tasks, make_team, reopened
from tests.support.verbs import reading, verb

RECORD = """
from swarm.core.agent import AgentRecord
from swarm.core.roster import Member

def a_record(name):
    at, run_id = "2026-11-30T12:30:00.000Z", f"k3v9qd7m.{name}.1"
    return AgentRecord(name=name, run_id=run_id, backend="in-process", state="idle", since=at)
"""
JOIN = """
for n in range(2):
    team.roster.add_member(Member(agent_id=f"{name}-{n}@demo", name=f"{name}-{n}", joined_at=0, cwd="/"))
    team.agents.save(a_record(f"{name}-{n}"))
say("done")
"""
KILLS = 40
DIE = f"""
import os, random, signal, time

def write(life):
    from swarm.storage.team import Team
    own = Team(team.layout, settings, SystemClock())
    for n in range(10_000):
        new = f"k{{life}}-{{n}}"
        own.roster.add_member(Member(agent_id=f"{{new}}@demo", name=new, joined_at=0, cwd="/"))
        own.agents.save(a_record("w1"))
        send(own, "w1", LEADER, f"{{life}} {{n}}")
        own.tasks("user").edit("1", {{"description": f"{{life}} {{n}} " * (n % 300)}})

for life in range({KILLS}):
    child = os.fork()
    if child == 0:
        try:
            write(life)
        finally:
            os._exit(1)
    time.sleep(random.Random(life).uniform(0.001, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
say("done")
"""


def test_who_joins_at_the_same_time_is_never_half_written(tmp_path: Path) -> None:
    make_team(tmp_path)
    names = [f"p{number}" for number in range(12)]

    with reading(tmp_path / "teams/demo", readers=2) as readers:
        race(tmp_path, names, RECORD + JOIN)

    assert [reader.faults for reader in readers] == [[]] * 2
    agents = {agent["name"] for agent in verb(tmp_path, "status", "--json").json()["agents"]}
    assert agents == {*NAMES, *(f"{name}-{n}" for name in names for n in range(2))}


@pytest.mark.timeout(60)
def test_writers_killed_at_any_moment_leave_whole_files(tmp_path: Path) -> None:
    """No file is empty, nothing is reset, and what a writer left behind breaks no command."""
    team = make_team(tmp_path)
    team.tasks("user").create(NewTask(subject="first"))
    team.close()
    racer = Racer(tmp_path, "killer", RECORD + DIE)
    try:
        racer.wait_ready()
        # A task file is written in place: a look in that instant may see both texts, a second look does not.
        tasks = reading(tmp_path / "tasks/demo", looks=2)
        with reading(tmp_path / "teams/demo") as (reader,), tasks as (second,):
            racer.go()
            assert racer.heard() == "done"
    finally:
        racer.end()

    assert (reader.faults, second.faults) == ([], [])
    assert {LEADER, *NAMES} < set(team.roster.load().names())
    for words in (
        ["status", "--json"], ["task", "list", "--json"], ["mail", LEADER, "--json"],
        ["task", "add", "goes on"], ["send", LEADER, "goes on"], ["task", "claim", "2", "--as", "w1"],
    ):  # fmt: skip
        assert verb(tmp_path, *words).code == 0, words
    check_tasks(reopened(team))
    assert verb(tmp_path, "doctor", "--fix").code == 0
    assert [name for name in os.listdir(team.layout.team_dir) if name.endswith(".tmp")] == []
