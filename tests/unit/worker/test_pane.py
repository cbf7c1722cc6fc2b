"""What the pane of a teammate shows."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from swarm.storage.questions import settle
from tests.support.live_team import LiveTeam
from tests.support.questions import ask
from worker.pane import PaneView
from worker.presence import Presence

TASKS = [
    {
        "key": "a",
        "subject": "Do it",
        "script": [{"say": "Looking.", "calls": [{"Bash": {"command": "ls"}}]}, {"say": "Done \x1b[2J."}],
    },
]


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=TASKS,
    )


def shown(capfd) -> list[str]:
    """Return what was printed, without times and colours; whole lines only."""
    out = capfd.readouterr().out
    assert "\x1b[2J" not in out
    plain = re.sub(r"\x1b\[\d*m", "", out)
    return [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in plain.splitlines()]


async def test_it_shows_what_is_said_and_done_from_now_on(team, capfd) -> None:
    """What an earlier life did stands in the transcript: `swarm logs` tells it."""
    transcript = Path(team.team.layout.transcript("w1"))
    transcript.parent.mkdir(exist_ok=True)
    transcript.write_text('{"type": "note", "time": "x", "what": "old", "text": "old"}\n')
    view = PaneView(team.team, team.spec("w1"))

    await team.session("w1")
    view.look()

    lines = shown(capfd)
    assert not any("old" in line for line in lines)
    assert "Looking." in lines
    assert "* Bash ls" in lines
    assert "Done \\x1b[2J." in lines
    view.look()
    assert shown(capfd) == []


async def test_it_shows_what_its_agent_waits_for_once(team, capfd) -> None:
    presence = Presence(team.team, team.spec("w1"))
    view = PaneView(team.team, team.spec("w1"))
    view.look()
    assert shown(capfd) == []
    presence.ready()
    view.look()
    presence.idle("waiting_for_task", "7")
    view.look()
    view.look()
    presence.working("7", "s1")
    view.look()
    presence.stopped("asked")
    view.look()

    assert shown(capfd) == ["-- idle: no task", "-- idle: waiting for task 7", "-- stopped: was asked to"]


@pytest.mark.parametrize("answered", [False, True])
async def test_a_question_is_called_by_the_number_that_answers_it(team, capfd, answered: bool) -> None:
    asked = ask(team.team)
    presence = Presence(team.team, team.spec("w1"))
    view = PaneView(team.team, team.spec("w1"))
    presence.ready()
    view.look()
    shown(capfd)
    presence.asks(asked.id, asked.deadline_at)
    if answered:
        settle(team.team, asked, "allow", via="human", by="user")
    view.look()

    assert shown(capfd) == [
        f"-- waiting: an answer to question #1   (swarm permissions 1 -t {team.team.name})"
    ]


async def test_another_life_of_the_name_is_not_shown(team, capfd) -> None:
    Presence(team.team, team.spec("w1", 2)).ready()
    PaneView(team.team, team.spec("w1")).look()

    assert shown(capfd) == []


async def test_a_terminal_that_is_slow_gets_it_all_and_makes_nobody_wait(team, monkeypatch) -> None:
    """A pipe takes 64 KiB as long as nobody reads, a terminal less."""
    read, write = os.pipe()
    monkeypatch.setattr("worker.pane._STDOUT", write)
    view = PaneView(team.team, team.spec("w1"))
    for _ in range(700):
        view._print("x" * 99)
        view.look()
    os.set_blocking(read, False)
    seen = os.read(read, 1 << 20)
    view.look()
    seen += os.read(read, 1 << 20)

    assert seen == (b"x" * 99 + b"\n") * 700
    os.close(read)
    os.close(write)


async def test_a_terminal_that_takes_nothing_costs_lines_and_no_memory(team, monkeypatch) -> None:
    """Ctrl-S in a pane stops the output of whatever runs there."""
    read, write = os.pipe()
    monkeypatch.setattr("worker.pane._STDOUT", write)
    view = PaneView(team.team, team.spec("w1"))
    for _ in range(5000):
        view._print("x" * 99)
        view.look()

    assert len(view._waiting) < 70_000
    os.close(read)
    view.look()
    os.close(write)


async def test_it_follows_until_it_is_cancelled(team, capfd) -> None:
    following = asyncio.create_task(PaneView(team.team, team.spec("w1")).follow())
    await asyncio.sleep(0)
    Presence(team.team, team.spec("w1")).ready()
    await asyncio.sleep(0.4)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following

    assert shown(capfd) == ["w1 of team demo, model scripted. Ctrl-C stops it.", "-- idle: no task"]
