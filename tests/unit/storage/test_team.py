from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.task import NewTask
from swarm.errors import ConfigError, LockTimeoutError, NotFoundError, StateError, StorageIOError
from swarm.settings import Settings
from swarm.storage import processes, syscalls
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, create_team, default_team, delete_team, list_teams, open_team
from swarm.testing.clock import FakeClock
from tests.support.faults import FailAt, Recorder
from tests.support.stores import SETTINGS, claim_task, make_team

FOREIGN = {
    "name": "session-1286a321",
    "createdAt": 1796042008717,
    "leadAgentId": "team-lead@session-1286a321",
    "members": [],
}


def make(root: Path, name: str = "demo", **fields: Any) -> Team:
    given: dict[str, Any] = {"workspace": "/srv/app", "settings": SETTINGS, "clock": FakeClock(), **fields}
    return create_team(str(root), name, **given)


def delete(root: Path, name: str = "demo", *, force: bool = False) -> None:
    delete_team(str(root), name, force=force, settings=SETTINGS, clock=FakeClock())


def plant_foreign(root: Path, name: str = "session-1286a321") -> Path:
    folder = root / "teams" / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**FOREIGN, "name": name}))
    return folder


def all_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if ".locks/" not in str(path))


def test_new_team_has_its_folders_its_task_list_and_the_leader(tmp_path: Path) -> None:
    team = make(tmp_path, description="Rename it", lead_session_id="1286a321")
    assert all_below(tmp_path) == [
        "tasks",
        "tasks/demo",
        "tasks/demo/.journal.jsonl",
        "teams",
        "teams/.locks",
        "teams/demo",
        "teams/demo/.locks",
        "teams/demo/.spawn",
        "teams/demo/agents",
        "teams/demo/config.json",
        "teams/demo/events.jsonl",
        "teams/demo/history",
        "teams/demo/inboxes",
        "teams/demo/logs",
        "teams/demo/permissions",
        "teams/demo/permissions/pending",
        "teams/demo/permissions/resolved",
        "teams/demo/tasks",
        "teams/demo/transcripts",
    ]
    raw = json.loads(Path(team.layout.config).read_text())
    assert raw["swarm"] == {"schema": 1, "native": True, "workspace": "/srv/app", "isolation": "shared"}
    assert raw["leadSessionId"] == "1286a321"
    (leader,) = raw["members"]
    assert (leader["name"], leader["agentId"]) == ("team-lead", "team-lead@demo")
    assert [event.event for _, event in team.events.read()] == ["team_created"]
    assert os.path.samefile(team.layout.tasks_link, team.layout.tasks_dir)


def test_leader_gets_mail_before_it_ever_ran(tmp_path: Path) -> None:
    team = make(tmp_path)
    assert team.roster.load().names() == ("team-lead",)
    assert team.inbox("team-lead").unread_count() == 0


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_everything_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        team = make(tmp_path / "root")
        team.tasks("user").create(NewTask(subject="first"))
    finally:
        os.umask(old)
    paths = [path for path in (tmp_path / "root").rglob("*") if not path.is_symlink()]
    modes = {path: path.stat().st_mode & 0o777 for path in [tmp_path / "root", *paths]}
    assert set(modes.values()) == {0o600, 0o700}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())


@pytest.mark.parametrize("name", ["demo", "DEMO"])
def test_name_of_another_team_is_taken_in_any_case(tmp_path: Path, name: str) -> None:
    """Some file systems cannot tell them apart."""
    make(tmp_path)
    with pytest.raises(StateError) as caught:
        make(tmp_path, name)
    assert (caught.value.code, caught.value.details["taken"]) == ("name_taken", "demo")


def test_leftover_task_list_is_not_taken_over(tmp_path: Path) -> None:
    """Other clients keep a team's tasks when they remove the team."""
    folder = tmp_path / "tasks" / "Demo"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text("{}")
    with pytest.raises(StateError) as caught:
        make(tmp_path)
    assert caught.value.code == "name_taken"
    assert not (tmp_path / "teams" / "demo").exists()


@pytest.mark.parametrize("name", ["", "../x", "team-lead", "user", "a b", ".x"])
def test_bad_name_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(tmp_path / "root", name)
    assert caught.value.code == "bad_name"
    assert not (tmp_path / "root").exists()


