"""A few names of many, for a sentence that says what there is."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 5


def some_of(names: Sequence[str], near: str = "") -> str:
    """Return at most five of the names, the most like `near` first, and how many more there are."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    pairs = _pairs(near)
    ranked = sorted(names, key=lambda name: -_likeness(pairs, _pairs(name)))
    return f"{', '.join(ranked[:_SHOWN])} and {len(names) - _SHOWN} more"


def _pairs(name: str) -> set[str]:
    """Return the pairs of letters that stand side by side, and what it begins and ends with."""
    word = f"^{name.casefold()}$"
    return {word[at : at + 2] for at in range(len(word) - 1)}


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)
