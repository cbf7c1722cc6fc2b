"""What every verb prints alike: foreign text made harmless, errors, colours, times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarm.cli.session import Io
    from swarm.errors import SwarmError

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_SPACES = "\u00a0\u1680\u202f\u205f\u3000" + "".join(chr(code) for code in range(0x2000, 0x200B))
_KEPT = _SPACES + "\u200c\u200d"  # the last two join letters and emoji
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def printable(text: str) -> str:
    r"""Return one line that a terminal only shows: `\n`, `\x1b` and what is invisible stand as escapes."""
    return text if text.isprintable() else text.translate(_IN_A_LINE)


def printable_lines(text: str) -> str:
    """Return text of several lines, made harmless like one but for its line ends and tabs."""
    return text.replace("\r\n", "\n").translate(_IN_LINES)


class _Shown(dict[int, str]):
    """How characters are shown, for `str.translate`: each that occurs is looked at once."""

    def __init__(self, kept: str, escaped: Callable[[str], str]) -> None:
        super().__init__((ord(ch), ch) for ch in kept)
        self._escaped = escaped

    def __missing__(self, code: int) -> str:
        ch = chr(code)
        shown = self[code] = ch if ch.isprintable() else self._escaped(ch)
        return shown


def _as_escape(ch: str) -> str:
    return ch.encode("unicode_escape").decode("ascii")


def _as_json_escape(ch: str) -> str:
    import json

    return json.dumps(ch)[1:-1]


_IN_A_LINE = _Shown(_KEPT, _as_escape)
_IN_LINES = _Shown(_KEPT + "\n\t", _as_escape)
_IN_JSON = _Shown("", _as_json_escape)


def as_json(value: object) -> str:
    """Return one line of JSON; what a terminal could act on is escaped in it."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else text.translate(_IN_JSON)


def print_error(error: SwarmError, io: Io) -> None:
    """Say on stderr what went wrong: one sentence, or with `--json` one object."""
    if io.json:
        io.err.write(as_json(error.as_json()) + "\n")
    else:
        io.err.write(f"{paint('error:', 'red', enabled=io.color_errors)} {printable(error.message)}\n")


def paint(text: str, style: str, *, enabled: bool) -> str:
    """Return the text in a colour, or as it is."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if enabled and style else text


def ago(seconds: float) -> str:
    """Return a duration for people: `4s`, `12m`, `3h 05m`, `2d 4h`."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < _DAY:
        return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR}h"


def count(number: int, noun: str) -> str:
    """Return `1 task`, `2 tasks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def local_time(text: str) -> str:
    """Return a recorded time as this machine's clock shows it; what is no time stays as it is."""
    import time

    from swarm.core.times import parse_time

    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(parse_time(text)))
    except (ValueError, OverflowError):
        return printable(text)
