"""Task tools act for the agent that runs them, on the team's list, within what a model may do."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.core.task import Requires, TaskResult
from swarm.storage.team import Team
from tests.support.tools import ToolBench
from worker.tools.contract import Ending


async def test_create_adds_a_task_in_the_agent_s_name(bench: ToolBench, team: Team) -> None:
    first = bench.add_task("First")

    text = await bench.ok(
        "TaskCreate",
        subject="Fix\nthe  parser",
        description="It stops at tabs.",
        activeForm="Fixing the parser",
        blockedBy=[f"#{first.id}"],
        metadata={"area": "parser"},
    )

    assert text == "Created task #2: Fix the parser. It waits for #1."
    task = team.tasks("user").get_task("2")
    assert (task.subject, task.description, task.active_form) == (
        "Fix the parser",
        "It stops at tabs.",
        "Fixing the parser",
    )
    assert (task.created_by, task.blocked_by, task.metadata) == ("builder-1", ("1",), {"area": "parser"})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"subject": " "}, "blank"),
        ({"subject": "x", "blockedBy": ["99"]}, "no task #99"),
        ({"subject": "x", "metadata": {"swarm": {"verify": ["true"]}}}, "belongs to the runtime"),
        ({"subject": "x", "verify": ["true"]}, "`verify` is no parameter"),
        ({"subject": "x", "files": ["**"]}, "`files` is no parameter"),
        ({"subject": "x", "owner": "tester"}, "`owner` is no parameter"),
    ],
)
async def test_create_refuses_what_is_not_a_model_s_to_say(
    bench: ToolBench, team: Team, given: dict[str, Any], told: str
) -> None:
    assert told in await bench.error("TaskCreate", **given)
    assert team.tasks("user").list_tasks() == ()


async def test_list_shows_who_is_on_what_and_what_waits(bench: ToolBench, team: Team) -> None:
    bench.add_task("Look\naround")
    bench.add_task("Build", blocked_by=("1",), requires=Requires(agent="tester"))
    claimed = team.tasks("builder-2").claim("builder-2", None, "k3v9qd7m.builder-2.1", "1")

    assert await bench.ok("TaskList") == (
        "#1 [in_progress] Look around (builder-2)\n#2 [pending] Build (tester) [blocked by #1]"
    )

    assert claimed.claim is not None  # type: ignore[union-attr]
    team.tasks("builder-2").complete("1", claimed.claim.token, TaskResult(summary="Seen."))  # type: ignore[union-attr]
    assert (await bench.ok("TaskList")).splitlines()[1] == "#2 [pending] Build (tester)"


async def test_list_of_nothing(bench: ToolBench) -> None:
    assert await bench.ok("TaskList") == "There are no tasks."


async def test_get_shows_all_that_the_next_one_needs(bench: ToolBench, team: Team) -> None:
    bench.take_task("Look", description="Every caller.\n\nAll of them.", files=("src/**",), verify=("true",))
    bench.add_task("Build", blocked_by=("1",))
    assert bench.context.token is not None
    result = TaskResult(summary="Three callers.", files=("a.py",), commit="9f1c2ab", not_checked=("docs",))
    team.tasks("builder-1").complete("1", bench.context.token, result)

    assert await bench.ok("TaskGet", taskId=1) == (
        "Task #1: Look\n"
        "Status: completed and verified\n"
        "Owner: builder-1\n"
        "Waited for by: #2 (pending)\n"
        "May write: src/**\n"
        "Verified by: true\n"
        "Description:\n"
        '<task-text task="1" from="user" trust="user">\n'
        "Every caller.\n"
        "\n"
        "All of them.\n"
        "</task-text>\n"
        "Result:\n"
        '<task-report task="1" from="builder-1" trust="none">\n'
        "Three callers.\n"
        "</task-report>\n"
        "Files: a.py\n"
        "Not checked: docs\n"
        "Commit: 9f1c2ab"
    )
    assert "Waits for: #1 (completed)" in await bench.ok("TaskGet", taskId="#2")


@pytest.mark.parametrize("tool", ["TaskGet", "TaskUpdate"])
async def test_unknown_tasks_are_told(bench: ToolBench, tool: str) -> None:
    assert "99" in await bench.error(tool, taskId="99")


class TestEndingTheOwnTask:
    async def test_completed_is_noted_for_the_runtime(self, bench: ToolBench, team: Team) -> None:
        """The tool writes nothing: first the checks of the task must pass."""
        task = bench.take_task()

        await bench.ok("TaskUpdate", taskId=task.id, status="completed")

        assert bench.context.ending == Ending(status="completed", text="")
        assert team.tasks("user").get_task(task.id).status == "in_progress"

    async def test_failed_needs_a_reason(self, bench: ToolBench) -> None:
        task = bench.take_task()

        assert "needs a reason" in await bench.error(
            "TaskUpdate", taskId=task.id, status="failed", reason=" "
        )
        assert bench.context.ending is None

        await bench.ok("TaskUpdate", taskId=task.id, status="failed", reason="The API is gone.")
        assert bench.context.ending == Ending(status="failed", text="The API is gone.")

    async def test_only_once(self, bench: ToolBench) -> None:
        task = bench.take_task()
        calls = [
            bench.use("TaskUpdate", taskId=task.id, status="completed"),
            bench.use("TaskUpdate", taskId=task.id, status="failed", reason="No."),
        ]

        _, second = await bench.turn(*calls)

        assert second["is_error"]
        assert "was ended as completed" in second["content"]
        assert bench.context.ending == Ending(status="completed", text="")

    async def test_in_progress_changes_nothing(self, bench: ToolBench) -> None:
        task = bench.take_task()

        assert "as before" in await bench.ok("TaskUpdate", taskId=task.id, status="in_progress")
        assert bench.context.ending is None

    @pytest.mark.parametrize("status", ["pending", "deleted", "cancelled"])
    async def test_other_ends_are_refused_with_the_way_out(self, bench: ToolBench, status: str) -> None:
        task = bench.take_task()

        assert "with failed" in await bench.error("TaskUpdate", taskId=task.id, status=status)

    async def test_a_task_that_was_taken_back_is_not_ended(self, bench: ToolBench, team: Team) -> None:
        task = bench.take_task()
        team.tasks("user").cancel(task.id, "not wanted")
        team.tasks("user").retry(task.id)

        assert "stale_token" in await bench.error("TaskUpdate", taskId=task.id, status="completed")
        team.tasks("builder-2").claim("builder-2", None, "k3v9qd7m.builder-2.1", task.id)
        assert "stale_token" in await bench.error("TaskUpdate", taskId=task.id, status="completed")
        assert bench.context.ending is None


async def test_status_of_other_tasks_is_refused(bench: ToolBench, team: Team) -> None:
    """Who works on what is decided by claims, never by a model's word."""
    bench.take_task()
    bench.add_task("Free")
    bench.add_task("Taken")
    team.tasks("builder-2").claim("builder-2", None, "k3v9qd7m.builder-2.1", "3")

    for task_id, status in (("2", "in_progress"), ("2", "completed"), ("3", "completed"), ("3", "failed")):
        text = await bench.error("TaskUpdate", taskId=task_id, status=status, reason="x")
        assert "not_owner" in text
        assert "yours is #1" in text
    assert bench.context.ending is None


