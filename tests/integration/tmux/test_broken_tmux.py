"""A tmux that fails, or does not answer, when all is done: the work does not suffer by it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Shell
from tests.support.private_tmux import PrivateTmux, needs_tmux, private_tmux, wrap_tmux
from tests.support.tmux_bed import a_shell

pytestmark = [*needs_tmux, pytest.mark.timeout(60)]
GOES = 'exec $REAL "$@"'
BROKEN = "if [ -e $D/broken ]; then HOW; fi\n" + GOES
HOWS = {
    "fails": "echo lost server >&2; exit 1",
    "hangs": "exec sleep 300",
}


class Scene:
    """A run in panes whose one task breaks tmux by a file."""

    def __init__(self, folder: Path, tmux: PrivateTmux, how: str) -> None:
        path = wrap_tmux(folder / "bin", BROKEN.replace("HOW", HOWS[how]))
        self.shell: Shell = a_shell(folder, path=path)
        self.broken = folder / "bin" / "broken"
        self.environ = {"TMUX_TMPDIR": tmux.folder, "SWARM_BACKEND": "tmux"}

    def write(self, command: str) -> str:
        script = [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}]
        return write_team(self.shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    def of_team(self, name: str) -> Path:
        return self.shell.root / "teams" / "t1" / name


@pytest.fixture
def tmux(isolated_home: Path) -> Iterator[PrivateTmux]:
    with private_tmux() as made:
        yield made


@pytest.mark.parametrize("how", HOWS)
def test_a_completed_run_is_completed_though_its_panes_stay(
    tmp_path: Path, tmux: PrivateTmux, how: str
) -> None:
    scene = Scene(tmp_path, tmux, how)
    file = scene.write(f"touch {scene.broken}")

    ended = scene.shell.swarm("run", file, timeout=40.0, SWARM_TIME_SCALE="0.1", **scene.environ)

    assert ended.code == 0, ended.err
    assert "All tasks are completed" in ended.out
    assert "panes may be left" in ended.err
    assert scene.of_team("report.md").exists()
    assert '"run_ended"' in scene.of_team("events.jsonl").read_text(encoding="utf-8")

    scene.broken.unlink()
    assert scene.shell.swarm("stop", "--all", "-t", "t1", timeout=40.0, **scene.environ).code == 0
    assert tmux.sockets() == []


def test_who_does_not_want_to_wait_for_a_tmux_that_hangs_need_not(tmp_path: Path, tmux: PrivateTmux) -> None:
    """The first Ctrl-C ends the run in order; the second cuts short what is only tidying up."""
    scene = Scene(tmp_path, tmux, "hangs")
    process = scene.shell.start("run", scene.write(f"touch {scene.broken}; sleep 600"), **scene.environ)
    wait_until(scene.broken.exists, timeout=20)

    process.send_signal(signal.SIGINT)
    wait_until(scene.of_team("report.md").exists, timeout=20)
    before = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert time.monotonic() - before < 5
    assert process.returncode == 130, err
    assert out.startswith("Interrupted")
    assert status_of(scene.shell, "1")["status"] == "pending"
    scene.broken.unlink()
