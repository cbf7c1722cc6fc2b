"""Commits that git refuses, and what they do to the work and the task."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from swarm.errors import ModelError
from swarm.workspace import git_command
from tests.integration.session.steps import a_hook, a_task, call, write
from tests.support.live_team import LiveTeam, git, make_repository
from worker.messages import assistant_message, final_text


async def test_a_refused_commit_goes_back_into_the_same_session(make, isolated_home) -> None:
    """A hook speaks for the repository's owner: what it says has to be repaired, as what a check says."""
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    repairs = {"Edit": {"file_path": "b.py", "old_string": "1", "new_string": "2"}}
    team = make(
        a_task(
            {"calls": [write("b.py", "b = 1\n")]},
            {"say": "Done."},
            {"calls": [repairs]},
            {"say": "Done now."},
            verify=["test -f b.py"],
        )
    )
    a_hook(team, "grep -q 2 b.py && exit 0; echo 'b.py:1: must be 2'; echo '1 fault' >&2; exit 1")

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Done now.")
    assert (team.task("job").attempts, len(team.sessions("w1"))) == (0, 1)
    assert git(team.workspace, "show", "--format=", "--name-only").split() == ["b.py"]
    notice = final_text(team.messages("w1", team.sessions("w1")[0])[4])
    assert "1 fault" in notice
    assert "b.py:1: must be 2" in notice
    assert [line["what"] for line in team.lines("w1") if line["type"] == "note"] == ["hook"]
    assert [event.data for event in team.events("verify_failed")] == [
        {"command": "git commit", "outcome": "1 fault"}
    ]


async def test_a_commit_that_stays_refused_is_no_success_and_loses_nothing(make, isolated_home) -> None:
    """As often as a check may fail; with a model that always says the same."""
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"say": "x"}, verify=["test -f b.py"]))
    a_hook(team, "echo 'no commits on fridays' >&2; exit 1")
    first = assistant_message(call("Write", file_path="b.py", content="b = 1\n"))

    outcome = await team.session("w1", first, "Done.", "Done.", "Done.", "Nobody asks for this.")

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("released", "the commit was refused: no commits on fridays")
    task = team.task("job")
    assert (task.status, task.attempts, task.result) == ("pending", 1, None)
    assert len(team.events("verify_failed")) == 3
    assert git(team.workspace, "log", "--format=%s").split() == ["start"]
    assert git(team.workspace, "status", "--porcelain").strip() == "?? b.py"


async def test_a_refused_commit_and_no_step_left_ends_the_attempt(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}))
    a_hook(team, "exit 1")

    outcomes = [await team.session("w1") for _ in range(3)]

    assert outcomes[0] is not None
    assert str(outcomes[0].reason).startswith(
        "the commit was refused: exit code 1; then the work is not done"
    )
    assert [outcome and outcome.status for outcome in outcomes] == ["released", "released", "failed"]
    assert (team.workspace / "b.py").exists()


NO_SPACE = """
case " $* " in *" commit "*)
    echo "fatal: unable to write new_index file: No space left on device" >&2; exit 128
esac
exec "$REAL_GIT" "$@"
"""


def damage(team: LiveTeam, how: str) -> str:
    """Make git unable to commit; return the command with which an agent would do the same."""
    merge = (
        "git config user.name P; git config user.email p@x.invalid; git checkout -qb side; echo s > a.py; "
        "git commit -qam s; git checkout -q main; echo m > a.py; git commit -qam m; git merge -q side || true"
    )
    return {
        "a lock that stays": "touch .git/index.lock",
        "garbage in HEAD": "echo garbage > .git/HEAD",
        "a merge": merge,
        "no repository any more": "rm -r .git",
    }[how]


@pytest.mark.parametrize("how", ["a lock that stays", "garbage in HEAD", "a merge", "no repository any more"])
async def test_whatever_keeps_git_from_committing_is_no_success(
    make, isolated_home, monkeypatch, how
) -> None:
    """And in the next attempt it is none either: what was a repository has not become a plain folder."""
    monkeypatch.setattr(git_command, "LOCK_WAIT_SECONDS", 0.2)
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}, verify=["test -f b.py"]))
    bench = team.bench("w1")
    subprocess.run(["bash", "-c", damage(team, how)], cwd=team.workspace, check=True, capture_output=True)

    for attempt in (1, 2):
        outcome = await team.begin(bench).run()
        assert outcome is not None
        assert outcome.status == "released"
        assert str(outcome.reason).startswith("the commit was refused: ")
        assert team.task("job").attempts == attempt
    assert (team.workspace / "b.py").exists()


async def test_a_full_disk_under_the_repository_is_no_success(make, isolated_home, monkeypatch) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    programs = isolated_home / "bin"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh{NO_SPACE}")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("REAL_GIT", str(shutil.which("git")))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}))

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "released"
    assert "the commit was refused: fatal: unable to write new_index file: No space" in str(outcome.reason)


async def test_work_of_an_earlier_attempt_is_committed_by_the_one_that_succeeds(make, isolated_home) -> None:
    """A model that finds the work done writes nothing again; it may even be another agent."""
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"say": "x"}), teammates=[{"name": "w1"}, {"name": "w2"}])
    first = assistant_message(call("Write", file_path="b.py", content="b = 1\n"))
    failed = assistant_message(call("Edit", "t2", file_path="a.py", old_string="x", new_string="y"))
    await team.session("w1", first, failed, ModelError("overloaded"))

    outcome = await team.session("w2", "It is all there.")

    assert outcome is not None
    assert outcome.status == "completed"
    result = team.task("job").result
    assert result is not None
    assert (result.files, bool(result.commit)) == (("b.py",), True)
    assert git(team.workspace, "show", "--format=", "--name-only").split() == ["b.py"]
