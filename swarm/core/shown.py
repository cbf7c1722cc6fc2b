"""Text on its way to a terminal: foreign text made harmless, colours, times."""

from __future__ import annotations

import time

from swarm.core.times import parse_time

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(chr(code) for code in range(0x2000, 0x200B))
_KEPT = frozenset(_SPACES + "\u200c\u200d")  # the last two join letters and emoji


def printable(text: str) -> str:
    r"""Return one line that a terminal only shows: `\n`, `\x1b` and what is invisible stand as escapes."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() or ch in _KEPT else _escaped(ch) for ch in text)


def printable_lines(text: str) -> str:
    """Return text of several lines, made harmless like one but for its line ends and tabs."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)


def _escaped(ch: str) -> str:
    return ch.encode("unicode_escape").decode("ascii")


def paint(text: str, style: str, *, enabled: bool) -> str:
    """Return the text in a colour, or as it is."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if enabled and style else text


def local_time(text: str) -> str:
    """Return a recorded time as this machine's clock shows it; what is no time stays as it is."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(parse_time(text)))
    except (ValueError, OverflowError):
        return printable(text)
