"""Workers that are killed or given up: what they held goes on with others, and they change nothing more."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import USER
from swarm.core.task import NewTask
from swarm.storage import processes
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.live_team import LiveTeam, git, make_repository
from tests.support.own_process import OwnProcess
from tests.support.racers import Racer, race
from tests.support.stores import SETTINGS, make_team

pytestmark = pytest.mark.timeout(60)

FREE = """
from swarm.storage.dead import free_dead_claims
freed = free_dead_claims(team, lambda life: None, name)
say([one.task.id for one in freed])
"""
CLAIM_AND_COMPLETE = """
from swarm.errors import SwarmError
task = team.tasks(name).claim(name, None, f"k3v9qd7m.{name}.1")
say(task.claim.token)
sys.stdin.readline()
try:
    team.tasks(name).complete(task.id, task.claim.token, TaskResult(summary="late"))
    say("completed")
except SwarmError as error:
    say(error.code)
"""


def a_dead_one(name: str) -> AgentRecord:
    """Return the record of a process that has ended: its number is ours, its start is not."""
    since = "2026-11-30T12:31:02.410Z"
    return AgentRecord(
        name=name,
        run_id=f"k3v9qd7m.{name}.1",
        backend="process",
        state="working",
        since=since,
        started_at=since,
        host=processes.host(),
        boot_id=processes.boot_id(),
        pid_ns=processes.pid_ns(),
        pid=1,
        start_ticks=-1,
    )


def test_many_look_at_once_and_each_claim_is_freed_once(tmp_path: Path) -> None:
    """One count of the crash, one death in the log, whoever was first at which of the tasks."""
    root = tmp_path / "root"
    team = make_team(root, settings=SETTINGS)
    dead = ("w1", "w2", "w3")
    team.tasks(USER).create(*(NewTask(subject=name) for name in dead))
    for name in dead:
        team.tasks(name).claim(name, None, f"k3v9qd7m.{name}.1")
        team.agents.save(a_dead_one(name))

    answers = race(root, [f"r{number}" for number in range(6)], FREE)

    assert sorted(task_id for freed in answers for task_id in freed) == ["1", "2", "3"]
    assert [(task.status, task.crashes) for task in team.tasks(USER).list_tasks()] == [("pending", 1)] * 3
    kinds = [(event.event, event.agent) for _, event in team.events.read()]
    assert sorted(agent for kind, agent in kinds if kind == "agent_died") == sorted(dead)
    assert sum(kind == "task_released" for kind, _ in kinds) == 3
    team.close()


def test_a_paused_worker_that_was_given_up_is_refused_when_it_goes_on(tmp_path: Path) -> None:
    """Its token is of an earlier claim; the task is another's, untouched."""
    root = tmp_path / "root"
    team = make_team(root, settings=SETTINGS)
    team.tasks(USER).create(NewTask(subject="first"))
    late = Racer(root, "w1", CLAIM_AND_COMPLETE)
    try:
        late.wait_ready()
        late.go()
        late.heard()
        late.process.send_signal(signal.SIGSTOP)
        team.agents.save(a_dead_one("w1"))
        assert race(root, ["w2"], FREE) == [["1"]]
        team.tasks("w2").claim("w2", None, "k3v9qd7m.w2.1")
        before = team.tasks(USER).get_task("1")

        late.process.send_signal(signal.SIGCONT)
        late.go()

        assert late.heard() == "stale_token"
        assert team.tasks(USER).get_task("1") == before
        assert before.owner == "w2"
    finally:
        late.end()
        team.close()


def test_an_earlier_life_that_goes_on_commits_nothing_and_ends(isolated_home: Path) -> None:
    """Its command was ended for it. It finds its claim gone before it commits, and its place taken."""
    make_repository(isolated_home / "work", {"README": "here\n"})
    script = [
        {"calls": [{"Write": {"file_path": "out.txt", "content": "by life 1\n"}}]},
        {"calls": [{"Bash": {"command": "test -e began || { echo $$ > pid; touch began; sleep 600; }"}}]},
        {"say": "Done."},
    ]
    task = {"key": "a", "subject": "Write it", "script": script, "files": ["out.txt"]}
    permissions = {"mode": "bypassPermissions"}
    team = LiveTeam(isolated_home, permissions=permissions, teammates=[{"name": "w1"}], tasks=[task])
    with OwnProcess(team, "w1") as first:
        wait_until((team.workspace / "began").exists, timeout=15, what="the command runs")
        tool = int((team.workspace / "pid").read_text())
        first.pause()

        with OwnProcess(team, "w1", life=2) as second:
            wait_until(lambda: team.task("a").status == "completed", timeout=15, what="done by the second")
            assert start_ticks(tool) is None
            first.go_on()
            assert first.ended() == 1
            second.until_idle()

    done = team.task("a")
    assert done.claim is not None
    assert (done.claim.run_id, done.crashes) == (second.run_id, 1)
    assert git(team.workspace, "log", "--format=%s").split("\n")[:-1] == ["Write it", "start"]
    ends = [line for line in team.lines("w1") if line["type"] == "end"]
    assert [(line["run_id"], line["why"]) for line in ends][-1] == (first.run_id, "claim_lost")
    assert [event.run_id for event in team.events("agent_died")] == [first.run_id]
