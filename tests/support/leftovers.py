"""Processes that tests have left behind, known by their environment: a folder of tests, a mark of ours."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until

_FOLDERS = ("HOME", "CLAUDE_CONFIG_DIR")


def processes_below(folder: Path) -> dict[int, str]:
    """Return command and folders of each live process of a test whose home is this folder, or below it."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        environ = environ_of(int(entry.name))
        places = {
            name: environ[name] for name in _FOLDERS if f"{environ.get(name)}/".startswith(f"{folder}/")
        }
        if places and any(name.startswith("SWARM_") for name in environ):
            found[int(entry.name)] = f"{_command(entry.path)} {places}"
    return {pid: told for pid, told in found.items() if start_ticks(pid) is not None}


def environ_of(pid: int) -> Mapping[str, str]:
    """Return the environment that a process was started with; empty when it is gone or somebody else's."""
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def end_all_below(folder: Path) -> dict[int, str]:
    """Give what is ending a moment, then kill what is left of such processes, and return it."""
    with suppress(TimeoutError):
        wait_until(lambda: not processes_below(folder), timeout=2)
    left = processes_below(folder)
    _kill(left)
    return left


def end_life(run_id: str) -> None:
    """Kill everything that carries the mark of this life of an agent."""
    wait_until(lambda: not _kill(_marked(run_id)), what=f"nothing of {run_id} is left")


def _marked(run_id: str) -> list[int]:
    pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    marked = [pid for pid in pids if environ_of(pid).get("SWARM_RUN_ID") == run_id]
    return [pid for pid in marked if start_ticks(pid) is not None]


def _kill(pids: Iterable[int]) -> bool:
    """Kill these and tell whether there were any."""
    there = list(pids)
    for pid in there:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(there)


def _command(folder: str) -> str:
    try:
        return Path(folder, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return ""
