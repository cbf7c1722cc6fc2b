"""What a session may do: by rules, by mode, and by the files of its task."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.session.steps import a_task, bash, call, write
from worker.messages import assistant_message


async def test_what_needs_a_question_is_denied_and_left_on_disk(make) -> None:
    team = make(
        a_task({"calls": [bash("make install")], "expect": "error"}, {"say": "Then not."}), mode="default"
    )

    outcome = await team.session("w1", headless=True)

    assert outcome is not None
    assert outcome.status == "completed"
    (result,) = team.results("w1")
    assert "Nobody can be asked" in result["content"]
    assert "Bash(make install)" in result["content"]
    (answer,) = team.team.permissions.list_resolved()
    assert (answer.outcome, answer.via, answer.by) == ("deny", "runtime", "runtime")
    assert answer.request is not None
    assert answer.request["suggested_rule"] == "Bash(make install)"
    assert answer.request["tool_use_id"] == result["tool_use_id"]
    assert answer.request["task"] == "1"
    assert answer.digest == answer.request["digest"]
    assert team.team.permissions.pending() == ()
    assert [event.event for event in team.events("permission_requested", "permission_resolved")] == [
        "permission_requested",
        "permission_resolved",
    ]


@pytest.mark.parametrize(
    ("permissions", "headless", "why"),
    [
        ({"mode": "default"}, True, "Nobody can be asked"),
        ({"mode": "default", "deny": ["Bash(make:*)"]}, False, "forbids this call"),
        ({"mode": "plan"}, False, "may only read"),
    ],
)
async def test_a_script_that_is_refused_a_call_fails_at_once(make, permissions, headless, why) -> None:
    """Played again, it would only be refused the same call again."""
    team = make(a_task({"calls": [bash("make install")]}, {"say": "Done."}), permissions=permissions)

    outcome = await team.session("w1", headless=headless)

    assert outcome is not None
    assert outcome.status == "failed"
    task = team.task("job")
    assert (task.status, task.attempts) == ("failed", 1)
    assert str(task.reason).startswith("step 1 (Bash) failed: Bash was not permitted")
    assert why in str(task.reason)
    assert (team.lines("w1")[-1]["why"], team.lines("w1")[-1]["outcome"]) == ("refused", "failed")


async def test_a_live_model_may_take_another_way(make) -> None:
    team = make(a_task({"say": "x"}), mode="default")

    wanted = assistant_message(call("Bash", command="make"))
    outcome = await team.session("w1", wanted, "Then not.", headless=True)

    assert outcome is not None
    assert outcome.status == "completed"


async def test_a_deny_rule_gives_its_reason_and_asks_nobody(make) -> None:
    team = make(
        a_task({"calls": [bash("git push")], "expect": "error"}, {"say": "Then not."}),
        permissions={"mode": "bypassPermissions", "deny": ["Bash(git push:*)"]},
    )

    await team.session("w1")

    assert "Bash(git push:*)" in team.results("w1")[0]["content"]
    assert team.team.permissions.list_resolved() == ()
    assert team.task("job").status == "completed"


async def test_an_allow_rule_lets_a_call_through(make) -> None:
    team = make(
        a_task({"calls": [bash("touch yes")]}, {"say": "Done."}),
        permissions={"mode": "default", "allow": ["Bash(touch:*)"]},
    )

    await team.session("w1")

    assert (team.workspace / "yes").exists()


async def test_a_rule_added_meanwhile_counts_at_once(make) -> None:
    team = make(a_task({"calls": [bash("touch yes")]}, {"say": "Done."}), mode="default")
    Path(team.team.layout.rules).write_text('{"allow": ["Bash(touch:*)"], "deny": []}')

    await team.session("w1")

    assert (team.workspace / "yes").exists()


async def test_the_teams_files_are_out_of_reach_in_every_mode(make) -> None:
    team = make(a_task({"say": "x"}))
    record = team.team.layout.task("1")

    await team.session("w1", assistant_message(call("Write", file_path=record, content="{}")), "Then not.")

    assert team.results("w1")[0]["is_error"]
    assert team.task("job").status == "completed"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_a_task_writes_only_the_files_that_it_names(make, isolated_home, mode) -> None:
    """Two tasks run side by side because their globs do not overlap: neither may write the other's files."""
    other = {"Edit": {"file_path": "web/page.py", "old_string": "1", "new_string": "2"}}
    linked = isolated_home / "work" / "api" / "link" / "x.py"
    team = make(
        a_task(
            {"calls": [{"Read": {"file_path": "web/page.py"}}]},
            {"calls": [other, write("web/new.py", "x"), write("api/../web/x.py", "")], "expect": "error"},
            {"calls": [write(str(linked), "x"), write("/x.py", "x")], "expect": "error"},
            {"calls": [write("api/users.py", "x"), write("docs.md", "x")]},
            {"say": "Done."},
            files=["api/**", "docs.md"],
        ),
        permissions={"mode": mode, "allow": ["Edit(api/**)", "Edit(docs.md)", "Edit(web/page.py)"]},
    )
    team.write("web/page.py", "a = 1\n")
    (team.workspace / "api").mkdir()
    (team.workspace / "api" / "link").symlink_to(team.workspace / "web")

    outcome = await team.session("w1")

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("completed", None)
    denied = team.results("w1")[1:6]
    assert all("may write, which are api/**, docs.md." in result["content"] for result in denied)
    assert (team.workspace / "web/page.py").read_text() == "a = 1\n"
    assert team.team.permissions.list_resolved() == ()
    assert team.task("job").status == "completed"


async def test_a_rule_that_denies_speaks_before_the_files_of_the_task(make) -> None:
    team = make(
        a_task({"calls": [write("web/x.py", "")], "expect": "error"}, {"say": "Then not."}, files=["api/**"]),
        permissions={"mode": "bypassPermissions", "deny": ["Edit(web/**)"]},
    )

    await team.session("w1")

    assert "Edit(web/**)" in team.results("w1")[0]["content"]
