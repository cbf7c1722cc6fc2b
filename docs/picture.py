"""A terminal in which a program really runs, and pictures of what it showed, as SVG that moves.

Used by the programs beside it, which `make picture` runs.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import itertools
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pyte

PROGRAMS = Path(sys.executable).parent
SWARM = str(PROGRAMS / "swarm")
PATIENCE_SECONDS = 60.0
CELL_WIDTH, CELL_HEIGHT = 8.4, 18.0
PADDING = 14
HOLD_SECONDS = 6.0
COLORS = {
    "default": "#d6deeb", "black": "#5c6773", "red": "#ef5350", "green": "#7bd88f", "brown": "#e6c454",
    "yellow": "#e6c454", "blue": "#6cb6ff", "magenta": "#c792ea", "cyan": "#5ad4e6", "white": "#ffffff",
    "brightblack": "#7d8899", "brightgreen": "#7bd88f", "brightred": "#ef5350",
}  # fmt: skip

pyte.graphics.FG_ANSI[2] = "brightblack"  # it has no dim characters
Rows = tuple[str, ...]
Frame = tuple[float, Rows]


def target() -> Path:
    """Return the file that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", type=Path)
    named: Path = parser.parse_args().target
    return named


def environ_in(home: str) -> dict[str, str]:
    """Return the environment of a person with this home, in which `swarm` is found."""
    return {
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "HOME": home,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "TMUX_TMPDIR": home,
    }


class Terminal:
    """A terminal of a fixed size with a program in it."""

    def __init__(
        self, size: tuple[int, int], command: Sequence[str], folder: str, environ: dict[str, str]
    ) -> None:
        self._columns, self._rows = size
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", self._rows, self._columns, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "-cw", *command],
            cwd=folder,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environ,
        )
        os.close(follower)
        self._started = time.monotonic()
        self.frames: list[Frame] = []
        """Each screen that differs from the one before it, with the seconds since the start."""

    def look(self, seconds: float) -> None:
        """Take in what is drawn in this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            ready, _, _ = select.select([self._leader], [], [], 0.05)
            if ready:
                try:
                    self._stream.feed(os.read(self._leader, 65536))
                except OSError:  # the program has ended
                    break
                continue
            self._keep()
        self._keep()

    def _keep(self) -> None:
        rows = self.drawn()
        if not self.frames or self.frames[-1][1] != rows:
            self.frames.append((time.monotonic() - self._started, rows))

    def until(self, shown: str) -> None:
        """Look on until a line holds this."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.shows(shown) is None:
            if time.monotonic() > until:
                raise SystemExit(f"never shown: {shown}\n" + "\n".join(self._screen.display))
            self.look(0.1)

    def shows(self, text: str) -> str | None:
        """Return the line that holds this; None if there is none now."""
        return next((line for line in self._screen.display if text in line), None)

    def type(self, keys: str) -> None:
        """Type as a person does, one key after the other."""
        for key in keys:
            os.write(self._leader, key.encode())
            self.look(0.15)

    def to_the_end(self) -> None:
        """Look on until the program has ended as it should."""
        while self.process.poll() is None:
            self.look(0.1)
        self.look(0.3)
        if self.process.returncode != 0:
            raise SystemExit(f"{self.process.args!r} ended with {self.process.returncode}")

    def leave(self) -> None:
        self.process.terminate()
        self.process.wait()
        os.close(self._leader)

    def drawn(self) -> Rows:
        """Return each row of the screen as SVG text spans."""
        return tuple(self._draw(self._screen.buffer[y]) for y in range(self._rows))

    def _draw(self, row: dict[int, pyte.screens.Char]) -> str:
        spans: list[tuple[str, str]] = []
        for x in range(self._columns):
            char = row[x]
            look = style_of(char)
            if spans and spans[-1][0] == look:
                spans[-1] = (look, spans[-1][1] + char.data)
            else:
                spans.append((look, char.data))
        while spans and not spans[-1][1].strip() and "inverse" not in spans[-1][0]:
            spans.pop()
        return "".join(f'<tspan class="{look}">{html.escape(text)}</tspan>' for look, text in spans)


