"""Hooks speak, and are ended; a stop leaves the repository as it was."""

from __future__ import annotations

import os
import pickle
import threading
import time

import pytest

from swarm.testing.wait import wait_until
from swarm.workspace import git_command
from swarm.workspace.git import Bounds, GitStoppedError, WorkspaceError
from swarm.workspace.git_ending import remove_locks
from tests.unit.workspace.repositories import a_hook, commit, files_of, run


def test_a_failing_hook_refuses_and_leaves_everything_as_it_was(repository):
    """Hooks are the project's own checks: never skipped, and a refusal is no half-made commit."""
    a_hook(repository, "echo style first >&2; exit 1")
    (repository / "new.txt").write_text("new\n")
    (repository / "staged.txt").write_text("mine\n")
    run(repository, "add", "staged.txt")
    before = run(repository, "status", "--porcelain"), run(repository, "rev-parse", "HEAD")

    with pytest.raises(WorkspaceError, match="style first") as caught:
        commit(repository, "new.txt")

    assert caught.value.exit_code == 4
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message
    assert (run(repository, "status", "--porcelain"), run(repository, "rev-parse", "HEAD")) == before


def test_a_hook_sees_no_secret(repository, monkeypatch):
    """A hook is the repository's code; our keys are none of its business."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    a_hook(repository, "env > hook-env")
    (repository / "old.txt").write_text("changed\n")

    commit(repository, "old.txt")

    seen = (repository / "hook-env").read_text()
    assert "PATH=" in seen
    assert "sk-secret" not in seen


def test_a_background_child_of_a_hook_is_not_waited_for(repository):
    """A hook that starts a daemon keeps the output open; git itself is done."""
    a_hook(repository, "sleep 60 &\necho $! > hook-pid")
    (repository / "old.txt").write_text("changed\n")
    try:
        assert commit(repository, "old.txt") is not None
    finally:
        os.kill(int((repository / "hook-pid").read_text()), 9)


def test_what_a_hook_printed_comes_with_the_refusal(repository):
    """The last line alone rarely says what is to be mended; colours do not help."""
    a_hook(repository, "seq 100; printf '\\033[31ma.py:1: unused\\033[0m\\n'; echo 1 problem >&2; exit 1")
    (repository / "old.txt").write_text("changed\n")

    with pytest.raises(WorkspaceError, match="1 problem") as caught:
        commit(repository, "old.txt")

    lines = caught.value.output.splitlines()
    assert lines[-2:] == ["a.py:1: unused", "1 problem"]
    assert len(lines) == 20
    assert pickle.loads(pickle.dumps(caught.value)).output == caught.value.output


def test_an_endless_hook_is_ended(repository):
    """No time limit would hold the workspace's lock for ever."""
    a_hook(repository, "echo begun; echo $$ > hook-pid; sleep 60")
    (repository / "old.txt").write_text("changed\n")

    with pytest.raises(WorkspaceError, match=r"longer than 0\.5 s") as caught:
        commit(repository, "old.txt", bounds=Bounds(seconds=0.5))

    assert "begun" in caught.value.output
    assert not os.path.exists(f"/proc/{(repository / 'hook-pid').read_text().strip()}/cwd")


def stopped(repository, hook, *, name="pre-commit"):
    """Commit a new file, and stop it as soon as the hook runs; return how long it took to end then."""
    a_hook(repository, f"echo $$ > hook-pid.new; mv hook-pid.new hook-pid\n{hook}", name)
    (repository / "new.txt").write_text("new\n")
    stop = threading.Event()
    bounds = Bounds(stop=stop)
    caught = []

    def work():
        try:
            caught.append(commit(repository, "new.txt", bounds=bounds))
        except GitStoppedError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until((repository / "hook-pid").exists, timeout=15)
    stop.set()
    began = time.monotonic()
    thread.join(15)
    return caught[0], time.monotonic() - began


ENDLESS_HOOKS = {
    "sleeps": "sleep 1000",
    "would succeed": "sleep 3; exit 0",
    "hears nothing": "trap '' TERM INT HUP; sleep 1000; exit 0",
    "stops git": "kill -STOP $PPID; sleep 1000",
    "adds files": "echo x > more.txt; git add more.txt; kill -STOP $PPID; sleep 1000",
}


@pytest.mark.parametrize("hook", ENDLESS_HOOKS.values(), ids=ENDLESS_HOOKS)
def test_a_stop_ends_a_commit_and_leaves_the_repository_usable(repository, hook):
    """Whatever the hook does, no commit comes later, no lock stays, and the index is as it was."""
    before = run(repository, "rev-parse", "HEAD")

    caught, took = stopped(repository, hook)

    assert isinstance(caught, GitStoppedError)
    assert took < 8  # two seconds for git to take its locks back, and time for a busy machine
    assert not os.path.exists(f"/proc/{(repository / 'hook-pid').read_text().strip()}/cwd")
    assert run(repository, "rev-parse", "HEAD") == before
    assert run(repository, "diff", "--cached", "--name-only") == ""
    assert "?? new.txt" in run(repository, "status", "--porcelain")
    assert not [name for name in os.listdir(repository / ".git") if name.endswith(".lock")]
    (repository / ".git" / "hooks" / "pre-commit").unlink()
    assert commit(repository, "new.txt") is not None


def test_a_commit_that_has_landed_when_the_stop_comes_is_told(repository):
    """A hook after the commit hangs: what is in the log must not be done again by somebody else."""
    made, _ = stopped(repository, "sleep 1000", name="post-commit")

    assert made == run(repository, "rev-parse", "--short", "HEAD").strip()
    assert files_of(repository) == {"new.txt"}


def test_a_stop_ends_the_wait_for_a_lock_and_leaves_it_there(repository):
    """It is somebody else's."""
    lock = repository / ".git" / "index.lock"
    lock.touch()
    (repository / "old.txt").write_text("changed\n")
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    began = time.monotonic()

    with pytest.raises(GitStoppedError):
        commit(repository, "old.txt", bounds=Bounds(stop=stop))

    assert time.monotonic() - began < git_command.LOCK_WAIT_SECONDS
    assert lock.exists()
    timer.join()


def test_locks_of_somebody_else_stay(tmp_path):
    """Only what is younger than our commit, older than its second index, and beside that, is ours."""
    (tmp_path / "index.lock").touch()
    (tmp_path / "next-index-8.lock").touch()
    now = time.time_ns()

    remove_locks(str(tmp_path), 7, now)
    remove_locks(str(tmp_path), 8, now + 10**10)
    assert sorted(os.listdir(tmp_path)) == ["index.lock", "next-index-8.lock"]
    os.utime(tmp_path / "index.lock", ns=(now + 10**9, now + 10**9))
    remove_locks(str(tmp_path), 8, now)
    assert os.listdir(tmp_path) == ["index.lock"]
