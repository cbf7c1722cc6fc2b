"""What tokens cost: exact, rounded up once, and never more than what is reserved for them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.core.price import (
    FREE,
    Price,
    Rates,
    Usage,
    cost_of,
    find_price,
    parse_price,
    parse_prices,
    usage_of,
    worst_case,
)

COUNTS = st.integers(0, 10**7)
RATES = st.builds(
    Rates,
    **dict.fromkeys(
        ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read"), st.integers(0, 10**9)
    ),
)
PRICES = st.one_of(
    st.builds(Price, rates=RATES),
    st.builds(Price, rates=RATES, above_tokens=st.integers(0, 10**7), above=RATES),
)
SONNET = parse_price(
    {"input": 2, "output": 10, "cache_write_5m": 2.5, "cache_write_1h": 4, "cache_read": 0.1}
)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    created = draw(COUNTS)
    return Usage(
        input_tokens=draw(COUNTS),
        cache_read_input_tokens=draw(COUNTS),
        cache_creation_input_tokens=created,
        output_tokens=draw(COUNTS),
        cache_creation_1h=draw(st.integers(0, created)),
    )


def test_each_kind_of_token_has_its_rate() -> None:
    assert cost_of(Usage(input_tokens=1_000_000), SONNET) == 2_000_000
    assert cost_of(Usage(output_tokens=1_000_000), SONNET) == 10_000_000
    assert cost_of(Usage(cache_read_input_tokens=1_000_000), SONNET) == 100_000
    assert cost_of(Usage(cache_creation_input_tokens=1_000_000), SONNET) == 2_500_000
    hour = Usage(cache_creation_input_tokens=1_000_000, cache_creation_1h=400_000)
    assert cost_of(hour, SONNET) == 1_500_000 + 1_600_000


def test_a_part_of_a_micro_dollar_is_a_whole_one() -> None:
    assert cost_of(Usage(cache_read_input_tokens=1), SONNET) == 1
    assert cost_of(Usage(cache_read_input_tokens=11), SONNET) == 2


@given(usages(), PRICES)
def test_a_cost_is_the_exact_one_rounded_up(usage: Usage, price: Price) -> None:
    rates = price.rates_for(usage.prompt_tokens)
    exact = Fraction(
        usage.input_tokens * rates.input
        + usage.output_tokens * rates.output
        + usage.cache_read_input_tokens * rates.cache_read
        + usage.cache_creation_1h * rates.cache_write_1h
        + (usage.cache_creation_input_tokens - usage.cache_creation_1h) * rates.cache_write_5m,
        10**6,
    )
    assert 0 <= cost_of(usage, price) - exact < 1


@given(usages(), PRICES, COUNTS, COUNTS)
def test_no_call_costs_more_than_its_worst_case(usage: Usage, price: Price, more: int, unsaid: int) -> None:
    """Whatever part of the prompt comes from the cache, and however much shorter than feared it all is."""
    worst = worst_case(usage.prompt_tokens + more, usage.output_tokens + unsaid, price, long_cache=True)

    assert cost_of(usage, price) <= worst
    if not usage.cache_creation_1h:
        assert cost_of(usage, price) <= worst_case(usage.prompt_tokens, usage.output_tokens, price)


def test_a_long_prompt_has_the_rates_of_long_ones_for_all_of_it() -> None:
    price = parse_price({"input": 1, "output": 2, "above_tokens": 100, "above": {"input": 10, "output": 20}})

    assert cost_of(Usage(input_tokens=60, cache_read_input_tokens=40, output_tokens=1), price) == 102
    assert cost_of(Usage(input_tokens=61, cache_read_input_tokens=40, output_tokens=1), price) == 1030
    assert worst_case(100, 1, price) == 127
    assert worst_case(101, 1, price) == 1283  # 101 * 12.5, and 20


def test_what_is_left_out_of_a_price_is_dear() -> None:
    price = parse_price({"input": 4, "output": 8}).rates

    assert (price.cache_write_5m, price.cache_write_1h, price.cache_read) == (5_000_000, 8_000_000, 4_000_000)


@pytest.mark.parametrize(
    ("price", "why"),
    [
        ({"output": 1}, "m: input should be a number"),
        ({"input": 1}, "m: output should be a number"),
        ({"input": -1, "output": 1}, "m: input should be between 0"),
        ({"input": 1, "output": 1, "cache_read": "free"}, "m: cache_read should be a number"),
        ({"input": 1, "output": 1, "above": {"input": 1, "output": 1}}, "m: above_tokens should be a whole"),
        ({"input": 1, "output": 1, "above": 7}, "m: above should be an object"),
        (3, "m: its price should be an object"),
    ],
)
def test_a_price_that_makes_no_sense_is_refused_with_its_model(price: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_prices({"m": price})


def test_a_dated_model_has_the_price_of_the_plain_one() -> None:
    prices = {"claude-haiku-4-5": SONNET, "claude-haiku-4-5-20260101": FREE}

    assert find_price(prices, "claude-haiku-4-5") is SONNET
    assert find_price(prices, "claude-haiku-4-5-20251001") is SONNET
    assert find_price(prices, "claude-haiku-4-5-20260101") is FREE
    assert find_price(prices, "claude-haiku-4") is None
    assert find_price(prices, "claude-haiku-4-5-latest") is None
    assert find_price(prices, "") is None


def test_usage_is_read_as_a_service_says_it() -> None:
    said = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 248,
        "cache_read_input_tokens": None,
        "output_tokens": "many",
        "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 300},
    }
    assert usage_of(said) == Usage(input_tokens=3, cache_creation_input_tokens=248, cache_creation_1h=248)
    assert usage_of({"cache_creation": None, "input_tokens": -1}) == Usage()
