"""Output of commands as text: what a terminal would leave on its screen, without what steers it."""

from __future__ import annotations

import re

from swarm.core.untrusted import clean

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")


def screen_text(output: str) -> str:
    """Return the text without escapes and invisible characters; of a progress line, its last state."""
    text = _OVERSTRUCK.sub("", _ESCAPES.sub("", output))
    return clean("\n".join(_last_state(line) for line in text.split("\n")))


def _last_state(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]
