"""What a teammate without a task does with its mail."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import pause_order, shutdown_request
from swarm.testing.wait import eventually
from tests.support.live_runs import begin, idle_team, state_of, told
from tests.support.live_team import LiveTeam
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, hold, http_error, reply
from tests.support.models import FakeModel
from worker.presence import Presence
from worker.teammate import Teammate

QUESTION = "Which colour is the sky?"
NOTED = reply("Noted.")
AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return idle_team(isolated_home)


def texts(team: LiveTeam, name: str = LEADER) -> list[str]:
    return [mail.text for mail in team.mail(name)]


def ends(team: LiveTeam) -> list[tuple[str, str]]:
    return [(line["why"], line["outcome"]) for line in team.lines("w1") if line["type"] == "end"]


async def test_the_model_reads_it_and_may_answer(team: LiveTeam) -> None:
    answer = call("SendMessage", {"to": LEADER, "message": "Blue.", "summary": "the colour"})

    with MessagesApi([reply(answer), NOTED]) as api:
        begin(team, api)
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        team.send("w1", QUESTION)
        await team.until(lambda: len(api.exchanges) == 2 and state_of(team) == "idle", "the mail is read")
        await team.stop()

    assert told(api.exchanges[0].body).count(QUESTION) == 1
    assert [exchange.message for exchange in api.refused] == []
    assert "Blue." in texts(team)
    assert ends(team) == [("completed", "completed")]
    assert not team.team.inbox("w1").peek()
    (start,) = [line for line in team.lines("w1") if line["type"] == "start"]
    assert (start["cause"], start.get("task")) == ("mail", None)


async def test_mail_that_comes_meanwhile_is_read_in_the_same_talk(team: LiveTeam) -> None:
    """One comes while a command runs, another while the last answer is given: that one opens a next talk."""
    waits = call("Bash", {"command": "touch began; while [ ! -e go ]; do sleep 0.05; done"})
    gate = threading.Event()

    with MessagesApi([reply(waits), NOTED.but(hold(gate)), NOTED]) as api:
        team.send("w1", "letter 1")
        begin(team, api)
        await team.until_file("began")
        team.send("w1", "letter 2")
        team.write("go", "")
        await team.until(lambda: len(api.exchanges) == 2, "the second request")
        team.send("w1", "letter 3")
        gate.set()
        await team.until(lambda: len(api.exchanges) == 3 and state_of(team) == "idle", "all is read")
        await team.stop()

    seen = [told(exchange.body) for exchange in api.exchanges]
    assert ["letter 2" in text for text in seen] == [False, True, False]
    assert ["letter 3" in text for text in seen] == [False, False, True]
    assert len(team.sessions("w1")) == 2
    assert api.refused == []


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_mail_that_was_cut_off_comes_up_again_and_is_given_once(team: LiveTeam, how: str) -> None:
    gate = threading.Event()

    with MessagesApi([NOTED.but(hold(gate)), NOTED, NOTED]) as api:
        team.send("w1", QUESTION)
        begin(team, api)
        await team.until(lambda: len(api.exchanges) == 1, "a request")
        await (team.kill("w1") if how == "kill" else team.stop("w1"))
        gate.set()
        begin(team, api, life=2)
        await team.until(lambda: len(api.exchanges) == 2 and state_of(team) == "idle", "it is read again")
        for _ in range(3):
            await team.until_looked("w1")
        assert len(api.exchanges) == 2
        team.send("w1", "And another one.")
        await team.until(lambda: len(api.exchanges) == 3 and state_of(team) == "idle", "the next is read")
        await team.stop()

    assert [told(exchange.body).count(QUESTION) for exchange in api.exchanges] == [1, 1, 0]
    assert api.refused == []


async def test_orders_are_obeyed_without_a_model(team: LiveTeam) -> None:
    with MessagesApi([]) as api:
        begin(team, api)
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        team.send("w1", pause_order(AT))
        await team.until(lambda: state_of(team) == "paused", "it is paused")
        team.send("w1", QUESTION)
        await asyncio.sleep(0.3)
        assert api.exchanges == []
        team.send("w1", shutdown_request(LEADER, "w1", AT, "enough"))
        assert await team.ended("w1") == "asked"

    assert api.exchanges == []
    assert [mail.text for mail in team.team.inbox("w1").peek()] == [QUESTION]


async def test_a_pause_holds_the_mail_back(team: LiveTeam) -> None:
    with MessagesApi([NOTED]) as api:
        begin(team, api)
        team.send("w1", pause_order(AT))
        await team.until(lambda: state_of(team) == "paused", "it is paused")
        team.send("w1", QUESTION)
        await asyncio.sleep(0.3)
        assert api.exchanges == []
        team.send("w1", pause_order(AT, go_on=True))
        await team.until(lambda: api.exchanges and state_of(team) == "idle", "the mail is read")
        await team.stop()

    assert [told(exchange.body).count(QUESTION) for exchange in api.exchanges] == [1]


@pytest.mark.parametrize(
    ("error", "why"),
    [(http_error(413, "much"), "prompt too long"), (http_error(400, "odd"), "odd")],
    ids=["413", "400"],
)
async def test_an_error_is_told_once_and_asked_again_only_with_new_mail(
    team: LiveTeam, error: Any, why: str
) -> None:
    with MessagesApi([error, NOTED]) as api:
        begin(team, api)
        team.send("w1", QUESTION)
        await team.until(lambda: api.exchanges and state_of(team) == "idle", "it gave up")
        for _ in range(3):
            await team.until_looked("w1")
        assert len(api.exchanges) == 1
        (complaint,) = [text for text in texts(team) if "My mail was not read" in text]
        assert why in complaint

        team.send("w1", "Try again.")
        await team.until(lambda: len(api.exchanges) == 2 and state_of(team) == "idle", "the mail is read")
        await team.stop()

    last = told(api.exchanges[1].body)
    assert (last.count(QUESTION), last.count("Try again.")) == (1, 1)
    assert ends(team)[1:] == [("completed", "completed")]
    assert ends(team)[0][1] == "released"
    assert len([text for text in texts(team) if "My mail was not read" in text]) == 1


async def test_who_is_not_served_ends_and_reads_its_mail_in_the_next_life(team: LiveTeam) -> None:
    with MessagesApi([http_error(401, "invalid x-api-key"), NOTED]) as api:
        team.send("w1", QUESTION)
        begin(team, api)
        assert await team.ended("w1") == "failed"
        begin(team, api, life=2)
        await team.until(lambda: len(api.exchanges) == 2 and state_of(team) == "idle", "the mail is read")
        await team.stop()

    assert told(api.exchanges[1].body).count(QUESTION) == 1
    (complaint,) = [text for text in texts(team) if "invalid x-api-key" in text]
    assert complaint.startswith("My model cannot be asked, so I end here: no access")
    assert ends(team) == [("aborted_service", "released"), ("completed", "completed")]


async def test_a_scripted_teammate_leaves_its_mail_for_its_next_task(team: LiveTeam) -> None:
    team.send("w1", QUESTION)
    team.start("w1")
    await team.until(lambda: state_of(team) == "idle", "it is idle")
    await team.until_looked("w1")
    await team.stop()

    assert [mail.text for mail in team.team.inbox("w1").peek()] == [QUESTION]
    assert team.lines("w1") == []


async def test_a_fault_in_a_talk_does_not_end_the_teammate(team: LiveTeam) -> None:
    """It is told once, and the next mail is read as if nothing had been."""
    model = FakeModel(RuntimeError("a fault of the worker"), "Noted.")
    stop, hint = asyncio.Event(), asyncio.Event()
    bench = team.bench("w1", model)
    team.send("w1", QUESTION)
    living = asyncio.create_task(Teammate(bench, Presence(team.team, team.spec("w1")), stop, hint).run())
    await eventually(lambda: "fault of the worker" in "".join(texts(team)), what="the leader is told")
    await eventually(lambda: state_of(team) == "idle", what="it is idle")
    team.send("w1", "Try again.")
    hint.set()
    await eventually(lambda: len(model.requests) == 2 and state_of(team) == "idle", what="it is read")
    stop.set()

    assert await living == "asked"
    assert [why for why, _ in ends(team)] == ["fault", "completed"]
    assert str(model.requests[1].messages).count(QUESTION) == 1


async def test_without_money_the_mail_waits_and_the_leader_knows(isolated_home: Path) -> None:
    team = idle_team(isolated_home)
    team.team.costs.set_terms({"budget_usd": 0.0001})
    with MessagesApi([]) as api:
        team.send("w1", QUESTION)
        begin(team, api)
        await team.until(lambda: "My mail was not read" in "".join(texts(team)), "the leader is told")
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        for _ in range(3):
            await team.until_looked("w1")
        await team.stop()

    assert api.exchanges == []
    assert ends(team) == [("budget_spent", "released")]
    assert len([text for text in texts(team) if "My mail was not read" in text]) == 1


async def test_mail_that_cannot_be_taken_is_not_tried_again_and_again(
    team: LiveTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays unread; until something changes, one attempt is enough."""

    def break_off(_: object) -> str:
        raise RuntimeError("a message that we choke on")

    monkeypatch.setattr("worker.session.mail.teammate_message", break_off)
    with MessagesApi([]) as api:
        team.send("w1", QUESTION)
        begin(team, api, time_scale=1.0)
        await team.until(lambda: "choke" in "".join(texts(team)), "the leader is told")
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        for _ in range(3):
            await team.until_looked("w1")
        await team.stop()

    assert len(team.sessions("w1")) == 1
    assert [mail.text for mail in team.team.inbox("w1").peek()] == [QUESTION]


