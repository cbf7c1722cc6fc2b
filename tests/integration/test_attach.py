"""`swarm attach`: the pane of a teammate, or its log; and what is left of a pane after `stop`."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.integration.team.steps import WAITS_FOR_GO, task
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess
from tests.support.private_tmux import PrivateTmux, needs_tmux, private_tmux

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[task("a", script=WAITS_FOR_GO)],
    )


@pytest.fixture
def shell(isolated_home: Path, team: LiveTeam) -> Iterator[Shell]:
    made = Shell(isolated_home, team.workspace)
    yield made
    for process in made.started:
        process.kill()


@pytest.fixture
def tmux(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateTmux]:
    with private_tmux() as made:
        monkeypatch.setenv("TMUX_TMPDIR", made.folder)
        yield made


class TestInTmux:
    """w1 in a pane of a server of its own."""

    pytestmark = needs_tmux

    @pytest.fixture(autouse=True)
    def _spawned(self, shell: Shell, tmux: PrivateTmux) -> Iterator[None]:
        spawned = shell.swarm("spawn", "w1", "--backend", "tmux")
        assert spawned.code == 0, spawned.err
        yield
        shell.swarm("stop", "w1", "--force")

    def test_without_a_terminal_the_command_is_printed(
        self, team: LiveTeam, shell: Shell, tmux: PrivateTmux
    ) -> None:
        record = team.team.agents.load("w1")
        assert record is not None
        words = shlex.split(shell.swarm("attach").out)

        assert record.handle["pane"] in words
        assert record.handle["socket"] in words
        assert words == shlex.split(shell.swarm("attach", "w1").out)

    def test_on_a_terminal_the_pane_is_there(self, shell: Shell, tmux: PrivateTmux) -> None:
        (socket,) = tmux.sockets()
        master, slave = pty.openpty()
        environ = shell.environ(TERM="xterm")
        line = [sys.executable, "-m", "swarm", "attach", "w1"]
        shown = subprocess.Popen(
            line, cwd=shell.cwd, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        try:
            wait_until(
                lambda: tmux.run("list-clients", socket=socket, check=False), timeout=15, what="it is shown"
            )
            assert shown.poll() is None
            tmux.run("detach-client", "-a", socket=socket, check=False)
            tmux.run("detach-client", "-s", "=swarm-demo", socket=socket)
            assert shown.wait(10) == 0
        finally:
            shown.kill()
            os.close(master)

    def test_stop_closes_the_pane_and_the_empty_server(self, shell: Shell, tmux: PrivateTmux) -> None:
        (socket,) = tmux.sockets()
        assert len(tmux.panes(socket)) == 1

        assert shell.swarm("stop", "w1").out == "w1 has stopped\n"
        wait_until(lambda: not tmux.panes(socket), timeout=10, what="the server is gone")

    def test_restart_leaves_one_pane(self, shell: Shell, tmux: PrivateTmux) -> None:
        (socket,) = tmux.sockets()
        assert shell.swarm("restart", "w1").code == 0
        assert len(tmux.panes(socket)) == 1
        (agent,) = shell.swarm("status", "--json").json()["agents"]
        assert agent["backend"] == "tmux"


def test_one_without_a_pane_shows_its_log(team: LiveTeam, shell: Shell) -> None:
    with OwnProcess(team, "w1"):
        wait_until((team.workspace / "began").exists, timeout=15, what="it works")
        shown = shell.start("attach", "w1")
        (team.workspace / "go").touch()
        wait_until(lambda: team.task("a").finished, timeout=15, what="it is done")
        assert shown.stdout is not None
        lines = iter(shown.stdout.readline, "")
        assert any("== completed" in line for line in lines)
        shown.send_signal(signal.SIGINT)
        _, err = shown.communicate(timeout=10)

    assert shown.returncode == 130
    assert "w1 has no pane" in err
    ended = shell.swarm("attach", "w1")
    assert (ended.code, "== completed" in ended.out) == (0, True)


def test_there_must_be_somebody(team: LiveTeam, shell: Shell) -> None:
    assert shell.swarm("attach").code == 4
    assert shell.swarm("attach", "nobody").code == 3
    refused = shell.swarm("attach", "w1", SWARM_AGENT="w2")
    assert (refused.code, "error" in refused.err) == (5, True)
