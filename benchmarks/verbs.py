"""One-shot verbs of the command line, against a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measuring import FULL, Effort, Row, interleaved

_ROUNDS = 21
_VERBS = {
    "swarm task list": ("task", "list"),
    "swarm task show": ("task", "show", "2"),
    "swarm task claim": ("task", "claim", "1", "--as", "w1"),
    "swarm status": ("status",),
    "swarm mail": ("mail", "team-lead"),
    "swarm send": ("send", "team-lead", "hello"),
}


def rows(effort: Effort = FULL) -> list[Row]:
    """Wall time of the verbs on a team of three tasks."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        _make_team(environ, folder)
        command = str(Path(sys.executable).with_name("swarm"))
        things = {name: partial(_run, [command, *words], environ) for name, words in _VERBS.items()}
        things["nothing"] = partial(_run, [sys.executable, "-c", "pass"], environ)
        rounds = _ROUNDS if effort is FULL else effort.rounds
        release = [sys.executable, "-m", "swarm", "task", "release", "1", "--as", "w1"]
        taken = interleaved(rounds, things, after={"swarm task claim": partial(_run, release, environ)})
    return [Row(name, taken[name], "python -c pass", taken["nothing"]) for name in _VERBS]


def _make_team(environ: dict[str, str], folder: str) -> None:
    _run([sys.executable, "-m", "swarm", "team", "create", "bench", "--workspace", folder], environ)
    for number in range(3):
        _run([sys.executable, "-m", "swarm", "task", "add", f"Task {number}"], environ)


def _run(command: list[str], environ: dict[str, str]) -> None:
    subprocess.run(command, env=environ, check=True, stdin=subprocess.DEVNULL, capture_output=True)
