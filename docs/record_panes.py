"""Record what a person sees of `swarm demo --backend tmux` in tmux.

Run it with `make picture`. The demo is really run, and tmux really draws its panes: this looks on as an
attached terminal, and keeps the moment at which half of the tasks are done.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

from picture import PATIENCE_SECONDS, SWARM, Terminal, environ_in, target, write

COLUMNS, ROWS = 150, 42
DONE = 3
CONF = """
set -g status-right ''
set -g status-left ''
set -as terminal-overrides ',*:indn@'
"""
"""The last line: pyte cannot scroll by several lines at once."""


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
    with tempfile.TemporaryDirectory(prefix="swarm-picture-", dir="/tmp") as home:
        environ = environ_in(home)
        Path(home, ".tmux.conf").write_text(CONF)
        demo = subprocess.Popen([SWARM, "-q", "demo", "--backend", "tmux"], env=environ)
        command = ["tmux", "-u", "-S", wait_for_socket(home), "attach-session"]
        terminal = Terminal((COLUMNS, ROWS), command, home, environ)
        while tasks_done(home) < DONE and demo.poll() is None:
            terminal.look(0.05)
        terminal.look(0.3)
        rows = terminal.drawn()
        terminal.leave()
        if demo.wait() != 0:
            raise SystemExit(f"the demo ended with {demo.returncode}")
    title = "swarm demo --backend tmux: each teammate in a pane of its own"
    write(target(), [(0.0, rows)], title, COLUMNS, {home: "~"})


if __name__ == "__main__":
    main()