async def test_wording_owner_and_links(bench: ToolBench, team: Team) -> None:
    for subject in ("One", "Two", "Three"):
        bench.add_task(subject, metadata={"old": 1, "keep": 2})

    text = await bench.ok(
        "TaskUpdate",
        taskId="2",
        subject="Zwei",
        description="More.",
        owner="tester",
        metadata={"old": None, "new": True},
        addBlocks=["3"],
        addBlockedBy=[1],
    )

    task = team.tasks("user").get_task("2")
    assert (task.subject, task.description, task.owner) == ("Zwei", "More.", "tester")
    assert (task.blocks, task.blocked_by) == (("3",), ("1",))
    assert task.metadata == {"keep": 2, "new": True}
    assert task.requires == Requires(agent="tester")
    assert "#3 waits for it" in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"taskId": "1"}, "changes nothing"),
        ({"taskId": "1", "owner": "stranger"}, "these do: builder-1, builder-2, tester"),
        ({"taskId": "1", "owner": "team-lead"}, "no teammate who takes tasks"),
        ({"taskId": "2", "owner": "tester"}, "cannot be changed: it is in_progress"),
        ({"taskId": "2", "subject": "Mine now"}, "not_owner"),
        ({"taskId": "3", "description": "x"}, "is cancelled"),
        ({"taskId": "1", "metadata": {"swarm": {}}}, "belongs to the runtime"),
        ({"taskId": "1", "addBlockedBy": ["1"]}, "cycle"),
        ({"taskId": "1", "addBlockedBy": ["99"]}, "no task 99"),
        ({"taskId": "1", "addBlocks": ["99"]}, "99"),
        ({"taskId": "1", "verify": ["true"]}, "`verify` is no parameter"),
    ],
)
async def test_refused_changes(bench: ToolBench, team: Team, given: dict[str, Any], told: str) -> None:
    bench.add_task("Free")
    bench.add_task("Taken")
    bench.add_task("Over")
    team.tasks("builder-2").claim("builder-2", None, "k3v9qd7m.builder-2.1", "2")
    team.tasks("user").cancel("3", "not wanted")
    before = team.tasks("user").list_tasks()

    assert told in await bench.error("TaskUpdate", **given)
    assert team.tasks("user").list_tasks() == before


async def test_a_change_that_fails_half_way_says_what_was_done(bench: ToolBench, team: Team) -> None:
    bench.add_task("One")

    text = await bench.error("TaskUpdate", taskId="1", subject="Eins", addBlockedBy=["1"])

    assert "Before that it changed: subject." in text
    assert team.tasks("user").get_task("1").subject == "Eins"


async def test_the_own_task_may_be_reworded_while_working(bench: ToolBench, team: Team) -> None:
    task = bench.take_task()

    await bench.ok("TaskUpdate", taskId=task.id, description="Clearer.")

    assert team.tasks("user").get_task(task.id).description == "Clearer."
