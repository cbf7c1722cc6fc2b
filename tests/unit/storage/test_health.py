"""Each fault that an examination knows is planted, found, left alone, mended, and then gone."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.message import render_message
from swarm.core.task import NewTask, Task
from swarm.errors import CorruptStateError
from swarm.settings import Settings
from swarm.storage import files
from swarm.storage.clock import SystemClock
from swarm.storage.finding import Finding
from swarm.storage.health import Outcome, examine_root, examine_team, mend, record_mending
from swarm.storage.ledger import Ledger
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from swarm.testing.wait import wait_until
from tests.support.racers import Racer
from tests.support.stores import (
    RUN_OF,
    SETTINGS,
    WAITING,
    a_message,
    check_tasks,
    make_team,
    prepare,
    reopened,
    state_of,
)
from tests.unit.cli.steps import a_record

NOBODY = 2**22 - 1  # no system gives its processes a higher number


def sound_team(root: Path) -> Team:
    """Return a team in which nothing is wrong, with w2 alive on task 4."""
    team = prepare(root)
    team.agents.save(a_record("w2", task="4"))
    assert examine(team) == ()
    return team


def examine(team: Team, ended: list[AgentRecord] | None = None) -> tuple[Finding, ...]:
    return examine_team(reopened(team), ([] if ended is None else ended).append)


def write(path: str, text: str) -> None:
    Path(path).write_text(text)
    os.chmod(path, 0o600)


def append(path: str, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)
    os.chmod(path, 0o600)


def commit(team: Team, body: dict[str, Any]) -> None:
    ledger = Ledger(team.layout, "user", team.settings, team.clock)
    with ledger.locked():
        ledger.commit(body)
    ledger.close()


def dead(team: Team, name: str) -> None:
    record = a_record(name, task="4").replace(pid=NOBODY, run_id=RUN_OF[name])
    team.agents.save(record)


def with_old_file(team: Team) -> None:
    """Put back task 3 as it was before its last change, as if that had never reached the file."""
    old = Path(team.layout.task("3")).read_bytes()
    team.tasks("user").edit("3", {"subject": "new"})
    write(team.layout.task("3"), old.decode())


def secret(team: Team, age: float) -> None:
    path = f"{team.layout.spawn_dir}/w1.env"
    write(path, "ANTHROPIC_API_KEY=x")
    os.utime(path, (team.clock.now() - age,) * 2)


def scratch(path: str, number: int) -> None:
    """Damage one byte in the middle of a line."""
    lines = Path(path).read_bytes().splitlines(keepends=True)
    line = bytearray(lines[number])
    line[len(line) // 2] ^= 1
    lines[number] = bytes(line)
    write(path, b"".join(lines).decode("latin-1"))


def edited(team: Team, task_id: str, **fields: Any) -> None:
    task = json.loads(Path(team.layout.task(task_id)).read_text())
    write(team.layout.task(task_id), json.dumps(task | fields))


def stray_item(team: Team) -> None:
    good = render_message(a_message("mx"))
    write(team.layout.inbox("team-lead"), json.dumps([good, "no message"]))


def file_for_folder(team: Team) -> None:
    os.rmdir(team.layout.logs_dir)
    write(team.layout.logs_dir, "")


def link_to_nowhere(team: Team) -> None:
    os.unlink(team.layout.tasks_link)
    os.symlink("/nowhere", team.layout.tasks_link)


def come_back(team: Team, task_id: str) -> None:
    """Delete a task, and write its file again as a writer does that was stopped meanwhile."""
    path = Path(team.layout.task(task_id))
    old = path.read_bytes()
    team.tasks("user").delete(task_id)
    path.write_bytes(old)
    path.chmod(0o600)


def keep_lines(path: str, number: int) -> None:
    Path(path).write_bytes(b"".join(Path(path).read_bytes().splitlines(keepends=True)[:number]))


def folder_for(path: str) -> None:
    os.unlink(path)
    os.mkdir(path, 0o700)


def link_blocks(team: Team, *ids: str) -> None:
    """Make task 1, for which 2 waits, say that these do."""
    commit(team, {"op": "edit", "id": "1", "set": {"blocks": list(ids)}})


def link_blocked_by(team: Team, *ids: str) -> None:
    """Make task 5, which waits for 3, say that it waits for these."""
    commit(team, {"op": "edit", "id": "5", "set": {"blockedBy": list(ids)}})


PLANTS: dict[str, Callable[[Team], object]] = {
    "missing_folder": lambda team: os.rmdir(team.layout.logs_dir),
    "missing_folder: locks": lambda team: shutil.rmtree(team.layout.locks_dir),
    "missing_folder: a file": file_for_folder,
    "broken_link": lambda team: os.unlink(team.layout.tasks_link),
    "broken_link: elsewhere": link_to_nowhere,
    "broken_link: a folder": lambda team: folder_for(team.layout.tasks_link),
    "wrong_mode": lambda team: os.chmod(team.layout.config, 0o644),
    "wrong_mode: folder": lambda team: os.chmod(team.layout.tasks_dir, 0o755),
    "damaged_lock": lambda team: write(team.layout.lock("tasks"), "garbage"),
    "damaged_lock: long": lambda team: write(team.layout.lock("events"), "x" * 500),
    "damaged_lock: a folder": lambda team: folder_for(team.layout.lock("roster")),
    "stale_lock": lambda team: write(f"{team.layout.inbox('w1')}.lock", ""),
    "odd_file": lambda team: write(f"{team.layout.tasks_dir}/notes.txt", "mine"),
    "odd_file: no id": lambda team: write(f"{team.layout.tasks_dir}/1234567890.json", "{}"),
    "odd_file: a folder": lambda team: folder_for(team.layout.task("5")),
    "torn_tail": lambda team: append(team.layout.journal, '{"seq":'),
    "torn_tail: events": lambda team: append(team.layout.events, '{"time":'),
    "torn_tail: overflow": lambda team: append(team.layout.overflow("w1"), '{"from":'),
    "torn_tail: transcript": lambda team: write(team.layout.transcript("w1"), '{"type":'),
    "torn_tail: history": lambda team: write(team.layout.history("w1"), '{"from":'),
    "missing_task_file": lambda team: os.unlink(team.layout.task("1")),
    "damaged_task_file": lambda team: write(team.layout.task("1"), ""),
    "damaged_task_file: no task": lambda team: write(team.layout.task("1"), "[1]"),
    "stale_task_file": with_old_file,
    "edited_task_file": lambda team: edited(team, "3", subject="by hand"),
    "edited_task_file: status": lambda team: edited(team, "3", status="completed"),
    "edited_task_file: links": lambda team: edited(team, "1", blocks=[]),
    "edited_task_file: not ours": lambda team: edited(team, "4", metadata={}),
    "unknown_task_file": lambda team: write(team.layout.task("99"), "no task"),
    "unknown_task_file: deleted": lambda team: come_back(team, "5"),
    "unknown_task_file: new": lambda team: write(
        team.layout.task("99"), json.dumps({"id": "99", "subject": "theirs", "status": "pending"})
    ),
    "damaged_journal": lambda team: scratch(team.layout.journal, 5),
    "damaged_journal: the first line": lambda team: scratch(team.layout.journal, 0),
    "cut_journal": lambda team: keep_lines(team.layout.journal, 4),
    "cut_journal: emptied": lambda team: keep_lines(team.layout.journal, 0),
    "damaged_counter": lambda team: write(team.layout.highwatermark, "many"),
    "one_sided_link": link_blocks,
    "one_sided_link: more": lambda team: link_blocks(team, "2", "3"),
    "one_sided_link: nobody": lambda team: link_blocks(team, "2", "77"),
    "one_sided_link: no blocker": lambda team: link_blocked_by(team, "3", "77"),
    "damaged_record": lambda team: write(team.layout.agent("w1"), "{"),
    "dead_claim": lambda team: dead(team, "w2"),
    "dead_agent": lambda team: dead(team, "w1"),
    "leftover_secret": lambda team: secret(team, age=team.settings.ready_timeout_seconds + 1),
    "damaged_inbox": lambda team: write(team.layout.inbox("w2"), "[{"),
    "stray_mail": stray_item,
    "damaged_lines": lambda team: append(team.layout.overflow("w1"), "no message\n"),
    "orphan_draft": lambda team: write(f"{team.layout.inboxes_dir}/.w1.{NOBODY}.tmp", "[]"),
    "orphan_draft: task": lambda team: write(f"{team.layout.tasks_dir}/.1.{NOBODY}.tmp", "{}"),
}


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
    if kind not in {
        "damaged_journal",
        "cut_journal",
    }:  # of lines that were lost there are events, whose numbers come again
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


def test_a_journal_that_is_gone_is_said_and_nothing_is_made_up(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    os.unlink(team.layout.journal)

    outcomes = mend(lambda: examine(team))

    assert "missing_journal" in {o.finding.kind for o in outcomes if not o.fixed}
    assert not os.path.exists(team.layout.journal)
    assert len(list(Path(team.layout.tasks_dir).glob("[0-9]*.json"))) == 5


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


# Between the teams


def look_around(root: Path) -> tuple[Finding, ...]:
    return examine_root(str(root), Settings(), FakeClock())


def test_a_root_without_teams_is_sound(tmp_path: Path) -> None:
    assert look_around(tmp_path) == look_around(tmp_path / "nosuch") == ()


def test_where_nothing_can_be_locked_that_is_said(tmp_path: Path) -> None:
    """Everything else is still looked at."""
    team = sound_team(tmp_path)

    def refuse(call: str, path: str, size: int) -> None:
        if call == "lock":
            raise OSError(95, "Operation not supported")

    with fault_hook(refuse):
        around, inside = look_around(tmp_path), examine(team)

    assert {finding.kind for finding in (*around, *inside)} == {"unreadable"}


def test_halves_of_teams_are_mended_without_loss(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    for folder in ("teams/.x", "tasks/.x"):
        for kind in ("new", "gone"):
            (tmp_path / f"{folder}.{NOBODY}.{kind}/below").mkdir(parents=True)
    (tmp_path / f"teams/.y.{os.getpid()}.new").mkdir()
    (tmp_path / "tasks/theirs").mkdir()
    (tmp_path / "tasks/unused").mkdir()
    files.write_draft(str(tmp_path / "tasks/unused/.journal.jsonl"), b"")
    tasks = {path.name: path.read_bytes() for path in Path(team.layout.tasks_dir).iterdir()}
    os.rename(team.layout.team_dir, tmp_path / "elsewhere")

    found = [finding.kind for finding in look_around(tmp_path)]
    outcomes = mend(lambda: look_around(tmp_path))

    assert found == ["leftover_folder"] * 4 + ["tasks_without_team"] * 2
    assert all(outcome.fixed for outcome in outcomes)
    (archived,) = (tmp_path / "teams/.archive").iterdir()
    assert {path.name: path.read_bytes() for path in (archived / "tasks").iterdir()} == tasks
    assert sorted(os.listdir(tmp_path / "tasks")) == ["theirs"]
    assert (tmp_path / f"teams/.y.{os.getpid()}.new").exists()


def test_a_damaged_roster_is_said(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    write(team.layout.config, "{")

    (finding,) = look_around(tmp_path)

    assert (finding.kind, finding.path, finding.mend) == ("damaged_roster", team.layout.config, None)


def test_waiting_mail_is_what_was_prepared(tmp_path: Path) -> None:
    """So that the test of loss above has something to lose."""
    assert tuple(m.text for m in sound_team(tmp_path).inbox("w1").peek()) == WAITING
