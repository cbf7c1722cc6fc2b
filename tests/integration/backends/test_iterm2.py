"""What the iTerm2 backend asks of AppleScript, against a stand-in for `osascript`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from swarm.backends.iterm2 import SCRIPT, ItermTerminal
from swarm.errors import BackendError
from swarm.testing.wait import wait_until
from tests.support import fake_iterm2

ARGV = (
    "/usr/bin/env",
    "-i",
    "SWARM_RUN_ID=r1.w1.1",
    "/bin/sh",
    "-c",
    "echo 'a  b' \"$1\"; exec sleep 300",
    "sh",
    "é; $x",
)
MARK = "SWARM_RUN_ID=r1.w1.1"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "iterm2"


@pytest.fixture
def terminal(folder):
    return ItermTerminal({"PATH": fake_iterm2.install(folder)}, timeout=10)


def calls(folder: Path) -> list[list[str]]:
    return [shlex.split(line) for line in (folder / "calls").read_text().splitlines()]


def test_a_pane_is_opened_read_shown_and_closed(terminal, folder):
    """Arguments arrive as they are, and nothing of them stands in the script."""
    handle, pid = terminal.open("builder-1", ARGV, mark=MARK, cwd="/")

    assert terminal.knows(handle)
    assert not terminal.knows({"pane": "%5"})
    wait_until(lambda: terminal.read(handle, pid)[1], timeout=5, what="it wrote")
    assert terminal.read(handle, pid) == (None, ("a  b é; $x",))
    assert terminal.show(handle) == ("osascript", "-e", SCRIPT, "show", handle["session"])

    terminal.close(handle, pid)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), timeout=5, what="it ended with its pane")
    terminal.close(handle, pid)
    terminal.tidy()
    assert terminal.read(handle, pid) == (None, ())
    assert calls(folder)[0] == ["open", "", "builder-1", shlex.join(ARGV)]


def test_the_next_pane_is_put_beside_the_last(terminal, folder):
    first, first_pid = terminal.open("w1", ARGV, mark=MARK, cwd="/")
    second, pid = terminal.open(
        "w2", [*ARGV[:2], "SWARM_RUN_ID=r1.w2.1", *ARGV[3:]], mark="SWARM_RUN_ID=r1.w2.1", cwd="/"
    )

    assert calls(folder)[1][:3] == ["open", first["session"], "w2"]
    terminal.close(first, first_pid)
    terminal.close(second, pid)


def test_what_iterm2_refuses_is_said(folder):
    folder.mkdir()
    program = folder / "osascript"
    program.write_text("#!/bin/sh\necho 'not authorised to send events' >&2; exit 1\n")
    program.chmod(0o755)
    terminal = ItermTerminal({"PATH": str(folder)}, timeout=10)

    with pytest.raises(BackendError, match="iTerm2 did not open a pane: not authorised to send events"):
        terminal.open("w1", ARGV, mark=MARK, cwd="/")
    program.unlink()
    with pytest.raises(BackendError, match="iTerm2 cannot be asked"):
        terminal.open("w1", ARGV, mark=MARK, cwd="/")


def test_a_pane_in_which_nothing_comes_up_is_closed_again(folder):
    terminal = ItermTerminal({"PATH": fake_iterm2.install(folder)}, timeout=1)

    with pytest.raises(BackendError, match="nothing came up"):
        terminal.open("w1", ("/bin/sleep", "300"), mark="SWARM_RUN_ID=r2.w1.1", cwd="/")

    assert [call[0] for call in calls(folder)] == ["open", "close"]
    assert [name for name in os.listdir(folder) if name.endswith(".pane")] == []
