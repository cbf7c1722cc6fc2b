"""`swarm status --watch`: the same screen drawn anew each second, until it is left with Ctrl-C or q."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from swarm.cli.columns import clip
from swarm.cli.line_input import LineInput
from swarm.cli.render import paint, printable
from swarm.cli.screen import Screen, given_back_on_stop
from swarm.cli.session import Io
from swarm.errors import EXIT_CODES, ConfigError, NotFoundError
from swarm.leader.signals import interrupting
from swarm.storage.team import Team

_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_LEAVE = "q"


def watch(team: Team, io: Io, lines: Callable[[], Iterable[str]]) -> int:
    """Show these lines until somebody leaves, which is no error, or the team is deleted."""
    if io.json or not io.is_terminal() or io.environ.get("TERM") == "dumb":
        raise ConfigError(
            "--watch draws on a terminal, and here is none; swarm events --follow prints lines as they come",
            code="bad_usage",
            details={"option": "--watch"},
        )
    notes: list[str] = []
    screen, keys = Screen(io.out), LineInput(io.source)
    io.takes_notes = lambda text: notes.append(text) if text not in notes else None
    try:
        with interrupting(), keys, given_back_on_stop(screen):
            try:
                _draw_until_left(screen, keys, io, lines, notes)
            finally:
                screen.end()
    except KeyboardInterrupt:
        return EXIT_CODES["interrupted"]
    except NotFoundError:
        notes.append(f"team {team.name} is gone")
    finally:
        io.takes_notes = None
        for note in notes:
            io.note(note)
    return 0


def _draw_until_left(
    screen: Screen, keys: LineInput, io: Io, lines: Callable[[], Iterable[str]], notes: list[str]
) -> None:
    drawn_at, drawn_for = 0.0, (0, 0)
    while True:
        for line in (*keys.poll(), keys.text):
            if line.strip().lower().startswith(_LEAVE):
                return
        now, size = time.monotonic(), screen.size
        if screen.is_ours() and (now - drawn_at >= _SECONDS or size != drawn_for):
            drawn_at, drawn_for = now, size
            screen.show(_rows(list(lines()), size, io, notes), size)
        time.sleep(_LOOK_SECONDS)


def _rows(lines: list[str], size: tuple[int, int], io: Io, notes: list[str]) -> list[str]:
    """Return what fits, with the time and the way out in the last row."""
    columns, rows = size
    said = notes[-1] if notes else f"{time.strftime('%H:%M:%S')}  q or Ctrl-C leaves, and changes nothing"
    foot = paint(clip(printable(said), columns), "dim", enabled=io.color)
    shown = lines[: rows - 1]
    return [*shown, *[""] * (rows - 1 - len(shown)), foot]
