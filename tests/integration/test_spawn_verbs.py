"""`swarm spawn` and `swarm restart`: teammates in processes of their own, started by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from swarm.backends.process import ProcessBackend
from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, parse_run_id
from swarm.errors import BackendError
from swarm.leader.records import leader_record, starting_record
from swarm.leader.spawning import start_teammates
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.integration.team.steps import WAITS_FOR_GO, task
from tests.support.command import Ended, Shell, processes_of_run
from tests.support.live_team import LiveTeam

pytestmark = pytest.mark.timeout(60)


PROCESS = ("--backend", "process", "--permission-mode", "bypassPermissions")


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[task("a", script=WAITS_FOR_GO)],
    )


@pytest.fixture
def shell(isolated_home: Path, team: LiveTeam) -> Iterator[Shell]:
    made = Shell(isolated_home, team.workspace)
    yield made
    made.swarm("stop", "--all", "--force")
    assert all(start_ticks(found.pid) is None for found in team.team.agents.list_agents() if found.pid)


def spawn(shell: Shell, name: str, *words: str) -> Any:
    ended = shell.swarm("spawn", name, *PROCESS, *words, "--json")
    assert ended.code == 0, ended.err
    return ended.json()


def error(ended: Ended) -> dict[str, Any]:
    assert ended.out == ""
    found: dict[str, Any] = json.loads(ended.err)["error"]
    return found


def record(team: LiveTeam, name: str = "w1") -> AgentRecord:
    found = team.team.agents.load(name)
    assert found is not None
    return found


def works(team: LiveTeam) -> None:
    wait_until((team.workspace / "began").exists, timeout=20, what="it works")


def test_a_teammate_that_is_spawned_is_ready_and_works(team: LiveTeam, shell: Shell) -> None:
    agent = spawn(shell, "w1")
    (shown,) = shell.swarm("status", "--json").json()["agents"]

    assert list(agent)[:2] == ["name", "state"]
    assert set(agent) <= set(shown) | {"reason"}
    assert agent["pid"] == record(team).pid
    assert os.getpgid(agent["pid"]) == agent["pid"]
    assert not list(Path(team.team.layout.spawn_dir).iterdir())
    works(team)
    (team.workspace / "go").touch()
    wait_until(lambda: team.task("a").finished, timeout=20, what="it is done")
    assert team.task("a").status == "completed"


def test_a_new_name_joins_with_its_role_and_its_prompt(team: LiveTeam, shell: Shell) -> None:
    """The prompt goes by a file, so nothing on the way reads or cuts it."""
    prompt = "Look at 'this' and \"that\"; $HOME `x`\n" * 800
    spawn(shell, "extra", "--agent-type", "builder", "--prompt", prompt)
    works(team)

    member = team.team.roster.load().member("extra")
    assert (member.role, member.backend_type, member.permission_mode) == (
        "builder",
        "process",
        "bypassPermissions",
    )
    first = team.messages("extra", team.sessions("extra")[0])[0]
    assert prompt.strip() in unescape("".join(block["text"] for block in first["content"]))
    assert [event.event for event in team.events("agent_spawned", "agent_restarted")] == ["agent_spawned"]


def test_who_is_alive_is_not_spawned_again(team: LiveTeam, shell: Shell) -> None:
    spawn(shell, "w1")
    before = record(team)
    ended = shell.swarm("spawn", "w1", "--json")

    assert (ended.code, error(ended)["code"]) == (4, "agent_alive")
    assert "swarm send w1" in error(ended)["message"]
    assert (record(team).pid, record(team).run_id) == (before.pid, before.run_id)


def test_who_died_gets_a_next_life(team: LiveTeam, shell: Shell) -> None:
    spawn(shell, "w1")
    works(team)
    before = record(team)
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: start_ticks(before.pid or 0) is None, timeout=5, what="it is gone")
    spawn(shell, "w1")

    assert record(team).run_id == before.run_id[:-1] + "2"
    assert record(team).pid != before.pid
    wait_until(lambda: holder(team) == record(team).run_id, timeout=20, what="it goes on")
    assert record(team).backend == "process"


def holder(team: LiveTeam) -> str | None:
    claim = team.task("a").claim
    return None if claim is None else claim.run_id


def test_what_the_last_life_left_has_ended_before_the_next_one_begins(team: LiveTeam, shell: Shell) -> None:
    """The record is the next life's from then on, and leads to no command of the one before."""
    spawn(shell, "w1")
    works(team)
    before = record(team)
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: start_ticks(before.pid or 0) is None, timeout=5, what="it is gone")
    spawn(shell, "w1")

    told = [(event.event, event.run_id) for event in team.events("agent_died", "agent_restarted")]
    assert told[-2:] == [("agent_died", before.run_id), ("agent_restarted", record(team).run_id)]
    assert all(start_ticks(tool.pgid or 0) is None for tool in before.tools)


@pytest.mark.parametrize("verb", ["spawn", "restart"])
def test_a_start_that_was_cut_short_does_not_block_its_name(team: LiveTeam, shell: Shell, verb: str) -> None:
    """Whoever began it was killed before there was a process; without a leader nobody else can be at it."""
    team.team.agents.save(starting_record(team.spec("w1", backend="process"), team.team.clock.now()))
    began = time.monotonic()
    ended = shell.swarm(verb, "w1", "--backend", "process", SWARM_TIME_SCALE="5")

    assert ended.code == 0, ended.err
    assert time.monotonic() - began < team.settings.stop_timeout_seconds * 5, "nobody was waited for"
    assert record(team).run_id == team.run_id("w1", 2)
    assert record(team).pid is not None


