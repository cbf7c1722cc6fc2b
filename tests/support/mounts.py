"""Folders that are a network mount for some processes, and a local folder for all others."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Self

from tests.support.command import REPOSITORY, Ended, Shell
from tests.support.fuse_server import FORWARDED

_SERVER = "tests.support.fuse_server"
_NAMESPACE = ["unshare", "-Urm"]


@cache
def cannot_mount() -> str:
    """Return why no such mount can be made here; empty when it can."""
    if not Path("/dev/fuse").exists():
        return "needs /dev/fuse"
    tried = subprocess.run([*_NAMESPACE, "true"], capture_output=True, text=True, check=False)
    return "needs user namespaces" if tried.returncode else ""


class Mount:
    """One folder, mounted for the processes that are started by it. A context manager.

    `locks`: `FORWARDED` to the folder, so that both sides exclude each other; `LOCAL` to the mount; or the
    name of the error that every lock gets. `attributes_kept`: for how long sizes and times are believed.
    """

    def __init__(self, folder: Path, locks: str = FORWARDED, attributes_kept: float = 0.0) -> None:
        self.folder = folder
        command = [*_NAMESPACE, sys.executable, "-m", _SERVER, str(folder), locks, str(attributes_kept)]
        self._server = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        assert self._server.stdout is not None
        if self._server.stdout.readline() != "mounted\n":
            raise AssertionError(f"not mounted: {self._server.communicate()}")
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.kill()
        self._server.communicate()

    @property
    def before(self) -> list[str]:
        """What stands before a command that is to work on the mount, in the folder where it is started."""
        enter = f"nsenter --preserve-credentials -U -m -t {self._server.pid}"
        there = """sh -c 'cd "$0" && exec "$@"' "$PWD" "$0" "$@\""""
        return ["sh", "-c", f"exec {enter} {there}"]

    def start(self, shell: Shell, *words: str, **more: str) -> subprocess.Popen[str]:
        """Start `swarm` on the mount."""
        return subprocess.Popen(
            [*self.before, sys.executable, "-m", "swarm", *words],
            cwd=shell.cwd,
            env=shell.environ(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def swarm(self, shell: Shell, *words: str, **more: str) -> Ended:
        """Run `swarm` on the mount to its end."""
        process = self.start(shell, *words, **more)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return Ended(process.returncode, out, err)