def style_of(char: pyte.screens.Char) -> str:
    color = char.fg if char.fg in COLORS else color_class(char.fg)
    return " ".join(
        filter(None, [f"c-{color}", "bold" if char.bold else "", "inverse" if char.reverse else ""])
    )


def color_class(value: str) -> str:
    """Remember a 24-bit colour and return its name."""
    if re.fullmatch(r"[0-9a-f]{6}", value):
        COLORS.setdefault(f"x{value}", f"#{value}")
        return f"x{value}"
    return "default"


def render(frames: list[Frame], title: str, columns: int) -> str:
    """Return the SVG: each frame is a group that is visible for its time."""
    used = max((y for _, rows in frames for y, row in enumerate(rows) if row), default=0) + 1
    width = columns * CELL_WIDTH + 2 * PADDING
    height = used * CELL_HEIGHT + 2 * PADDING + 26
    total = frames[-1][0] + HOLD_SECONDS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{styles(frames, total)}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="9" fill="#0f1720"/>',
        *(
            f'<circle cx="{18 + 18 * i}" cy="17" r="5.5" fill="{c}"/>'
            for i, c in enumerate(("#ef5350", "#e6c454", "#7bd88f"))
        ),
    ]
    for number, (_, rows) in enumerate(frames):
        parts.append(f'<g class="f f{number}">')
        for y, row in enumerate(rows[:used]):
            if row:
                top = PADDING + 26 + (y + 0.75) * CELL_HEIGHT
                parts.append(f'<text x="{PADDING}" y="{top:.1f}" xml:space="preserve">{row}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"]) + "\n"


def styles(frames: list[Frame], total: float) -> str:
    rules = [
        "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}",
        ".bold{font-weight:700}.inverse{font-weight:700;fill:#fff}",
        f".f{{visibility:hidden;animation:0s step-end infinite;animation-duration:{total:.2f}s}}",
        *(f".c-{name}{{fill:{value}}}" for name, value in sorted(COLORS.items())),
    ]
    ends = [start for start, _ in frames[1:]] + [total]
    for number, ((start, _), end) in enumerate(zip(frames, ends, strict=True)):
        first, last = 100 * start / total, 100 * end / total
        hidden = "" if number == 0 else "0%{visibility:hidden}"
        tail = "" if number == len(frames) - 1 else f"{last:.3f}%{{visibility:hidden}}"
        first = 0.0 if number == 0 else first
        rules.append(f"@keyframes k{number}{{{hidden}{first:.3f}%{{visibility:visible}}{tail}}}")
        rules.append(f".f{number}{{animation-name:k{number}}}")
    rules.append(
        "@media (prefers-reduced-motion:reduce){.f{animation:none}.f:last-of-type{visibility:visible}}"
    )
    return "".join(rules)


def thin(frames: list[Frame], least: float) -> list[Frame]:
    """Drop frames that are shown for less than `least` seconds; the last one stays."""
    kept = [frame for frame, after in itertools.pairwise(frames) if after[0] - frame[0] >= least]
    return [*kept, frames[-1]]


def write(path: Path, frames: list[Frame], title: str, columns: int, hidden: dict[str, str]) -> None:
    """Write the picture; `hidden` says what stands in the place of what only this machine has."""
    frames = list(itertools.dropwhile(lambda frame: not any(frame[1]), frames))
    for real, shown in hidden.items():
        frames = [(at, tuple(row.replace(real, shown) for row in rows)) for at, rows in frames]
    path.write_text(render(thin(frames, 0.12), title, columns), encoding="utf-8")
    print(f"{path}: {len(frames)} frames, {path.stat().st_size // 1024} KiB")
