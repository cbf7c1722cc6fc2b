"""On a network mount no events came of what another host wrote, and whoever waited for them stood still."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, USER
from swarm.core.message import shutdown_request
from swarm.core.task import Task
from swarm.core.times import format_time
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.team import Team, open_team
from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY, Shell
from tests.support.mounts import Mount, cannot_mount
from tests.support.worker_process import WorkerProcess, make_quick_team, quick
from tests.unit.cli.steps import a_record

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(bool(cannot_mount()), reason=cannot_mount() or "can mount"),
]

SOON = 5.0
"""In real seconds, for a look each second on a busy machine. The look at everything comes after 60."""
KEPT = [0.0, 60.0]
"""For how long a mount believes what it knows of a file; NFS does so for up to a minute."""


@pytest.fixture(params=KEPT, ids=["nothing_kept", "attributes_kept"])
def kept(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture
def team(tmp_path: Path):
    """A team as the other host sees it; teammates are started on a mount of the same folder."""
    made = make_quick_team(tmp_path, "w1")
    yield made
    made.close()


def on_a_mount(team: Team, kept: float) -> Mount:
    return Mount(Path(team.root), attributes_kept=kept)


def worker_on(mount: Mount, team: Team) -> WorkerProcess:
    """Return w1 on the mount, at the product's own pace."""
    return WorkerProcess(team, "w1", time_scale=1.0, before=mount.before)


def within(seconds: float, condition: Callable[[], object], what: str) -> None:
    wait_until(condition, timeout=seconds, what=what)


def status_of(team: Team, task: Task) -> str:
    return team.tasks(USER).table().get(task.id).status


def until_completed(team: Team, task: Task) -> None:
    within(SOON, lambda: status_of(team, task) == "completed", f"task {task.id} is done")


def pass_time(seconds: float) -> None:
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, timeout=seconds + 5)


WATCHER = """
import sys
from swarm.storage.watch import Watch
with Watch(sys.argv[1:]) as watch:
    assert watch.problem is None
    print("watching", flush=True)
    print(watch.wait(1.0))
"""


def test_there_are_no_events_here_of_what_is_written_there(team: Team) -> None:
    """Without this, all that follows would show nothing."""
    with on_a_mount(team, 0.0) as mount:
        command = [*mount.before, sys.executable, "-c", WATCHER, team.layout.journal]
        watcher = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "watching\n"
        team.tasks(USER).create(quick())
        out, _ = watcher.communicate(timeout=15)

    assert out == "False\n"


def test_a_task_added_there_is_done_here(team: Team, kept: float) -> None:
    with on_a_mount(team, kept) as mount, worker_on(mount, team) as worker:
        for _ in range(2):
            (task,) = team.tasks(USER).create(quick())
            until_completed(team, task)
            worker.until_idle()


def test_a_task_unblocked_there_is_done_here(team: Team, kept: float) -> None:
    store = team.tasks(USER)
    (blocker,) = store.create(quick())
    held = store.claim("me", None, "k3v9qd7m.me.cli", blocker.id)
    assert isinstance(held, Task)
    assert held.claim is not None
    (task,) = store.create(quick(blocked_by=(blocker.id,)))
    with on_a_mount(team, kept) as mount, worker_on(mount, team):
        store.cancel(blocker.id, "not wanted")
        store.unlink(blocker.id, task.id)
        until_completed(team, task)


def test_mail_sent_there_is_obeyed_here(team: Team, kept: float) -> None:
    """Text waits for the next task; what the runtime obeys shows when it is found."""
    send(team, LEADER, "w1", "one")
    with on_a_mount(team, kept) as mount, worker_on(mount, team) as worker:
        for text in ("two", "three"):
            send(team, LEADER, "w1", text)
        send(team, LEADER, "w1", shutdown_request(LEADER, "w1", format_time(team.clock.now())))
        within(SOON, lambda: worker.process.poll() is not None, "w1 has ended")

    assert [message.text for message in team.inbox("w1").peek()] == ["one", "two", "three"]


