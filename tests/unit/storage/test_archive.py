from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from swarm.errors import NotFoundError, StateError, StorageIOError
from swarm.storage.archive import archive_tasks, archive_team
from swarm.storage.pruning import prune_team
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team, create_team, list_teams
from swarm.testing.clock import FakeClock
from tests.support.faults import FailAt, Recorder
from tests.support.stores import RESULT, SETTINGS, a_message, claim_task, copied, make_team, prepare, token_of
from tests.unit.cli.steps import a_record


def finished_team(root: Path) -> Team:
    team = make_team(root)
    team.tasks("user").create(NewTask(subject="first"), NewTask(subject="second"))
    task = claim_task(team, "w2", "1")
    team.tasks("w2").complete(task.id, token_of(team, "1"), RESULT)
    return team


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.glob("*.json"))}


def test_an_archived_team_can_be_read_and_its_name_is_free(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    tasks = content(tmp_path / "tasks/demo")
    place = Path(archive_team(team, force=False))

    assert place == tmp_path / "teams/.archive/demo-2026-11-30"
    assert content(place / "tasks") == tasks
    assert not (place / "tasks").is_symlink()
    assert json.loads((place / "events.jsonl").read_text().splitlines()[-1])["event"] == "team_archived"
    assert list_teams(str(tmp_path)) == ()
    assert os.listdir(tmp_path / "tasks") == []
    again = create_team(str(tmp_path), "demo", workspace="/", settings=SETTINGS, clock=FakeClock())
    assert again.tasks("user").list_tasks() == ()
    assert Path(archive_team(again, force=False)).name == "demo-2026-11-30-2"


def test_a_living_agent_keeps_its_team_whatever_force_says(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    team.agents.save(a_record("w1", "idle", reason="no_task"))

    for refused in (archive_team, prune_team):
        with pytest.raises(StateError) as error:
            refused(team, force=True)
        assert error.value.code == "agent_alive"
    assert (tmp_path / "teams/demo").is_dir()


def test_work_in_progress_needs_force(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    claim_task(team, "w1", "2")

    for refused in (archive_team, prune_team):
        with pytest.raises(StateError, match="task 2 is in progress"):
            refused(team, force=False)
    assert archive_team(team, force=True)


def test_a_foreign_team_needs_force(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    config = Path(team.layout.config)
    config.write_text(json.dumps({"name": "demo", "members": []}))

    with pytest.raises(StateError) as error:
        archive_team(team, force=False)
    assert error.value.code == "mixed_team"
    assert archive_team(team, force=True)


@pytest.mark.parametrize("name", ["nosuch", "..", "a/b", ""])
def test_an_unknown_team_is_not_found(tmp_path: Path, name: str) -> None:
    team = finished_team(tmp_path)

    with pytest.raises(NotFoundError):
        archive_team(Team(team.layout.replace(team=name), SETTINGS, FakeClock()), force=True)


def test_an_archive_that_was_cut_off_anywhere_is_finished_by_the_next(tmp_path: Path) -> None:
    """Nothing is lost in between: the team is still there, or its archive waits for the tasks."""
    template = tmp_path / "template"
    prepare(template).close()
    recorder = Recorder()
    with fault_hook(recorder):
        archive_team(copied(template, -1), force=True)
    tasks = content(template / "tasks/demo")
    points = [point for point in recorder.points() if point.keep is None]
    for number, point in enumerate(points):
        team = copied(template, number)
        with fault_hook(FailAt(point, lasting=True)), contextlib.suppress(StorageIOError):
            archive_team(team, force=True)
        if os.path.isdir(team.layout.team_dir) or os.path.isdir(team.layout.tasks_dir):
            place = archive_team(Team(team.layout, SETTINGS, team.clock), force=True)
        else:
            (place,) = (str(p) for p in Path(team.root, "teams/.archive").iterdir())
        assert content(Path(place, "tasks")) == tasks, point
        assert os.path.exists(f"{place}/config.json"), point
    assert len(points) > 10


def test_tasks_without_a_team_get_an_archive_of_their_own(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    tasks = content(tmp_path / "tasks/demo")
    os.rename(team.layout.team_dir, tmp_path / "elsewhere")

    place = archive_tasks(team)

    assert content(Path(place, "tasks")) == tasks
    assert not os.path.exists(team.layout.tasks_dir)


def test_pruning_takes_what_was_of_use_while_running_and_nothing_else(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    kept = [Path(p) for p in (team.layout.config, team.layout.events, team.layout.journal)]
    before = [path.read_bytes() for path in kept]
    results = Path(team.layout.tool_results("w1"))
    results.mkdir(parents=True)
    dead = 2**22 - 1  # no system gives its processes a higher number
    doomed = [
        results / "toolu_01.txt",
        Path(team.layout.spawn_dir, "w1.env"),
        Path(team.layout.tasks_dir, f".1.{dead}.tmp"),
        Path(team.layout.inboxes_dir, f".w1.{dead}.tmp"),
    ]
    for path in doomed:
        path.write_text("12345")
    alive = Path(team.layout.tasks_dir, f".2.{os.getpid()}.tmp")
    alive.write_text("12345")

    freed = {group.what: (group.items, group.size) for group in prune_team(team, force=False)}

    assert not any(path.exists() for path in doomed)
    assert alive.exists()
    assert freed["temporary_files"] == (2, 10)
    assert freed["tool_results"] == freed["spawn_files"] == (1, 5)
    assert os.listdir(team.layout.locks_dir) == []
    assert [path.read_bytes() for path in kept] == before
    assert [task.id for task in team.tasks("user").create(NewTask(subject="goes on"))] == ["3"]


def test_mail_that_was_read_long_ago_goes_and_unread_mail_never(tmp_path: Path) -> None:
    clock = FakeClock()
    team = prepare(tmp_path)
    team = Team(team.layout, SETTINGS, clock)
    inbox = team.inbox("w1")
    inbox.acknowledge(["m1"])
    clock.advance(SETTINGS.history_keep_seconds - 60)
    inbox.acknowledge(["m2"])
    Path(team.layout.history("w2")).write_text("no message at all\n")
    clock.advance(120)

    freed = {group.what: group.items for group in prune_team(team, force=True)}

    assert freed["read_mail"] == 2
    assert [m.text for m in inbox.peek()] == ["m3", "m4", "m5"]
    assert Path(team.layout.history("w2")).read_text() == "no message at all\n"


def test_mail_that_was_read_a_moment_ago_stays(tmp_path: Path) -> None:
    clock = FakeClock()
    team = Team(make_team(tmp_path).layout, SETTINGS, clock)
    for text in ("old", "new"):
        team.inbox("w1").deliver(a_message(text))
        team.inbox("w1").acknowledge([text])
        clock.advance(SETTINGS.history_keep_seconds * 0.7)

    freed = {group.what: group.items for group in prune_team(team, force=False)}

    assert freed["read_mail"] == 1
    assert [m.text for m in team.inbox("w1").history()] == ["new"]


def test_a_lock_that_is_held_stays(tmp_path: Path) -> None:
    team = finished_team(tmp_path)
    with open(team.layout.lock("events")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        prune_team(team, force=False)

        assert os.listdir(team.layout.locks_dir) == ["events"]
