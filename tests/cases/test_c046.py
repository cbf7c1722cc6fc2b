"""Mail that arrived was taken as a new turn, and cancelled the tool call that was running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.core.identity import LEADER, USER
from swarm.core.message import URGENT, Message
from swarm.storage.mail import send
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.models import FakeModel
from tests.support.own_process import OwnProcess
from worker.messages import Block, assistant_message, final_text, tool_results, tool_use

pytestmark = pytest.mark.timeout(60)

WORKS = "touch began; until [ -e sent ]; do sleep 0.02; done; sleep {}; echo done"
"""A command that is still at it some time after the mail has come."""
SLEEPS = WORKS.format(0.5)
SAYS_DONE = {"say": "Done."}


def bash(command: str = SLEEPS) -> dict[str, Any]:
    return {"Bash": {"command": command}}


def a_task(*script: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"key": "job", "subject": "Job", "owner": "w1", "script": list(script)} | facts


@pytest.fixture
async def make(isolated_home: Path):
    made: list[LiveTeam] = []

    def make_team(*tasks: dict[str, Any]) -> LiveTeam:
        mates = [{"name": "w1"}, {"name": "w2"}]
        everything = {"mode": "bypassPermissions"}
        made.append(LiveTeam(isolated_home, teammates=mates, permissions=everything, tasks=list(tasks)))
        return made[0]

    yield make_team
    for team in made:
        await team.stop()


def urgent(team: LiveTeam) -> str:
    mail = Message(sender=LEADER, to="w1", text="stop what you do", msg_id="now", priority=URGENT)
    team.team.inbox("w1").deliver(mail)
    return mail.msg_id


def to_everyone(team: LiveTeam) -> str:
    sent = {result.to: result.msg_id for result in send(team.team, "w2", "*", "mind the tests")}
    return str(sent["w1"])


MAIL: dict[str, Callable[[LiveTeam], str]] = {
    "leader": lambda team: team.send("w1", "use the new name"),
    "teammate": lambda team: team.send("w1", "I am at it, too", "w2"),
    "person": lambda team: team.send("w1", "stop!", USER),
    "everyone": to_everyone,
    "urgent": urgent,
}


def undisturbed(results: Sequence[Block]) -> bool:
    return all("done" in block["content"] and not block["is_error"] for block in results)


def kinds(team: LiveTeam) -> list[str]:
    """Return what stands in w1's transcript from its call on: the call, results, mail, words."""
    found = []
    for line in team.lines("w1"):
        given = line["type"] == "user" and line.get("msg_ids")
        found.append("mail" if given else str(line["type"]))
    return found[found.index("assistant") :]


@pytest.mark.parametrize("kind", MAIL)
async def test_mail_leaves_the_running_call_alone_and_follows_its_result(make, kind: str) -> None:
    """The teammate is woken by it as by any other: what wakes it must not reach the call."""
    team = make(a_task({"say": "On it.", "calls": [bash()]}, SAYS_DONE))
    team.start("w1")
    await team.until_file("began")
    msg_id = MAIL[kind](team)
    team.hint()
    team.write("sent", "")
    await team.until_finished()

    assert undisturbed(team.results("w1"))
    assert kinds(team) == ["assistant", "result", "mail", "assistant", "end"]
    assert [line["msg_ids"] for line in team.lines("w1") if line.get("msg_ids")] == [[msg_id]]
    assert len(team.sessions("w1")) == 1


async def test_calls_that_run_side_by_side_and_one_after_the_other_all_end(make) -> None:
    """Each of them in two ways: the first begins before the mail, the last after it."""
    commands = [SLEEPS, "echo done > file; cat file", "sleep 0.1; echo done", "echo done"]
    team = make(a_task({"say": "On it.", "calls": [bash(command) for command in commands]}, SAYS_DONE))
    team.start("w1")
    await team.until_file("began")
    sent = [team.send("w1", f"message {number}") for number in range(20)]
    team.hint()
    team.write("sent", "")
    await team.until_finished()

    assert len(team.results("w1")) == len(commands)
    assert undisturbed(team.results("w1"))
    assert kinds(team) == ["assistant", *["result"] * 4, "mail", "assistant", "end"]
    assert [line["msg_ids"] for line in team.lines("w1") if line.get("msg_ids")] == [sent]


