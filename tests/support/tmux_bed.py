"""A team whose teammates get tmux panes, led from where the test says: inside some tmux, or outside."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from swarm.backends.tmux_socket import own_socket
from swarm.core.agent import AgentRecord
from swarm.testing.wait import wait_until
from tests.support.backends import Bed
from tests.support.command import Shell
from tests.support.private_tmux import PrivateTmux

SLOW = pytest.mark.timeout(90)


class TmuxBed(Bed):
    """The same for tmux alone, with what a test asks about panes."""

    def __init__(self, tmux: PrivateTmux) -> None:
        super().__init__("tmux", Path(os.environ["HOME"]))
        self.tmux = tmux

    @property
    def own_socket(self) -> str:
        return own_socket(self.team.name, self.team.root, os.environ)

    def pane(self, name: str) -> str:
        return str(self.record(name).handle["pane"])

    def socket(self, name: str) -> str:
        return str(self.record(name).handle["socket"])

    def about(self, name: str, facts: str) -> str:
        """Return what tmux says of the pane of a teammate."""
        return self.tmux.run("display-message", "-p", "-t", self.pane(name), facts, socket=self.socket(name))

    def check(self, *names: str) -> None:
        """Hold these to be alive, each as the very program of its pane."""
        assert self.backend.list_alive() == names
        for name in names:
            assert self.about(name, "#{pane_pid} #{@swarm_agent}") == f"{self.pid(name)} {name}"


@asynccontextmanager
async def tmux_bed(tmux: PrivateTmux, environ: Mapping[str, str] | None = None) -> AsyncIterator[TmuxBed]:
    """A team led by a process with this environment; by default outside of tmux."""
    told = tmux.environ if environ is None else environ
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMUX", "TMUX_PANE"):
            patch.delenv(name, raising=False)
        for name, value in told.items():
            patch.setenv(name, value)
        bed = TmuxBed(tmux)
        try:
            yield bed
        finally:
            await bed.end()


@contextmanager
def attached(tmux: PrivateTmux, session: str) -> Iterator[None]:
    """A person looks at this session, in a terminal of 80 columns."""
    leader, follower = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-S", tmux.socket, "attach-session", "-t", f"={session}"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**tmux.environ, "TERM": "screen"},
        start_new_session=True,
    )
    os.close(follower)
    try:
        wait_until(lambda: tmux.run("list-clients", "-F", "x"), timeout=10, what="the client is attached")
        yield
    finally:
        client.terminate()
        client.wait()
        os.close(leader)


def agents(shell: Shell, team: str = "t1") -> dict[str, AgentRecord]:
    """Return the records of a team's teammates, the leader's left out."""
    from swarm.settings import Settings
    from swarm.storage.clock import SystemClock
    from swarm.storage.team import open_team

    store = open_team(str(shell.root), team, Settings(), SystemClock()).agents
    names = (path.stem for path in (shell.root / "teams" / team / "agents").glob("*.json"))
    found = {name: store.load(name) for name in names if name != "team-lead"}
    return {name: record for name, record in found.items() if record is not None}


def a_shell(folder: Path, **path: Any) -> Shell:
    """Return a shell in an empty folder with an empty home."""
    home, cwd = folder / "home", folder / "cwd"
    home.mkdir()
    cwd.mkdir()
    return Shell(home, cwd, **path)


def real_tmux() -> str:
    found = shutil.which("tmux")
    assert found is not None
    return found
