"""Text that somebody else wrote, on its way into a model's context: which characters of it are let in.

What encloses and escapes it is in `swarm.core.tags`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

ROUNDS_MAX = 10
_DEPTH_MAX = 100

_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")
_VARIANT = re.compile("(.?)(\ufe0f+)", re.DOTALL)
_DECORATED = frozenset({"So", "Sm", "Sk", "Po", "Nd", "Pd"})
"""Kinds of characters that become emoji by a variation selector."""

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_SEEN = frozenset(
    [*"\t\n", *map(chr, range(0x600, 0x606)), *"\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"]
)
"""Formatting characters with a shape of their own, such as the Arabic number sign."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # fillers and joiners that count as letters
    "\ufe00-\ufe0e\U000e0000-\U000e0fff]"  # variants, tags
)
_LATER_EMOJI = re.compile("[\U0001f000-\U0001fbff]")
_SPECIAL = frozenset("<>&\"'")


class UnsafeTextError(ValueError):
    """Foreign text that cannot be made safe; the message says why."""


class _Marks(dict[int, str]):
    """What becomes of each character, for `str.translate`: each that occurs is looked at once."""

    def __init__(self, decide: Callable[[str], str]) -> None:
        super().__init__()
        self._decide = decide

    def __missing__(self, code: int) -> str:
        decided = self[code] = self._decide(chr(code))
        return decided


def is_unseen(ch: str) -> bool:
    """Tell whether a person would not see this character while a model may read it.

    Controls, format and private characters, variation selectors, unassigned ones but for future emoji.
    U+FE0F is none of these here: its place decides.
    """
    if _UNSEEN.match(ch):
        return True
    category = unicodedata.category(ch)
    if category == "Cn" and _LATER_EMOJI.match(ch):
        return False
    return category in _UNSEEN_CATEGORIES and ch not in _SEEN


def _kept_variant(found: re.Match[str]) -> str:
    base, variants = found.groups()
    return base + variants[:1] if base and unicodedata.category(base) in _DECORATED else base


def _plain(ch: str) -> str:
    """Return what the character stands for if that is one of markup's own, else the character."""
    folded = unicodedata.normalize("NFKC", ch)
    return folded if _SPECIAL.intersection(folded) else ch


_WITHOUT_UNSEEN = _Marks(lambda ch: "" if is_unseen(ch) else ch)
_PLAIN = _Marks(_plain)


def clean(text: str) -> str:
    """Return the text as a person would see it: no controls but tab and line feed, nothing invisible."""
    seen = _LINE_ENDS.sub("\n", text).translate(_WITHOUT_UNSEEN)
    return _VARIANT.sub(_kept_variant, seen) if "\ufe0f" in seen else seen


def sanitised(text: str) -> str:
    """Return the text cleaned, and with characters that only look like markup's as what they look like.

    Other compatibility forms stay: honest text in any language reads as it was written.

    Raises:
        UnsafeTextError: it is still changing after ten rounds.

    """
    return settled(text, lambda one: clean(one.translate(_PLAIN)))


def settled(text: str, step: Callable[[str], str]) -> str:
    """Return what repeating the step leads to; raises `UnsafeTextError` when that takes too many rounds."""
    for _ in range(ROUNDS_MAX):
        after = step(text)
        if after == text:
            return text
        text = after
    raise UnsafeTextError(f"it is still changing after {ROUNDS_MAX} rounds of cleaning")


def plain_line(text: str) -> str:
    """Return the text as one clean line, as it is stored; for a context it is escaped as well."""
    return " ".join(clean(text).split())


def sanitised_json(value: Any, *, _depth: int = 0) -> Any:
    """Return a JSON value with all text in it sanitised, its keys as well.

    Raises:
        UnsafeTextError: two keys of one object become equal, or it is nested too deeply.

    """
    if _depth > _DEPTH_MAX:
        raise UnsafeTextError(f"it is nested more than {_DEPTH_MAX} deep")
    if isinstance(value, str):
        return sanitised(value)
    if isinstance(value, (list, tuple)):
        return [sanitised_json(one, _depth=_depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, inner in value.items():
        name = sanitised(str(key))
        if name in made:
            raise UnsafeTextError(f"two of its keys look the same: {name}")
        made[name] = sanitised_json(inner, _depth=_depth + 1)
    return made
