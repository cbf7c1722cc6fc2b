"""Runs the real `swarm` command as a person would, in an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Parse stdout as the one object that `--json` promises."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A person's shell: a home, a folder, and a PATH that may lack things."""

    home: Path
    cwd: Path
    path: str = os.environ["PATH"]
    started: list[subprocess.Popen[str]] = field(default_factory=list, repr=False)
    """Every process of `start`, for the teardown."""

    @property
    def root(self) -> Path:
        """The folder that holds `teams/` and `tasks/`."""
        return self.home / ".claude"

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a command: nothing of the caller's but what is named here."""
        base = {
            "HOME": str(self.home),
            "PATH": self.path,
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.cwd),
            "PYTHONPATH": str(REPOSITORY),
            "SWARM_BACKEND": "in-process",
            "TMUX_TMPDIR": os.environ["TMUX_TMPDIR"],
        }
        return (
            base | {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")} | more
        )

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """Start `swarm` with these words and return the process."""
        process = subprocess.Popen(
            [sys.executable, "-m", "swarm", *words],
            cwd=self.cwd,
            env=self.environ(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def swarm(self, *words: str, timeout: float = 60.0, **more: str) -> Ended:
        """Run `swarm` with these words to its end."""
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return Ended(process.returncode, out, err)


def processes_of_run(run: str) -> list[int]:
    """Pids of all processes whose environment says that they belong to this run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(v.startswith(b"SWARM_RUN_ID=" + run.encode() + b".") for v in variables):
            found.append(int(folder.name))
    return found
