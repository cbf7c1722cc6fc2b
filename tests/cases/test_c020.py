"""A failure inside was swallowed, and who waited for the work waited for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import Ended, Shell, processes_of_run
from tests.support.crew import BACKENDS, OWN_PROCESS, crew, quick_task
from tests.support.live_team import LiveTeam
from tests.support.models import FakeModel, OneModel
from tests.support.private_tmux import private_tmux
from worker.model.failures import BAD_REQUEST, NO_ACCESS, failure
from worker.model.port import ModelEvent, ModelRequest
from worker.presence import Presence
from worker.teammate import Teammate
from worker.tools.contract import ToolOutput
from worker.tools.glob import Glob
from worker.workbench import Workbench

pytestmark = pytest.mark.timeout(90)

TASKS: list[dict[str, Any]] = [
    {"key": "a", "subject": "First", "script": [{"say": "Done."}], "owner": "w1"},
    {
        "key": "b",
        "subject": "Second",
        "script": [{"calls": [{"Glob": {"pattern": "*"}}]}, {"say": "Done."}],
        "owner": "w2",
    },
    {"key": "c", "subject": "Third", "script": [{"say": "Done."}], "owner": "w1"},
]


class Refused(FakeModel):
    """A service that never lets us in, or that never takes this conversation."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        raise failure(self._kind, "this is not valid")
        yield


def with_no_way_in(bench: Workbench) -> Workbench:
    return bench.replace(models=OneModel(Refused(NO_ACCESS)))


def with_a_refusal(bench: Workbench) -> Workbench:
    return bench.replace(models=OneModel(Refused(BAD_REQUEST)))


def with_a_broken_tool(bench: Workbench) -> Workbench:
    class Broken(Glob):
        async def run(self, *_: Any) -> ToolOutput:
            raise RuntimeError("a fault in the tool")

    tools = tuple(Broken(bench.team.settings) if tool.name == "Glob" else tool for tool in bench.tools)
    return bench.replace(tools=tools)


def with_a_fault_in_between(bench: Workbench) -> Workbench:
    class Broken(OneModel):
        def model_for(self, *_: Any) -> Any:
            raise RuntimeError("a fault of the worker")

    return bench.replace(models=Broken(FakeModel()))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (with_a_refusal, "this is not valid"),
        (with_a_broken_tool, "a fault in the tool"),
        (with_a_fault_in_between, "a fault of the worker"),
    ],
    ids=["request is refused", "tool raises", "worker raises"],
)
async def test_who_waits_is_told_which_task_failed(isolated_home: Path, broken: Any, told: str) -> None:
    """The wait ends by itself, long before its limit; the tasks of others are completed."""
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}, {"name": "w2"}], tasks=TASKS)
    shell = Shell(isolated_home, team.workspace)
    started = time.monotonic()
    waiting = asyncio.create_task(
        asyncio.to_thread(shell.swarm, "task", "wait", "--timeout", "60", SWARM_TIME_SCALE="0.2")
    )
    stop = asyncio.Event()
    body = Teammate(broken(team.bench("w2")), Presence(team.team, team.spec("w2")), stop, asyncio.Event())
    team.start("w1")
    ailing = asyncio.create_task(body.run())
    try:
        ended: Ended = await waiting
    finally:
        stop.set()
        await asyncio.gather(ailing, team.stop())

    assert time.monotonic() - started < 30
    assert ended.code == 6, ended.err
    failed = [line for line in ended.out.splitlines() if "failed" in line]
    assert len(failed) == 1
    assert failed[0].startswith("2 ")
    assert told in failed[0]
    assert [task.status for task in team.tasks()] == ["completed", "failed", "completed"]
    assert team.task("b").attempts == 3


async def test_who_waits_is_told_which_task_nobody_is_served_for(isolated_home: Path) -> None:
    """Its worker has ended, and the task is free for whoever comes when the service is back."""
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}, {"name": "w2"}], tasks=TASKS)
    shell = Shell(isolated_home, team.workspace)
    waiting = asyncio.create_task(
        asyncio.to_thread(shell.swarm, "task", "wait", "--timeout", "60", SWARM_TIME_SCALE="0.2")
    )
    presence = Presence(team.team, team.spec("w2"))
    body = Teammate(with_no_way_in(team.bench("w2")), presence, asyncio.Event(), asyncio.Event())
    team.start("w1")
    assert await asyncio.wait_for(body.run(), timeout=30) == "failed"
    ended: Ended = await waiting
    await team.stop()

    assert ended.code == 6, ended.err
    assert "task 2 cannot go on: w2 has ended: no access: this is not valid" in ended.err
    assert [task.status for task in team.tasks()] == ["completed", "pending", "completed"]
    assert (team.task("b").attempts, team.task("b").crashes) == (0, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_in_every_backend_the_wait_names_the_task_whose_worker_cannot_do_it(
    isolated_home: Path, backend: str
) -> None:
    """Here the script of the second task never gets on; the error half of a real service is not in it."""
    fails = {"calls": [{"Bash": {"command": "echo no way in >&2; exit 3"}}]}
    tasks = [quick_task("a", owner="w1"), quick_task("b", fails, owner="w2"), quick_task("c", owner="w1")]
    with crew(backend, isolated_home, "w1", "w2", tasks=tasks) as team:
        ids = [team.ids[key] for key in ("a", "b", "c")]
        waiting = team.shell.start("task", "wait", *ids, "--timeout", "60", **team.variables)
        team.bring_up()
        out, err = waiting.communicate(timeout=60)

        assert waiting.returncode == 6, err
        (failed,) = (line for line in out.splitlines() if "failed" in line)
        assert failed.startswith(f"{ids[1]} ")
        assert "no way in" in failed
        assert [team.task(key).status for key in ("a", "b", "c")] == ["completed", "failed", "completed"]


@pytest.mark.parametrize("backend", OWN_PROCESS)
def test_a_run_whose_worker_dies_each_time_ends_by_itself(isolated_home: Path, backend: str) -> None:
    """Each life of w2 is killed by its own command; w1 does its work, and the run says what is left."""
    deadly = [{"calls": [{"Bash": {"command": "kill -9 $PPID; sleep 600"}}]}, {"say": "Done."}]
    tasks = [task | ({"script": deadly} if task["key"] == "b" else {}) for task in TASKS]
    team = {
        "name": "t1",
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}, {"name": "w2"}],
        "tasks": tasks,
    }
    (isolated_home / "team.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")
    shell = Shell(isolated_home, isolated_home)
    with private_tmux() as tmux:
        words = ("run", "team.yaml", "--backend", backend, "--json")
        ended = shell.swarm(*words, SWARM_TIME_SCALE="0.2", TMUX_TMPDIR=tmux.folder)
        assert tmux.sockets() == []

    assert ended.code == 6, ended.err
    first, second, third = ended.json()["tasks"]
    assert (first["status"], third["status"]) == ("completed", "completed")
    assert second["status"] in ("pending", "failed")
    assert second["reason"]
    assert processes_of_run(ended.json()["run"]) == []