def test_claims_of_one_who_died_there_are_freed_here(team: Team, kept: float) -> None:
    store = team.tasks(USER)
    (task,) = store.create(quick())
    with subprocess.Popen(["sleep", "60"]) as other:
        record: AgentRecord = a_record("w9", pid=other.pid)
        team.agents.save(record)
        assert isinstance(store.claim("w9", None, record.run_id, task.id), Task)
        with on_a_mount(team, kept) as mount, worker_on(mount, team):
            assert status_of(team, task) == "in_progress"
            assert store.table().get(task.id).owner == "w9"
            other.kill()
            other.wait()
            until_completed(team, task)

    died = [event.agent for _, event in team.events.read() if event.event == "agent_died"]
    assert died == ["w9"]


# Commands


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    (home / ".claude").mkdir(parents=True)
    (cwd / "ws").mkdir(parents=True)
    return Shell(home, cwd)


def test_following_here_prints_what_is_written_there(shell: Shell, kept: float) -> None:
    assert shell.swarm("team", "create", "t1").code == 0
    with Mount(shell.root, attributes_kept=kept) as mount:
        for words, last in ((["mail", "team-lead"], '"text": "hello"'), (["events"], '"mail_sent"')):
            follower = mount.start(shell, "-t", "t1", *words, "--follow", "--json")
            assert follower.stdout is not None
            try:
                if words == ["events"]:
                    follower.stdout.readline()  # that the team was made: it follows
                else:
                    pass_time(1.0)
                assert shell.swarm("send", "team-lead", "hello").code == 0
                sent = time.monotonic()
                while last not in (line := follower.stdout.readline()):
                    assert line, "it has ended"
                assert time.monotonic() - sent < SOON
            finally:
                follower.kill()
                follower.communicate()


def test_waiting_here_ends_with_the_task_there(shell: Shell, kept: float) -> None:
    assert shell.swarm("team", "create", "t1").code == 0
    assert shell.swarm("task", "add", "A").code == 0
    with Mount(shell.root, attributes_kept=kept) as mount:
        waiter = mount.start(shell, "task", "wait", "--json")
        try:
            pass_time(1.5)  # it has looked by then
            assert shell.swarm("task", "claim", "1", "--as", "w1").code == 0
            assert shell.swarm("task", "complete", "1", "--as", "w1").code == 0
            ended = time.monotonic()
            out, err = waiter.communicate(timeout=20)
        finally:
            waiter.kill()

    assert time.monotonic() - ended < SOON
    assert waiter.returncode == 0, err
    assert [task["status"] for task in json.loads(out)["tasks"]] == ["completed"]


def test_a_run_here_acts_on_what_is_sent_there(shell: Shell, kept: float) -> None:
    """Its watch covers all teammates, and tells of nothing."""
    waits = "until [ -e go ]; do sleep 0.05; done"
    team_file = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}, {"name": "w2"}],
        "tasks": [
            {
                "key": "a",
                "subject": "A",
                "owner": "w2",
                "script": [{"calls": [{"Bash": {"command": waits}}]}, {"say": "Done."}],
            }
        ],
    }
    (shell.cwd / "team.yaml").write_text(yaml.safe_dump(team_file))
    with Mount(shell.root, attributes_kept=kept) as mount:
        run = mount.start(shell, "run", "team.yaml")
        try:
            wait_until((shell.root / "teams" / "t1" / "config.json").exists, timeout=15)
            team = open_team(str(shell.root), "t1", Settings(), SystemClock())
            wait_until(lambda: (state(team, "w1"), state(team, "w2")) == ("idle", "working"), timeout=15)
            send(team, LEADER, "w1", "hello")
            pass_time(1.5)
            order = shutdown_request(LEADER, "w1", format_time(team.clock.now()))
            send(team, LEADER, "w1", order)
            sent = send(team, LEADER, "w2", "use the new name")
            within(SOON, lambda: state(team, "w1") == "stopped", "w1 has obeyed")
            (shell.cwd / "ws" / "go").touch()
            _, err = run.communicate(timeout=20)
        finally:
            run.kill()

    assert run.returncode == 0, err
    assert [message.msg_id for message in team.inbox("w2").history()] == [sent[0].msg_id]


def state(team: Team, name: str) -> str | None:
    record = team.agents.load(name)
    return record.state if record else None
