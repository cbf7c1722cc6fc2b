"""What every verb prints alike: foreign text made harmless, errors, colours, times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swarm.core.breaking import hanging
from swarm.core.shown import Shown, local_time, paint, printable, printable_lines

if TYPE_CHECKING:
    from swarm.cli.session import Io
    from swarm.errors import SwarmError

__all__ = [
    "ago",
    "as_json",
    "count",
    "local_time",
    "paint",
    "print_error",
    "printable",
    "printable_lines",
]

_ERROR = "error:"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def _as_json_escape(ch: str) -> str:
    import json

    return json.dumps(ch)[1:-1]


_IN_JSON = Shown("", _as_json_escape)


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
        first, *rest = hanging(f"{_ERROR} {printable(error.message)}", io.error_columns, 2)
        told = first.replace(_ERROR, paint(_ERROR, "red", enabled=io.color_errors), 1)
        io.err.writelines(f"{line}\n" for line in (told, *rest))


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
