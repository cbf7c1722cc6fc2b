"""A run that is ended while it is being made: all of it or nothing, whatever ends it and wherever."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from swarm.leader.launch import prepare
from swarm.leader.options import RunOptions
from swarm.leader.signals import interrupting
from swarm.settings import Settings
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import list_teams
from swarm.teamfile.reader import load_team_file
from tests.support.faults import Point, Recorder

TEAM = """
name: t1
workspace: .
model: scripted
teammates: [{name: w1}]
tasks:
  - {key: a, subject: A, script: [{say: ok}]}
  - {key: b, subject: B, blocked_by: [a], script: [{say: ok}]}
"""
SETTINGS = Settings(durability="none").scaled(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_team_is_made_leaves_none(tmp_path: Path, number: signal.Signals) -> None:
    """At every system call; the second signal, which an impatient person sends, does not cut the undoing."""
    recorder = Recorder()
    with fault_hook(recorder):
        make(tmp_path, "whole")
    assert len(list_teams(str(tmp_path / "whole"))) == 1
    handlers = signal.getsignal(number)

    for point in recorder.changing_points():
        root = f"R{point.number}.{point.keep}"
        with pytest.raises(KeyboardInterrupt), interrupting(), fault_hook(SendFrom(point, number)):
            make(tmp_path, root)
        assert list_teams(str(tmp_path / root)) == (), point
        make(tmp_path, root)  # the name is free
    assert signal.getsignal(number) == handlers


def test_an_ignored_hang_up_stays_ignored() -> None:
    """`nohup` means it from the first moment on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupting():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def make(folder: Path, root: str) -> None:
    file = folder / "team.yaml"
    file.write_text(TEAM, encoding="utf-8")
    prepare(load_team_file(str(file)), RunOptions(root=str(folder / root), environ={}), SETTINGS).close()


class SendFrom:
    """Sends this process a signal at one system call, and another one at the third that follows."""

    def __init__(self, point: Point, number: signal.Signals) -> None:
        self._at = (point.number, point.number + 3)
        self._number = number
        self._seen = -1

    def __call__(self, call: str, path: str, size: int) -> int | None:
        self._seen += 1
        if self._seen in self._at:
            signal.raise_signal(self._number)
        return None
