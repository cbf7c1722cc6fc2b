"""A journal that a power loss has damaged is cut and its files made to fit; one that is long is rewritten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from swarm.core.journal import parse_line, render_line
from swarm.core.task import NewTask
from swarm.errors import CorruptStateError, TaskError
from swarm.storage.journal import Journal
from swarm.storage.mark import find_mark, write_mark
from swarm.storage.syscalls import fault_hook
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.faults import Recorder
from tests.support.stores import RESULT, RUN_OF, check_tasks, claim_task, make_team, reopened


def add(store: TaskStore, *subjects: str) -> None:
    for subject in subjects:
        store.create(NewTask(subject=subject))


def journal_of(team: Team) -> Path:
    return Path(team.layout.journal)


def lines_of(team: Team) -> list[dict[str, Any]]:
    return [parse_line(raw) for raw in journal_of(team).read_bytes().splitlines()]


def another_boot(team: Team) -> None:
    """Let the mark be one that an earlier boot has left."""
    path = team.layout.lock("tasks")
    with open(path, "r+b") as file:
        gen, seq, _ = file.read(64).split()
        file.seek(0)
        file.write((b"%s %s an-earlier-boot" % (gen, seq)).ljust(64))


def events_of(team: Team, kind: str) -> list[dict[str, Any]]:
    return [dict(event.data) for _, event in team.events.read() if event.event == kind]


def kept_of(team: Team) -> list[bytes]:
    return [path.read_bytes() for path in Path(team.layout.tasks_dir).glob(".journal.damaged-*")]


# After a power loss


@pytest.mark.parametrize(
    "damage", [b"\0" * 100 + b"\n", b"garbage\n", b'{"seq":2,"op":"del","c":"00000000"}\n']
)
def test_journal_is_cut_at_the_first_bad_line_after_another_boot(
    team: Team, store: TaskStore, damage: bytes
) -> None:
    add(store, "first", "second", "third")
    one, _, three = journal_of(team).read_bytes().splitlines(keepends=True)
    journal_of(team).write_bytes(one + damage + three)
    another_boot(team)
    other = reopened(team).tasks("w1")
    add(other, "goes on")
    assert [line["seq"] for line in lines_of(team)] == [1, 2, 3, 4]
    assert kept_of(team) == [damage + three]
    assert [task.subject for task in other.table().tasks()] == ["first", "second", "third", "goes on"]
    (told,) = events_of(team, "store_repaired")
    assert told["last"] == 1
    assert told["kept"].startswith(".journal.damaged-")


def test_files_that_the_power_loss_emptied_are_written_again(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    Path(team.layout.task("1")).write_bytes(b"")
    Path(team.layout.task("2")).write_bytes(b"\0" * 600)
    another_boot(team)
    reopened(team).tasks("w1").create(NewTask(subject="third"))
    check_tasks(team)
    assert events_of(team, "store_repaired") == []


def test_numbers_of_lost_lines_get_their_events_again(team: Team, store: TaskStore) -> None:
    """Else the events of the lines that take their numbers would count as written."""
    add(store, "first", "second")
    one = journal_of(team).read_bytes().splitlines(keepends=True)[0]
    journal_of(team).write_bytes(one + b"\0\n")
    Path(team.layout.task("2")).unlink()
    another_boot(team)
    other = reopened(team).tasks("w1")
    recorder = Recorder()
    with fault_hook(recorder):
        other.table()
    with other._ledger.locked() as table:
        line = {
            "seq": 2,
            "op": "edit",
            "at": "2026-11-30T12:31:02.400Z",
            "by": "user",
            "id": "1",
            "set": {"subject": "x"},
        }
        with journal_of(team).open("ab") as file:
            file.write(render_line(line))
        assert table.seq == 1
    add(reopened(team).tasks("w1"), "third")
    kinds = [event.event for _, event in team.events.read() if event.event.startswith(("task_", "store"))]
    assert kinds[:3] == ["task_created", "task_created", "store_repaired"]
    assert kinds[3:] == ["task_edited", "store_repaired", "task_created"]


def test_reader_without_the_lock_mends_what_the_power_loss_left(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with journal_of(team).open("ab") as file:
        file.write(b"\0" * 50 + b"\n")
    another_boot(team)
    assert [task.subject for task in reopened(team).tasks("w1").table().tasks()] == ["first"]
    assert len(kept_of(team)) == 1


def test_tail_of_zeros_is_a_torn_line(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with journal_of(team).open("ab") as file:
        file.write(b"\0" * 4096)
    add(reopened(team).tasks("w1"), "second")
    assert [line["seq"] for line in lines_of(team)] == [1, 2]
    assert kept_of(team) == []
    check_tasks(team)


def test_damaged_snapshot_is_never_cut(team: Team, store: TaskStore) -> None:
    """What was in it stands in no other line."""
    add(store, "first", "second")
    store.rewrite()
    head, first, second = journal_of(team).read_bytes().splitlines(keepends=True)
    claim = render_line({"seq": 3, "op": "claim", "id": "1"})
    for content in (head + b"x\n" + second, b"x\n" + first + second, head + first + claim):
        journal_of(team).write_bytes(content)
        another_boot(team)
        with pytest.raises(CorruptStateError):
            add(reopened(team).tasks("w1"), "third")
        assert journal_of(team).read_bytes() == content
    assert len(list(Path(team.layout.tasks_dir).glob("*.json"))) == 2


# Rewriting


def test_rewrite_changes_nothing_but_the_journal(team: Team, store: TaskStore) -> None:
    add(store, "first", "second", "third")
    claim = claim_task(team, "w1").claim
    store.link("2", "3")
    store.delete("3", unlink=True)
    before = store.table().tasks()
    files = [Path(team.layout.task(i)).read_bytes() for i in ("1", "2")]
    store.rewrite()
    assert [line["op"] for line in lines_of(team)] == ["head", "snap", "snap"]
    for other in (store, team.tasks("w1"), reopened(team).tasks("w2")):
        assert other.table().tasks() == before
        assert other.table().gen == 1
    assert [Path(team.layout.task(i)).read_bytes() for i in ("1", "2")] == files
    assert claim is not None
    team.tasks("w1").complete("1", claim.token, RESULT)
    add(store, "fourth")
    assert [task.id for task in store.list_tasks()] == ["1", "2", "4"]
    assert [line["seq"] for line in lines_of(team)[3:]] == [7, 8]
    (told,) = events_of(team, "journal_rewritten")
    assert told["bytes_before"] > told["bytes_after"]
    check_tasks(team)


def test_token_stays_a_token_over_rewrites(team: Team, store: TaskStore) -> None:
    add(store, "first")
    claim = claim_task(team, "w1").claim
    assert claim is not None
    store.rewrite()
    store.rewrite()
    with pytest.raises(TaskError):
        team.tasks("w2").complete("1", "2/k3v9qd7m.w2.1", RESULT)
    team.tasks("w1").release("1", claim.token, "asked to")
    again = claim_task(team, "w2").claim
    assert again is not None
    assert again.token == f"4/{RUN_OF['w2']}"
    check_tasks(team)


@pytest.mark.parametrize("rewrites", [1, 2])
def test_open_journal_changes_over_without_gap_or_repeat(team: Team, store: TaskStore, rewrites: int) -> None:
    """With one rewrite between two looks, only the new lines are folded; after two, all of it."""
    add(store, "first")
    with open_journal(team) as journal:
        journal.refresh()
        add(store, "second")  # in the old file, which is read to its end
        for _ in range(rewrites):
            store.rewrite()
            add(store, "third")
        table = journal.table
        seen: list[int] = []
        note_lines(journal, seen)
        journal.refresh()
        assert journal.table.seq == 2 + rewrites
        assert journal.table.gen == rewrites
        assert journal.table.tasks() == store.table().tasks()
        if rewrites == 1:
            assert journal.table is table
            assert seen == [2, 3]


def note_lines(journal: Journal, seen: list[int]) -> None:
    apply = type(journal.table).apply

    def noted(line: Any, raw: bytes | None = None) -> Any:
        if "seq" in line and line["op"] != "head":
            seen.append(line["seq"])
        return apply(journal.table, line, raw)

    journal.table.apply = noted  # type: ignore[method-assign]


@contextmanager
def open_journal(team: Team) -> Iterator[Journal]:
    journal = Journal(team.layout)
    try:
        yield journal
    finally:
        journal.close()


def test_journal_that_is_replaced_while_it_is_opened_is_read_whole(
    team: Team, store: TaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size that was looked up first is that of the file before."""
    add(store, "a")
    store.rewrite()
    with open_journal(team) as journal:
        journal.forget()
        look = journal._stat

        def look_and_lose() -> os.stat_result:
            found = look()
            add(store, *"bcdefgh")
            store.rewrite()
            return found

        monkeypatch.setattr(journal, "_stat", look_and_lose)
        journal.refresh()
        assert len(journal.table.tasks()) == 8


