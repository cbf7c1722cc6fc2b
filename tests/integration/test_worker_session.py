"""One session of one teammate, from claim to result, with real files, commands and git."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from swarm.core.identity import USER
from swarm.core.task import NewTask, verified
from swarm.errors import ModelError
from swarm.storage.syscalls import fault_hook
from swarm.testing.wait import eventually
from swarm.workspace import git_command
from tests.support.live_team import LiveTeam, git, make_repository
from tests.support.models import FakeModel
from worker.messages import assistant_message, blocks_of, final_text, tool_results, tool_use

TEAMMATES = [{"name": "w1"}]
ALL = {"mode": "bypassPermissions"}


def write(path: str, content: str) -> dict:
    return {"Write": {"file_path": path, "content": content}}


def bash(command: str) -> dict:
    return {"Bash": {"command": command}}


def a_task(*turns: dict, **facts) -> dict:
    return {"key": "job", "subject": "Do the job", "script": list(turns)} | facts


@pytest.fixture
def make(isolated_home: Path):
    def make_team(*tasks: dict, mode: str = "bypassPermissions", **team) -> LiveTeam:
        facts = {"teammates": TEAMMATES, "permissions": {"mode": mode}, "tasks": list(tasks)}
        return LiveTeam(isolated_home, **facts | team)

    return make_team


def call(name: str, tool_use_id: str = "t1", **given) -> dict:
    return tool_use(tool_use_id, name, given)


# Success


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
    assert "Your task: 1 · Do the job" in final_text(lines[1]["message"])
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
    assert "> Two callers: a.py and b.py." in opening


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


def a_hook(team: LiveTeam, text: str, name: str = "pre-commit") -> None:
    hook = team.workspace / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)


async def test_files_outside_the_workspace_are_neither_listed_nor_committed(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    outside = str(isolated_home / "outside.txt")
    team = make(a_task({"calls": [write("b.py", "b = 1\n"), write(outside, "x")]}, {"say": "Done."}))

    await team.session("w1")

    result = team.task("job").result
    assert result is not None
    assert (result.files, bool(result.commit), result.not_checked) == (("b.py",), True, ())


# Checks that fail


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
        "but all 1 step of its script have been played"
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


# Commits that git refuses


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


# What is never success


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

    outcome = await team.session("w1", answer)

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


# Permission


async def test_what_needs_a_question_is_denied_and_left_on_disk(make) -> None:
    team = make(
        a_task({"calls": [bash("make install")], "expect": "error"}, {"say": "Then not."}), mode="default"
    )

    outcome = await team.session("w1")

    assert outcome is not None
    assert outcome.status == "completed"
    (result,) = team.results("w1")
    assert "nobody can be asked" in result["content"]
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


# Mail


async def test_mail_that_comes_while_a_tool_runs_is_in_the_very_next_request(make) -> None:
    """It neither waits for the end of the turn nor disturbs the call that runs."""
    team = make(a_task({"say": "x"}))
    model = FakeModel(assistant_message(call("Bash", command="touch began; sleep 0.3; echo done")), "Done.")
    session = team.begin(team.bench("w1", model))
    running = asyncio.create_task(session.run())
    await team.until_file("began")

    msg_id = team.send("w1", "use the new name")
    await running

    results = tool_results(model.requests[1].messages[-1])
    assert "done" in results[0]["content"]
    assert not results[0]["is_error"]
    text = final_text(model.requests[1].messages[-1])
    assert "use the new name" in text
    assert 'teammate_id="team-lead"' in text
    (line,) = [line for line in team.lines("w1") if line.get("msg_ids")]
    assert line["msg_ids"] == [msg_id]
    assert [mail.msg_id for mail in team.team.inbox("w1").history()] == [msg_id]
    assert team.team.inbox("w1").peek() == ()


async def test_waiting_mail_is_in_the_first_request_and_in_no_later_session(make) -> None:
    team = make(a_task({"say": "Read."}), {"key": "b", "subject": "b", "script": [{"say": "Done."}]})
    team.send("w1", "mind the tests")

    await team.session("w1")
    await team.session("w1")

    first, second = (team.messages("w1", session) for session in team.sessions("w1"))
    assert "mind the tests" in final_text(first[0])
    assert "mind the tests" not in str(second)


async def test_mail_in_a_cut_off_request_is_carried_to_the_next_session(make) -> None:
    """Of the request that was cut off nobody knows what the model made of it."""
    team = make(a_task({"say": "x"}), {"key": "b", "subject": "b", "script": [{"say": "x"}]})
    msg_id = team.send("w1", "mind the tests")
    await team.session("w1", ModelError("overloaded"))
    team.team.tasks(USER).cancel("1", "not wanted")
    model = FakeModel("Done.")

    await team.begin(team.bench("w1", model)).run()

    assert final_text(model.requests[0].messages[0]).count("mind the tests") == 1
    starts = [line for line in team.lines("w1") if line["type"] == "start"]
    assert starts[1]["carried"] == [msg_id]
    assert [line["msg_ids"] for line in team.lines("w1") if line.get("msg_ids")] == [[msg_id]]
    assert model.requests[0].messages == team.messages("w1", starts[1]["session"])[:1]


async def test_mail_read_by_a_killed_life_is_acknowledged_but_not_shown_again(make) -> None:
    """Killed between transcript and acknowledgement: the inbox still has what the model has seen."""
    team = make(a_task({"say": "x"}), {"key": "b", "subject": "b", "script": [{"say": "x"}]})
    team.send("w1", "mind the tests")
    inbox = team.team.inbox("w1")
    (mail,) = inbox.peek()
    await team.session("w1", "Done.")
    inbox.deliver(mail)
    model = FakeModel("Done.")

    await team.begin(team.bench("w1", model)).run()

    assert "mind the tests" not in str(model.requests[0].messages)
    assert inbox.peek() == ()


# Stop, kill, resume


async def stopped_in_a_command(team: LiveTeam):
    stop = asyncio.Event()
    session = team.begin(team.bench("w1"), stop)
    running = asyncio.create_task(session.run())
    await team.until_file("pid")
    pid = int((team.workspace / "pid").read_text())
    return stop, running, pid


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


WAITS_FOR_GO = "touch began; while [ ! -e go ]; do sleep 0.05; done"
LONG = "sleep 60 & echo $! > pid.tmp; mv pid.tmp pid; wait"


async def test_stop_ends_the_running_tool_and_gives_the_task_back(make) -> None:
    team = make(a_task({"calls": [bash(LONG), bash("touch never")]}, {"say": "Done."}))
    stop, running, pid = await stopped_in_a_command(team)

    stop.set()
    outcome = await asyncio.wait_for(running, 10)

    assert (outcome.status, outcome.reason) == ("released", "stopped")
    await eventually(lambda: is_gone(pid), timeout=5)
    task = team.task("job")
    assert (task.status, task.attempts, task.owner) == ("pending", 0, None)
    assert not (team.workspace / "never").exists()
    assert len(team.results("w1")) == 2
    assert all(result["is_error"] for result in team.results("w1"))
    assert team.lines("w1")[-1]["why"] == "aborted_tools"
    team.messages("w1", team.sessions("w1")[0])
    record = team.team.agents.load("w1")
    assert record is not None
    assert record.tools == ()


async def test_cancelling_a_session_leaves_as_good_a_state_as_a_stop(make) -> None:
    team = make(a_task({"calls": [bash(LONG)]}, {"say": "Done."}))
    _, running, pid = await stopped_in_a_command(team)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await eventually(lambda: is_gone(pid), timeout=5)
    assert (team.task("job").status, team.task("job").reason) == ("pending", "stopped")
    assert len(team.results("w1")) == 1
    assert team.lines("w1")[-1]["type"] == "end"


async def stopped_in_a_hook(team: LiveTeam, hook: str):
    a_hook(team, f"echo $$ > .git/pid.new; mv .git/pid.new .git/pid; {hook}")
    stop = asyncio.Event()
    running = asyncio.create_task(team.begin(team.bench("w1"), stop).run())
    await eventually((team.workspace / ".git" / "pid").exists, timeout=10)
    return stop, running, int((team.workspace / ".git" / "pid").read_text())


HOOKS = ["sleep 1000", "sleep 3; exit 0", "trap '' TERM; sleep 3; exit 0"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_a_hook_that_hangs_does_not_outlive_the_stop(make, isolated_home, hook, how) -> None:
    """And its commit does not come later, when somebody else may be at the task already."""
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}))
    stop, running, pid = await stopped_in_a_hook(team, hook)

    if how == "stop":
        stop.set()
        outcome = await asyncio.wait_for(running, 6)
        assert (outcome.status, outcome.reason) == ("released", "stopped")
    else:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 6)

    assert is_gone(pid)
    assert (team.task("job").status, team.task("job").attempts) == ("pending", 0)
    assert git(team.workspace, "log", "--format=%s").split() == ["start"]
    assert git(team.workspace, "status", "--porcelain").strip() == "?? b.py"
    assert not list((team.workspace / ".git").glob("*.lock"))
    (team.workspace / ".git" / "hooks" / "pre-commit").unlink()
    outcome = await team.session("w1", life=2)
    assert outcome is not None
    assert outcome.status == "completed"
    assert git(team.workspace, "log", "-1", "--format=%s").strip() == "Do the job"


async def test_a_commit_that_has_landed_when_the_stop_comes_completes_the_task(make, isolated_home) -> None:
    """Given back, the next one would find the work in the log already."""
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}))
    a_hook(team, "echo x > .git/landed; sleep 1000", "post-commit")
    stop = asyncio.Event()
    running = asyncio.create_task(team.begin(team.bench("w1"), stop).run())
    await eventually((team.workspace / ".git" / "landed").exists, timeout=10)

    stop.set()
    outcome = await asyncio.wait_for(running, 6)

    assert outcome is not None
    assert outcome.status == "completed"
    result = team.task("job").result
    assert result is not None
    assert result.commit == git(team.workspace, "rev-parse", "--short", "HEAD").strip()


async def test_a_hook_has_the_time_of_the_settings(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}))
    team.team.settings = team.settings.replace(commit_timeout_seconds=0.5)
    a_hook(team, "sleep 1000")

    outcome = await team.session("w1")

    assert outcome is not None
    assert "the commit was refused: fatal: it took longer than 0.5 s" in str(outcome.reason)


async def test_stop_while_a_check_runs_gives_the_task_back(make) -> None:
    team = make(a_task({"say": "Done."}, verify=[LONG]))
    stop, running, pid = await stopped_in_a_command(team)

    stop.set()
    outcome = await asyncio.wait_for(running, 10)

    assert (outcome.status, team.task("job").attempts) == ("released", 0)
    await eventually(lambda: is_gone(pid), timeout=5)
    assert team.lines("w1")[-1]["why"] == "aborted_verify"


async def test_stop_while_somebody_else_checks_does_not_wait_for_them(make) -> None:
    team = make(
        a_task({"say": "Done."}, verify=[LONG]),
        {"key": "b", "subject": "b", "script": [{"say": "Done."}]},
        teammates=[{"name": "w1"}, {"name": "w2"}],
    )
    stop_1, first, _ = await stopped_in_a_command(team)
    stop_2 = asyncio.Event()
    second = asyncio.create_task(team.begin(team.bench("w2"), stop_2).run())
    await eventually(lambda: any(line["type"] == "assistant" for line in team.lines("w2")), timeout=10)

    stop_2.set()
    outcome = await asyncio.wait_for(second, 5)
    stop_1.set()
    await asyncio.wait_for(first, 10)

    assert outcome is not None
    assert outcome.status == "released"


async def test_the_same_agent_goes_on_where_it_was_stopped(make) -> None:
    team = make(
        a_task(
            {"calls": [bash("echo once >> log")]},
            {"calls": [bash(LONG)], "expect": "error"},
            {"say": "Done."},
        )
    )
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == "completed"
    assert (team.workspace / "log").read_text() == "once\n"
    first, second = team.sessions("w1")
    start = next(line for line in team.lines("w1") if line["type"] == "start" and line["session"] == second)
    assert (start["cause"], start["parent"]) == ("resume", first)
    messages = team.messages("w1", second)
    assert sum(message["role"] == "assistant" for message in messages) == 3


async def test_a_session_whose_process_was_killed_goes_on_too(make) -> None:
    """Its transcript just stops; the call that was cut off is answered as interrupted, and not run again."""
    team = make(a_task({"calls": [bash(LONG)], "expect": "error"}, {"say": "Done."}))
    _, running, _ = await stopped_in_a_command(team)
    path = Path(team.team.layout.transcript("w1"))
    as_it_was = path.read_bytes()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    path.write_bytes(as_it_was + b'{"type": "result", "sess')

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == "completed"
    result = blocks_of(team.messages("w1", team.sessions("w1")[1])[2])[0]
    assert result["is_error"]
    assert "interrupted" in result["content"]


async def test_work_that_was_done_when_the_check_was_stopped_is_only_checked_again(make) -> None:
    team = make(a_task({"say": "Done."}, verify=[f"test -f fine || {{ {LONG}; }}"]))
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Done.")


async def test_another_agent_starts_anew_and_is_told_that_there_was_somebody(make) -> None:
    team = make(
        a_task({"calls": [bash(LONG)], "expect": "error"}, {"say": "Done."}),
        teammates=[{"name": "w1"}, {"name": "w2"}],
    )
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running
    model = FakeModel("Done.")

    outcome = await team.begin(team.bench("w2", model)).run()

    assert outcome is not None
    assert outcome.status == "completed"
    assert "begun before" in final_text(model.requests[0].messages[0])


# A claim that is gone


async def test_a_task_cancelled_meanwhile_is_left_alone(make) -> None:
    """Noticed between two turns; nothing is checked, committed or completed any more."""
    team = make(a_task({"say": "x"}, verify=["touch checked"]))
    model = FakeModel(
        assistant_message(call("Bash", command="touch began; while [ ! -e go ]; do sleep 0.05; done"))
    )
    running = asyncio.create_task(team.begin(team.bench("w1", model)).run())
    await team.until_file("began")

    team.team.tasks(USER).cancel("1", "not wanted")
    team.write("go", "")

    assert await asyncio.wait_for(running, 10) is None
    assert team.task("job").status == "cancelled"
    assert len(model.requests) == 1
    assert not (team.workspace / "checked").exists()
    assert (team.lines("w1")[-1]["why"], team.lines("w1")[-1]["outcome"]) == ("claim_lost", "released")


async def test_a_task_that_somebody_else_has_by_now_is_left_to_them(make) -> None:
    """Freed and claimed again while we were at it: in progress, but not ours any more."""
    team = make(a_task({"say": "x"}), teammates=[{"name": "w1"}, {"name": "w2"}])
    session = team.begin(team.bench("w1", FakeModel("Done.")))
    claim = team.task("job").claim
    assert claim is not None
    team.team.tasks("w1").release("1", claim.token, "taken away")
    team.team.tasks("w2").claim("w2", None, team.run_id("w2"))

    assert await session.run() is None

    assert (team.task("job").status, team.task("job").owner) == ("in_progress", "w2")
    assert team.lines("w1")[-1]["why"] == "claim_lost"
    assert not [line for line in team.lines("w1") if line["type"] == "assistant"]


async def test_a_claim_lost_while_the_model_speaks_runs_no_call(make) -> None:
    """A model needs seconds for an answer: a worker may be paused, given up and continued meanwhile."""
    team = make(a_task({"say": "x"}))
    spoken = asyncio.Event()
    model = FakeModel(spoken, assistant_message(call("Write", file_path="late.txt", content="late")))
    running = asyncio.create_task(team.begin(team.bench("w1", model)).run())
    await asyncio.wait_for(model.asked.wait(), 10)

    team.team.tasks("w2").free_dead("1", team.run_id("w1"), "given up")
    spoken.set()

    assert await asyncio.wait_for(running, 10) is None
    assert not (team.workspace / "late.txt").exists()
    assert team.lines("w1")[-1]["why"] == "claim_lost"


async def test_a_claim_lost_during_the_checks_commits_nothing(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}, verify=[WAITS_FOR_GO]))
    running = asyncio.create_task(team.begin(team.bench("w1")).run())
    await team.until_file("began")

    team.team.tasks(USER).cancel("1", "not wanted")
    team.write("go", "")

    assert await asyncio.wait_for(running, 10) is None
    assert git(team.workspace, "log", "--format=%s").split() == ["start"]
