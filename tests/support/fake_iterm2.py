"""A stand-in for macOS's `osascript` in front of iTerm2: `fake_iterm2.py FOLDER -e SCRIPT VERB ARGUMENT…`.

Each pane is a process with a pseudo terminal that outlives the call, as iTerm2 does. What it shows is in
`FOLDER/<session>.screen`, and its calls are in `FOLDER/calls`.
"""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import signal
import sys
import uuid
from pathlib import Path


def open_pane(folder: Path, told: str) -> str:
    """Start what was told in a pane of its own and return the id of its session."""
    session = str(uuid.uuid4()).upper()
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        run_pane(folder / session, shlex.split(told))
        os._exit(0)
    while not (folder / f"{session}.pane").exists():
        pass
    return session


def run_pane(path: Path, argv: list[str]) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execv(argv[0], argv)
    path.with_suffix(".pane").write_text(str(os.getpid()))
    with path.with_suffix(".screen").open("ab", buffering=0) as screen, contextlib.suppress(OSError):
        while data := os.read(terminal, 4096):
            screen.write(data)
    os.waitpid(child, 0)


def close_pane(path: Path) -> None:
    """Close it as a terminal does: what runs in it loses its terminal."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(path.read_text()), signal.SIGKILL)
    path.unlink()


def main() -> None:
    folder, (verb, *arguments) = Path(sys.argv[1]), sys.argv[4:]
    with (folder / "calls").open("a") as calls:
        calls.write(shlex.join([verb, *arguments]) + "\n")
    if verb == "open":
        sys.stdout.write(open_pane(folder, arguments[2]) + "\n")
        return
    pane = folder / f"{arguments[0]}.pane"
    if not pane.exists():
        return
    if verb == "read":
        sys.stdout.write(pane.with_suffix(".screen").read_text())
    if verb == "close":
        close_pane(pane)


def install(folder: Path) -> str:
    """Put it as `osascript` into this folder and return a PATH in which it comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "osascript"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {__file__} {folder} "$@"\n')
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


if __name__ == "__main__":
    main()