def test_journal_that_was_replaced_by_an_empty_one_is_read_anew(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with open_journal(team) as journal:
        journal.refresh()
        fresh = Path(team.layout.tasks_dir, "x")
        fresh.write_bytes(b"")
        fresh.rename(team.layout.journal)
        journal.refresh()
        assert journal.table.tasks() == ()


def test_damage_in_the_replaced_file_does_no_harm(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with open_journal(team) as journal:
        journal.refresh()
        kept = os.open(team.layout.journal, os.O_WRONLY | os.O_APPEND)
        store.rewrite()
        os.write(kept, b"garbage\n")
        os.close(kept)
        journal.refresh()
        assert journal.table.tasks() == store.table().tasks()


def test_journal_that_goes_while_it_changes_over_is_missing(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with open_journal(team) as journal:
        journal.refresh()
        store.rewrite()

        def hook(call: str, path: str, size: int) -> None:
            if call == "open":
                journal_of(team).rename(f"{team.layout.journal}.gone")

        with fault_hook(hook), pytest.raises(CorruptStateError):
            journal.refresh()
        Path(f"{team.layout.journal}.gone").rename(team.layout.journal)
        journal.refresh()
        assert journal.table.tasks() == store.table().tasks()


def test_mark_comes_before_the_rename(team: Team, store: TaskStore) -> None:
    """Killed in between, the old journal goes on; in the other order writers would go on with the orphan."""
    add(store, "first", "second")
    recorder = Recorder()
    with fault_hook(recorder):
        store.rewrite()
    calls = [point.call for point in recorder.points()]
    rename = calls.index("rename")
    assert "write" in calls[:rename]
    write_mark_of(team, gen=2, seq=2)
    before = [os.stat(team.layout.task(task_id)).st_mtime_ns for task_id in ("1", "2")]
    add(reopened(team).tasks("w1"), "third")
    mark = find_mark(team.layout.lock("tasks"))
    assert mark is not None
    assert (mark.gen, mark.seq) == (1, 3)
    assert [os.stat(team.layout.task(task_id)).st_mtime_ns for task_id in ("1", "2")] == before
    assert events_of(team, "store_repaired") == []
    check_tasks(team)


def write_mark_of(team: Team, *, gen: int, seq: int) -> None:
    path = team.layout.lock("tasks")
    fd = os.open(path, os.O_RDWR)
    write_mark(fd, path, gen, seq)
    os.close(fd)


def test_line_before_a_rewrite_and_a_kill_after_it_are_both_repaired(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    store.rewrite()
    line = {
        "seq": 3,
        "op": "edge",
        "at": "2026-11-30T12:31:02.400Z",
        "by": "user",
        "a": "1",
        "b": "2",
        "add": True,
    }
    with journal_of(team).open("ab") as file:
        file.write(render_line(line))
    add(store, "third")
    assert store.get_task("1").blocks == ("2",)
    assert events_of(team, "store_repaired") == [{"lines": 1}]
    check_tasks(team)


def test_without_a_mark_a_rewritten_journal_is_compared_as_a_whole(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    store.delete("2")
    store.rewrite()
    Path(team.layout.task("1")).unlink()
    Path(team.layout.task("2")).write_text(
        '{"id": "2", "subject": "x", "status": "pending", "metadata": {"swarm": {"seq": 2}}}'
    )
    os.truncate(team.layout.lock("tasks"), 0)
    add(reopened(team).tasks("w1"), "third")
    assert [task.id for task in store.list_tasks()] == ["1", "3"]
    check_tasks(team)


def test_only_a_long_journal_is_rewritten_by_itself(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    store = team.tasks("user")
    add(store, "first")
    assert not store.rewrite_if_long()
    for size in range(5):
        store.edit("1", {"description": str(size) * 300_000})
    assert store.rewrite_if_long()
    assert not store.rewrite_if_long()
    assert journal_of(team).stat().st_size < 310_000
    store.create(*(NewTask(subject="x", description="y" * 300_000) for _ in range(4)))
    assert not store.rewrite_if_long()
    team.close()


def test_draft_of_a_killed_rewrite_is_swept(team: Team, store: TaskStore) -> None:
    add(store, "first")
    draft = Path(f"{team.layout.journal}.new")
    draft.write_text("half")
    os.truncate(team.layout.lock("tasks"), 0)
    add(reopened(team).tasks("w1"), "second")
    assert not draft.exists()
