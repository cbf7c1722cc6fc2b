"""A tmux of one's own for a test: sockets in a folder of the test, configuration in the test's HOME."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until

needs_tmux = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
SLEEP = ("sleep", "3600")

HARSH_CONF = """
set -g base-index 1
setw -g pane-base-index 1
set -g renumber-windows on
set -g prefix C-Space
set -g default-shell /bin/false
set -g default-command "false"
set -g exit-empty off
set -g remain-on-exit on
set -g destroy-unattached on
set -g automatic-rename on
set -g allow-rename on
set -g status off
"""
"""What people have in their tmux.conf, all at once."""


class PrivateTmux:
    """The tmux servers below one TMUX_TMPDIR; `environ` is for whoever should use them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environ = {**os.environ, "TMUX_TMPDIR": folder}
        self.socket = f"{folder}/tmux-{os.getuid()}/default"

    def sockets(self) -> list[str]:
        return sorted(str(path) for path in Path(self.folder).rglob("*") if path.is_socket())

    def run(self, *arguments: str, socket: str | None = None, check: bool = True) -> str:
        """Run tmux on the default server of the folder, or another in it."""
        Path(self.socket).parent.mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run(
            ["tmux", "-S", socket or self.socket, *arguments],
            env=self.environ,
            check=check,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=15,
        )
        return done.stdout.strip()

    def session(self, name: str, *, columns: int = 80, rows: int = 24) -> str:
        """Make a session with one pane that sleeps; return the pane's id."""
        size = ("-x", str(columns), "-y", str(rows))
        stay = (";", "set-option", "-t", f"={name}:", "destroy-unattached", "off") if name.isalnum() else ()
        made = ("new-session", "-d", *size, "-s", name, "-P", "-F", "#{pane_id}", "--", *SLEEP)
        return self.run(*made, *stay)

    def inside(self, pane: str) -> dict[str, str]:
        """Return the environment of a program that runs in that pane."""
        facts = self.run("display-message", "-p", "-t", pane, "#{socket_path},#{pid},#{session_id}")
        return {**self.environ, "TMUX": facts.replace("$", ""), "TMUX_PANE": pane}

    def panes(self, socket: str | None = None) -> list[str]:
        listed = self.run("list-panes", "-a", "-F", "#{pane_id}", socket=socket, check=False)
        return listed.split()

    def look(self) -> list[str]:
        """Return what a person sees and has in front of him: windows, panes, their sizes, what is active."""
        active = "#{session_name} #{window_id} #{window_active} #{pane_id} #{pane_active}"
        shown = f"{active} #{{pane_width}}x#{{pane_height}}"
        return self.run("list-panes", "-a", "-F", shown, check=False).splitlines()

    def kill_servers(self) -> None:
        for socket in self.sockets():
            self.run("kill-server", socket=socket, check=False)
            self._until_silent(socket)

    def _until_silent(self, socket: str) -> None:
        wait_until(lambda: not self.answers(socket), timeout=5, what="the tmux server has ended")

    def answers(self, socket: str) -> bool:
        """Whether a server listens there."""
        return bool(self.run("display-message", "-p", "#{pid}", socket=socket, check=False))


@contextmanager
def private_tmux(conf: str = "") -> Iterator[PrivateTmux]:
    """A short folder, as the path of a socket may not be long; its servers end with it."""
    Path(os.environ["HOME"], ".tmux.conf").write_text(conf)
    folder = tempfile.mkdtemp(prefix="swtmux-", dir="/tmp")
    tmux = PrivateTmux(folder)
    try:
        yield tmux
    finally:
        tmux.kill_servers()
        shutil.rmtree(folder)


def wrap_tmux(folder: Path, script: str) -> str:
    """Put a `tmux` before the real one, made of `script` in which $REAL is that one; return the PATH."""
    folder.mkdir()
    wrapper = folder / "tmux"
    wrapper.write_text(f"#!/bin/bash\nREAL={shutil.which('tmux')}\nD={folder}\n{script}\n")
    wrapper.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
