"""Teammates side by side in one process: claim, work, report, wait."""

from __future__ import annotations

import json
from pathlib import Path

from swarm.core.identity import USER
from swarm.core.task import NewTask, verified
from swarm.core.times import parse_time
from tests.integration.team.steps import (
    EDIT,
    W1,
    WAITS_FOR_GO,
    calls,
    controls,
    kinds,
    reports_of,
    state,
    task,
)
from tests.support.live_team import git, make_repository
from worker.context.agent import current_agent
from worker.messages import final_text


async def test_a_tiny_team_finishes_its_graph(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"api.py": "old = 1\n", "test_api.py": "import api\napi.new\n"})
    team = make(
        task("map", script=[calls("Grep", pattern="old"), {"say": "Only api.py."}]),
        task(
            "api",
            "map",
            script=[calls("Read", file_path="api.py"), calls("Edit", **EDIT), {"say": "Renamed."}],
            files=["api.py"],
            verify=["python3 test_api.py"],
            owner="w2",
        ),
        task(
            "notes",
            "map",
            script=[calls("Write", file_path="NOTES.md", content="old is new\n"), {"say": "Noted."}],
            owner="w1",
        ),
    )
    team.start("w1")
    team.start("w2")

    await team.until_finished()
    await team.until(lambda: state(team, "w1")[0] == state(team, "w2")[0] == "idle")
    ends = await team.stop()

    assert ends == ["asked", "asked"]
    assert [one.status for one in team.tasks()] == ["completed"] * 3
    assert verified(team.task("api"))
    assert team.task("api").owner == "w2"
    log = git(team.workspace, "log", "--format=%an|%s|%(trailers:key=Task,valueonly,separator=%x20)")
    assert {"w2|Task api|2 api", "w1|Task notes|3 notes"} <= set(log.split("\n"))
    assert git(team.workspace, "status", "--porcelain").split("\n")[0] in ("", "?? __pycache__/")
    for name in ("w1", "w2"):
        for session in team.sessions(name):
            team.messages(name, session)
        assert state(team, name) == ("stopped", "asked", None)
        assert kinds(team, name)[-1] == "idle_notification"
    reports = [*reports_of(team, "w1"), *reports_of(team, "w2")]
    assert sorted(one["taskId"] for one in reports) == ["1", "2", "3"]
    assert next(one for one in reports if one["taskId"] == "1")["unblocked"] == ["2", "3"]


async def test_the_last_report_comes_before_the_idle_notice(make) -> None:
    """An idle notice that overtakes or replaces the result leaves the leader without it."""
    team = make(task("a"), teammates=[W1])
    team.start("w1")

    await team.until(lambda: len(kinds(team, "w1")) == 2)

    assert kinds(team, "w1") == ["swarm.task_report", "idle_notification"]
    report, idle = controls(team, "w1")
    assert (report["status"], report["summary"]) == ("completed", "a is done.")
    assert idle["idleReason"] == "finished"


async def test_one_idle_notice_for_each_stretch_and_thanks_cause_none(make) -> None:
    """Notices after each wake-up would wake the leader, whose answer would cause the next one."""
    team = make(task("a"), teammates=[W1])
    team.start("w1")
    await team.until(lambda: kinds(team, "w1").count("idle_notification") == 1)

    for number in range(3):
        team.send("w1", f"thanks {number}")
        (other,) = team.team.tasks(USER).create(NewTask(subject="for nobody here", blocked_by=()))
        team.team.tasks(USER).cancel(other.id, "only a change of the board")
        await team.until_looked("w1")

    assert kinds(team, "w1").count("idle_notification") == 1
    assert len(team.team.inbox("w1").peek()) == 3

    (again,) = team.team.tasks(USER).create(NewTask(subject="more", key="a"))
    await team.until(lambda: kinds(team, "w1").count("idle_notification") == 2)

    assert team.team.tasks(USER).get_task(again.id).status == "completed"
    opening = team.messages("w1", team.sessions("w1")[1])[0]
    assert final_text(opening).count("thanks") == 3
    assert len(team.events("agent_idle")) == 2


async def test_a_waiting_teammate_says_for_what(make) -> None:
    team = make(task("a", script=WAITS_FOR_GO, owner="w1"), task("b", "a", owner="w2"))
    team.start("w1")
    team.start("w2")

    await team.until(lambda: state(team, "w2") == ("idle", "waiting_for_task", None))
    record = team.team.agents.load("w2")
    assert record is not None
    assert record.on == "1"
    assert state(team, "w1") == ("working", None, "1")

    team.write("go", "")
    await team.until_finished()
    await team.until(lambda: state(team, "w2") == ("idle", "finished", None))


