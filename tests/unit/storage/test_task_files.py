"""A task's file is a view of the journal: how it is written, and what others may do to it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from swarm.errors import CorruptStateError, NotFoundError
from swarm.storage.syscalls import Hook, fault_hook
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.stores import check_tasks, claim_task
from tests.unit.storage.steps import add


def test_new_file_is_padded_and_changed_in_place_while_it_fits(team: Team, store: TaskStore) -> None:
    add(store, "first")
    path = Path(team.layout.task("1"))
    made = path.read_bytes()
    assert made.endswith(b" " * 128 + b"\n")
    inode = path.stat().st_ino
    claim_task(team, "w1")
    assert path.stat().st_ino == inode
    assert len(path.read_bytes()) == len(made)
    store.edit("1", {"description": "x" * len(made)})
    assert path.stat().st_ino != inode
    assert path.read_bytes().endswith(b" " * 128 + b"\n")
    assert json.loads(path.read_text())["description"] == "x" * len(made)


def test_file_above_one_page_is_never_written_in_place(team: Team, store: TaskStore) -> None:
    """A write that crosses a page can be torn by a kill."""
    add(store, "big", description="x" * 4096)
    path = Path(team.layout.task("1"))
    inode = path.stat().st_ino
    store.edit("1", {"subject": "b"})
    assert path.stat().st_ino != inode
    check_tasks(team)


def test_files_are_indented_private_and_readable_as_text(team: Team, store: TaskStore) -> None:
    add(store, "Zoë")
    path = Path(team.layout.task("1"))
    assert '\n  "subject": "Zoë",\n' in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


def test_fields_that_another_client_added_survive_our_writes(team: Team, store: TaskStore) -> None:
    add(store, "first", metadata={"ours": 1})
    path = Path(team.layout.task("1"))
    raw = json.loads(path.read_text())
    raw["reviewer"] = "alice"
    raw["metadata"]["theirs"] = 2
    raw["metadata"]["swarm"]["later"] = 3
    path.write_text(json.dumps(raw))
    claim_task(team, "w1")
    store.edit("1", {"metadata": {"ours": None}})
    after = json.loads(path.read_text())
    assert after["reviewer"] == "alice"
    assert after["metadata"]["theirs"] == 2
    assert after["metadata"]["swarm"]["later"] == 3
    assert "ours" not in after["metadata"]


def test_drafts_and_other_files_disturb_no_reader(team: Team, store: TaskStore) -> None:
    add(store, "first")
    for name in (".1.4711.tmp", ".lock", "notes.json", "01.json", "1.json.bak"):
        Path(team.layout.tasks_dir, name).write_text("{half")
    assert [task.id for task in store.list_tasks()] == ["1"]
    assert claim_task(team, "w1").id == "1"


def test_repair_sweeps_the_drafts_of_the_dead(team: Team, store: TaskStore) -> None:
    add(store, "first")
    draft = Path(team.layout.tasks_dir, ".1.4711.tmp")
    draft.write_text("{half")
    os.truncate(team.layout.lock("tasks"), 0)
    add(store, "second")
    assert not draft.exists()


@pytest.mark.parametrize("damage", ["", "{half", "[]", '{"id": "1"}'])
def test_damaged_file_of_a_known_task_is_read_from_the_journal(
    team: Team, store: TaskStore, damage: str
) -> None:
    """After a power loss files may be empty; the journal is what was synced."""
    add(store, "first", "second")
    Path(team.layout.task("1")).write_text(damage)
    assert [task.subject for task in store.list_tasks()] == ["first", "second"]
    assert store.get_task("1").subject == "first"
    claim_task(team, "w1")
    check_tasks(team)


def test_missing_file_of_a_known_task_is_read_from_the_journal(team: Team, store: TaskStore) -> None:
    """Another hand removed it, or a full disk left the line without its file."""
    add(store, "first", "second", "third")
    Path(team.layout.task("2")).unlink()
    assert store.get_task("2").subject == "second"
    assert [task.subject for task in store.list_tasks()] == ["first", "second", "third"]
    assert store.look().problems == ()


def test_unreadable_file_of_a_known_task_is_read_from_the_journal(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    with fault_hook(_refuse(team.layout.task("1"))):
        assert store.get_task("1").subject == "first"
        assert [task.subject for task in store.list_tasks()] == ["first", "second"]


@pytest.mark.parametrize("damage", ["", "{half", "[]", '{"id": "5"}'])
def test_damaged_file_of_an_unknown_task_hides_no_other(team: Team, store: TaskStore, damage: str) -> None:
    add(store, "first")
    path = Path(team.layout.task("5"))
    path.write_text(damage)
    seen = store.look()
    assert [task.subject for task in seen.tasks] == ["first"]
    assert len(seen.problems) == 1
    assert seen.problems[0].startswith(f"{path} is no task (")
    assert seen.problems[0].endswith("); swarm doctor --fix sets it aside")
    with pytest.raises(CorruptStateError, match="swarm doctor --fix sets it aside"):
        store.get_task("5")


def test_unreadable_file_of_an_unknown_task_hides_no_other(team: Team, store: TaskStore) -> None:
    add(store, "first")
    path = Path(team.layout.task("5"))
    path.write_text("{}")
    with fault_hook(_refuse(str(path))):
        seen = store.look()
    assert [task.subject for task in seen.tasks] == ["first"]
    assert seen.problems == (f"{path}: Permission denied; see swarm doctor",)


def _refuse(path: str) -> Hook:
    """Refuse to open a file, as the system does with one of mode 000."""

    def refuse(name: str, where: str, _size: int) -> None:
        if name == "open" and where == path:
            raise PermissionError(errno.EACCES, "Permission denied")

    return refuse


@pytest.mark.parametrize("task_id", ["9", "01", "x", "", "../1", "1.json"])
def test_unknown_id_is_not_found(store: TaskStore, task_id: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        store.get_task(task_id)
    assert caught.value.code == "no_such_task"
