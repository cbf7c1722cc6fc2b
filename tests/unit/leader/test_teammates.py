"""Who dies gets a new life, who was ended does not: told by record and events, with puppets for workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from swarm.backends.ending import stop_all
from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, make_run_id
from swarm.core.roster import SPAWN_COMMAND
from swarm.core.spawn import RuleSet, TeammateSpec
from swarm.core.task import NewTask, Task
from swarm.errors import BackendError
from swarm.leader.records import roster_member, starting_record
from swarm.leader.teammates import Teammates
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.processes import new_run
from swarm.storage.team import Team, create_team

SETTINGS = Settings(durability="none").scaled(0.02)
NOBODY = -1
"""No process has this start time: a record that carries it is that of a dead one."""


class Puppets:
    """A backend whose teammates do what the test says."""

    name = "process"

    def __init__(self, team: Team) -> None:
        self._team = team
        self.started: list[str] = []
        self.specs: list[TeammateSpec] = []
        self.alive: list[str] = []
        self.killed: list[str] = []
        self.come_up = True
        self.refuses = False

    async def spawn(self, spec: TeammateSpec) -> None:
        self.started.append(spec.run_id)
        self.specs.append(spec)
        if self.refuses:
            raise BackendError(f"{spec.name} was not started")
        self.alive.append(spec.name)
        if self.come_up:
            self._team.agents.update(spec.name, state="idle", pid=1, start_ticks=NOBODY)

    def adopt(self, record: AgentRecord) -> bool:
        if record.start_ticks == NOBODY:
            return False
        self.alive.append(record.name)
        return True

    def is_alive(self, name: str) -> bool:
        return name in self.alive

    def list_alive(self) -> tuple[str, ...]:
        return tuple(self.alive)

    def failure(self, name: str) -> str | None:
        return "it fell over"

    def hint(self) -> None: ...

    def ask_to_stop(self, name: str) -> None:
        self._team.agents.update(name, state="stopped", reason="asked")
        self.alive.remove(name)

    async def stop(self, *, timeout: float) -> tuple[str, ...]:
        return await stop_all(self, timeout)

    async def kill(self, *, timeout: float, names: Sequence[str] | None = None) -> None:
        for name in [name for name in self.alive if names is None or name in names]:
            self.alive.remove(name)
            self.killed.append(name)

    def show(self, name: str) -> tuple[str, ...] | None:
        return None

    async def cleanup(self) -> None: ...


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = create_team(str(tmp_path), "demo", workspace=str(tmp_path), settings=SETTINGS, clock=SystemClock())
    made.tasks(LEADER).create(NewTask(subject="Do it"))
    return made


@pytest.fixture
def spec(team: Team) -> TeammateSpec:
    return TeammateSpec(
        root=team.root,
        team="demo",
        name="w1",
        run_id=make_run_id(new_run(), "w1", 1),
        workspace=team.root,
        model="scripted",
        backend="process",
    )


@pytest.fixture
def puppets(team: Team) -> Puppets:
    return Puppets(team)


@pytest.fixture
async def teammates(team: Team, puppets: Puppets, spec: TeammateSpec) -> Teammates:
    made = Teammates(team, puppets, [spec])
    await made.start()
    return made


def lives(puppets: Puppets) -> list[str]:
    return [run_id.rpartition(".")[2] for run_id in puppets.started]


def told(team: Team, kind: str) -> list[str]:
    return [str(event.run_id).rpartition(".")[2] for _, event in team.events.read() if event.event == kind]


async def test_who_dies_with_a_task_is_freed_and_lives_again(team, puppets, teammates, spec):
    assert isinstance(team.tasks("w1").claim("w1", None, spec.run_id), Task)
    puppets.alive.clear()

    await teammates.look_after()

    assert lives(puppets) == ["1", "2"]
    assert puppets.alive == ["w1"]
    task = team.tasks(LEADER).get_task("1")
    assert (task.status, task.crashes, task.reason) == ("pending", 1, "w1 ended unexpectedly: it fell over")
    assert (told(team, "agent_died"), told(team, "agent_restarted")) == (["1"], ["2"])
    assert [member.name for member in teammates.alive()] == ["w1"]


async def test_who_keeps_dying_is_given_up(team, puppets, teammates):
    """Otherwise a fault in a worker would go on for ever."""
    for _ in range(10):
        puppets.alive.clear()
        await teammates.look_after()

    assert lives(puppets) == ["1", "2", "3", "4"]
    assert teammates.alive() == []


async def test_a_life_that_cannot_be_started_counts(team, puppets, teammates):
    """It is tried as often as one that dies at once; the record says how it ended."""
    puppets.alive.clear()
    puppets.refuses = True

    await teammates.look_after()
    await teammates.look_after()

    assert lives(puppets) == ["1", "2", "3", "4"]
    record = team.agents.load("w1")
    assert (record.state, record.reason) == ("stopped", "failed")


async def test_a_new_life_that_does_not_come_up_is_ended(team, puppets, teammates):
    """A process that hangs before it is ready would wait for ever."""
    puppets.come_up = False
    puppets.alive.clear()
    await teammates.look_after()
    teammates._ready_by["w1"] = 0.0

    await teammates.look_after()

    assert puppets.killed == ["w1"]
    await teammates.look_after()
    assert lives(puppets) == ["1", "2", "3"]


@pytest.mark.parametrize("reason", ["asked", "failed", "orphaned"])
async def test_who_has_ended_by_itself_stays_so(team, puppets, teammates, reason):
    team.agents.update("w1", state="stopped", reason=reason)
    puppets.alive.clear()

    await teammates.look_after()

    assert lives(puppets) == ["1"]


async def test_who_was_killed_for_a_person_stays_dead(team, puppets, teammates, spec):
    """The one who kills writes that first; the leader waits for the word why."""
    team.agents.end_life(spec.run_id, "killed")
    puppets.alive.clear()
    await teammates.look_after()
    assert lives(puppets) == ["1"]

    team.events.emit("agent_stopped", "w1", run_id=spec.run_id, reason="killed")
    await teammates.look_after()

    assert lives(puppets) == ["1"]


async def test_whom_a_teammate_found_dead_lives_again(team, puppets, teammates, spec):
    """Its record says `stopped` then, too; the event makes the difference, be it a moment late."""
    team.agents.end_life(spec.run_id, "killed")
    puppets.alive.clear()
    await teammates.look_after()
    assert lives(puppets) == ["1"]

    team.events.emit("agent_died", "w1", run_id=spec.run_id, reason="its process is gone")
    await teammates.look_after()

    assert lives(puppets) == ["1", "2"]


async def test_a_life_that_somebody_else_has_begun_is_taken_over(team, puppets, teammates, spec):
    """`swarm restart` beside a run: its leader goes on with the new one, and stops it at the end."""
    later = spec.run_id.removesuffix(".1") + ".2"
    team.agents.update("w1", run_id=later, state="idle", start_ticks=1)
    puppets.alive.clear()

    await teammates.look_after()
    await teammates.look_after()
    assert (lives(puppets), puppets.alive) == (["1"], ["w1"])

    await teammates.stop(lambda: False)
    assert puppets.alive == []


async def test_who_is_started_beside_the_run_belongs_to_it(team, puppets, teammates, spec):
    """`swarm spawn` beside a run: it is watched, lives again when it dies, and is stopped at the end."""
    newcomer = spec.replace(name="w2", run_id=spec.run_id.replace("w1", "w2"))
    team.roster.add_member(roster_member("demo", newcomer, 0.0))
    await teammates.look_after()
    team.agents.save(starting_record(newcomer, 0.0).replace(state="idle", pid=1, start_ticks=1))
    await teammates.look_after()
    assert puppets.alive == ["w1", "w2"]

    puppets.alive.remove("w2")
    await teammates.look_after()

    assert puppets.started[1:] == [newcomer.run_id.removesuffix(".1") + ".2"]
    assert puppets.alive == ["w1", "w2"]


@pytest.mark.parametrize(
    ("recorded", "mode"),
    [("plan", "plan"), ("bypassPermissions", "default"), ("odd", "default"), (None, "default")],
)
async def test_the_next_life_of_a_newcomer_is_no_freer_than_its_first(team, puppets, spec, recorded, mode):
    """It keeps the rules of its spawn, and no looser mode than the leader's, whatever the roster says."""
    teammates = Teammates(team, puppets, [spec], mode="default")
    await teammates.start()
    rules = RuleSet(source=SPAWN_COMMAND, deny=("Write",))
    newcomer = spec.replace(
        name="w2", run_id=spec.run_id.replace("w1", "w2"), permission_mode=recorded, rules=(rules,)
    )
    team.roster.add_member(roster_member("demo", newcomer, 0.0))
    team.agents.save(starting_record(newcomer, 0.0).replace(state="idle", pid=1, start_ticks=1))
    await teammates.look_after()
    puppets.alive.remove("w2")

    await teammates.look_after()

    again = puppets.specs[-1]
    assert (again.name, again.permission_mode, again.rules) == ("w2", mode, (rules,))
    assert team.roster.load().member("w2").permission_mode == mode
    assert team.roster.load().member("w2").rules == rules


async def test_a_fault_of_our_own_process_is_not_tried_again(team, puppets, spec):
    """A teammate inside the leader that raises would raise again."""
    teammates = Teammates(team, puppets, [spec.replace(backend="in-process")])
    await teammates.start()
    puppets.alive.clear()

    await teammates.look_after()

    assert lives(puppets) == ["1"]


async def test_who_does_not_stop_is_told_of(team, puppets, teammates, spec):
    """With what it held given back."""
    assert isinstance(team.tasks("w1").claim("w1", None, spec.run_id), Task)
    puppets.ask_to_stop = lambda name: None

    await teammates.stop(lambda: False)

    assert puppets.killed == ["w1"]
    task = team.tasks(LEADER).get_task("1")
    assert (task.status, task.reason) == (
        "pending",
        "w1 ended unexpectedly: it did not stop in time and was killed",
    )
