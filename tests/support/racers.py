"""Processes that start at the same moment: each says that it is ready, and goes when all are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
_PRELUDE = """
import json, sys
from swarm.core.identity import LEADER
from swarm.core.task import NewTask, Task, TaskResult
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.mail import send
from swarm.storage.team import Team
from tests.support.stores import SETTINGS
settings = SETTINGS.replace(lock_timeout_seconds=15.0)
team = Team(Layout(root=sys.argv[1]).team("demo"), settings, SystemClock())
name = sys.argv[2]
def say(value): print(json.dumps(value), flush=True)
say("ready")
sys.stdin.readline()
"""


class Racer:
    """One process. Its code finds `team`, its own `name`, and `say` for its answer."""

    def __init__(self, root: Path, name: str, code: str) -> None:
        command = [sys.executable, "-c", _PRELUDE + code, str(root), name]
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_ready(self) -> None:
        assert self.heard() == "ready"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def heard(self) -> Any:
        """Return the next answer; waits for it."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"ended with {self.process.wait()}"
        return json.loads(line)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def race(root: Path, names: Iterable[str], code: str) -> list[Any]:
    """Run this code in one process for each name, all at once, and return one answer of each."""
    racers = [Racer(root, name, code) for name in names]
    try:
        for racer in racers:
            racer.wait_ready()
        for racer in racers:
            racer.go()
        return [racer.heard() for racer in racers]
    finally:
        for racer in racers:
            racer.end()
