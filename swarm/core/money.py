"""Amounts of money: whole micro-dollars inside, US dollars in files and on screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import wrong

MICROS = 1_000_000
USD_MAX = 10**9
"""Above this an amount is a mistake; up to it, dollars as a float name every micro-dollar."""


def micros_of(usd: float) -> int:
    """Return the least whole number of micro-dollars that is not less than `usd`."""
    micros = round(usd * MICROS)
    return micros + 1 if micros / MICROS < usd else micros


def usd_of(micros: int) -> float:
    """Return dollars, as they stand in files; `micros_of` gives the same number back."""
    return micros / MICROS


def shown_usd(micros: int) -> str:
    """Return an amount for people: cents, and where cents would say nothing as many places as it takes."""
    if micros == 0 or micros >= MICROS // 100:
        cents = (micros + MICROS // 200) // (MICROS // 100)
        return f"${cents // 100}.{cents % 100:02d}"
    return f"${micros / MICROS:.6f}".rstrip("0")


def amount(obj: Mapping[str, Any], key: str) -> int:
    """Return the dollars in a field as micro-dollars; no such number is a ValueError."""
    value = obj.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong(key, "a number", value)
    if not 0 <= value <= USD_MAX:  # also refuses nan
        raise ValueError(f"{key} should be between 0 and {USD_MAX}, not {value}")
    return micros_of(value)


def optional_amount(obj: Mapping[str, Any], key: str) -> int | None:
    return None if obj.get(key) is None else amount(obj, key)