async def test_a_new_reason_to_wait_is_no_new_stretch(make) -> None:
    gives_up = calls("TaskUpdate", taskId="1", status="failed", reason="impossible")
    team = make(task("a", script=[WAITS_FOR_GO[0], gives_up], owner="w1"), task("b", "a", owner="w2"))
    team.start("w1")
    team.start("w2")
    await team.until(lambda: state(team, "w2") == ("idle", "waiting_for_task", None))
    before = team.team.agents.load("w2")

    team.write("go", "")
    await team.until(lambda: state(team, "w2") == ("idle", "no_task", None))

    after = team.team.agents.load("w2")
    assert before is not None
    assert after is not None
    assert after.since == before.since
    assert after.on is None
    assert kinds(team, "w2") == ["idle_notification"]


async def test_nobody_holds_two_tasks_at_any_time(make) -> None:
    """Start, mail, an unblocked task and the periodic look may all come at the same moment."""
    script = [calls("Bash", command="true"), {"say": "Done."}]
    team = make(*(task(f"t{n}", script=script) for n in range(6)))
    team.start("w1")
    team.start("w2")

    def at_most_one_each() -> bool:
        team.send("w1", "again")
        owners = [one.owner for one in team.tasks() if one.status == "in_progress"]
        assert len(owners) == len(set(owners))
        return all(one.finished for one in team.tasks())

    await team.until(at_most_one_each)

    claims = [(event.task, event.agent) for event in team.events("task_claimed")]
    assert len(claims) == 6
    assert {agent for _, agent in claims} == {"w1", "w2"}


async def test_a_failed_task_is_reported_and_the_teammate_goes_on(make) -> None:
    fails = [calls("Bash", command="exit 1"), {"say": "Done."}]
    team = make(task("a", script=fails), task("b"), teammates=[W1])
    team.start("w1")

    await team.until_finished()
    await team.until(lambda: state(team, "w1")[0] == "idle")

    assert [one.status for one in team.tasks()] == ["failed", "completed"]
    reports = reports_of(team, "w1")
    assert [(one["taskId"], one["status"]) for one in reports] == [
        ("1", "released"),
        ("1", "released"),
        ("1", "failed"),
        ("2", "completed"),
    ]
    assert "step 1 (Bash) failed" in reports[2]["reason"]


async def test_who_waits_behind_a_failed_task_says_that_nothing_will_come(make) -> None:
    gives_up = calls("TaskUpdate", taskId="1", status="failed", reason="impossible")
    team = make(task("a", script=[gives_up]), task("b", "a"), teammates=[W1])
    team.start("w1")

    await team.until(lambda: state(team, "w1") == ("idle", "no_task", None))

    assert team.task("b").status == "pending"


async def test_teammates_in_one_process_never_see_each_others_identity(make) -> None:
    """Their calls interleave in one thread; what they know of themselves must not."""
    tells = 'echo "$SWARM_AGENT $SWARM_TASK" >> "$SWARM_AGENT.txt"; sleep 0.02'
    who = calls("Bash", command=f"for i in 1 2 3; do {tells}; done")
    script = [who, who, {"say": "Done."}]
    team = make(task("a", script=script, owner="w1"), task("b", script=script, owner="w2"))
    team.start("w1")
    team.start("w2")
    token = current_agent.get(None)

    await team.until_finished()

    assert (team.workspace / "w1.txt").read_text() == "w1 1\n" * 6
    assert (team.workspace / "w2.txt").read_text() == "w2 2\n" * 6
    assert {line["run_id"] for line in team.lines("w1")} == {team.run_id("w1")}
    assert {line["run_id"] for line in team.lines("w2")} == {team.run_id("w2")}
    assert current_agent.get(None) is token


async def test_each_teammate_has_a_log_of_its_own(make) -> None:
    team = make(task("a", owner="w1"), task("b", owner="w2"))
    team.start("w1")
    team.start("w2")
    await team.until_finished()
    await team.stop()

    for name, task_id in (("w1", "1"), ("w2", "2")):
        path = Path(team.team.layout.log(name))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        claims = [line["swarm_task"] for line in lines if line["event"] == "task claimed"]
        assert claims == [task_id]
        assert path.stat().st_mode & 0o777 == 0o600


async def test_the_record_shows_signs_of_life_while_a_long_command_runs(make) -> None:
    team = make(task("a", script=WAITS_FOR_GO), teammates=[W1])
    team.start("w1")
    await team.until(lambda: state(team, "w1") == ("working", None, "1"))
    first = team.team.agents.load("w1")
    assert first is not None
    assert first.heartbeat is not None

    def has_beaten_in_a_command() -> bool:
        now = team.team.agents.load("w1")
        beaten = now is not None and parse_time(str(now.heartbeat)) > parse_time(str(first.heartbeat))
        return beaten and now.tools != ()

    await team.until(has_beaten_in_a_command)

    now = team.team.agents.load("w1")
    assert now is not None
    assert (now.since, now.session) == (first.since, team.sessions("w1")[0])
    assert now.pid is not None
    assert now.tools[0].name == "Bash"
