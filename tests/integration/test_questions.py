"""Questions of whole runs: what becomes of them when the run is stopped, killed, resumed, or out of time."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.asked import answering, answers_of, heard, led, team_of, until_asked
from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux

pytestmark = pytest.mark.timeout(120)

TURN = {"calls": [{"Bash": {"command": "touch made"}}]}
BACKENDS = ["in-process", "process", pytest.param("tmux", marks=needs_tmux)]


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


@pytest.fixture
def tmux():
    with private_tmux() as found:
        yield found


def written(shell: Shell, *, denied: bool = False, owners: tuple[str, ...] = ("w1",)) -> str:
    turn = TURN | ({"expect": "error"} if denied else {})
    tasks = [a_task(owner, [turn, {"say": "Done."}], owner=owner) for owner in owners]
    teammates = [{"name": owner} for owner in owners]
    return write_team(shell, tasks, teammates=teammates, permissions={"mode": "default"})


def is_done(shell: Shell, task: str) -> bool:
    return bool(status_of(shell, task)["status"] == "completed")


def is_made(shell: Shell) -> bool:
    return (shell.cwd / "ws/made").exists()


@pytest.mark.parametrize("backend", BACKENDS)
def test_interrupt_ends_a_run_whose_teammates_wait(shell: Shell, tmux: Any, backend: str) -> None:
    file = written(shell, owners=("w1", "w2"))
    process, _ = led(shell, "run", file, "--backend", backend, TMUX_TMPDIR=tmux.folder)
    until_asked(shell, 2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert [answer.outcome for answer in answers_of(shell)] == ["expired", "expired"]
    assert team_of(shell).permissions.pending() == ()
    assert {status_of(shell, task)["status"] for task in ("1", "2")} == {"pending"}
    said = heard(answering(shell, "1", "allow"))
    assert (said["code"], said["exit"]) == ("already_resolved", 4)
    assert not is_made(shell)


@pytest.mark.parametrize("backend", BACKENDS)
def test_questions_of_many_are_answered_in_any_order(shell: Shell, tmux: Any, backend: str) -> None:
    owners = ("w1", "w2", "w3")
    file = written(shell, owners=owners)
    process, _ = led(shell, "run", file, "--json", "--backend", backend, TMUX_TMPDIR=tmux.folder)
    requests = until_asked(shell, 3)
    assert {request.agent for request in requests} == set(owners)
    for request in reversed(requests):
        assert heard(answering(shell, str(request.number), "allow")) == {"outcome": "allow"}
        wait_until(partial(is_done, shell, str(request.task)), timeout=30, what="its task is done")
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_question_of_a_leader_that_was_killed_with_its_teammates_is_asked_anew(shell: Shell) -> None:
    """In one process with their leader they die with it; the cut-off call is answered as interrupted."""
    process, _ = led(shell, "run", written(shell))
    until_asked(shell)
    process.kill()
    process.communicate(timeout=60)
    following, _ = led(shell, "resume", "t1")
    wait_until(lambda: answers_of(shell), timeout=30, what="the old question is closed")
    (again,) = until_asked(shell)
    assert again.number == 2
    assert heard(answering(shell, "2", "allow")) == {"outcome": "allow"}
    following.communicate(timeout=60)

    assert following.returncode == 0
    assert [answer.outcome for answer in answers_of(shell)] == ["expired", "allow"]
    assert is_made(shell)


def test_resume_without_anybody_there_denies_at_once(shell: Shell) -> None:
    process, _ = led(shell, "run", written(shell))
    until_asked(shell)
    process.kill()
    process.communicate(timeout=60)
    ended = shell.swarm("resume", "t1", "--headless", "--json")

    assert ended.code == 5, ended.err
    assert [one["suggested_rule"] for one in ended.json()["denied"]] == ["Bash(touch made)"]
    assert not is_made(shell)


def test_run_that_is_out_of_time_does_not_wait_for_an_answer(shell: Shell) -> None:
    ended = shell.swarm("run", written(shell), "--json", "--timeout", "3")
    assert ended.code == 124, ended.err
    (answer,) = answers_of(shell)
    assert answer.outcome == "expired"


def test_unanswered_question_counts_as_denied(shell: Shell) -> None:
    """The time scale makes the ten minutes short; the report says what was missing."""
    ended = shell.swarm("run", written(shell), "--json", SWARM_TIME_SCALE="0.002")
    assert ended.code == 5, ended.err
    assert {answer.outcome for answer in answers_of(shell)} == {"expired"}
    assert [one["suggested_rule"] for one in ended.json()["denied"]] == ["Bash(touch made)"]
    assert "Bash(touch made)" in Path(ended.json()["report"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("backend", ["process", pytest.param("tmux", marks=needs_tmux)])
def test_stop_of_one_that_waits_works_at_once(shell: Shell, tmux: Any, backend: str) -> None:
    file = written(shell, owners=("w1", "w2"))
    process, _ = led(shell, "run", file, "--backend", backend, TMUX_TMPDIR=tmux.folder)
    requests = until_asked(shell, 2)
    number = {request.agent: str(request.number) for request in requests}
    stopped = shell.swarm("stop", "w1", "-t", "t1", TMUX_TMPDIR=tmux.folder)
    assert stopped.code == 0, stopped.err
    assert heard(answering(shell, number["w1"], "allow"))["code"] == "already_resolved"
    assert heard(answering(shell, number["w2"], "allow")) == {"outcome": "allow"}
    process.communicate(timeout=60)
    assert {answer.outcome for answer in answers_of(shell)} == {"expired", "allow"}