async def test_mail_while_the_model_speaks_cuts_nothing_off(make) -> None:
    """What it says is kept, what it calls is run, and the mail is in the request after that."""
    team = make(a_task(SAYS_DONE))
    speaks = asyncio.Event()
    call = tool_use("t1", "Bash", {"command": "echo done"})
    model = FakeModel(speaks, assistant_message("On it.", call), "Done.")
    running = asyncio.create_task(team.begin(team.bench("w1", model)).run())
    await model.asked.wait()
    team.send("w1", "use the new name")
    speaks.set()
    await running

    assert len(model.requests) == 2
    asked = model.requests[1].messages[-1]
    assert undisturbed(tool_results(asked))
    assert "use the new name" in final_text(asked)


async def test_mail_while_a_check_runs_fails_no_check_and_waits_for_the_next_task(make) -> None:
    verified = a_task({"say": "On it."}, verify=[f"{SLEEPS} >> checks"])
    team = make(verified, {**a_task(SAYS_DONE), "key": "next", "blocked_by": ["job"]})
    team.start("w1")
    await team.until_file("began")
    msg_id = team.send("w1", "use the new name")
    team.hint()
    team.write("sent", "")
    await team.until_finished()

    assert (team.workspace / "checks").read_text() == "done\n"
    assert [event.event for event in team.events("verify_passed", "verify_failed")] == ["verify_passed"]
    first, second = team.sessions("w1")
    (line,) = [line for line in team.lines("w1") if msg_id in line.get("msg_ids", ())]
    assert line["session"] == second != first


def test_a_teammate_in_a_process_of_its_own_is_woken_and_goes_on(isolated_home: Path) -> None:
    """There the kernel tells of the mail while the command runs."""
    everything = {"mode": "bypassPermissions"}
    tasks = [a_task({"say": "On it.", "calls": [bash()]}, SAYS_DONE)]
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}], permissions=everything, tasks=tasks)
    with OwnProcess(team, "w1"):
        wait_until((team.workspace / "began").exists, timeout=15)
        for number in range(5):
            team.send("w1", f"message {number}")
        team.write("sent", "")
        wait_until(lambda: team.task("job").finished, timeout=15)

        assert undisturbed(team.results("w1"))
        assert [mail.text for mail in team.mail("w1")] == [f"message {number}" for number in range(5)]


def test_swarm_send_during_a_run_leaves_the_command_alone(isolated_home: Path, tmp_path: Path) -> None:
    command = WORKS.format(2)
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}],
        "tasks": [a_task({"say": "On it.", "calls": [bash(command)]}, SAYS_DONE)],
    }
    (tmp_path / "team.yaml").write_text(yaml.safe_dump(team))
    shell = Shell(isolated_home, tmp_path)
    run = shell.start("run", "team.yaml", "--json")
    try:
        wait_until((tmp_path / "began").exists, timeout=20)
        sent = shell.swarm("send", "w1", "stop what you do", "--json")
        (tmp_path / "sent").touch()
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()

    assert (sent.code, run.returncode) == (0, 0), err
    (task,) = json.loads(out)["tasks"]
    assert task["status"] == "completed"
    text = (shell.root / "teams/t1/transcripts/w1.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    ordered = [line for line in lines if line["type"] == "result" or line.get("msg_ids")]
    assert [line["type"] for line in ordered] == ["result", "user"]
    assert undisturbed([ordered[0]["block"]])
    assert ordered[1]["msg_ids"] == [sent.json()["results"][0]["msg_id"]]
