"""A living team under any backend, driven as a person drives it: by commands alone.

Teammates in processes of their own are begun by `swarm spawn`, and nobody leads them; those inside the
leader's process live in a real `swarm run`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.storage.processes import liveness, start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Ended, Shell
from tests.support.leftovers import end_all_below, processes_below
from tests.support.live_team import LiveTeam
from tests.support.private_tmux import PrivateTmux, needs_tmux, private_tmux
from tests.support.verbs import verb

IN_PROCESS = "in-process"
TMUX = pytest.param("tmux", marks=needs_tmux)
OWN_PROCESS = ("process", TMUX)
"""Backends in which a teammate has a process of its own, which can die alone."""
BACKENDS = (*OWN_PROCESS, IN_PROCESS)
KEEPER = "keeper"
"""A teammate of a run that is at work until the end, so that the run goes on when all others are idle."""
_KEEPS = "while [ ! -e over ]; do sleep 0.05; done"
_READY = {"idle", "working", "waiting", "paused"}


def long_task(key: str, command: str, **facts: Any) -> dict[str, Any]:
    """A task that is this command."""
    return quick_task(key, {"calls": [{"Bash": {"command": command, "timeout": 600_000}}]}, **facts)


def quick_task(key: str, *turns: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"key": key, "subject": f"Task {key}", "script": [*turns, {"say": "Done."}], **facts}


class Crew(LiveTeam):
    """The team, and what a person at its command line can do."""

    def __init__(
        self,
        backend: str,
        home: Path,
        names: Sequence[str],
        tasks: Sequence[Mapping[str, Any]],
        tmux: PrivateTmux,
        *,
        led: bool,
        inside: bool,
        scale: float | None,
    ) -> None:
        keep = [long_task(KEEPER, _KEEPS, owner=KEEPER)] if led else []  # the first that it may take
        members = (*names, KEEPER) if led else names
        super().__init__(
            home,
            permissions={"mode": "bypassPermissions"},
            teammates=[{"name": name} for name in members],
            tasks=[*keep, *tasks],
        )
        self.home = home
        self.backend = backend
        self.names = tuple(names)
        self.led = led
        self.tmux = tmux
        self.own_pane = tmux.session("lead") if inside else None
        self.shell = Shell(home, self.workspace)
        self.variables = {
            "SWARM_TIME_SCALE": os.environ["SWARM_TIME_SCALE"] if scale is None else str(scale),
            "TMUX_TMPDIR": tmux.folder,
        }
        if self.own_pane is not None:
            told = tmux.inside(self.own_pane)
            self.variables |= {name: told[name] for name in ("TMUX", "TMUX_PANE")}
        self.leader: subprocess.Popen[str] | None = None
        self._before = processes_below(home)

    # What a person does

    def swarm(self, *words: str, timeout: float = 60.0) -> Ended:
        return self.shell.swarm(*words, timeout=timeout, **self.variables)

    def verb(self, *words: str) -> Ended:
        """The same within this process: a start of Python costs more than most verbs."""
        return verb(Path(self.root), *words, **self.variables)

    def bring_up(self, *names: str) -> None:
        """Start these teammates, or all, and wait until each is ready; a run starts all of them at once."""
        if self.led:
            self.lead()
            return
        self.spawn(self.backend, *(names or self.names))

    def spawn(self, backend: str, *names: str) -> None:
        """Start these by hand, at the same time."""
        words = ("--backend", backend, "--permission-mode", "bypassPermissions", "--model", "scripted")
        starts = [self.shell.start("spawn", name, *words, **self.variables) for name in names]
        for start in starts:
            _, err = start.communicate(timeout=60)
            assert start.returncode == 0, err

    def lead(self) -> None:
        """Lead the team, for the first time or again, and wait until its teammates are ready."""
        words = ("run", str(self.home / "team.yaml"), "--resume", "--backend", self.backend, "--json")
        self.leader = self.shell.start(*words, **self.variables)
        wait_until(self._all_ready, timeout=30, what="all are ready")

    def _all_ready(self) -> bool:
        assert self.leader is not None
        assert self.leader.poll() is None, self.leader.communicate()
        records = [self.team.agents.load(name) for name in (LEADER, *self.names, KEEPER)]
        return all(one is not None and one.state in _READY and liveness(one) == "alive" for one in records)

    def agents(self) -> dict[str, dict[str, Any]]:
        """Return what `status` says of the teammates."""
        shown = self.verb("status", "--json").json()["agents"]
        return {agent["name"]: agent for agent in shown if agent["name"] != KEEPER}

    def states(self) -> dict[str, str]:
        return {name: agent["state"] for name, agent in self.agents().items()}

    def kill_now(self, *names: str) -> None:
        """End these as `kill -9` does; where they live in the leader's process it is all of them."""
        pids = {self.pid(name) for name in names}
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        if self.leader is not None and self.leader.pid in pids:
            self.leader.communicate()
        wait_until(lambda: not any(map(start_ticks, pids)), timeout=10, what="they are gone")

    def end_run(self, how: signal.Signals = signal.SIGINT) -> dict[str, Any]:
        """End the run by a signal and return its result."""
        assert self.leader is not None
        self.leader.send_signal(how)
        out, err = self.leader.communicate(timeout=30)
        assert self.leader.returncode == 130, err
        result: dict[str, Any] = json.loads(out)
        return result

    # What is there

    def record(self, name: str) -> AgentRecord:
        record = self.team.agents.load(name)
        assert record is not None
        return record

    def pid(self, name: str) -> int:
        pid = self.record(name).pid
        assert pid is not None
        return pid

    def until_state(self, state: str, *names: str, timeout: float = 15.0) -> None:
        """Wait until the records of these, or of all, say so."""
        for name in names or self.names:
            self._until(name, state, timeout)

    def _until(self, name: str, state: str, timeout: float) -> None:
        wait_until(lambda: self.record(name).state == state, timeout, what=f"{name} is {state}")

    def until_task(self, *keys: str, timeout: float = 30.0) -> None:
        """Wait until these tasks are finished, however."""
        wait_until(lambda: all(self.task(key).finished for key in keys), timeout, what=f"{keys} are finished")

    def until_run_ends(self) -> None:
        """Wait until the run is over, if there is one."""
        if self.leader is not None:
            self.leader.communicate(timeout=30)

    def until_there(self, *files: str, timeout: float = 30.0) -> None:
        """Wait until commands have made these files in the workspace."""
        for file in files:
            wait_until((self.workspace / file).exists, timeout=timeout, what=file)

    def number_in(self, file: str) -> int:
        """Return the number that a command has written to this file in the workspace."""
        text = wait_until(lambda: _line(self.workspace / file), timeout=30, what=file)
        return int(text)

    # Its end

    def end(self) -> None:
        """End whatever there still is, as a person would."""
        if self.leader is not None and self.leader.poll() is None:
            self.end_run()
        if Path(self.team.layout.team_dir).exists():
            ended = self.verb("stop", "--all", "--force")
            assert ended.code == 0, ended.err

    def check_nothing_is_left(self) -> None:
        """Hold it to have left no process, no pane or server, no socket, and no file that comes and goes."""
        servers = [] if self.own_pane is None else [self.tmux.socket]
        wait_until(lambda: self.tmux.sockets() == servers, timeout=10, what=f"sockets {servers}")
        if self.own_pane is not None:
            assert self.tmux.panes() == [self.own_pane]
        wait_until(lambda: not self.running(), timeout=10, what="nothing runs")
        if Path(self.team.layout.team_dir).exists() and self.were_killed():
            self.verb("doctor", "--fix")  # who is killed in the middle of a write leaves a draft for this
        assert self.passing_files() == []

    def running(self) -> dict[int, str]:
        """Return all that runs and belongs to this home, but for what was there before."""
        found = processes_below(self.home)
        return {pid: told for pid, told in found.items() if pid not in self._before}

    def were_killed(self) -> bool:
        """Whether any teammate ended otherwise than by itself."""
        ends = self.events("agent_died", "agent_stopped")
        return any(one.event == "agent_died" or one.data.get("reason") == "killed" for one in ends)

    def passing_files(self) -> list[str]:
        return [str(path) for path in Path(self.root).rglob("*") if _passes(path)]


def _passes(path: Path) -> bool:
    return path.is_file() and (path.parent.name == ".spawn" or path.suffix in {".tmp", ".new"})


def _line(path: Path) -> str:
    """Return the first line of a file once it is whole."""
    text = path.read_text() if path.exists() else ""
    return text.partition("\n")[0] if "\n" in text else ""


@contextmanager
def crew(
    backend: str,
    home: Path,
    *names: str,
    tasks: Sequence[Mapping[str, Any]] = (),
    led: bool = False,
    inside: bool = False,
    scale: float | None = None,
) -> Iterator[Crew]:
    """A team of these, nobody begun yet; when the block ends all of it has ended and nothing is left.

    `led`: in a run, as those in the leader's process always are. `inside`: commands are given in a pane.
    """
    with private_tmux() as tmux:
        led = led or backend == IN_PROCESS
        made = Crew(backend, home, names, tasks, tmux, led=led, inside=inside, scale=scale)
        try:
            yield made
            made.end()
            made.check_nothing_is_left()
        finally:
            for process in made.shell.started:
                process.kill()
                process.communicate()
            end_all_below(home)
