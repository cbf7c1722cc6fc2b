"""Stop and cancel: what runs ends, and the task goes back unharmed."""

from __future__ import annotations

import asyncio

import pytest

from swarm.errors import StateError
from swarm.storage.processes import start_ticks
from swarm.testing.wait import eventually
from tests.integration.session.steps import LONG, a_hook, a_task, bash, stopped_in_a_command, write
from tests.support.live_team import LiveTeam, git, make_repository
from worker.claim import Outcome


async def test_stop_ends_the_running_tool_and_gives_the_task_back(make) -> None:
    team = make(a_task({"calls": [bash(LONG), bash("touch never")]}, {"say": "Done."}))
    stop, running, pid = await stopped_in_a_command(team)

    stop.set()
    outcome = await asyncio.wait_for(running, 10)

    assert (outcome.status, outcome.reason) == ("released", "stopped")
    await eventually(lambda: start_ticks(pid) is None, timeout=5)
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

    await eventually(lambda: start_ticks(pid) is None, timeout=5)
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

    assert start_ticks(pid) is None
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
    await eventually(lambda: start_ticks(pid) is None, timeout=5)
    assert team.lines("w1")[-1]["why"] == "aborted_verify"


async def test_a_stop_that_could_not_be_written_down_at_once_is_still_no_failed_attempt(make) -> None:
    team = make(a_task({"calls": [bash(LONG)]}, {"say": "Done."}))
    stop = asyncio.Event()
    session = team.begin(team.bench("w1"), stop)
    release = session._claim.release
    tries: list[str] = []

    def at_the_second_try(reason: str) -> Outcome:
        tries.append(reason)
        if len(tries) == 1:
            raise StateError("the lock is held", code="busy")
        done: Outcome = release(reason)
        return done

    session._claim.release = at_the_second_try
    running = asyncio.create_task(session.run())
    await team.until_file("pid")

    stop.set()
    outcome = await asyncio.wait_for(running, 10)

    assert outcome is not None
    assert (outcome.status, tries) == ("released", ["stopped", "stopped"])
    assert (team.task("job").status, team.task("job").attempts) == ("pending", 0)


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
