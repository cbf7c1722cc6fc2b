"""What the tmux backend does beside the contract: it says where its panes are, and shows one."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from swarm.backends.tmux import where_panes_come
from swarm.testing.wait import wait_until
from tests.support.private_tmux import needs_tmux
from tests.support.tmux_bed import SLOW, attached, tmux_bed

pytestmark = [*needs_tmux, SLOW]


async def test_show_attaches_a_person_outside_to_the_very_pane(tmux) -> None:
    async with tmux_bed(tmux) as bed:
        await bed.start("w2", "w3", "w4")
        argv = bed.backend.show("w3")
        assert argv is not None
        leader, follower = pty.openpty()
        client = subprocess.Popen(
            argv,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**tmux.environ, "TERM": "screen", "TMUX": "/elsewhere,1,0"},
            start_new_session=True,
        )
        os.close(follower)
        wait_until(lambda: bed.about("w3", "#{session_attached}") == "1", timeout=10, what="it is attached")

        assert bed.about("w3", "#{pane_active}#{window_active}") == "11"
        assert bed.about("w4", "#{pane_active}") == "0"
        client.terminate()
        client.wait()
        os.close(leader)
        assert bed.backend.show("nobody") is None


async def test_show_switches_a_person_who_is_inside(tmux) -> None:
    own = tmux.session("lead")
    tmux.session("other")
    async with tmux_bed(tmux, tmux.inside(own)) as bed:
        await bed.start("w2", "w3")
        with attached(tmux, "lead"):
            argv = bed.backend.show("w2")
            assert argv is not None
            subprocess.run(argv, env=dict(os.environ), check=True, stdin=subprocess.DEVNULL)

            assert bed.about("w2", "#{pane_active}#{window_active}") == "11"
            assert tmux.run("list-clients", "-F", "#{session_name}") == "lead"


@pytest.mark.parametrize("inside", [True, False])
async def test_it_is_said_where_the_panes_come(tmux, inside: bool) -> None:
    told = tmux.inside(tmux.session("lead"))
    async with tmux_bed(tmux) as bed:
        where = where_panes_come(bed.team, told if inside else tmux.environ)

        window = "The panes are in the window swarm:demo of this tmux session"
        outside = f"The panes are on a server of their own: tmux -S {bed.own_socket} attach"
        assert where == (window if inside else outside)
        stale = where_panes_come(bed.team, {**told, "TMUX_PANE": "%99"})
        assert stale == f"TMUX names no pane that is there; {outside}"


async def test_a_passing_error_of_tmux_does_not_hide_that_a_name_runs(tmux) -> None:
    """Whether somebody lives is never asked of tmux: with its server stopped the answer is the same."""
    async with tmux_bed(tmux) as bed:
        await bed.start("w2")
        server = int(tmux.run("display-message", "-p", "#{pid}", socket=bed.own_socket))
        os.kill(server, 19)
        try:
            assert bed.backend.list_alive() == ("w2",)
            assert bed.another_backend().adopt(bed.record("w2"))
        finally:
            os.kill(server, 18)
