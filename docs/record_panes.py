"""Record what a person sees of `swarm demo --backend tmux` in tmux, and write it as an SVG.

Run it with `make picture`. The demo is really run, and tmux really draws its panes: this looks on as an
attached terminal, and keeps the moment at which half of the tasks are done.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte
import record_demo

COLUMNS, ROWS = 150, 42
DONE = 3
PATIENCE_SECONDS = 60.0
CONF = """
set -g status-right ''
set -g status-left ''
set -as terminal-overrides ',*:indn@'
"""
"""The last line: pyte cannot scroll by several lines at once."""


class Attached:
    """A terminal that is attached to a tmux server, and what it shows."""

    def __init__(self, socket: str, environ: dict[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        command = ["tmux", "-u", "-S", socket, "attach-session"]
        self._client = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, env=environ, start_new_session=True
        )
        os.close(follower)

    def look(self, seconds: float) -> None:
        """Take in what is drawn in this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            ready, _, _ = select.select([self._leader], [], [], 0.02)
            if ready:
                self._stream.feed(os.read(self._leader, 65536))

    def leave(self) -> None:
        self._client.terminate()
        self._client.wait()
        os.close(self._leader)


def tasks_done(home: str) -> int:
    files = Path(home, ".claude", "tasks").glob("demo-*/[0-9]*.json")
    return sum(json.loads(file.read_text())["status"] == "completed" for file in files)


def wait_for_socket(folder: str) -> str:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        found = [path for path in Path(folder).glob("tmux-*/swarm-*") if path.is_socket()]
        if found:
            return str(found[0])
        time.sleep(0.02)
    raise SystemExit("no tmux server came up")


def main() -> None:
    """Record the panes into the file named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    record_demo.COLUMNS, record_demo.ROWS = COLUMNS, ROWS
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="swarm-picture-", dir="/tmp") as home:
        environ = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": home,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TMUX_TMPDIR": home,
        }
        Path(home, ".tmux.conf").write_text(CONF)
        demo = subprocess.Popen([str(programs / "swarm"), "-q", "demo", "--backend", "tmux"], env=environ)
        socket = wait_for_socket(home)
        terminal = Attached(socket, environ)
        while tasks_done(home) < DONE and demo.poll() is None:
            terminal.look(0.05)
        terminal.look(0.3)
        rows = record_demo.draw_rows(terminal.screen)
        terminal.leave()
        if demo.wait() != 0:
            raise SystemExit(f"the demo ended with {demo.returncode}")
    title = "swarm demo --backend tmux: each teammate in a pane of its own"
    target.write_text(record_demo.render([(0.0, rows)], title), encoding="utf-8")
    print(f"{target}: {target.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
