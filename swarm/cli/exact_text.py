r"""Foreign text as it is, for one who has to agree to it: nothing hidden, nothing cut unseen.

Stricter than what lists print: whatever a terminal would not draw as a mark of its own stands as an escape.
"""

from __future__ import annotations

import re

from swarm.core.shown import Shown

_TAB_CELLS = 4
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_APART = {0x200D: None, 0xFE0F: None}
_LIKE_NOTHING = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # joins marks
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2800, 0x2800),  # Braille without dots
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""What counts as printable, and is drawn as nothing or as a blank."""


def exact(text: str, *, unicode: bool) -> str:
    r"""Return one line in which every character can be seen; `\x1b`, `\u202e` and their like are escapes."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_ANY if unicode else _ASCII)


def label(text: str, *, unicode: bool) -> str:
    """Return one line for a list: as `exact`, but that pictures which are joined stand side by side."""
    return exact(text if text.isascii() else text.translate(_APART), unicode=unicode)


def has_hidden(text: str) -> bool:
    """Tell whether there is something in it that a terminal would act on or draw as nothing."""
    if text.isascii():
        return _CONTROL.search(text) is not None
    return any(ch not in "\n\t" and (not ch.isprintable() or ch in _LIKE_NOTHING) for ch in text)


def with_tabs_drawn(text: str, *, unicode: bool) -> str:
    """Return a line of a file with its tabs as arrows, so that they differ from blanks."""
    return text.replace("\t", "→".ljust(_TAB_CELLS) if unicode else "\\t")


def _as_escape(ch: str) -> str:
    return ch.encode("unicode_escape").decode("ascii")


class _Strict(Shown):
    """How characters are shown where even printable ones may be nothing to the eye."""

    def __init__(self, *, ascii_only: bool) -> None:
        super().__init__("", _as_escape)
        self._ascii_only = ascii_only

    def __missing__(self, code: int) -> str:
        ch = chr(code)
        if ch in _LIKE_NOTHING or (self._ascii_only and not ch.isascii()):
            self[code] = _as_escape(ch)
            return self[code]
        return super().__missing__(code)


_ANY = _Strict(ascii_only=False)
_ASCII = _Strict(ascii_only=True)
