"""What is never booked as success, however it was said."""

from __future__ import annotations

import pytest

from swarm.core.identity import USER
from swarm.core.task import NewTask
from swarm.errors import ModelError
from swarm.storage.syscalls import fault_hook
from tests.integration.session.steps import a_task, bash, call
from worker.messages import assistant_message


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([{"calls": [bash("exit 7")]}, {"say": "Done."}], "step 1 (Bash) failed"),
        ([{"calls": [bash("true")], "expect": "error"}, {"say": "Done."}], "was expected to fail"),
        ([{"say": "Done."}, {"say": "Nobody hears this."}], "1 of the script's 2 steps were not played"),
    ],
)
async def test_a_script_that_does_not_go_as_written_completes_nothing(make, turns, reason) -> None:
    team = make(a_task(*turns))

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "released"
    assert reason in str(outcome.reason)
    assert (team.task("job").status, team.task("job").attempts) == ("pending", 1)


async def test_a_task_added_without_a_script_fails_with_that_reason(make) -> None:
    team = make(a_task({"say": "x"}, owner="w2"), teammates=[{"name": "w1"}, {"name": "w2"}])
    team.team.tasks(USER).create(NewTask(subject="by hand"))

    outcome = await team.session("w1")

    assert outcome is not None
    assert "no script to play" in str(outcome.reason)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (assistant_message(), "neither text nor a tool call"),
        (assistant_message(" \n"), "neither text nor a tool call"),
        (ModelError("usage limit reached"), "usage limit reached"),
        (RuntimeError("a bug"), "RuntimeError: a bug"),
    ],
)
async def test_an_end_with_an_error_is_never_booked_as_a_finished_task(make, answer, reason) -> None:
    """Dependents would start from work that nobody has done."""
    team = make(
        a_task({"say": "x"}), {"key": "next", "subject": "n", "blocked_by": ["job"], "script": [{"say": "x"}]}
    )

    outcome = await team.session("w1", answer, answer, answer)  # an empty one is asked for again

    assert outcome is not None
    assert outcome.status == "released"
    assert reason in str(outcome.reason)
    assert team.task("job").status == "pending"
    assert team.team.tasks(USER).table().open_blockers("2") == ("1",)


async def test_the_turn_limit_ends_the_attempt(make) -> None:
    team = make(a_task({"say": "x"}))
    team.team.settings = team.settings.replace(turns_max=2)
    looks = [assistant_message(call("Bash", f"t{n}", command="true")) for n in range(9)]

    outcome = await team.session("w1", *looks)

    assert outcome is not None
    assert outcome.reason == "no end after 2 turns"


async def test_a_last_line_that_cannot_be_written_changes_nothing(make) -> None:
    team = make(a_task({"say": "Done."}))

    def full(name: str, path: str, size: int) -> None:
        if path.endswith("transcripts/w1.jsonl") and team.task("job").status == "completed":
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "completed"
    assert team.lines("w1")[-1]["type"] == "assistant"


async def test_a_storage_failure_in_a_session_ends_the_attempt(make) -> None:
    team = make(a_task({"say": "x"}))

    outcome = await team.session("w1", OSError(28, "No space left on device"))

    assert outcome is not None
    assert outcome.status == "released"
    assert "No space left" in str(outcome.reason)
