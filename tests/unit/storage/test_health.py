"""Each fault that an examination knows is planted, found, left alone, mended, and then gone."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.task import NewTask, Task
from swarm.errors import CorruptStateError
from swarm.storage.clock import SystemClock
from swarm.storage.finding import Finding, Held
from swarm.storage.health import Outcome, examine_team, mend, record_mending
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from swarm.testing.wait import wait_until
from tests.support.racers import Racer
from tests.support.stores import RUN_OF, SETTINGS, WAITING, check_tasks, make_team, reopened, state_of
from tests.support.verbs import verb
from tests.unit.cli.steps import a_record
from tests.unit.storage.plants import (
    NOBODY,
    PLANTS,
    append,
    commit,
    dead,
    edited,
    examine,
    secret,
    sound_team,
    write,
)


def tree(root: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Return all that is below: inode, mode, and content."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        content: bytes | str = os.readlink(path) if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (state.st_ino, state.st_mode, content)
    return found


def test_rules_that_cannot_be_read_are_told_of_and_stay(tmp_path: Path) -> None:
    """Set aside, they would deny nothing any more."""
    team = sound_team(tmp_path)
    write(team.layout.rules, '{"deny": ["Bash(rm:*)"')
    (outcome,) = mend(lambda: examine(team))

    assert (outcome.finding.kind, outcome.finding.remedy, outcome.fixed) == ("damaged_rules", "", False)
    assert "every call is denied" in outcome.finding.what
    assert Path(team.layout.rules).read_text() == '{"deny": ["Bash(rm:*)"'


LOSES_LINES = ("damaged_journal", "cut_journal")


@pytest.mark.parametrize("name", PLANTS)
def test_a_fault_is_found_left_alone_and_mended(name: str, tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    PLANTS[name](team)
    before = tree(tmp_path)
    kind = name.partition(":")[0]

    found = examine(team)

    assert kind in [finding.kind for finding in found]
    assert tree(tmp_path) == before
    outcomes = mend(lambda: examine(team))
    assert [o for o in outcomes if not o.fixed] == []
    assert examine(team) == ()
    if kind not in LOSES_LINES:  # there are events of lines that were lost
        check_tasks(reopened(team))


CHANGES_TASKS = (
    *("dead", "stale", "one_sided", "edited"),
    *("unknown_task_file: new", "unknown_task_file: deleted"),
)


@pytest.mark.parametrize("name", [name for name in PLANTS if not name.startswith(CHANGES_TASKS)])
def test_mending_loses_neither_tasks_nor_mail(name: str, tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    before = held_by(team)
    PLANTS[name](team)

    mend(lambda: examine(team))

    assert held_by(reopened(team)) == before


def held_by(team: Team) -> tuple[list[Task], dict[str, list[str]]]:
    """Return tasks and waiting mail; numbers of journal lines count for nothing where lines were lost."""
    state = state_of(team)
    waiting = {name: mail for name, mail in state["waiting"].items() if name != "team-lead"}
    return [task.replace(seq=0) for task in state["tasks"]], waiting


KEPT = {
    "odd_file": "mine",
    "missing_folder: a file": "",
    "damaged_task_file: no task": "[1]",
    "unknown_task_file": "no task",
    "damaged_record": "{",
    "damaged_request": '{"id": "perm-1-a"}',
    "torn_tail": '{"seq":',
    "torn_tail: events": '{"time":',
    "torn_tail: transcript": '{"type":',
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_damaged_is_kept_aside(name: str, tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    PLANTS[name](team)

    mend(lambda: examine(team))

    kept = [p.read_text() for p in Path(team.layout.team_dir, "set-aside").iterdir()]
    assert kept == [KEPT[name]]


def test_a_dead_claim_is_given_back_after_its_commands_are_ended(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    dead(team, "w2")
    ended: list[AgentRecord] = []

    mend(lambda: examine(team, ended))

    assert {life.run_id for life in ended} == {RUN_OF["w2"]}
    assert team.tasks("user").get_task("4").status == "pending"
    record = team.agents.load("w2")
    assert record is not None
    assert (record.state, record.reason) == ("stopped", "killed")


@pytest.mark.parametrize(
    ("name", "what", "remedy"),
    [
        ("unknown_task_file: new", "another hand has added task 99", "it is taken over as a new task"),
        ("unknown_task_file: deleted", "task 5 was deleted", "it is removed, and a copy is kept aside"),
    ],
)
def test_a_file_that_the_journal_does_not_know_becomes_what_the_store_makes_of_it(
    name: str, what: str, remedy: str, tmp_path: Path
) -> None:
    """The doctor has no rules of its own: what it says is what a sweep does, too."""
    fixed, swept = sound_team(tmp_path / "fixed"), sound_team(tmp_path / "swept")
    for team in (fixed, swept):
        PLANTS[name](team)
    (finding,) = examine(fixed)
    assert (finding.what, finding.remedy) == (what, remedy)

    mend(lambda: examine(fixed))
    swept.tasks("user").sweep()
    assert held_by(reopened(fixed)) == held_by(reopened(swept))
    assert sorted(os.listdir(fixed.layout.tasks_dir)) == sorted(os.listdir(swept.layout.tasks_dir))
    assert examine(swept) == ()


def test_a_file_that_is_no_task_is_left_to_its_writer_unless_the_doctor_is_asked(tmp_path: Path) -> None:
    """It may be half-written. One that has become a task meanwhile is taken over."""
    team = sound_team(tmp_path)
    PLANTS["unknown_task_file"](team)
    (finding,) = examine(team)
    assert finding.what.startswith("it is no task: ")
    team.tasks("user").sweep()
    assert Path(team.layout.task("99")).read_text() == "no task"
    PLANTS["unknown_task_file: new"](team)
    assert finding.mend is not None
    finding.mend()
    assert team.tasks("user").get_task("99").subject == "theirs"


def test_an_agent_that_may_be_alive_is_left_alone(tmp_path: Path) -> None:
    """Another host's process cannot be seen from here, and silence proves nothing."""
    team = sound_team(tmp_path)
    silent = a_record("w2", task="4", silent=3600)
    team.agents.save(silent.replace(host="far-away", pid=NOBODY, run_id=RUN_OF["w2"]))

    assert examine(team) == ()


