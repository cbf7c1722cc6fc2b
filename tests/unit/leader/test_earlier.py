"""What a new leader makes of teammates that had not come up when the earlier one was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.errors import StateError
from swarm.leader.earlier import take_up
from swarm.leader.ending import end_agents
from swarm.leader.records import leader_record
from swarm.storage import processes
from swarm.storage.team import Team
from tests.support.stores import SETTINGS, make_team

LEADER_RUN_ID = "k3v9qd7m.team-lead.1"


def starting(name: str) -> AgentRecord:
    """The record of one that its leader, in the same process, has begun to start."""
    return AgentRecord(
        name=name,
        run_id=f"k3v9qd7m.{name}.1",
        backend="in-process",
        leader=LEADER_RUN_ID,
        state="starting",
        since="2026-11-30T12:31:02.410Z",
        host=processes.host(),
        boot_id=processes.boot_id(),
        pid_ns=processes.pid_ns(),
    )


def led(folder: Path, *, alive: bool) -> Team:
    team = make_team(folder / "root", settings=SETTINGS)
    leader = leader_record(LEADER_RUN_ID, "in-process", "working", team.clock.now())
    team.agents.save(leader if alive else leader.replace(start_ticks=1))
    team.agents.save(starting("w1"))
    return team


def test_a_teammate_that_was_to_come_up_in_the_process_of_a_killed_leader_is_over(tmp_path: Path) -> None:
    """It has no process by which that could be seen; nobody could take the run up for its sake."""
    team = led(tmp_path, alive=False)

    earlier = take_up(team, "in-process")

    assert earlier.leader_run_id == "k3v9qd7m.team-lead.2"
    assert earlier.living == ()
    record = team.agents.load("w1")
    assert record is not None
    assert (record.state, record.reason) == ("stopped", "killed")
    team.close()


def test_one_that_comes_up_in_the_process_of_a_living_leader_is_not_over(tmp_path: Path) -> None:
    team = led(tmp_path, alive=True)

    with pytest.raises(StateError) as caught:
        end_agents(team, ["w1"], by=LEADER, timeout=0, force=True)

    assert caught.value.code == "agent_alive"
    team.close()
