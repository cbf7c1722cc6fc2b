"""Panes got tmux's old environment: workers failed to log in, or used another store."""

from __future__ import annotations

import os
from pathlib import Path

from swarm.testing.wait import eventually
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

KEY = "sk-ant-this-is-a-secret"


def environ_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


async def test_a_worker_has_its_leaders_environment_and_not_the_servers(isolated_home, tmp_path) -> None:
    """The server was started by somebody else, with another HOME, Python path and key."""
    with private_tmux() as tmux:
        kept = dict(tmux.environ)
        stray = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), "PYTHONHOME": "/nonexistent"}
        tmux.environ.update(stray, ANTHROPIC_API_KEY="sk-the-servers", SWARM_TEAM="other", LANG="de_DE.UTF-8")
        own = tmux.session("lead")
        tmux.environ.clear()
        tmux.environ.update(kept)
        told = {"ANTHROPIC_API_KEY": KEY, "HTTPS_PROXY": f"http://me:{KEY}@proxy", "LC_TIME": "C"}
        async with tmux_bed(tmux, {**tmux.inside(own), **told}) as bed:
            await bed.start("w1", "w2")
            await bed.live.until_file("began")  # w1 has a command running

            seen = environ_of(bed.pid("w2"))
            assert seen["HOME"] == os.environ["HOME"]
            assert seen["CLAUDE_CONFIG_DIR"] == bed.team.root
            assert (seen["SWARM_TEAM"], seen["SWARM_AGENT"]) == (bed.team.name, "w2")
            assert seen["LC_TIME"] == "C"
            assert seen.get("PYTHONPATH") != stray["PYTHONPATH"]
            assert not {"PYTHONHOME", "TMUX", "TMUX_PANE", "ANTHROPIC_API_KEY"} & set(seen)

            for number in bed.marked():  # the workers, and what w1's command started
                assert b"sk-" not in Path(f"/proc/{number}/cmdline").read_bytes()
            assert "sk-" not in str(seen)
            for name in ("w1", "w2"):
                assert KEY not in tmux.run("capture-pane", "-p", "-S", "-", "-t", bed.pane(name))
                assert KEY not in bed.about(name, "#{pane_start_command}")
            assert KEY not in tmux.run("show-environment", "-g")
            assert list(Path(bed.team.layout.spawn_dir).iterdir()) == []


async def test_a_tool_sees_the_leaders_path_and_no_key(isolated_home) -> None:
    with private_tmux() as tmux:
        own = tmux.session("lead")
        path = f"/opt/somewhere/bin:{os.environ['PATH']}"
        async with tmux_bed(tmux, {**tmux.inside(own), "PATH": path, "ANTHROPIC_API_KEY": KEY}) as bed:
            await bed.start("w1")
            await bed.live.until_file("began")
            children = [pid for pid in bed.marked() if pid != bed.pid("w1")]
            await eventually(lambda: bool(children), 5)

            for pid in children:
                seen = environ_of(pid)
                assert seen["PATH"] == path
                assert "ANTHROPIC_API_KEY" not in seen
