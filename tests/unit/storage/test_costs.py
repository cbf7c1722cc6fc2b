"""The costs of a team on disk: one budget for all of its processes, whatever becomes of them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from swarm.core.price import FREE
from swarm.errors import ConfigError, LockTimeoutError, StateError, StorageIOError
from swarm.pricing import known_prices
from swarm.storage.costs import Costs
from swarm.storage.lock import FileLock
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.faults import FailAt, Point, Recorder
from tests.support.stores import reopened

MODEL = "claude-sonnet-5-5"  # 2 and 10 dollars for a million tokens, 2.50 to write into the cache
LIFE = "k3v9qd7m.w1.1"


def call(costs: Costs, life: str = LIFE, output_tokens: int = 1_000, task: str | None = "7") -> int | None:
    """Reserve for a call of at most 10,000 tokens in and 1,000 out, and let it have that much out."""
    costs.reserve(life, MODEL, 10_000, 1_000)
    usage = {"input_tokens": 10_000, "output_tokens": output_tokens}
    return costs.record(agent=life.split(".")[1], run_id=life, task=task, model=MODEL, usage=usage)


def lines(team: Team) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(team.layout.costs).read_text().splitlines()]


def test_a_call_is_reserved_at_its_worst_and_written_at_its_cost(team: Team) -> None:
    assert call(team.costs) == 30_000

    reserved, cost = lines(team)
    assert list(reserved) == ["time", "run_id", "reserve_usd"]
    assert reserved["reserve_usd"] == 0.035
    assert list(cost) == [
        "time", "agent", "run_id", "task", "model", "input_tokens", "cache_read_input_tokens",
        "cache_creation_input_tokens", "output_tokens", "usd",
    ]  # fmt: skip
    assert (cost["agent"], cost["task"], cost["model"], cost["usd"]) == ("w1", "7", MODEL, 0.03)
    assert stat.S_IMODE(os.stat(team.layout.costs).st_mode) == 0o600


def test_without_terms_there_is_no_limit(team: Team) -> None:
    for _ in range(3):
        call(team.costs)

    assert team.costs.table().total.micros == 90_000
    assert team.costs.table().limit is None


def test_a_call_that_could_cost_too_much_is_refused_with_what_there_is(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 0.06})
    call(team.costs)

    with pytest.raises(StateError) as caught:
        call(team.costs)

    assert (caught.value.code, caught.value.exit_code) == ("budget_spent", 7)
    assert caught.value.message == (
        "the budget of team demo is spent: $0.03 of $0.06 are used or set aside, and the next call may cost "
        "$0.04; swarm resume demo --budget USD goes on with more"
    )
    assert caught.value.details == {"budget_usd": 0.06, "spent_usd": 0.03, "needed_usd": 0.035}
    assert lines(team)[-1]["refused_usd"] == 0.035
    assert team.costs.table().is_short(LIFE)
    assert team.costs.table().spent == 30_000


def test_the_whole_budget_can_be_spent(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 0.065})
    call(team.costs)
    call(team.costs)

    assert team.costs.table().spent == 60_000


def test_what_others_spend_and_reserve_counts(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 0.08})
    other = reopened(team).costs
    other.reserve("k3v9qd7m.w2.1", MODEL, 10_000, 1_000)
    call(team.costs)

    with pytest.raises(StateError):
        team.costs.reserve(LIFE, MODEL, 10_000, 1_000)
    other.record(agent="w2", run_id="k3v9qd7m.w2.1", task="8", model=MODEL, usage={})
    team.costs.reserve(LIFE, MODEL, 10_000, 1_000)  # the other one cost nothing


def test_the_patient_hear_that_others_may_leave_enough(team: Team) -> None:
    """Nothing is written, since nothing is refused yet; what will never be there is refused at once."""
    team.costs.set_terms({"budget_usd": 0.08})
    other = "k3v9qd7m.w2.1"
    team.costs.reserve(other, MODEL, 10_000, 1_000)
    before = lines(team)
    with pytest.raises(StateError, match="set aside for calls under way") as caught:
        team.costs.reserve(LIFE, MODEL, 20_000, 1_000, patient=True)
    assert (caught.value.code, caught.value.exit_code) == ("busy", 75)
    assert lines(team) == before

    with pytest.raises(StateError, match="is spent"):
        team.costs.reserve(LIFE, MODEL, 40_000, 1_000, patient=True)
    team.costs.reserve(other, MODEL, 0, 0)  # the call before it was cut off: its worst case is gone for good
    with pytest.raises(StateError, match="is spent"):
        team.costs.reserve(LIFE, MODEL, 20_000, 1_000, patient=True)


def test_more_budget_lets_the_refused_go_on(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 0.01})
    with pytest.raises(StateError):
        call(team.costs)

    reopened(team).costs.set_terms({"budget_usd": 0.1})

    assert not team.costs.table().is_short(LIFE)
    assert call(team.costs) == 30_000


def test_the_same_terms_are_written_once(team: Team) -> None:
    team.costs.set_terms({})
    assert not os.path.exists(team.layout.costs)
    team.costs.set_terms({"budget_usd": 5, "prices": {"m": {"input": 1, "output": 2}}})
    team.costs.set_terms({"budget_usd": 5.0, "prices": {"m": {"output": 2, "input": 1}}})
    assert len(lines(team)) == 1
    team.costs.set_terms({})
    assert len(lines(team)) == 2


def test_a_model_without_a_price_costs_nothing_that_is_known(team: Team) -> None:
    team.costs.reserve(LIFE, "unheard-of", 10_000, 1_000)
    said = team.costs.record(
        agent="w1", run_id=LIFE, task=None, model="unheard-of", usage={"output_tokens": 9}
    )

    assert said is None
    (cost,) = lines(team)
    assert "usd" not in cost
    assert "task" not in cost
    assert (team.costs.table().total.unpriced, team.costs.table().total.usage.output_tokens) == (1, 9)


def test_a_model_without_a_price_is_refused_where_there_is_a_budget(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 5})

    with pytest.raises(ConfigError, match="no price of unheard-of is known") as caught:
        team.costs.reserve(LIFE, "unheard-of", 1, 1)

    assert (caught.value.code, caught.value.exit_code) == ("no_price", 2)


def test_a_price_is_asked_for_only_where_there_is_a_budget(team: Team) -> None:
    team.costs.check_price("unheard-of")
    team.costs.set_terms({"budget_usd": 5})
    team.costs.check_price(MODEL)
    with pytest.raises(ConfigError, match="no price of unheard-of is known"):
        team.costs.check_price("unheard-of")


def test_prices_of_the_team_come_first(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 5, "prices": {MODEL: {"input": 100, "output": 100}}})

    assert call(reopened(team).costs) == 1_100_000
    price = team.costs.price_of("claude-opus-5-5")
    assert price is not None
    assert price.rates.input == 4_000_000
    assert team.costs.price_of("scripted") is FREE


def test_an_answer_that_broke_off_may_have_been_longer(team: Team) -> None:
    team.costs.reserve(LIFE, MODEL, 10_000, 1_000)
    usage = {"input_tokens": 5_000, "output_tokens": 100}
    said = team.costs.record(agent="w1", run_id=LIFE, task="7", model=MODEL, usage=usage, unsaid_tokens=900)

    assert said == 11_000
    assert lines(team)[-1]["more_usd"] == 0.009
    assert (team.costs.table().total.micros, team.costs.table().spent) == (11_000, 20_000)
    assert team.costs.table().agents["w1"].usage.output_tokens == 100


def test_an_hour_in_the_cache_is_reserved_where_it_may_be_used(team: Team) -> None:
    team.costs.reserve(LIFE, MODEL, 10_000, 0, long_cache=True)

    assert lines(team)[-1]["reserve_usd"] == 0.04


def test_a_torn_line_is_cut_and_a_damaged_one_passed_over(team: Team) -> None:
    call(team.costs)
    path = Path(team.layout.costs)
    with path.open("ab") as file:
        file.write(b'not json\n[1]\n{"time": "x"}\n' + b"[" * 100_000 + b'\n{"time": "2026-11')

    assert team.costs.table().total.calls == 1
    call(team.costs)
    assert team.costs.table().total.calls == reopened(team).costs.table().total.calls == 2
    assert b"2026-11{" not in path.read_bytes()


def test_a_look_reads_only_what_is_new(team: Team) -> None:
    """However long the file is: a look that finds nothing is one `stat`, another one reads the end."""
    for _ in range(200):
        call(team.costs)
    reader = reopened(team).costs
    reader.table()
    calls = Recorder()
    with fault_hook(calls):
        reader.table()
    assert [point.call for point in calls.points()] == ["stat"]

    call(team.costs)
    calls = Recorder()
    with fault_hook(calls):
        reader.table()
    assert len(calls.points()) <= 5  # two of them, of which the second finds the end, are all that is read
    assert reader.table().total.calls == 201


def test_a_file_that_was_replaced_is_read_anew(team: Team) -> None:
    call(team.costs)
    path = Path(team.layout.costs)
    path.rename(path.with_name("old"))
    assert team.costs.table().spent == 0
    call(team.costs)
    assert team.costs.table().total.calls == 1
    path.write_bytes(b"")
    assert team.costs.table().spent == 0


def test_a_reservation_that_could_not_be_written_allows_no_call(team: Team) -> None:
    """At every call, and inside the line: an error comes out, and what is counted is not too little."""
    team.costs.set_terms({"budget_usd": 0.1})
    recorder = Recorder()
    with fault_hook(recorder):
        reopened(team).costs.reserve(LIFE, MODEL, 10_000, 1_000)
    before = reopened(team).costs.table().spent
    for number, point in enumerate(recorder.points()):
        life = f"k3v9qd7m.w2.{number}"
        with fault_hook(FailAt(point, code=errno.ENOSPC)), pytest.raises(StateError) as caught:
            reopened(team).costs.reserve(life, MODEL, 1, 0)
        assert caught.value.code in ("io_error", "busy")
    assert before <= reopened(team).costs.table().spent <= before + 3 * len(recorder.points())
    call(team.costs, "k3v9qd7m.w3.1")


def test_a_cost_that_could_not_be_written_leaves_its_reservation(team: Team) -> None:
    team.costs.reserve(LIFE, MODEL, 10_000, 1_000)
    disk_full = FailAt(Point(0, "stat"), lasting=True)
    with fault_hook(disk_full), pytest.raises(StorageIOError):
        team.costs.record(agent="w1", run_id=LIFE, task="7", model=MODEL, usage={"output_tokens": 1})

    assert team.costs.table().spent == 35_000


def test_a_lock_that_is_held_too_long_is_said(team: Team) -> None:
    impatient = Team(team.layout, team.settings.replace(lock_timeout_seconds=0.0), team.clock)
    held = FileLock(team.layout.lock("costs"), team.settings, team.clock, "somebody")
    with held, pytest.raises(LockTimeoutError):
        impatient.costs.reserve(LIFE, MODEL, 1, 1)


def test_the_default_model_and_its_family_have_prices() -> None:
    prices = known_prices()

    assert {MODEL, "scripted", "claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-4-5"} <= prices.keys()
    for model, price in prices.items():
        for rates in (price.rates, price.above or price.rates):
            assert rates.cache_read <= rates.input <= rates.cache_write_5m <= rates.cache_write_1h, model
            assert rates.output == 5 * rates.input
