"""File systems on which `flock` does not work: refused, one sentence, nothing changed."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.core.roster import Member
from swarm.errors import StateError
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, create_team
from tests.support.command import REPOSITORY, Shell
from tests.support.stores import OPERATIONS, prepare

WITHOUT_LOCKS = [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP]
LOCKING = {
    **{name: act for name, act in OPERATIONS.items() if not name.endswith("_by_hand")},
    "join": lambda team: team.roster.add_member(
        Member(agent_id="w3@demo", name="w3", joined_at=0, cwd="/srv/app")
    ),
    "event": lambda team: team.events.emit("agent_ready", "w1"),
    "make_a_team": lambda team: create_team(
        team.root, "other", workspace="/srv/app", settings=Settings(), clock=SystemClock()
    ),
}


def contents(root: Path) -> dict[str, bytes]:
    """Return all files but those that only carry locks."""
    return {
        str(path): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".locks" not in path.parts
    }


@pytest.fixture(params=WITHOUT_LOCKS, ids=errno.errorcode.get)
def no_locks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    """A team whose file system lost its locks, or moved to one that has none."""
    team = prepare(tmp_path)

    def flock(fd: int, operation: int) -> None:
        raise OSError(request.param, "no locks here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        yield team


@pytest.mark.parametrize("name", LOCKING)
def test_change_is_refused_and_nothing_is_written(no_locks: Team, tmp_path: Path, name: str) -> None:
    before = contents(tmp_path)
    with pytest.raises(StateError) as refused:
        LOCKING[name](no_locks)
    assert refused.value.code == "io_error"
    assert refused.value.details["path"].startswith(str(tmp_path))
    assert refused.value.details["path"] in str(refused.value)
    assert "CLAUDE_CONFIG_DIR" in str(refused.value)
    assert contents(tmp_path) == before


def test_reading_needs_no_lock(no_locks: Team) -> None:
    assert len(no_locks.tasks("w1").list_tasks()) == 5
    assert no_locks.inbox("w1").unread_count() == 5
    assert no_locks.roster.load().names()


def test_command_says_it_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, fcntl\n"
        "def flock(fd, operation): raise OSError(errno.ENOTSUP, 'Operation not supported')\n"
        "fcntl.flock = flock\n"
    )
    shell = Shell(tmp_path, tmp_path)
    ended = shell.swarm("team", "create", "demo", PYTHONPATH=f"{tmp_path}:{REPOSITORY}")
    assert ended.code == 4
    assert ended.err.count("\n") == 1
    assert "cannot be locked" in ended.err
    assert not (shell.root / "teams" / "demo").exists()
