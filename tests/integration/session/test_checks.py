"""Checks that fail: what a session hears of them, and how often it may try."""

from __future__ import annotations

from tests.integration.session.steps import a_task, bash, write
from worker.messages import final_text


async def test_a_failed_check_goes_back_into_the_same_session(make) -> None:
    team = make(
        a_task(
            {"say": "Done at once."},
            {"say": "Right, the file.", "calls": [write("it.txt", "x")]},
            {"say": "Done now."},
            verify=["echo looking; test -f it.txt"],
        )
    )

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Done now.")
    assert team.task("job").attempts == 0
    assert len(team.sessions("w1")) == 1
    messages = team.messages("w1", team.sessions("w1")[0])
    notice = final_text(messages[2])
    assert "test -f it.txt" in notice
    assert "exit code 1" in notice
    assert "looking" in notice
    assert [event.event for event in team.events("verify_failed", "verify_passed")] == [
        "verify_failed",
        "verify_passed",
    ]


async def test_the_third_failed_check_ends_the_attempt(make) -> None:
    said = [{"say": f"Done, try {n}."} for n in range(1, 5)]
    team = make(a_task(*said, verify=["exit 3"]))

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "released"
    task = team.task("job")
    assert (task.status, task.attempts) == ("pending", 1)
    assert task.reason == "the check `exit 3` failed: exit code 3"
    assert len(team.events("verify_failed")) == 3


async def test_a_failed_check_and_no_step_left_ends_the_attempt_and_names_both(make) -> None:
    team = make(a_task({"say": "Done."}, verify=["false"]))

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.reason == (
        "the check `false` failed: exit code 1; then the work is not done, "
        "but the one step of its script has been played"
    )


async def test_a_new_attempt_starts_at_the_first_step_in_a_new_session(make) -> None:
    """And after the last one the task has failed for good."""
    team = make(a_task({"calls": [bash("echo x >> tries")]}, {"say": "Done."}, verify=["false"]))

    outcomes = [await team.session("w1") for _ in range(3)]

    assert [outcome and outcome.status for outcome in outcomes] == ["released", "released", "failed"]
    assert (team.workspace / "tries").read_text() == "x\n" * 3
    assert (team.task("job").status, team.task("job").attempts) == ("failed", 3)
    assert str(team.task("job").reason).startswith("parked: ")
    starts = [line for line in team.lines("w1") if line["type"] == "start"]
    assert [start["cause"] for start in starts] == ["claim", "retry", "retry"]
    assert len({start["session"] for start in starts}) == 3
    assert "1 failed" in final_text(team.messages("w1", starts[1]["session"])[0])


async def test_an_end_by_task_update_whose_check_fails_is_no_end(make) -> None:
    ends = {"TaskUpdate": {"taskId": "1", "status": "completed"}}
    team = make(a_task({"calls": [ends]}, {"calls": [write("it.txt", "x"), ends]}, verify=["test -f it.txt"]))

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "completed"
    assert team.task("job").status == "completed"


async def test_only_the_end_of_long_output_goes_back(make) -> None:
    """The reason of a failure stands at the end; all of it would fill the context."""
    noisy = "seq 100000; echo the reason; false"
    team = make(a_task({"say": "Done."}, {"say": "Done."}, verify=[noisy]))

    await team.session("w1")

    notice = final_text(team.messages("w1", team.sessions("w1")[0])[2])
    assert "the reason\n" in notice
    assert "are left out]" in notice
    assert len(notice) < team.settings.verify_output_chars + 1000


async def test_checks_that_hang_are_ended(make) -> None:
    team = make(a_task({"say": "Done."}, verify=["sleep 60 & echo waiting; wait"]))
    team.team.settings = team.settings.replace(verify_timeout_seconds=0.3)

    outcome = await team.session("w1")

    assert outcome is not None
    assert "timed out" in str(outcome.reason)
