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
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")


def screen_text(output: str) -> str:
    """Return the text without escapes and invisible characters; of a progress line, its last state."""
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    return clean(_OVERWRITTEN.sub("", _OVERSTRUCK.sub("", text)))
