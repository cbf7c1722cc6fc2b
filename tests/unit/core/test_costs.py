"""Lines of costs, and what they add up to."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.core.costs import (
    Cost,
    CostTable,
    Entry,
    Refusal,
    Reserve,
    Tally,
    Terms,
    parse_entry,
    parse_entry_line,
    render_entry,
    render_entry_line,
)
from swarm.core.price import Usage

AT = "2026-11-30T12:31:02.410Z"
LIVES = ("k3v9qd7m.w1.1", "k3v9qd7m.w1.2", "k3v9qd7m.w2.1")
MICROS = st.integers(0, 10**9)


def a_cost(micros: int | None, run_id: str = LIVES[0], task: str | None = "7", **counts: int) -> Cost:
    agent = run_id.split(".")[1]
    usage = Usage(**counts)
    return Cost(time=AT, agent=agent, run_id=run_id, task=task, model="m", usage=usage, micros=micros)


def reserve(micros: int, run_id: str = LIVES[0]) -> Reserve:
    return Reserve(time=AT, run_id=run_id, micros=micros)


def refusal(micros: int, run_id: str = LIVES[0]) -> Refusal:
    return Refusal(time=AT, run_id=run_id, micros=micros)


def terms(**given: Any) -> Terms:
    return Terms(time=AT, terms=given)


def table_of(*entries: Entry) -> CostTable:
    table = CostTable()
    for entry in entries:
        table.apply(entry)
    return table


COSTS = st.builds(
    a_cost,
    st.one_of(st.none(), MICROS),
    st.sampled_from(LIVES),
    st.sampled_from([None, "1", "2"]),
    input_tokens=MICROS,
    output_tokens=MICROS,
    cache_read_input_tokens=MICROS,
    cache_creation_input_tokens=MICROS,
)
RESERVES = st.builds(reserve, MICROS, st.sampled_from(LIVES))
REFUSALS = st.builds(refusal, MICROS, st.sampled_from(LIVES))
TERMS = st.builds(terms, budget_usd=st.floats(0, 1000))
ENTRIES = st.lists(st.one_of(COSTS, RESERVES, REFUSALS, TERMS), max_size=40)


@given(st.one_of(COSTS, RESERVES, REFUSALS, TERMS))
def test_a_line_reads_back_as_it_was_written(entry: Entry) -> None:
    assert parse_entry_line(render_entry_line(entry)) == entry


@given(ENTRIES)
def test_sums_are_exact_and_agree_with_each_other(entries: list[Entry]) -> None:
    """As fractions of what the lines say, in any order: no cent is lost by adding."""
    table = table_of(*entries)
    costs = [entry for entry in entries if isinstance(entry, Cost)]
    said = [Fraction(str(render_entry(cost).get("usd", 0))) for cost in costs]

    assert Fraction(table.total.micros, 10**6) == sum(said)
    for parts in (table.agents, table.tasks):
        assert sum(part.micros for part in parts.values()) == table.total.micros
        assert sum(part.calls for part in parts.values()) == table.total.calls == len(costs)
        tokens = sum(part.usage.prompt_tokens for part in parts.values())
        assert tokens == table.total.usage.prompt_tokens
    assert table.total.unpriced == sum(cost.micros is None for cost in costs)
    assert sum(table.reserved_by_agent().values()) == table.reserved
    assert table.spent == table.total.micros + table.reserved


@given(ENTRIES)
def test_what_is_reserved_is_settled_once_by_the_next_cost_of_its_life(entries: list[Entry]) -> None:
    """Counted the slow way: each one that no cost of its life comes after, before the agent calls again."""

    def follows(entry: Entry, first: Reserve) -> bool:
        if isinstance(entry, Reserve):
            return entry.run_id.split(".")[1] == first.run_id.split(".")[1]
        return isinstance(entry, Cost) and entry.run_id == first.run_id

    left = 0
    for at, entry in enumerate(entries):
        if isinstance(entry, Reserve):
            later = next((e for e in entries[at + 1 :] if follows(e, entry)), None)
            left += 0 if isinstance(later, Cost) else entry.micros

    assert table_of(*entries).reserved == left


def test_a_reservation_counts_until_it_is_settled() -> None:
    assert table_of(reserve(50)).spent == 50
    assert table_of(reserve(50), a_cost(20)).spent == 20
    assert table_of(reserve(50), a_cost(20), a_cost(5)).spent == 25


def test_a_reservation_that_is_never_settled_stays_spent() -> None:
    """Its agent was killed, or tried again: the service may have charged for it."""
    table = table_of(reserve(50), reserve(60), a_cost(1), reserve(7, LIVES[1]))

    assert table.spent == 58
    assert table.reserved_by_agent() == {"w1": 57}


def test_calls_under_way_may_leave_enough_but_lost_ones_do_not() -> None:
    table = table_of(terms(budget_usd=1.0), a_cost(200_000), reserve(700_000, LIVES[2]))
    assert not table.allows(100_001)
    assert table.may_allow(800_000)
    assert not table.may_allow(800_001)

    table.apply(reserve(0, LIVES[2]))  # w2 was killed, or tried again
    assert not table.may_allow(100_001)
    assert table_of().may_allow(10**12)


def test_what_a_call_may_have_cost_unseen_is_spent_but_no_cost() -> None:
    table = table_of(reserve(50), a_cost(20).replace(more=10))

    assert (table.spent, table.reserved, table.total.micros) == (30, 10, 20)
    assert table.reserved_by_agent() == {"w1": 10}
    line = render_entry(a_cost(20).replace(more=10))
    assert line["more_usd"] == 0.00001
    assert parse_entry(line).extra == {}


def test_another_life_settles_nothing() -> None:
    assert table_of(reserve(50), a_cost(20, LIVES[2])).spent == 70


def test_the_last_terms_hold() -> None:
    table = table_of(terms(budget_usd=1.0, prices={"m": {"input": 1, "output": 2}}), a_cost(900_000))
    limit = table.limit
    assert limit == 1_000_000
    assert table.prices["m"].rates.output == 2_000_000
    assert table.allows(100_000)
    assert not table.allows(100_001)

    table.apply(terms())
    assert table.limit is None
    assert not table.prices
    assert table.allows(10**12)


def test_a_life_is_short_as_long_as_its_call_would_be_refused() -> None:
    table = table_of(terms(budget_usd=1.0), reserve(900_000, LIVES[2]), refusal(200_000))
    assert table.is_short(LIVES[0])
    assert not table.is_short(LIVES[2])

    table.apply(a_cost(1, LIVES[2]))  # another one cost less than feared
    assert not table.is_short(LIVES[0])

    table.apply(reserve(900_000, LIVES[2]))
    assert table.is_short(LIVES[0])
    table.apply(terms(budget_usd=2.0))
    assert not table.is_short(LIVES[0])


def test_a_life_that_may_go_on_with_less_is_not_short_any_more() -> None:
    table = table_of(terms(budget_usd=1.0), refusal(2_000_000), reserve(900_000))

    assert not table.is_short(LIVES[0])


def test_unknown_fields_are_kept() -> None:
    for line in (
        {"time": AT, "run_id": LIVES[0], "reserve_usd": 0.5, "why": "x"},
        {"time": AT, "run_id": LIVES[0], "refused_usd": 0.5, "why": "x"},
        {"time": AT, "terms": {"budget_usd": 5, "eur": 4}, "by": "user"},
        render_entry(a_cost(1)) | {"cache": {"kept": [1, None]}},
    ):
        assert render_entry(parse_entry(line)) == line


def test_counters_that_are_missing_are_zero() -> None:
    line = {"time": AT, "agent": "w1", "run_id": LIVES[0], "model": "m", "output_tokens": 4}

    assert parse_entry(line) == a_cost(None, task=None, output_tokens=4)
    assert "usd" not in render_entry(parse_entry(line))


@pytest.mark.parametrize(
    "line",
    [
        {"time": AT},
        {"time": AT, "run_id": "w1", "reserve_usd": 1},
        {"time": AT, "run_id": LIVES[0], "reserve_usd": "1"},
        {"time": AT, "run_id": LIVES[0], "refused_usd": -1},
        {"run_id": LIVES[0], "reserve_usd": 1},
        {"time": AT, "terms": 5},
        {"time": AT, "terms": {"budget_usd": "5"}},
        {"time": AT, "terms": {"prices": {"m": {"input": 1}}}},
        {"time": AT, "agent": "w1", "run_id": LIVES[0], "model": "m", "usd": -1},
        {"time": AT, "agent": "w1", "run_id": LIVES[0], "model": "m", "output_tokens": -1},
        {"time": AT, "agent": "w1", "run_id": LIVES[0], "model": "m", "output_tokens": 1.5},
    ],
)
def test_a_line_that_makes_no_sense_is_a_value_error(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_entry(line)


def test_the_share_of_the_cache_is_that_of_the_prompts() -> None:
    calls = (a_cost(1, input_tokens=5, output_tokens=99), a_cost(1, cache_read_input_tokens=15))

    assert table_of(*calls).total.cache_read_share == 0.75
    assert Tally().cache_read_share is None
