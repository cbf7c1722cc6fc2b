"""Record `swarm demo` in a pseudo terminal and write it as an animated SVG.

Run it with `make picture`. The demo is really run; what stands in the picture is what the terminal showed.
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
import tempfile
import termios
import time
from pathlib import Path

import pyte

COLUMNS, ROWS = 100, 30
CELL_WIDTH, CELL_HEIGHT = 8.4, 18.0
PADDING = 14
HOLD_SECONDS = 6.0
COLORS = {
    "default": "#d6deeb", "black": "#5c6773", "red": "#ef5350", "green": "#7bd88f", "brown": "#e6c454",
    "yellow": "#e6c454", "blue": "#6cb6ff", "magenta": "#c792ea", "cyan": "#5ad4e6", "white": "#ffffff",
    "brightblack": "#7d8899", "brightgreen": "#7bd88f", "brightred": "#ef5350",
}  # fmt: skip

pyte.graphics.FG_ANSI[2] = "brightblack"  # it has no dim characters
Frame = tuple[float, tuple[str, ...]]


def record(command: list[str], environ: dict[str, str]) -> list[Frame]:
    """Run the command in a terminal of the fixed size; return its distinct screens with their times."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environ)
    os.close(follower)
    frames: list[Frame] = []
    started = time.monotonic()
    while True:
        ready, _, _ = select.select([leader], [], [], 0.05)
        if ready:
            try:
                data = os.read(leader, 65536)
            except OSError:  # the terminal's other side is closed
                break
            stream.feed(data)
            continue
        rows = draw_rows(screen)
        if not frames or frames[-1][1] != rows:
            frames.append((time.monotonic() - started, rows))
        if process.poll() is not None:
            break
    frames.append((time.monotonic() - started, draw_rows(screen)))
    if process.wait() != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return frames


def draw_rows(screen: pyte.Screen) -> tuple[str, ...]:
    """Return each row of the screen as SVG text spans."""
    return tuple(draw_row(screen.buffer[y]) for y in range(ROWS))


def draw_row(row: dict[int, pyte.screens.Char]) -> str:
    spans: list[tuple[str, str]] = []
    for x in range(COLUMNS):
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


def render(frames: list[Frame], title: str) -> str:
    """Return the SVG: each frame is a group that is visible for its time."""
    used = max((y for _, rows in frames for y, row in enumerate(rows) if row), default=0) + 1
    width = COLUMNS * CELL_WIDTH + 2 * PADDING
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


def main() -> None:
    """Record the demo into the file named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="swarm-picture-") as home:
        environ = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": home,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
            "LINES": str(ROWS),
        }
        frames = record([str(programs / "swarm"), "demo"], environ)
    frames = thin([(at, tuple(row.replace(home, "~") for row in rows)) for at, rows in frames], 0.12)
    target.write_text(
        render(frames, "swarm demo: three teammates carry a refactor through a task graph"), encoding="utf-8"
    )
    print(f"{target}: {len(frames)} frames, {target.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
