"""Long sessions in which everything goes wrong that can: no request is refused, and the task ends right."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from tests.integration.live.conftest import Make, live_bench, one_session
from tests.support.live_team import LiveTeam
from tests.support.messages_api import (
    Fault,
    MessagesApi,
    Reply,
    call,
    close,
    cut,
    error_event,
    http_error,
    redacted,
    reply,
    stall,
    text,
    thinking,
)
from tests.support.messages_api.exchange import Exchange

pytestmark = pytest.mark.timeout(120)

LONG = [pytest.mark.soak, pytest.mark.timeout(900)]
TURNS = 200
"""As many as a session may have; the last of them is the report."""
IMPATIENT: dict[str, Any] = {
    "model_silence_seconds": 3.0,
    "model_retry_min_seconds": 0.001,
    "model_retry_max_seconds": 0.002,
}


class Weather:
    """Answers with turns of all kinds, of which every third breaks; it knows which commands are due."""

    def __init__(self, seed: int, turns: int) -> None:
        self.chance = random.Random(seed)
        self.turns = turns
        self.due: Counter[str] = Counter()
        self.commands = 0
        self.hidden = 0
        self.in_a_row = 0

    def __call__(self, exchange: Exchange) -> Reply:
        if exchange.turns >= self.turns - 1:
            return reply(thinking("that was all"), "All done.")
        if self.in_a_row < 3 and self.chance.random() < 0.3:
            self.in_a_row += 1
            return self.broken()
        self.in_a_row = 0
        return self.turn()

    def broken(self) -> Reply:
        """Return an answer that comes to nothing: it breaks before a call of it is complete."""
        said = reply(thinking("hm"), "Let me see what there is to do")
        faults: list[Reply] = [
            http_error(529),
            http_error(429, retry_after=0.001),
            http_error(500),
            said.but(error_event(after=self.chance.randrange(6))),
            said.but(error_event("api_error", after=self.chance.randrange(6))),
            said.but(close(after=self.chance.randrange(6))),
            said.but(cut(after=self.chance.randrange(6))),
        ]
        if self.chance.random() < 0.03:
            return said.but(stall(30.0, after=self.chance.randrange(1, 6)))
        return self.chance.choice(faults)

    def turn(self) -> Reply:
        kinds = (
            self.look,
            self.look,
            self.run_one,
            self.run_many,
            self.odd_json,
            self.unknown,
            self.cut_short,
        )
        return self.chance.choice(kinds)()

    def look(self) -> Reply:
        calls = [call("Glob", {"pattern": "*"}) for _ in range(self.chance.randint(1, 12))]
        return reply(*self.thoughts(), text("Looking."), *calls)

    def run_one(self) -> Reply:
        return reply(*self.thoughts(), self.command())

    def run_many(self) -> Reply:
        return reply(self.command(), call("Glob", {"pattern": "*"}), self.command(), self.command())

    def odd_json(self) -> Reply:
        return reply(
            "Hm.", call("Bash", raw_input='{"command": "echo never >> ran'), call("Glob", {"pattern": "*"})
        )

    def unknown(self) -> Reply:
        return reply(call("Fly", {"to": "the moon"}), call("Read", {"wrong": self.chance.random()}))

    def cut_short(self) -> Reply:
        """Break off after the first call is complete: it runs, and is not asked for again."""
        fault: Fault = self.chance.choice([error_event(blocks=1), close(blocks=1), cut(blocks=1)])
        return reply(self.command(), call("Bash", {"command": "echo never >> ran"})).but(fault)

    def thoughts(self) -> list[dict[str, Any]]:
        self.hidden += 1  # a service hides each thought in its own way
        hidden = redacted(f"x{self.hidden}")
        return self.chance.choice([[], [thinking("ü 😀 hm")], [hidden, thinking("and\n")]])

    def command(self) -> dict[str, Any]:
        self.commands += 1
        name = f"c{self.commands}"
        self.due[name] += 1
        return call("Bash", {"command": f"echo {name} >> ran"})


def ran(team: LiveTeam) -> Counter[str]:
    path = team.workspace / "ran"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def a_team(make: Make) -> LiveTeam:
    return make({"key": "job", "subject": "Do the job", "script": [{"say": "x"}]})


@pytest.mark.parametrize(
    ("seed", "turns"), [(1, 80), *(pytest.param(seed, TURNS, marks=LONG) for seed in range(2, 7))]
)
async def test_a_long_session_in_bad_weather_ends_right(make: Make, seed: int, turns: int) -> None:
    """Each call has one result, each command ran once, and nothing that was sent was refused."""
    team, weather = a_team(make), Weather(seed, turns)

    with MessagesApi(weather) as api:
        outcome = await one_session(team, api, **IMPATIENT)

    assert [one.message for one in api.refused] == []
    assert api.problems == []
    assert outcome is not None
    assert (outcome.status, outcome.summary, outcome.reason) == ("completed", "All done.", None)
    assert ran(team) == weather.due
    assert team.task("job").attempts == 0
    last = api.exchanges[-1]
    assert last.turns == turns - 1
    assert api.prefix_breaks() == []


async def test_stops_in_between_lose_nothing(make: Make) -> None:
    """It is stopped again and again, at any moment, and goes on in a next life."""
    team, weather = a_team(make), Weather(3, turns=60)
    chance = random.Random(3)
    outcome, life = None, 0

    with MessagesApi(weather) as api:
        while outcome is None or outcome.status == "released":
            life += 1
            stop = asyncio.Event()
            bench = live_bench(team, api, life, **IMPATIENT)
            session = asyncio.create_task(team.begin(bench, stop).run())
            await asyncio.wait([session], timeout=chance.uniform(0.05, 1.0))
            stop.set()
            outcome = await session
            await bench.models.close()

    assert life > 3
    assert outcome.status == "completed"
    assert [one.message for one in api.refused] == []
    assert team.task("job").attempts == 0
    # A command that a stop met may have run or not; its call was answered as interrupted, so none ran twice.
    done = ran(team)
    assert set(done) <= set(weather.due)
    assert max(done.values()) == 1


async def test_most_of_the_input_is_read_from_the_cache(make: Make) -> None:
    """Over fifty turns; what a conversation costs otherwise grows with the square of its length."""
    team = a_team(make)
    chance = random.Random(5)

    def turn(exchange: Exchange) -> Reply:
        if exchange.turns >= 50:
            return reply("All done.")
        calls = [
            call("Bash", {"command": f"seq {chance.randint(1, 400)}"})
            for _ in range(chance.choice([1, 1, 2]))
        ]
        if exchange.turns == 25:
            calls = [call("Glob", {"pattern": f"*{number}"}) for number in range(30)]
        return reply(thinking("hm " * 50), *calls)

    with MessagesApi(turn) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed"
    assert api.prefix_breaks() == []
    read, written, fresh = (
        sum(exchange.usage[name] for exchange in api.exchanges)
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    )
    assert read / (read + written + fresh) >= 0.85
    assert all(1 <= len(exchange.marks) <= 4 for exchange in api.exchanges)
