"""What is left of a team on a terminal when leader or teammate was killed; and which verbs take it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.integration.team.steps import WAITS_FOR_GO, task
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.private_tmux import PrivateTmux, needs_tmux, private_tmux

pytestmark = [*needs_tmux, pytest.mark.timeout(90)]


class Scene:
    """A team whose teammates are started by hand, in panes of the team's own server unless said otherwise."""

    def __init__(self, home: Path, tmux: PrivateTmux) -> None:
        self.live = LiveTeam(
            home,
            permissions={"mode": "bypassPermissions"},
            teammates=[{"name": "w1"}, {"name": "w2"}],
            tasks=[task("a", script=WAITS_FOR_GO)],
        )
        self.shell = Shell(home, self.live.workspace)
        self.tmux = tmux
        self.environ = {"TMUX_TMPDIR": tmux.folder}

    def swarm(self, *words: str, code: int = 0) -> str:
        ended = self.shell.swarm(*words, timeout=60.0, **self.environ)
        assert ended.code == code, ended.err
        return ended.out

    def spawn(self, *names: str, backend: str = "tmux") -> None:
        for name in names:
            self.swarm("spawn", name, "--backend", backend, "--permission-mode", "bypassPermissions")

    def record(self, name: str = "w1") -> AgentRecord:
        found = self.live.team.agents.load(name)
        assert found is not None
        return found

    def kill(self, *names: str) -> None:
        """Kill these and wait until tmux shows their panes as dead."""
        for name in names:
            handle, pid = self.record(name).handle, self.record(name).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: start_ticks(pid) is None, timeout=5, what="it is gone")  # type: ignore[misc]
            assert handle["pane"] in self.tmux.panes(handle["socket"])

    def sockets(self) -> list[str]:
        """Return what lies about of the team's own servers, their locks too."""
        own = Path(self.tmux.folder).rglob("swarm-*")
        return sorted(path.name for path in own)


@pytest.fixture
def scene(isolated_home: Path) -> Iterator[Scene]:
    with private_tmux() as tmux:
        made = Scene(isolated_home, tmux)
        yield made
        made.shell.swarm("stop", "--all", "--force", timeout=60.0, **made.environ)


@pytest.mark.parametrize(
    "words",
    [
        ("stop", "--all"),
        ("team", "delete", "demo", "--force"),
        ("team", "archive", "demo", "--force"),
        ("doctor", "--fix"),
    ],
    ids=["stop", "delete", "archive", "doctor"],
)
def test_the_panes_of_the_dead_go_with_server_and_socket(scene: Scene, words: tuple[str, ...]) -> None:
    """Also from a shell that has another TMUX_TMPDIR than the one in which they were started."""
    scene.spawn("w1", "w2")
    assert len(scene.sockets()) == 1
    scene.kill("w1", "w2")
    if "doctor" not in words:
        scene.environ = {"TMUX_TMPDIR": str(scene.live.workspace)}
    scene.swarm(*words)

    assert scene.sockets() == []
    assert scene.tmux.sockets() == []


def test_a_socket_without_a_server_goes(scene: Scene) -> None:
    """Workers of a leader that was killed end by themselves; then nobody is there to remove it."""
    scene.spawn("w1")
    (path,) = scene.tmux.sockets()
    scene.swarm("stop", "w1")
    assert scene.sockets() == []
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(path)
    scene.swarm("stop", "--all")

    assert scene.sockets() == []


def test_stop_of_one_leaves_the_failed_pane_of_another_to_be_read(scene: Scene) -> None:
    scene.spawn("w1", "w2")
    scene.kill("w1", "w2")
    kept = scene.record("w2").handle
    scene.swarm("stop", "w1")

    assert scene.tmux.panes(kept["socket"]) == [kept["pane"]]


@pytest.mark.parametrize("verb", ["spawn", "restart"])
def test_who_starts_again_elsewhere_leaves_no_pane(scene: Scene, verb: str) -> None:
    scene.spawn("w1")
    scene.kill("w1")
    scene.swarm(verb, "w1", "--backend", "process")

    assert scene.record().backend == "process"
    assert scene.sockets() == []


def test_a_pane_that_no_record_names_any_more_goes_too(scene: Scene) -> None:
    """The spawner was killed between the new record and the end of the old pane."""
    scene.spawn("w1", "w2")
    scene.kill("w1")
    alive = scene.record("w2").handle
    scene.live.team.agents.save(scene.record().replace(backend="process", handle={}, pid=None))
    scene.swarm("stop", "w1")

    assert scene.tmux.panes(alive["socket"]) == [alive["pane"]]


def test_foreign_panes_stay(scene: Scene) -> None:
    """A dead pane that a person has opened beside ours, or that only has a name of ours, is not ours."""
    mine = scene.tmux.session("mine")
    scene.environ = {name: scene.tmux.inside(mine)[name] for name in ("TMUX", "TMUX_PANE", "TMUX_TMPDIR")}
    scene.spawn("w1", "w2")
    beside = ("split-window", "-t", scene.record().handle["pane"], "-P", "-F", "#{pane_id}", "--", "false")
    theirs = scene.tmux.run(*beside)
    scene.tmux.run("set-option", "-p", "-t", theirs, "@swarm_agent", "w1")
    scene.kill("w1", "w2")
    scene.swarm("stop", "--all")

    assert scene.tmux.panes() == [mine, theirs]
    assert Path(scene.tmux.socket).exists()


def runs(scene: Scene, *words: str) -> Any:
    """Start a run of w1 and w2 that does not end by itself, and wait until it works."""
    leader = scene.shell.start(
        "run", "../team.yaml", "--name", "led", "--allow-dirty", *words, **scene.environ
    )
    wait_until((scene.live.workspace / "began").exists, timeout=30, what="it works")
    return leader


def led(scene: Scene) -> dict[str, AgentRecord]:
    from tests.support.tmux_bed import agents

    return agents(scene.shell, "led")


def test_resume_by_another_backend_leaves_no_pane(scene: Scene) -> None:
    leader = runs(scene, "--backend", "tmux")
    leader.kill()
    leader.communicate()
    for record in led(scene).values():
        assert record.pid is not None
        os.kill(record.pid, signal.SIGKILL)
    assert len(scene.sockets()) == 1
    (scene.live.workspace / "go").touch()
    scene.swarm("resume", "led", "--backend", "process")

    assert {record.backend for record in led(scene).values()} == {"process"}
    assert scene.sockets() == []


@pytest.mark.parametrize("asked", [True, False], ids=["orderly", "killed"])
@pytest.mark.parametrize("backend", ["process", "in-process"])
def test_who_was_started_beside_a_run_in_a_pane_ends_with_it(scene: Scene, backend: str, asked: bool) -> None:
    """The run's own backend knows nothing of panes."""
    leader = runs(scene, "--backend", backend)
    scene.swarm("spawn", "extra", "-t", "led", "--backend", "tmux")
    extra = led(scene)["extra"]
    assert extra.pid is not None
    if not asked:
        os.kill(extra.pid, signal.SIGKILL)
    (scene.live.workspace / "go").touch()
    _, said = leader.communicate(timeout=60)
    assert leader.returncode == 0, said

    assert start_ticks(extra.pid) is None
    assert led(scene)["extra"].state == "stopped"
    assert scene.sockets() == []
