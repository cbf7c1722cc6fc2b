"""Why a process ended, in words: how it ended, and the last that it wrote."""

from __future__ import annotations

import json
import os
import signal

_TAIL_BYTES = 16 * 1024
_SHOWN_CHARS = 300


def how_it_ended(returncode: int | None) -> str:
    """Return the end of a process as a person would say it; None when nobody saw how it ended."""
    if returncode is None:
        return "its process is gone"
    if returncode >= 0:
        return f"it ended with exit code {returncode}"
    try:
        return f"it was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"it was ended by signal {-returncode}"


def last_words(log: str, start: int = 0) -> str:
    """Return the last line of a log behind `start` that says what went wrong; "" when there is none.

    Lines of our own tell of everything, and count only when they tell of an error.
    """
    for line in reversed(_tail(log, start)):
        said = _said(line.decode("utf-8", "replace").strip())
        if said:
            return said[:_SHOWN_CHARS]
    return ""


def _tail(path: str, start: int) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            begin = max(start, size - _TAIL_BYTES)
            file.seek(begin)
            lines = file.read(_TAIL_BYTES).splitlines()
            return lines if begin == start else lines[1:]  # else the first one is cut
    except OSError:
        return []


def _said(text: str) -> str:
    """Return what a line says. Our own records are skipped but for those of something that went wrong."""
    try:
        record = json.loads(text)
    except ValueError:
        return text
    if not isinstance(record, dict):
        return text
    if record.get("level") not in ("error", "critical"):
        return ""
    lines = str(record.get("exception", "")).splitlines() or [str(record.get("event", ""))]
    return lines[-1].strip()
