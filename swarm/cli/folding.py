"""Commands for a person to copy, in lines that fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from swarm.core.breaking import width

_CONTINUED = " \\"


def folded_command(words: Sequence[str], columns: int | None, hang: int) -> list[str]:
    """Return a shell's command in lines that a shell takes as one; no word of it is broken."""
    lines = [words[0]]
    for at, word in enumerate(words[1:], start=1):
        room = (columns or 0) - hang - (0 if at == len(words) - 1 else len(_CONTINUED))
        if columns is None or width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines[-1] += _CONTINUED
            lines.append(f"  {word}")
    return lines
