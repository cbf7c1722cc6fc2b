"""What tokens cost. All arithmetic is in whole numbers, and rounds up once, at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import an_object, integer
from swarm.core.money import MICROS, amount
from swarm.values import Value

COUNTERS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
"""What a call is charged for; the first three together are its prompt."""

_DATE = 8


class Usage(Value):
    """Tokens of one call. `cache_creation_1h` is the part of what went into the cache that stays an hour."""

    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_1h: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens


def usage_of(obj: Mapping[str, Any]) -> Usage:
    """Read the usage that a service reports; a counter that is missing, or makes no sense, counts nothing."""
    written = obj.get("cache_creation")
    hour = _count(written, "ephemeral_1h_input_tokens") if isinstance(written, dict) else 0
    counts = {counter: _count(obj, counter) for counter in COUNTERS}
    return Usage(**counts, cache_creation_1h=min(hour, counts["cache_creation_input_tokens"]))


def _count(obj: Mapping[str, Any], key: str) -> int:
    value = obj.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class Rates(Value):
    """Micro-dollars for a million tokens of each kind."""

    input: int
    output: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int


class Price(Value):
    """The rates of a model; for a prompt of more than `above_tokens`, all of it, those `above`."""

    rates: Rates
    above_tokens: int | None = None
    above: Rates | None = None

    def rates_for(self, prompt_tokens: int) -> Rates:
        if self.above is not None and self.above_tokens is not None and prompt_tokens > self.above_tokens:
            return self.above
        return self.rates


FREE = Price(rates=Rates(input=0, output=0, cache_write_5m=0, cache_write_1h=0, cache_read=0))


def cost_of(usage: Usage, price: Price) -> int:
    """Return what these tokens cost, in micro-dollars rounded up."""
    rates = price.rates_for(usage.prompt_tokens)
    return _rounded_up(
        usage.input_tokens * rates.input
        + usage.output_tokens * rates.output
        + usage.cache_read_input_tokens * rates.cache_read
        + usage.cache_creation_1h * rates.cache_write_1h
        + (usage.cache_creation_input_tokens - usage.cache_creation_1h) * rates.cache_write_5m
    )


def worst_case(prompt_tokens: int, max_tokens: int, price: Price, *, long_cache: bool = False) -> int:
    """Return what a call costs at most that sends and gets no more tokens than these, rounded up.

    All of the prompt counts at its dearest rate; with `long_cache` it may be kept for an hour.
    """
    return max(
        _rounded_up(prompt_tokens * _dearest(rates, long_cache=long_cache) + max_tokens * rates.output)
        for rates in {price.rates, price.rates_for(prompt_tokens)}
    )


def _dearest(rates: Rates, *, long_cache: bool) -> int:
    kept = rates.cache_write_1h if long_cache else 0
    return max(rates.input, rates.cache_read, rates.cache_write_5m, kept)


def _rounded_up(rated: int) -> int:
    return -(-rated // MICROS)


def find_price(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of a model; one that is dated, `claude-haiku-4-5-20251001`, has the plain one's."""
    plain, _, date = model.rpartition("-")
    if model not in prices and len(date) == _DATE and date.isdigit():
        return prices.get(plain)
    return prices.get(model)


def parse_prices(obj: Mapping[str, Any]) -> dict[str, Price]:
    """Read prices by model; what is wrong is a ValueError that names the model."""
    found = {}
    for model, price in obj.items():
        try:
            found[model] = parse_price(an_object(price, "its price"))
        except ValueError as error:
            raise ValueError(f"{model}: {error}") from error
    return found


def parse_price(obj: Mapping[str, Any]) -> Price:
    """Read US dollars for a million tokens, by kind.

    Only `input` and `output` must be there. Left out, writing to the cache costs what is usual, 1.25 and 2
    times the input, and reading from it as much as the input: in doubt it is dear.
    """
    above = obj.get("above")
    if above is None:
        return Price(rates=_parse_rates(obj))
    rates = _parse_rates(an_object(above, "above"))
    return Price(rates=_parse_rates(obj), above_tokens=integer(obj, "above_tokens"), above=rates)


def _parse_rates(obj: Mapping[str, Any]) -> Rates:
    base = amount(obj, "input")
    usual = {"cache_write_5m": -(-base * 5 // 4), "cache_write_1h": 2 * base, "cache_read": base}
    rates = {kind: rate if obj.get(kind) is None else amount(obj, kind) for kind, rate in usual.items()}
    return Rates(input=base, output=amount(obj, "output"), **rates)