def test_a_start_that_a_leader_may_be_at_is_waited_for_no_longer_than_it_may_take(
    team: LiveTeam, shell: Shell
) -> None:
    now = team.team.clock.now()
    team.team.agents.save(leader_record(team.run_id(LEADER), "process", "working", now))
    team.team.agents.save(starting_record(team.spec("w1", backend="process"), now))
    found = error(shell.swarm("spawn", "w1", *PROCESS, "--json"))
    assert (found["code"], found["message"]) == (
        "agent_alive",
        "w1 is being started now; wait for it, or start it anew with swarm restart w1",
    )

    team.team.agents.save(starting_record(team.spec("w1", backend="process"), now - 31))
    spawn(shell, "w1")
    assert record(team).run_id == team.run_id("w1", 2)
    team.team.agents.save(leader_record(team.run_id(LEADER), "process", "stopped", now).replace(pid=None))


def test_of_several_spawns_of_one_name_one_wins(team: LiveTeam, shell: Shell) -> None:
    started = [shell.start("spawn", "w1", *PROCESS, "--json") for _ in range(4)]
    ended = [process.communicate(timeout=50) for process in started]
    codes = [process.returncode for process in started]

    assert min(codes) == 0, ended
    assert set(sorted(codes)[1:]) <= {4, 75}, ended
    life = parse_run_id(record(team).run_id)
    assert life.life == "1"
    assert len(team.events("agent_spawned", "agent_restarted")) == 1
    workers = [
        pid
        for pid in processes_of_run(life.run)
        if b"\0worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert workers == [record(team).pid]


async def test_a_leader_and_a_person_do_not_both_start_one_life(team: LiveTeam, shell: Shell) -> None:
    """A leader takes no turns with the command line; it starts anew whom it finds dead."""
    spec = team.spec("w1", backend="process")
    mine, theirs = ProcessBackend(team.team), ProcessBackend(team.team)
    await start_teammates(team.team, theirs, [spec])
    before = record(team)
    with pytest.raises(BackendError) as caught:
        await start_teammates(team.team, mine, [spec])

    assert caught.value.code == "agent_alive"
    assert (record(team).pid, record(team).state == "stopped") == (before.pid, False)
    assert theirs.list_alive() == ("w1",)
    assert mine.list_alive() == ()
    await theirs.stop(timeout=10)


def test_restart_ends_it_and_goes_on_with_its_task(team: LiveTeam, shell: Shell) -> None:
    spawn(shell, "w1")
    works(team)
    before = record(team)
    (team.workspace / "began").unlink()
    ended = shell.swarm("restart", "w1", "--json")

    assert ended.code == 0, ended.err
    assert before.pid is not None
    assert start_ticks(before.pid) is None
    assert record(team).run_id == before.run_id[:-1] + "2"
    (team.workspace / "go").touch()
    wait_until(lambda: team.task("a").finished, timeout=20, what="it is done")
    assert team.task("a").status == "completed"
    causes = [line["cause"] for line in team.lines("w1") if line["type"] == "start"]
    assert causes[:2] == ["claim", "resume"]


def test_restart_starts_one_that_has_ended(team: LiveTeam, shell: Shell) -> None:
    assert shell.swarm("restart", "w1", "--backend", "process").out.startswith("w1 is ")
    assert record(team).state != "stopped"
    assert error(shell.swarm("restart", "nobody", "--json"))["code"] == "no_such_agent"
    assert error(shell.swarm("restart", "team-lead", "--json"))["code"] == "bad_value"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("../x",), "bad_name"),
        (("leader",), "bad_name"),
        (("new", "--model", "claude-x"), "no_key"),
        (("new", "--permission-mode", "odd"), "bad_value"),
        (("new", "--backend", "in-process"), "bad_value"),
        (("new", "--prompt", " \n"), "bad_value"),
        (("W1",), "bad_name"),
    ],
)
def test_what_cannot_be_spawned_leaves_nothing(
    team: LiveTeam, shell: Shell, words: tuple[str, ...], code: str
) -> None:
    found = error(shell.swarm("spawn", *words, "--json"))

    assert found["code"] == code
    assert team.team.roster.load().names() == ("team-lead", "w1")
    assert team.team.agents.list_agents() == ()
    assert team.team.inbox("new").peek() == ()


def test_a_start_that_fails_leaves_nothing_but_its_record(team: LiveTeam, shell: Shell) -> None:
    Path(team.team.layout.team_file).unlink()  # it names the workspace, and would be refused before
    moved = team.workspace.rename(team.workspace.with_name("moved"))
    ended = Shell(shell.home, moved).swarm(
        "spawn", "new", "--prompt", "hi", *PROCESS, "--model", "scripted", "--json"
    )
    shutil.copytree(moved, team.workspace)

    assert error(ended)["message"].startswith("new was not started")
    assert team.team.roster.load().names() == ("team-lead", "w1")
    assert record(team, "new").reason == "failed"
    assert team.team.inbox("new").peek() == ()
    assert not list(Path(team.team.layout.spawn_dir).iterdir())


def test_no_agent_starts_another(shell: Shell) -> None:
    for verb in ("spawn", "restart"):
        ended = shell.swarm(verb, "w1", "--json", SWARM_AGENT="w1")
        assert (ended.code, error(ended)["code"]) == (5, "denied")
