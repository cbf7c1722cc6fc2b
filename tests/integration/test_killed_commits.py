"""`kill -9` of a worker while git commits its work: nobody is locked out, and what is there is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from swarm.core.identity import USER
from swarm.leader.ending import end_agents
from swarm.testing.wait import wait_until
from swarm.workspace.git import GitWorkspace
from tests.support.live_team import LiveTeam, git, make_repository
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

HANGS_ONCE = "test -e .git/hung || { echo $$ > .git/hung; %s sleep 600; }"
TASK = {
    "key": "job",
    "subject": "Do the job",
    "script": [{"calls": [{"Write": {"file_path": "b.py", "content": "b = 1\n"}}]}, {"say": "Done."}],
}


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    made = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=[TASK],
    )
    GitWorkspace(str(made.workspace)).keep_ref(made.team.name)  # as a run does first of all
    return made


def a_hook(team: LiveTeam, name: str, text: str) -> None:
    hook = team.workspace / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    """What ends with the test: until then git goes on as the dead worker has left it."""
    with ExitStack() as stack:
        yield stack


def killed_in_a_hook(team: LiveTeam, ends: ExitStack, by: str = "kill -9") -> None:
    worker = ends.enter_context(OwnProcess(team, "w1"))
    wait_until((team.workspace / ".git/hung").exists, timeout=15, what="the hook runs")
    if by == "kill -9":
        worker.kill()
    else:
        assert end_agents(team.team, ["w1"], by=USER, timeout=0, force=True) == {"w1": "killed"}


def done_by(team: LiveTeam, name: str, life: int) -> str | None:
    """Let this life finish the task and return the commit that it names."""
    with OwnProcess(team, name, life=life) as worker:
        wait_until(lambda: team.task("job").finished, timeout=25, what="the task is done")
        worker.until_idle()
    task = team.task("job")
    assert (task.status, task.attempts, task.crashes) == ("completed", 0, 1), task.reason
    assert task.result is not None
    return task.result.commit


def head(team: LiveTeam) -> str:
    return git(team.workspace, "rev-parse", "--short", "HEAD").strip()


@pytest.mark.parametrize("by", ["kill -9", "stop --force"])
@pytest.mark.parametrize(("name", "life", "deaf"), [("w1", 2, ""), ("w2", 1, "trap '' TERM;")])
def test_a_commit_that_was_cut_off_locks_nobody_out(
    team: LiveTeam, ends: ExitStack, name: str, life: int, deaf: str, by: str
) -> None:
    """Else no task of the team could be committed any more, and each would fail three times."""
    a_hook(team, "pre-commit", HANGS_ONCE % deaf)
    killed_in_a_hook(team, ends, by)

    commit = done_by(team, name, life)

    assert commit == head(team)
    assert git(team.workspace, "log", "--format=%s").splitlines() == ["Do the job", "start"]
    assert git(team.workspace, "status", "--porcelain").strip() == ""
    assert not list((team.workspace / ".git").glob("*.lock"))


@pytest.mark.parametrize(("name", "life"), [("w1", 2), ("w2", 1)])
def test_a_commit_that_had_landed_is_the_commit_of_the_task(
    team: LiveTeam, ends: ExitStack, name: str, life: int
) -> None:
    """Nothing is left to commit then, but the work has a commit all the same, and one only."""
    a_hook(team, "post-commit", HANGS_ONCE % "")
    killed_in_a_hook(team, ends)

    commit = done_by(team, name, life)

    assert commit == head(team)
    assert git(team.workspace, "log", "--format=%s").splitlines() == ["Do the job", "start"]
