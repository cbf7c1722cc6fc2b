"""An empty or blank text got into the history and spoilt the session for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import Message
from swarm.core.times import format_time
from swarm.storage.processes import new_msg_id
from tests.integration.live.conftest import one_session
from tests.support.command import Shell
from tests.support.live_runs import all_blocks, begin, live_team, state_of, work
from tests.support.live_team import LiveTeam
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply, text, thinking

BLANKS = {
    "nothing": reply(),
    "a space": reply(text(" ")),
    "a line end": reply(text("\n")),
    "nothing said": reply(text("")),
    "blank before a call": reply(text(" \n"), call("Glob", {"pattern": "*"})),
    "blank after thoughts": reply(thinking("hm"), text("\n")),
}


def check_no_blanks(api: MessagesApi) -> None:
    assert api.refused == []
    assert api.merged_roles == []
    for exchange in api.exchanges:
        for block in all_blocks(exchange.body):
            assert block["type"] != "text" or block["text"].strip(), exchange.number
            assert block["type"] != "tool_result" or str(block["content"]).strip(), exchange.number


def blank_mail(team: LiveTeam) -> None:
    """Deliver a message of blanks; our own commands refuse to send one, other programs may."""
    at, msg_id = format_time(team.team.clock.now()), new_msg_id()
    message = Message(sender=LEADER, to="w1", text=" \n\t", timestamp=at, msg_id=msg_id)
    team.team.inbox("w1").deliver(message, retry=False)


@pytest.mark.parametrize("blank", BLANKS.values(), ids=BLANKS)
async def test_a_blank_answer_is_never_sent_back(isolated_home: Path, blank: Reply) -> None:
    team = live_team(isolated_home, work())
    looks = reply("Looking.", call("Bash", {"command": "true"}))

    with MessagesApi([blank, looks, blank, looks, reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done."), outcome.reason
    assert len(api.exchanges) == 5
    check_no_blanks(api)


async def test_blank_words_of_others_are_none_either(isolated_home: Path) -> None:
    """A task without a description, results without a byte, and messages of blanks, with and without work."""
    team = live_team(isolated_home, work(description=" \n "))
    team.write("empty.txt", "")

    def turn(exchange: Exchange) -> Reply:
        if exchange.turns == 0 and exchange.task:
            blank_mail(team)
            return reply(call("Bash", {"command": "true"}), call("Read", {"file_path": "empty.txt"}))
        return reply("All done.")

    with MessagesApi(turn) as api:
        begin(team, api)
        await team.until_finished()
        asked = len(api.exchanges)
        blank_mail(team)
        await team.until(lambda: len(api.exchanges) > asked, "the mail is read")
        await team.until(lambda: state_of(team) == "idle", "it is idle")
        await team.stop()

    assert [task.status for task in team.tasks()] == ["completed"]
    check_no_blanks(api)


def test_a_blank_first_prompt_is_refused(isolated_home: Path) -> None:
    team = live_team(isolated_home, work())
    shell = Shell(isolated_home, team.workspace)

    ended = shell.swarm("spawn", "w1", "--backend", "process", "--prompt", " \n")

    assert ended.code == 2
    assert "the prompt is blank" in ended.err
    assert team.team.agents.load("w1") is None
