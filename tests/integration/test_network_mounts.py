"""Network mounts, on which a look may fail in passing, and an open file cannot go."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from swarm.core.identity import LEADER, USER
from swarm.core.message import shutdown_request
from swarm.core.task import NewTask
from swarm.core.times import format_time
from swarm.storage.mail import send
from swarm.storage.syscalls import fault_hook
from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY, Ended, Shell
from tests.support.fuse_server import FORWARDED, LOCAL
from tests.support.live_team import LiveTeam
from tests.support.mounts import Mount, cannot_mount
from tests.support.stores import make_team
from tests.support.verbs import verb
from tests.unit.cli.steps import a_record

pytestmark = [pytest.mark.timeout(60)]
mounted = pytest.mark.skipif(bool(cannot_mount()), reason=cannot_mount() or "can mount")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path / "home", tmp_path)
    made.home.mkdir()
    assert verb(made.root, "team", "create", "t1").code == 0
    return made


# What passes


READ_LOOP = """
import json, sys, time
from pathlib import Path
from tests.support.verbs import verb
root, words = Path(sys.argv[1]), json.loads(sys.argv[2])
print("ready", flush=True)
end, odd, times = time.monotonic() + 3.0, [], 0
while time.monotonic() < end:
    for one in words:
        ended = verb(root, *one)
        times += 1
        if ended.code:
            odd.append([one, ended.code, ended.err])