async def test_two_that_answer_each_other_come_to_an_end(isolated_home: Path) -> None:
    """Each letter would else open a session of its own, for ever, and cost money."""
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=[{"key": "job", "subject": "Do the job", "owner": "w2", "script": [{"say": "x"}]}],
    )
    team.team.tasks("user").cancel("1", "not wanted")

    def answers(exchange: Exchange) -> Reply:
        if exchange.turns:
            return NOTED
        me = "w1" if "**w1**" in str(exchange.body["system"]) else "w2"
        other = {"w1": "w2", "w2": "w1"}[me]
        return reply(call("SendMessage", {"to": other, "message": "And you?", "summary": "and you"}))

    with MessagesApi(answers) as api:
        for name in ("w1", "w2"):
            begin(team, api, name)
        team.send("w1", "Say hello to w2.")
        await team.until(
            lambda: any("waits for the next one" in text for text in texts(team)), "one stops", timeout=60
        )
        await team.until(
            lambda: {state_of(team, "w1"), state_of(team, "w2")} == {"idle"}, "both rest", timeout=30
        )
        asked = len(api.exchanges)
        team.send("w2", "Hello again.")  # a person is always heard
        await team.until(lambda: len(api.exchanges) > asked, "a person is heard")
        await team.stop()

    assert asked <= 2 * (2 * 20 + 2)
