"""A request for permission reached the leader, which had nothing to answer it with."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.asked import answering, answers_of, heard, led, team_of, until_asked
from tests.support.command import Shell
from tests.support.live_runs import access, told, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply

pytestmark = pytest.mark.timeout(120)

TOUCH = {"calls": [{"Bash": {"command": "touch a"}}]}
MATCH = {"match": "Bash(touch:*)", "note": "by the book"}


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def file_of(shell: Shell, *turns: dict[str, Any], **permissions: Any) -> str:
    task = a_task("a", [*turns, {"say": "Done."}])
    return write_team(shell, [task], permissions={"mode": "default"} | permissions)


@pytest.mark.parametrize("outcome", ["allow", "deny"])
def test_scripted_leader_answers_by_itself(shell: Shell, outcome: str) -> None:
    turn = TOUCH | ({"expect": "error"} if outcome == "deny" else {})
    other = {"match": "Bash(rm:*)", "answer": "deny"}
    file = file_of(shell, turn, answers=[other, {**MATCH, "answer": outcome}])

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.err
    (answer,) = answers_of(shell)
    given = (answer.outcome, answer.via, answer.by, answer.note)
    assert given == (outcome, "rule", "team-lead", "by the book")
    assert (shell.cwd / "ws/a").exists() == (outcome == "allow")
    assert len(ended.json()["denied"]) == (outcome == "deny")
    assert "by the book" in (shell.root / "teams/t1/transcripts/w1.jsonl").read_text()


def test_what_the_script_does_not_foresee_is_answered_by_a_person(shell: Shell) -> None:
    file = file_of(shell, TOUCH, answers=[{"match": "Bash(rm:*)", "answer": "deny"}])
    process, _ = led(shell, "run", file, "--json")
    until_asked(shell)
    assert heard(answering(shell, "1", "allow")) == {"outcome": "allow"}
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (shell.cwd / "ws/a").exists()


def test_of_answers_at_the_same_time_the_first_counts_and_the_others_are_told(
    shell: Shell, backend: dict[str, Any]
) -> None:
    """Four people, both ways at once: the call does what one of them said."""
    file = write_live_team(shell, [a_task("a")], permissions={"mode": "default"})
    with MessagesApi([reply(call("Bash", {"command": "touch a"})), reply("Done.")]) as api:
        process, _ = led(shell, "run", file, "--json", **backend, **access(api))
        until_asked(shell)
        said = [heard(one) for one in [answering(shell, "1", way) for way in ("allow", "deny") * 2]]
        process.communicate(timeout=60)

    (answer,) = answers_of(shell)
    won = [one for one in said if "outcome" in one]
    assert won == [{"outcome": answer.outcome}]
    assert {(one["code"], one["exit"]) for one in said if one not in won} == {("already_resolved", 4)}
    assert all("#1 was already " in one["message"] for one in said if one not in won)
    assert (shell.cwd / "ws/a").exists() == (answer.outcome == "allow")
    assert ("The user denied it" in told(api.exchanges[1].body)) == (answer.outcome == "deny")
    assert status_of(shell, "1")["status"] == "completed"


@pytest.mark.parametrize("first", ["script", "person", "both"])
def test_script_and_person_answer_the_same_question(shell: Shell, first: str) -> None:
    """Whoever comes second is told who was first, and the call does what that one said."""
    go = threading.Event()

    def turn(exchange: Exchange) -> Reply:
        if exchange.turns:
            return reply("Done.")
        go.wait(30)
        return reply(call("Bash", {"command": "touch a"}))

    rules = {"mode": "default", "answers": [{**MATCH, "answer": "deny"}]}
    file = write_live_team(shell, [a_task("a")], permissions=rules)
    with MessagesApi(turn) as api:
        process, _ = led(shell, "run", file, "--backend", "process", **access(api))
        wait_until(lambda: api.exchanges, timeout=30, what="w1 works")
        if first != "script":
            process.send_signal(signal.SIGSTOP)  # so that the script does not answer yet
        go.set()
        wait_until(lambda: answers_of(shell) if first == "script" else until_asked(shell), timeout=30)
        person = answering(shell, "1", "allow")
        if first == "person":
            wait_until(lambda: answers_of(shell), timeout=30, what="the person has answered")
        process.send_signal(signal.SIGCONT)
        said = heard(person)
        process.communicate(timeout=60)

    (answer,) = answers_of(shell)
    assert first == "both" or answer.by == {"script": "team-lead", "person": "user"}[first]
    if answer.by == "user":
        assert said == {"outcome": "allow"}
    else:
        assert (said["code"], said["exit"]) == ("already_resolved", 4)
        assert "#1 was already denied by team-lead at " in said["message"]
    assert (shell.cwd / "ws/a").exists() == (answer.by == "user")
    assert ("by the book" in told(api.exchanges[1].body)) == (answer.by == "team-lead")


def test_answer_to_a_worker_that_was_killed_is_a_clear_error(shell: Shell) -> None:
    """Its next life asks again, under another number; that is another question."""
    process, _ = led(shell, "run", file_of(shell, TOUCH), "--json", "--backend", "process")
    until_asked(shell)
    record = team_of(shell).agents.load("w1")
    assert record is not None
    assert record.pid is not None
    os.kill(record.pid, signal.SIGKILL)
    said = heard(answering(shell, "1", "allow"))
    wait_until(lambda: until_asked(shell)[-1].number == 2, timeout=30, what="the next life has asked")
    assert heard(answering(shell, "2", "allow")) == {"outcome": "allow"}
    process.communicate(timeout=60)

    assert (said["code"], said["exit"]) == ("already_resolved", 4)
    assert "the agent that asked is gone" in said["message"]
    assert process.returncode == 0
    assert (shell.cwd / "ws/a").exists()
    kinds = [event.event for _, event in team_of(shell).events.read()]
    assert kinds.count("permission_requested") == kinds.count("permission_resolved") == 2


def test_question_that_nobody_has_asked_is_a_clear_error(shell: Shell) -> None:
    process, _ = led(shell, "run", file_of(shell, TOUCH), "--json")
    until_asked(shell)
    said = heard(answering(shell, "7", "allow"))
    heard(answering(shell, "1", "allow"))
    process.communicate(timeout=60)
    assert (said["code"], said["exit"]) == ("no_such_request", 3)