def test_failure_at_any_call_leaves_nothing_of_the_team(tmp_path: Path) -> None:
    recorder = Recorder()
    with syscalls.fault_hook(recorder):
        make(tmp_path / "probe", settings=Settings())
    for number, point in enumerate(recorder.points()):
        root = tmp_path / f"root-{number}"
        fault = FailAt(point, lasting=bool(number % 2))
        with syscalls.fault_hook(fault), pytest.raises(StorageIOError):
            make(root, settings=Settings())
        made = (root / "teams" / "demo").exists()
        if made:  # the last calls only wait for the disk
            assert point.call in ("open", "sync")
            open_team(str(root), "demo", SETTINGS, FakeClock()).tasks("user").create(NewTask(subject="x"))
            continue
        assert list_teams(str(root)) == ()
        if not number % 2 and (root / "teams").exists():
            assert os.listdir(root / "teams") in ([], [".locks"])
            assert os.listdir(root / "tasks") == []
        make(root).tasks("user").create(NewTask(subject="x"))
        assert [name for name in os.listdir(root / "teams") if name != ".locks"] == ["demo"]
        assert os.listdir(root / "tasks") == ["demo"]


def test_creation_killed_between_its_two_renames_is_swept_up(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "demo").mkdir(parents=True)
    (tmp_path / "tasks" / "demo" / ".journal.jsonl").touch()
    (tmp_path / "teams" / ".demo.4711.new" / "agents").mkdir(parents=True)
    assert list_teams(str(tmp_path)) == ()
    make(tmp_path)
    assert sorted(os.listdir(tmp_path / "teams")) == [".locks", "demo"]


def test_teams_of_other_clients_are_listed_as_such(tmp_path: Path) -> None:
    make(tmp_path)
    plant_foreign(tmp_path)
    plant_foreign(tmp_path, "theirs")
    mixed = make(tmp_path, "mixed")
    config = Path(mixed.layout.config)
    config.write_text(config.read_text().replace('"native": true', '"native": false'))
    (tmp_path / "teams" / "broken").mkdir()
    (tmp_path / "teams" / "broken" / "config.json").write_text("{half")
    (tmp_path / "teams" / "empty").mkdir()
    listed = {listing.name: listing for listing in list_teams(str(tmp_path))}
    assert {name: listing.native for name, listing in listed.items()} == {
        "broken": False,
        "demo": True,
        "mixed": False,
        "session-1286a321": False,
        "theirs": False,
    }
    assert "broken/config.json" in (listed["broken"].problem or "")
    assert listed["demo"].roster is not None


def test_open_tells_which_teams_there_are(tmp_path: Path) -> None:
    make(tmp_path)
    plant_foreign(tmp_path)
    assert open_team(str(tmp_path), "demo", SETTINGS, FakeClock()).name == "demo"
    for name in ("nosuch", "", "../teams/demo", ".locks"):
        with pytest.raises(NotFoundError) as caught:
            open_team(str(tmp_path), name, SETTINGS, FakeClock())
        assert caught.value.code == "no_such_team"
        assert caught.value.details == {"value": name, "valid": ["demo"]}


def test_team_of_another_client_is_not_opened(tmp_path: Path) -> None:
    plant_foreign(tmp_path)
    with pytest.raises(StateError) as caught:
        open_team(str(tmp_path), "session-1286a321", SETTINGS, FakeClock())
    assert caught.value.code == "mixed_team"


def test_default_is_the_variable_then_the_only_team_of_ours(tmp_path: Path) -> None:
    root = str(tmp_path)
    plant_foreign(tmp_path)
    with pytest.raises(ConfigError) as caught:
        default_team(root, {})
    assert caught.value.code == "team_needed"
    make(tmp_path)
    assert default_team(root, {}) == "demo"
    assert default_team(root, {"SWARM_TEAM": "other"}) == "other"
    make(tmp_path, "second")
    with pytest.raises(ConfigError) as caught:
        default_team(root, {})
    assert caught.value.details == {"valid": ["demo", "second"]}


def test_deleted_team_leaves_nothing_and_its_name_is_free(tmp_path: Path) -> None:
    team = make(tmp_path)
    (Path(team.layout.spawn_dir) / "link").symlink_to("/etc")
    delete(tmp_path)
    assert os.listdir(tmp_path / "tasks") == []
    assert os.listdir(tmp_path / "teams") == [".locks"]
    with pytest.raises(NotFoundError):
        delete(tmp_path)
    make(tmp_path)


