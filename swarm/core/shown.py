"""Text on its way to a terminal: foreign text made harmless, colours, times."""

from __future__ import annotations

import time
from collections.abc import Callable

from swarm.core.times import parse_time

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(chr(code) for code in range(0x2000, 0x200B))
_KEPT = _SPACES + "\u200c\u200d"  # the last two join letters and emoji


class Shown(dict[int, str]):
    """How characters are shown, for `str.translate`: each that occurs is looked at once."""

    def __init__(self, kept: str, escaped: Callable[[str], str]) -> None:
        super().__init__((ord(ch), ch) for ch in kept)
        self._escaped = escaped

    def __missing__(self, code: int) -> str:
        ch = chr(code)
        shown = self[code] = ch if ch.isprintable() else self._escaped(ch)
        return shown


def printable(text: str) -> str:
    r"""Return one line that a terminal only shows: `\n`, `\x1b` and what is invisible stand as escapes."""
    return text if text.isprintable() else text.translate(_IN_A_LINE)


def printable_lines(text: str) -> str:
    """Return text of several lines, made harmless like one but for its line ends and tabs."""
    return text.replace("\r\n", "\n").translate(_IN_LINES)


def _as_escape(ch: str) -> str:
    return ch.encode("unicode_escape").decode("ascii")


_IN_A_LINE = Shown(_KEPT, _as_escape)
_IN_LINES = Shown(_KEPT + "\n\t", _as_escape)


def paint(text: str, style: str, *, enabled: bool) -> str:
    """Return the text in a colour, or as it is."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if enabled and style else text


def local_time(text: str) -> str:
    """Return a recorded time as this machine's clock shows it; what is no time stays as it is."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(parse_time(text)))
    except (ValueError, OverflowError):
        return printable(text)
