"""Messages waited for the end of the receiver's turn: up to an hour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.live_runs import begin, live_team, told, work
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply

CALLS = 15
SAID = "Leave the third one out."
WAITS = "touch began; while [ ! -e go ]; do sleep 0.05; done"


def command(number: int) -> dict[str, object]:
    return call("Bash", {"command": f"echo {number} >> ran" + (f"; {WAITS}" if number == 2 else "")})


def all_at_once(exchange: Exchange) -> Reply:
    return reply("All done.") if exchange.turns else reply(*map(command, range(1, CALLS + 1)))


def one_by_one(exchange: Exchange) -> Reply:
    return reply("All done.") if exchange.turns == CALLS else reply(command(exchange.turns + 1))


@pytest.mark.parametrize(
    ("script", "running"), [(all_at_once, 1), (one_by_one, 2)], ids=["in one turn", "each in its own"]
)
async def test_a_message_is_in_the_very_next_request(
    isolated_home: Path, script: Callable[[Exchange], Reply], running: int
) -> None:
    """It comes while the second of fifteen commands runs, and is neither lost nor told twice."""
    team = live_team(isolated_home, work())

    with MessagesApi(script) as api:
        begin(team, api)
        await team.until_file("began")
        assert len(api.exchanges) == running
        team.send("w1", SAID)
        team.write("go", "")
        await team.until_finished()
        await team.stop()

    assert [task.status for task in team.tasks()] == ["completed"]
    assert (team.workspace / "ran").read_text().split() == [str(number) for number in range(1, CALLS + 1)]
    assert [SAID in told(exchange.body) for exchange in api.exchanges[: running + 1]] == [
        *[False] * running,
        True,
    ]
    assert told(api.exchanges[-1].body).count(SAID) == 1
    assert api.refused == []
    assert api.merged_roles == []
