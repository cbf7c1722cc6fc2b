"""Asking for sessions while no tmux server runs raised an error instead of giving an empty list."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import yaml

from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


async def test_a_start_begins_a_server_where_none_runs_or_only_its_socket_is_left(isolated_home) -> None:
    with private_tmux() as tmux:
        async with tmux_bed(tmux) as bed:
            await bed.backend.cleanup()
            assert bed.backend.list_alive() == ()
            await bed.start("w2")
            server = int(tmux.run("display-message", "-p", "#{pid}", socket=bed.own_socket))
            os.kill(server, signal.SIGKILL)
            wait_until(lambda: not bed.backend.is_alive("w2"), timeout=15, what="w2 has heard of it")
            assert Path(bed.own_socket).exists()

            await bed.backend.cleanup()
            await bed.start("w3")

            bed.check("w3")


def test_a_server_that_is_killed_in_mid_run_is_an_end_and_no_crash(tmp_path: Path) -> None:
    """Its workers hear it as the order to stop. What they had in hand is free, and every verb answers."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    sleeps = [{"calls": [{"Bash": {"command": "touch began; sleep 600"}}]}, {"say": "Done."}]
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}, {"name": "w2"}],
        "tasks": [{"key": "a", "subject": "Take long", "script": sleeps}],
    }
    (cwd / "team.yaml").write_text(yaml.safe_dump(team))
    with private_tmux() as tmux:
        shell = Shell(home, cwd)
        words = ("run", "team.yaml", "--backend", "tmux", "--json")
        going = shell.start(*words, TMUX_TMPDIR=tmux.folder, SWARM_TIME_SCALE="0.2")
        wait_until(lambda: (cwd / "began").exists() or going.poll() is not None, timeout=30)
        (socket,) = tmux.sockets()
        tmux.run("kill-server", socket=socket)
        out, err = going.communicate(timeout=60)

        assert going.returncode == 6, err
        assert "Traceback" not in err
        assert json.loads(out)["tasks"][0]["status"] == "pending"
        assert tmux.sockets() == []
        for verb in (
            ("status",),
            ("task", "list"),
            ("send", "w1", "hello"),
            ("stop", "--all"),
            ("team", "delete", "t1"),
        ):
            ended = shell.swarm(*verb, TMUX_TMPDIR=tmux.folder)
            assert ended.code == 0, ended.err