print(json.dumps([times, odd]))
"""
WATCHED = [
    ["task", "show", "1"],
    ["task", "list"],
    ["mail", "team-lead", "--all"],
    ["status"],
    ["team", "show"],
]


@mounted
@pytest.mark.parametrize("kept", [0.0, 60.0], ids=["nothing_kept", "attributes_kept"])
def test_who_looks_while_another_host_replaces_files_finds_them(kept: float, tmp_path: Path) -> None:
    """A file that is replaced between its opening and its reading is gone for who has opened it."""
    team = make_team(tmp_path)
    store = team.tasks(USER)
    store.create(NewTask(subject="first"))
    team.agents.save(a_record("w1"))
    with Mount(tmp_path, FORWARDED, kept) as mount:
        looking = subprocess.Popen(
            [*mount.before, sys.executable, "-c", READ_LOOP, str(tmp_path), json.dumps(WATCHED)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert looking.stdout is not None
        assert looking.stdout.readline() == "ready\n"
        number = 0
        while looking.poll() is None:
            number += 1
            store.edit("1", {"description": "x" * (5_000 + number % 2 * 5_000)})
            (sent,) = send(team, USER, LEADER, "hello")
            team.inbox(LEADER).acknowledge([str(sent.msg_id)])
            team.agents.update("w1", heartbeat=format_time(team.clock.now()))
            team.roster.update_member("w1", model=f"m{number}")
            if number % 10 == 0:
                store.rewrite()
        times, odd = json.loads(looking.communicate()[0])

    assert odd == []
    assert times > len(WATCHED)
    assert number > 10


class Once:
    """Refuses one look of so many, as the server of a network mount does in passing."""

    def __init__(self, number: int, calls: frozenset[str], code: int) -> None:
        self._left = number
        self._calls = calls
        self._code = code
        self.refused: tuple[str, str] | None = None

    def __call__(self, call: str, path: str, size: int) -> None:
        if call not in self._calls or self.refused:
            return
        if self._left == 0:
            self.refused = call, path
            raise OSError(self._code, "refused by the test", path)
        self._left -= 1


def each_look(calls: frozenset[str], code: int, act: Callable[[], Ended]) -> Iterator[tuple[object, Ended]]:
    """Do it again and again, with one look more that passes before one is refused."""
    number = 0
    while True:
        once = Once(number, calls, code)
        with fault_hook(once):
            ended = act()
        if once.refused is None:
            return
        yield once.refused, ended
        number += 1


def small_team(root: Path) -> None:
    team = make_team(root)
    for name in ("w1", "w2"):
        team.agents.save(a_record(name, "idle"))
    for subject in ("first", "second", "third"):
        assert verb(root, "task", "add", subject).code == 0
    assert verb(root, "task", "claim", "2", "--as", "w2").code == 0
    assert verb(root, "send", "team-lead", "hello").code == 0
    team.inbox(LEADER).acknowledge([team.inbox(LEADER).peek()[0].msg_id])


LOOKING = {
    "show": ["task", "show", "1", "--json"],
    "list": ["task", "list", "--json"],
    "mail": ["mail", "team-lead", "--all", "--json"],
    "team": ["team", "show", "--json"],
    "teams": ["team", "list", "--json"],
    "events": ["events", "--json"],
}


@pytest.mark.parametrize("words", LOOKING.values(), ids=LOOKING)
def test_a_stale_handle_changes_nothing_of_what_is_shown(words: list[str], tmp_path: Path) -> None:
    small_team(tmp_path)
    wanted = verb(tmp_path, *words)
    looks = frozenset({"open", "stat", "fstat", "read", "list", "scan"})

    for refused, ended in each_look(looks, errno.ESTALE, lambda: verb(tmp_path, *words)):
        assert ended == wanted, refused


CHANGING = {
    "send": ["send", "w1", "hello"],
    "edit": ["task", "edit", "1", "--subject", "new"],
    "claim": ["task", "claim", "3", "--as", "w1"],
}


@pytest.mark.parametrize("words", CHANGING.values(), ids=CHANGING)
def test_a_stale_path_does_not_keep_a_change_from_being_made(words: list[str], tmp_path: Path) -> None:
    looks = frozenset({"open", "create", "stat", "list", "scan"})
    roots = (tmp_path / str(number) for number in range(10_000))

    def act() -> Ended:
        root = next(roots)
        with without_faults():
            small_team(root)
        return verb(root, *words)

    for refused, ended in each_look(looks, errno.ESTALE, act):
        assert ended.code == 0, (refused, ended)


@pytest.mark.parametrize("words", [*LOOKING.values(), *CHANGING.values()], ids=[*LOOKING, *CHANGING])
def test_a_file_that_is_missing_in_passing_is_not_called_not_found(words: list[str], tmp_path: Path) -> None:
    """Where a replacement is two steps, a team and a task that are there must not seem to be gone."""
    small_team(tmp_path)

    for refused, ended in each_look(
        frozenset({"open", "stat"}), errno.ENOENT, lambda: verb(tmp_path, *words)
    ):
        said = ended.err.lower()
        assert ended.code != 3, (refused, ended)
        assert "no team" not in said, (refused, ended)
        assert "missing" not in said, (refused, ended)
        assert "not found" not in said, (refused, ended)


async def test_a_teammate_that_waits_outlives_a_server_that_does_not_answer(isolated_home: Path) -> None:
    """Each look fails for a while, also those between two rounds, where only time passes."""
    tasks = [{"key": "a", "subject": "A", "owner": "w1", "script": [{"say": "Done."}]}]
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}, {"name": "w2"}], tasks=tasks)
    failing = Event()
    looks = 0

    def fail(call: str, path: str, size: int) -> None:
        nonlocal looks
        if failing.is_set() and "/inboxes/w2" in path:
            looks += 1
            raise OSError((errno.ESTALE, errno.EIO, errno.ETIMEDOUT)[looks % 3], "refused by the test")

    with fault_hook(fail):
        team.start("w2")
        await team.until(lambda: team.events("agent_idle"), "w2 is idle")
        failing.set()
        await team.until(lambda: looks > 10, "w2 has looked in vain")
        failing.clear()
        team.send("w2", shutdown_request(LEADER, "w2", format_time(team.team.clock.now())))
        team.hint()

        assert await team.ended("w2") == "asked"


# Files that are open elsewhere


@mounted
def test_a_team_is_deleted_although_somebody_has_its_files_open(shell: Shell) -> None:
    """An open file keeps its name there, a hidden one, and so its folder."""
    with Mount(shell.root, LOCAL) as mount:
        follower = mount.start(shell, "-t", "t1", "events", "--follow")
        assert follower.stdout is not None
        try:
            follower.stdout.readline()
            holder = subprocess.Popen(
                [*mount.before, "tail", "-f", f"{shell.root}/teams/t1/events.jsonl"],
                stdout=subprocess.PIPE,
            )
            assert holder.stdout is not None
            holder.stdout.readline()
            try:
                deleted = mount.swarm(shell, "team", "delete", "t1", "--force")
                assert (deleted.code, deleted.err) == (0, "")
                assert follower.wait(timeout=15) == 0
                assert mount.swarm(shell, "team", "create", "t1").code == 0
            finally:
                holder.kill()
                holder.communicate()
        finally:
            follower.kill()
            follower.communicate()
        assert mount.swarm(shell, "team", "create", "t3").code == 0
        wait_until(lambda: hidden(shell.root) == [".locks"], timeout=10)


def hidden(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "teams").iterdir() if path.name.startswith("."))


@contextmanager
def without_faults() -> Iterator[None]:
    """What a test prepares in the middle of a story is not what it tries."""
    with fault_hook(lambda call, path, size: None):
        yield