def test_stores_of_a_deleted_team_write_nothing_and_follow_a_new_one(tmp_path: Path) -> None:
    """A process that has it open must neither revive it nor write beside the new lock."""
    old = make_team(tmp_path)
    claims = old.tasks("w1")
    claims.create(NewTask(subject="first"))
    delete(tmp_path)
    for call in (claims.table, claims.change_mark, lambda: claims.create(NewTask(subject="second"))):
        with pytest.raises(NotFoundError) as caught:
            call()
        assert caught.value.code == "no_such_team"
    assert os.listdir(tmp_path / "tasks") == []
    new = make_team(tmp_path)
    assert [task.id for task in claims.create(NewTask(subject="third"))] == ["1"]
    assert [task.subject for task in new.tasks("user").list_tasks()] == ["third"]


def test_team_with_results_or_running_tasks_goes_only_by_force(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    team.tasks("user").create(NewTask(subject="first"), NewTask(subject="second"))
    claim_task(team, "w1")
    with pytest.raises(StateError) as caught:
        delete(tmp_path)
    assert (caught.value.code, caught.value.details["in_progress"]) == ("in_progress", ["1"])
    team.tasks("user").cancel("1", "no")
    with pytest.raises(StateError) as caught:
        delete(tmp_path)
    assert (caught.value.code, caught.value.details["finished"]) == ("finished", ["1"])
    delete(tmp_path, force=True)
    assert list_teams(str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("name", "code", "way"),
    [
        ("w1", "agent_alive", "swarm stop w1 -t demo"),
        ("team-lead", "leader_alive", "by Ctrl-C where it runs"),
    ],
)
def test_team_with_a_living_agent_is_not_deleted_even_by_force(
    tmp_path: Path, name: str, code: str, way: str
) -> None:
    team = make_team(tmp_path)
    record = AgentRecord(
        name=name,
        run_id=f"k3v9qd7m.{name}.1",
        backend="process",
        state="idle",
        since="2026-11-30T12:31:02.410Z",
        host=processes.host(),
        boot_id=processes.boot_id(),
        pid_ns=processes.pid_ns(),
        pid=os.getpid(),
        start_ticks=processes.start_ticks(os.getpid()),
    )
    team.agents.save(record)
    for force in (False, True):
        with pytest.raises(StateError) as caught:
            delete(tmp_path, force=force)
        assert caught.value.code == code
        assert caught.value.message.endswith(way)
    team.agents.save(record.replace(state="stopped"))
    delete(tmp_path)


def test_team_of_another_client_is_deleted_only_by_force(tmp_path: Path) -> None:
    folder = plant_foreign(tmp_path)
    (tmp_path / "tasks" / folder.name).mkdir(parents=True)
    with pytest.raises(StateError) as caught:
        delete(tmp_path, folder.name)
    assert caught.value.code == "mixed_team"
    assert folder.exists()
    delete(tmp_path, folder.name, force=True)
    assert not folder.exists()
    assert os.listdir(tmp_path / "tasks") == []


def test_leftover_task_list_is_deleted_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "demo").mkdir(parents=True)
    with pytest.raises(NotFoundError):
        delete(tmp_path)
    delete(tmp_path, force=True)
    assert os.listdir(tmp_path / "tasks") == []


@pytest.mark.parametrize("name", ["", ".", "..", "../teams", ".locks"])
def test_deletion_never_leaves_the_folder_of_teams(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    with pytest.raises(NotFoundError):
        delete(tmp_path, name, force=True)
    assert (tmp_path / "teams" / "demo").exists()


def test_damaged_roster_does_not_let_a_team_be_deleted_by_accident(tmp_path: Path) -> None:
    team = make(tmp_path)
    Path(team.layout.config).write_text("{half")
    with pytest.raises(StateError) as caught:
        delete(tmp_path)
    assert caught.value.code == "corrupt_state"
    delete(tmp_path, force=True)
    assert list_teams(str(tmp_path)) == ()


def test_a_team_is_not_deleted_under_somebody_who_writes_a_task(tmp_path: Path) -> None:
    """A writer that was paused would put a file of the old team into the next one of the name."""
    team = make(tmp_path)
    held = (
        "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.flock(file, 2);"
        "print(flush=True); sys.stdin.read()"
    )
    Path(team.layout.lock("tasks")).touch(mode=0o600)
    with subprocess.Popen(
        [sys.executable, "-c", held, team.layout.lock("tasks")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(LockTimeoutError):
            delete_team(
                str(tmp_path), "demo", force=True, settings=SETTINGS.scaled(0.02), clock=SystemClock()
            )
        assert open_team(str(tmp_path), "demo", SETTINGS, FakeClock()).name == "demo"
        holder.communicate()
    delete(tmp_path)
    assert list_teams(str(tmp_path)) == ()
