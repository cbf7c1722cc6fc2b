"""Amounts are exact: no sum drifts, whatever is added up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.core.money import MICROS, USD_MAX, amount, micros_of, optional_amount, shown_usd, usd_of


@given(st.integers(0, USD_MAX * MICROS))
def test_dollars_in_a_file_name_every_micro_dollar(micros: int) -> None:
    assert micros_of(usd_of(micros)) == micros


@given(st.floats(0, USD_MAX))
def test_an_amount_is_rounded_up_and_by_less_than_a_micro_dollar(usd: float) -> None:
    micros = micros_of(usd)

    assert usd_of(micros) >= usd
    assert Fraction(micros, MICROS) - Fraction(usd) < Fraction(1, MICROS) + Fraction(usd) / 2**52


@pytest.mark.parametrize("value", [True, "1", [1], float("nan"), -1, -0.000001, USD_MAX + 1, float("inf")])
def test_what_is_no_amount_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(ValueError, match="usd should be"):
        amount({"usd": value}, "usd")


def test_an_amount_that_is_missing_is_refused_unless_it_may_be() -> None:
    with pytest.raises(ValueError, match="usd should be a number"):
        amount({}, "usd")
    assert optional_amount({}, "usd") is None
    assert optional_amount({"usd": 0.25}, "usd") == 250_000


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (0, "$0.00"),
        (1, "$0.000001"),
        (1500, "$0.0015"),
        (10_000, "$0.01"),
        (1_234_567, "$1.23"),
        (1_575_000, "$1.58"),
    ],
)
def test_people_see_cents_or_what_is_left_of_them(micros: int, shown: str) -> None:
    assert shown_usd(micros) == shown
