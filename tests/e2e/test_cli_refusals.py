"""What cannot be is refused in one line that says what, and what would be right."""

import json

import pytest

from tests.support.command import Ended, Shell


@pytest.fixture
def team(shell: Shell) -> Shell:
    assert shell.swarm("team", "create", "demo").code == 0
    assert shell.swarm("task", "add", "first").code == 0
    return shell


def one_line(ended: Ended) -> str:
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
    return ended.err


def test_an_unknown_owner_or_blocker_is_named_with_the_valid_ones(team: Shell) -> None:
    owner = team.swarm("task", "add", "x", "--owner", "nosuch")
    blocker = team.swarm("task", "add", "x", "--blocked-by", "999")

    assert (owner.code, blocker.code) == (2, 2)
    assert one_line(owner) == "error: nobody in team demo is called 'nosuch'; it has team-lead\n"
    assert one_line(blocker) == "error: there is no task 999 to wait for; tasks are 1\n"


def test_claims_that_cannot_be_have_four_messages_and_four_codes(team: Shell) -> None:
    team.swarm("task", "add", "second", "--blocked-by", "1")
    team.swarm("task", "add", "third")
    team.swarm("task", "claim", "3", "--as", "w3")
    team.swarm("task", "complete", "3", "--as", "w3")
    team.swarm("task", "claim", "1", "--as", "w2")

    refused = {i: team.swarm("task", "claim", i, "--as", "w1", "--json") for i in ("999", "3", "2", "1")}
    errors = {i: json.loads(one_line(ended))["error"] for i, ended in refused.items()}

    assert {i: error["code"] for i, error in errors.items()} == {
        "999": "no_such_task",
        "3": "finished",
        "2": "blocked",
        "1": "taken",
    }
    assert [ended.code for ended in refused.values()] == [3, 4, 4, 4]
    assert len({error["message"] for error in errors.values()}) == 4


def test_a_failing_check_keeps_the_task_in_progress(team: Shell) -> None:
    """Done means checked: what the check said is on stderr, and the claim still holds."""
    team.swarm("task", "add", "checked", "--verify", "echo first; test -e mended", "--verify", "echo second")
    team.swarm("task", "claim", "2", "--as", "w1")
    failed = team.swarm("task", "complete", "2", "--as", "w1")

    assert (failed.code, failed.out) == (6, "")
    assert failed.err.splitlines()[:2] == ["verify: echo first; test -e mended", "first"]
    assert failed.err.splitlines()[-1].startswith("error: task 2 is not completed: ")
    assert team.swarm("task", "show", "2", "--json").json()["status"] == "in_progress"

    (team.cwd / "mended").touch()
    assert team.swarm("task", "complete", "2", "--as", "w1", "--json").json()["verified"] is True


def test_an_unverified_task_says_so(team: Shell) -> None:
    team.swarm("task", "add", "checked", "--verify", "touch ran; false")
    team.swarm("task", "claim", "2", "--as", "w1")
    task = team.swarm("task", "complete", "2", "--as", "w1", "--unverified", "--json").json()

    assert (task["status"], task["verified"]) == ("completed", False)
    assert task["metadata"]["swarm"]["result"]["not_checked"] == ["verify"]
    assert not (team.cwd / "ran").exists()
    assert "verified    no" in team.swarm("task", "show", "2").out


def test_a_failing_check_is_one_object_for_programs(team: Shell) -> None:
    team.swarm("task", "add", "checked", "--verify", "echo why; exit 3")
    team.swarm("task", "claim", "2", "--as", "w1")
    error = json.loads(one_line(team.swarm("task", "complete", "2", "--as", "w1", "--json")))["error"]

    assert error["code"] == "task_failed"
    assert error["details"] == {"task": "2", "command": "echo why; exit 3", "exit_code": 3, "output": "why\n"}


def test_a_check_knows_its_team_and_may_ask_it(team: Shell) -> None:
    """No lock is held while it runs."""
    command = (
        f'test "$SWARM_TASK" = 2 && test -z "$ANTHROPIC_API_KEY" && {_swarm()} task show 2 --json > seen'
    )
    team.swarm("task", "add", "checked", "--verify", command)
    team.swarm("task", "claim", "2", "--as", "w1")
    done = team.swarm("task", "complete", "2", "--as", "w1", ANTHROPIC_API_KEY="secret")

    assert done.code == 0, done.err
    assert json.loads((team.cwd / "seen").read_text())["status"] == "in_progress"


def _swarm() -> str:
    import sys

    from tests.support.command import REPOSITORY

    return f"env PYTHONPATH={REPOSITORY} {sys.executable} -m swarm"
