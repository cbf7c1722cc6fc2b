"""One session of one teammate, from claim to result, with real files, commands and git."""

from __future__ import annotations

from swarm.core.task import verified
from tests.integration.session.steps import a_task, bash, write
from tests.support.live_team import git, make_repository
from worker.messages import final_text


async def test_verified_work_is_committed_and_the_task_completed(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"api.py": "old = 1\n", "other.py": "x = 1\n"})
    team = make(
        a_task(
            {"say": "Looking.", "calls": [{"Read": {"file_path": "api.py"}}]},
            {"calls": [write("api.py", "new = 1\n"), bash("echo made > made.txt; echo stray > stray.txt")]},
            {"say": "Renamed it."},
            files=["api.py", "made.*"],
            verify=["grep -q new api.py", "test $SWARM_TASK = 1 && test $SWARM_AGENT = w1"],
        )
    )

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Renamed it.")
    task = team.task("job")
    assert task.status == "completed"
    assert verified(task)
    assert task.result is not None
    assert task.result.files == ("api.py", "made.txt")
    assert task.result.commit == git(team.workspace, "rev-parse", "--short", "HEAD").strip()
    assert git(team.workspace, "show", "--format=", "--name-only").split() == ["api.py", "made.txt"]
    message = git(team.workspace, "log", "-1", "--format=%s%n%(trailers:only,unfold)")
    assert message.split("\n")[:3] == ["Do the job", "Task: 1 job", "Agent: w1@demo"]
    assert "stray.txt" in git(team.workspace, "status", "--porcelain")
    assert [event.event for event in team.events("verify_passed", "task_completed")] == [
        "verify_passed",
        "task_completed",
    ]


async def test_the_transcript_tells_the_whole_session_in_order(make) -> None:
    team = make(a_task({"say": "Looking.", "calls": [bash("echo hello")]}, {"say": "Done."}))

    await team.session("w1")

    lines = team.lines("w1")
    assert [line["type"] for line in lines] == ["start", "user", "assistant", "result", "assistant", "end"]
    assert [line["n"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert len({line["session"] for line in lines}) == 1
    assert {line["task"] for line in lines} == {"1"}
    assert {line["run_id"] for line in lines} == {team.run_id("w1")}
    assert (lines[0]["cause"], lines[0]["model"]) == ("claim", "scripted")
    assert lines[3]["block"]["content"].startswith("hello")
    assert lines[3]["elapsed_seconds"] >= 0
    assert (lines[5]["why"], lines[5]["outcome"]) == ("completed", "completed")
    assert '# Your task: 1\n\nFor w1 in team demo.\n\n<task-text task="1" from="user" ' in final_text(
        lines[1]["message"]
    )
    team.messages("w1", lines[0]["session"])


async def test_a_task_without_checks_is_completed_but_not_verified(make) -> None:
    team = make(a_task({"calls": [write("a.txt", "a")]}, {"say": "Done."}))

    await team.session("w1")

    task = team.task("job")
    assert task.status == "completed"
    assert not verified(task)
    assert task.result is not None
    assert (task.result.files, task.result.commit) == (("a.txt",), None)
    assert team.events("verify_passed") == []


async def test_results_of_the_tasks_before_are_in_the_first_message(make) -> None:
    team = make(
        a_task({"say": "Two callers: a.py and b.py."}),
        {"key": "next", "subject": "Use it", "blocked_by": ["job"], "script": [{"say": "Used."}]},
    )
    first = await team.session("w1")
    assert first is not None
    assert first.unblocked == ("2",)

    await team.session("w1")

    opening = final_text(team.messages("w1", team.sessions("w1")[1])[0])
    assert 'from="w1" trust="none">\nTwo callers: a.py and b.py.\n</task-report>' in opening


async def test_task_update_ends_the_task_after_the_whole_batch(make) -> None:
    ends = {"TaskUpdate": {"taskId": "1", "status": "completed"}}
    team = make(
        a_task({"say": "All there.", "calls": [ends, write("late.txt", "x")]}, verify=["test -f late.txt"])
    )

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All there.")
    assert [line["why"] for line in team.lines("w1") if line["type"] == "end"] == ["task_ended"]


async def test_the_agent_may_say_that_its_task_has_failed(make) -> None:
    """That is final at once: no checks, no further attempt."""
    gives_up = {"TaskUpdate": {"taskId": "1", "status": "failed", "reason": "the spec is missing"}}
    team = make(a_task({"calls": [gives_up]}, verify=["touch checked"]))

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("failed", "the spec is missing")
    assert (team.task("job").status, team.task("job").attempts) == ("failed", 0)
    assert not (team.workspace / "checked").exists()


async def test_files_outside_the_workspace_are_neither_listed_nor_committed(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    outside = str(isolated_home / "outside.txt")
    team = make(a_task({"calls": [write("b.py", "b = 1\n"), write(outside, "x")]}, {"say": "Done."}))

    await team.session("w1")

    result = team.task("job").result
    assert result is not None
    assert (result.files, bool(result.commit), result.not_checked) == (("b.py",), True, ())
