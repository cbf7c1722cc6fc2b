"""Record what a person sees of `swarm run` while a teammate asks for something, and write it as an SVG.

Run it with `make picture`. The run is real but for its model: the question in the picture is open, and is
then answered as a person would.
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

COLUMNS, ROWS = 80, 24
PATIENCE_SECONDS = 60.0
CLIENT = '''\
"""Talk to the weather service."""

import requests

BASE = "https://weather.example/v1"


def forecast(city):
    answer = requests.get(f"{BASE}/{city}", timeout=10)
    answer.raise_for_status()
    return answer.json()
'''
_PASSAGE = CLIENT[CLIENT.index("import") :]
OLD, NEW = json.dumps(_PASSAGE), json.dumps(_PASSAGE.replace("requests", "httpx"))
TEAM = f"""
name: to-httpx
description: Move the client to httpx
workspace: app
model: scripted
permissions: {{mode: default, allow: [Bash(sleep 1)]}}
teammates: [{{name: builder, count: 2}}]
tasks:
  - key: client
    subject: Use httpx in the client
    owner: builder-1
    script:
      - {{say: "The client first.", calls: [{{Read: {{file_path: client.py}}}}]}}
      - say: requests goes, httpx comes.
        calls: [{{Edit: {{file_path: client.py, old_string: {OLD}, new_string: {NEW}}}}}]
      - {{say: "The client uses httpx."}}
  - key: notes
    subject: Say so in the notes
    owner: builder-2
    script:
      - {{calls: [{{Bash: {{command: sleep 1}}}}]}}
      - say: One line will do.
        calls: [{{Write: {{file_path: NOTES.md, content: "Requests are made by httpx.\\n"}}}}]
      - {{say: "It is in the notes."}}
  - key: check
    subject: Check the whole change
    blocked_by: [client, notes]
    script: [{{say: "It holds."}}]
"""
STEPS = (("#2 builder", ""), ("#1 builder", "y 1 looks right"), ("> y 1 looks right", ""))
AFTER = (("> y 1", "\r"), ("#2 builder-2 (task 2) wants", "y 2\r"))


class Seen:
    """A terminal with `swarm run` in it."""

    def __init__(self, command: list[str], folder: str, environ: dict[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "-cw", *command],
            cwd=folder,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environ,
        )
        os.close(follower)

    def look(self, seconds: float) -> None:
        """Take in what is drawn in this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            ready, _, _ = select.select([self._leader], [], [], 0.02)
            try:
                if ready:
                    self._stream.feed(os.read(self._leader, 65536))
            except OSError:  # the run is over
                return

    def play(self, steps: tuple[tuple[str, str], ...]) -> None:
        """Type each of these when what belongs to it is on the screen."""
        for shown, keys in steps:
            until = time.monotonic() + PATIENCE_SECONDS
            while not any(shown in line for line in self.screen.display):
                if time.monotonic() > until:
                    raise SystemExit(f"never shown: {shown}\n" + "\n".join(self.screen.display))
                self.look(0.05)
            os.write(self._leader, keys.encode())
        self.look(0.5)


def main() -> None:
    """Record the question into the file named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    record_demo.COLUMNS, record_demo.ROWS = COLUMNS, ROWS
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as home:
        Path(home, "app").mkdir()
        Path(home, "app", "client.py").write_text(CLIENT)
        Path(home, "team.yaml").write_text(TEAM)
        environ = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": home,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }
        command = [str(programs / "swarm"), "run", "team.yaml", "--backend", "in-process"]
        seen = Seen(command, home, environ)
        seen.play(STEPS)
        rows = tuple(row.replace(home, "~") for row in record_demo.draw_rows(seen.screen))
        seen.play(AFTER)
        while seen.process.poll() is None:
            seen.look(0.1)
        if seen.process.returncode != 0:
            raise SystemExit(f"the run ended with {seen.process.returncode}")
    title = "swarm run: a teammate asks whether it may edit a file, and gets its answer"
    target.write_text(record_demo.render([(0.0, rows)], title), encoding="utf-8")
    print(f"{target}: {target.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
