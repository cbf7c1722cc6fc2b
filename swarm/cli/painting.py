"""Styled text as what a terminal is sent."""

from __future__ import annotations

from rich.console import COLOR_SYSTEMS, Console
from rich.text import Text

_KEPT = 512


class Painter:
    """Turns lines into terminal codes; a line that was painted before costs nothing."""

    def __init__(self, console: Console, *, color: bool) -> None:
        self._console = console
        self._colors = COLOR_SYSTEMS[console.color_system] if color and console.color_system else None
        self._painted: dict[object, str] = {}

    def paint(self, text: Text) -> str:
        key = (text.plain, str(text.style), tuple(text.spans))
        known = self._painted.get(key)
        if known is None:
            if len(self._painted) >= _KEPT:
                self._painted.clear()
            known = self._painted[key] = self._codes(text)
        return known

    def _codes(self, text: Text) -> str:
        if self._colors is None:
            return text.plain
        whole = Text(end="").append_text(text)  # so that the style of all of it counts, too
        return "".join(
            segment.style.render(segment.text, color_system=self._colors) if segment.style else segment.text
            for segment in whole.render(self._console)
        )