def test_keys_for_an_agent_that_is_on_its_way_are_left_alone(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    secret(team, age=1.0)

    assert examine(team) == ()


def test_a_transcript_of_a_living_agent_is_left_alone(tmp_path: Path) -> None:
    """It is written without a lock: what looks torn may be on its way."""
    team = sound_team(tmp_path)
    write(team.layout.transcript("w2"), '{"type":')

    assert examine(team) == ()


def test_a_lock_that_is_held_names_its_holder_and_stays(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    quick = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=0.0), team.clock)
    with open(team.layout.lock("tasks")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcomes = mend(lambda: examine(quick))

    (outcome,) = outcomes
    assert (outcome.finding.kind, outcome.fixed) == ("held_lock", False)
    assert "@demo (pid " in outcome.finding.what


@pytest.mark.parametrize("name", ["tasks", "inbox-w1", "events"])
def test_a_lock_that_is_held_is_waited_for_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs no lock is examined all the same."""
    team = sound_team(tmp_path)
    assert verb(Path(team.root), "send", "w1", "hello").code == 0
    write(f"{team.layout.tasks_dir}/notes.txt", "odd")
    write(team.layout.agent("w1"), "no record")
    clock = FakeClock()
    waiting = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=5.0), clock)
    monkeypatch.setattr("swarm.storage.finding.time", SimpleNamespace(sleep=clock.advance))
    began = clock.monotonic()
    with open(team.layout.lock(name), "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = examine(waiting)

    assert [finding.path for finding in found if finding.kind == "held_lock"] == [team.layout.lock(name)]
    assert {"odd_file", "damaged_record"} < {finding.kind for finding in found}
    assert 5 <= clock.monotonic() - began < 6


@pytest.mark.parametrize("name", ["tasks", "inbox-w1", "events"])
def test_who_mends_waits_for_a_held_lock_once_in_all(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mending looks again after each round; what needs no lock is mended all the same."""
    team = sound_team(tmp_path)
    assert verb(Path(team.root), "send", "w1", "hello").code == 0
    write(f"{team.layout.tasks_dir}/notes.txt", "odd")
    write(team.layout.agent("w1"), "no record")
    clock = FakeClock()
    waiting = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=5.0), clock)
    for module in ("finding", "lock"):
        monkeypatch.setattr(f"swarm.storage.{module}.time", SimpleNamespace(sleep=clock.advance))
    known: Held = {}
    began = clock.monotonic()
    with open(team.layout.lock(name), "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcomes = mend(lambda: examine_team(reopened(waiting), lambda life: None, known))

    left = {outcome.finding.path for outcome in outcomes if not outcome.fixed}
    assert left == {team.layout.lock(name)}
    assert 5 <= clock.monotonic() - began < 6


def test_a_lock_that_is_given_back_between_two_looks_is_examined(tmp_path: Path) -> None:
    """That somebody held it is remembered only to save the waiting."""
    team = sound_team(tmp_path)
    write(team.layout.lock("inbox-w1"), "x")
    quick = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=0.0), team.clock)
    known: Held = {}
    with open(team.layout.lock("inbox-w1")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [found.kind for found in examine_team(quick, lambda life: None, known)] == ["held_lock"]

    assert [found.kind for found in examine_team(quick, lambda life: None, known)] == ["damaged_lock"]


def test_a_damaged_line_of_a_record_is_only_said(tmp_path: Path) -> None:
    """Positions in the event log are byte offsets, which taking a line out would move."""
    team = sound_team(tmp_path)
    append(team.layout.events, "garbage\n")

    (outcome,) = mend(lambda: examine(team))

    assert (outcome.finding.kind, outcome.finding.warning, outcome.fixed) == ("damaged_lines", True, False)


def test_a_loop_is_named_with_the_way_out(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    commit(team, {"op": "edge", "a": "2", "b": "1", "add": True})

    (finding,) = examine(team)

    assert finding.kind == "cycle"
    assert finding.what == (
        "tasks 1 -> 2 -> 1 wait for each other; swarm task edit 1 --remove-blocked-by 2 breaks the loop"
    )


def test_fields_that_another_client_added_are_no_fault(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    edited(team, "3", theirs=1)

    assert examine(team) == ()


def test_texts_that_somebody_changed_in_a_file_are_taken_over_and_nothing_else(tmp_path: Path) -> None:
    """A status changes only through its verbs: who has the task would not know."""
    team = sound_team(tmp_path)
    edited(team, "4", description="by hand", activeForm="Doing it", status="pending", owner="w1", theirs=1)

    mend(lambda: examine(team))

    task = team.tasks("user").get_task("4")
    assert (task.description, task.active_form, task.status, task.owner) == (
        "by hand",
        "Doing it",
        "in_progress",
        "w2",
    )
    assert task.extra == {"theirs": 1}
    (copy,) = Path(team.layout.team_dir, "set-aside").iterdir()
    assert json.loads(copy.read_text())["owner"] == "w1"


def test_a_text_that_no_verb_would_allow_is_not_taken_over(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    edited(team, "3", subject="")

    mend(lambda: examine(team))

    assert team.tasks("user").get_task("3").subject == "third"


def test_a_journal_that_is_gone_is_made_anew_from_the_files_and_no_number_comes_again(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    before, last = held_by(team), team.tasks("user").table().seq
    os.unlink(team.layout.journal)

    outcomes = mend(lambda: examine(team))

    assert [o for o in outcomes if not o.fixed] == []
    assert held_by(reopened(team)) == before
    (extra,) = reopened(team).tasks("user").create(NewTask(subject="goes on"))
    assert extra.id == "6"
    assert extra.seq > last


def test_a_journal_that_has_come_back_before_it_is_mended_is_kept(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    path = Path(team.layout.journal)
    lines = path.read_bytes()
    path.unlink()
    (finding,) = [one for one in examine(team) if one.kind == "missing_journal"]
    path.write_bytes(lines)

    assert finding.mend is not None
    finding.mend()

    assert path.read_bytes() == lines


def test_a_task_list_that_is_gone_is_said(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    shutil.rmtree(team.layout.tasks_dir)

    assert "missing_tasks" in {finding.kind for finding in examine(team)}


def test_mending_stands_in_the_event_log(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    fault = Finding(kind="odd_file", path="x", what="y")
    record_mending(team, [Outcome(finding=fault, fixed=True), Outcome(finding=fault)])
    record_mending(team, [Outcome(finding=fault)])

    told = [event.data for _, event in team.events.read() if event.event == "store_repaired"]
    assert told == [{"mended": "odd_file"}]


def test_a_fault_that_cannot_be_mended_says_why_and_the_others_are(tmp_path: Path) -> None:
    def refuse() -> None:
        raise CorruptStateError("x", "no")

    broken = Finding(kind="a", path="x", what="y", remedy="z", mend=refuse)
    mended: list[int] = []
    fine = Finding(kind="b", path="x", what="y", remedy="z", mend=lambda: mended.append(1))

    outcomes = mend(lambda: (broken,) if mended else (broken, fine))

    assert [(o.finding.kind, o.fixed, bool(o.error)) for o in outcomes] == [
        ("a", False, True),
        ("b", True, False),
    ]


BUSY = """
import time
until = time.monotonic() + 60
while time.monotonic() < until:
    store = team.tasks(name)
    (task,) = store.create(NewTask(subject=name, blocked_by=("1",)))
    own = store.claim(name, None, f"k3v9qd7m.{name}.cli", None)
    if isinstance(own, Task):
        store.release(own.id, own.claim.token, "again")
    store.edit(task.id, {"description": name * (int(task.id) % 200)})
    send(team, name, "w1", name)
    box = team.inbox("w1")
    box.acknowledge([message.msg_id for message in box.peek()[:2]])
    store.delete(task.id)
"""


def test_a_team_at_work_is_no_finding(tmp_path: Path) -> None:
    """Each file is looked at while nobody is in the middle of a change of it."""
    team = make_team(tmp_path)
    team.tasks("user").create(NewTask(subject="first"), NewTask(subject="second"))
    team.close()
    racers = [Racer(tmp_path, name, BUSY) for name in ("w2", "w3", "w4")]
    patient = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=15.0), SystemClock())
    try:
        for racer in racers:
            racer.wait_ready()
        for racer in racers:
            racer.go()
        wait_until(lambda: os.path.getsize(team.layout.journal) > 5_000, timeout=10)
        found = [examine(patient) for _ in range(10)]
    finally:
        for racer in racers:
            racer.end()

    assert found == [()] * 10
    assert os.path.getsize(team.layout.journal) > 5_000


def test_waiting_mail_is_what_was_prepared(tmp_path: Path) -> None:
    """So that the test of loss above has something to lose."""
    assert tuple(m.text for m in sound_team(tmp_path).inbox("w1").peek()) == WAITING
