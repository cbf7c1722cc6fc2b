"""The demo's team file with a model behind the Messages API: the real SDK, over HTTP, in every backend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.scratch import examples_dir, make_scratch
from tests.support.command import Shell, processes_of_run
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply, team_script
from tests.support.private_tmux import needs_tmux, private_tmux

pytestmark = pytest.mark.timeout(120)

MODEL = "claude-sonnet-5-5"
BACKENDS = ["in-process", "process", pytest.param("tmux", marks=needs_tmux)]
TOLD = ("key", "subject", "status", "owner", "verified", "files")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        more: dict[str, Any] = {"SWARM_BACKEND": str(request.param)}
        if request.param == "tmux":
            more["TMUX_TMPDIR"] = stack.enter_context(private_tmux()).folder
        yield more


def keys(api: MessagesApi) -> dict[str, Any]:
    return {"ANTHROPIC_API_KEY": "sk-secret-key", "ANTHROPIC_BASE_URL": api.url}


def the_demo(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(shell.cwd))
    return make_scratch(examples_dir() / "demo") / "team.yaml"


def as_told(result: dict[str, Any]) -> list[dict[str, Any]]:
    told = [{name: task.get(name) for name in TOLD} for task in result["tasks"]]
    return [task | {"owner": str(task["owner"]).split("-")[0]} for task in told]


def test_it_ends_as_with_the_scripted_model(
    shell: Shell, backend: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = shell.swarm("run", str(the_demo(shell, monkeypatch)), "--name", "one", "--json", **backend)
    file = the_demo(shell, monkeypatch)

    with MessagesApi(team_script(file)) as api:
        live = shell.swarm(
            "run", str(file), "--name", "two", "--model", MODEL, "--json", **backend, **keys(api)
        )

    assert scripted.code == 0, scripted.err
    assert live.code == 0, live.err
    assert as_told(live.json()) == as_told(scripted.json())
    assert api.refused == []
    assert api.prefix_breaks() == []
    assert {exchange.body["model"] for exchange in api.exchanges} == {MODEL}
    assert live.json()["usd"] > 0
    assert processes_of_run(live.json()["run"]) == []


def test_the_key_is_in_no_file_of_the_team(
    shell: Shell, backend: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It travels by a file that is gone once it was read, and by nothing else."""
    file = the_demo(shell, monkeypatch)

    with MessagesApi(team_script(file)) as api:
        live = shell.swarm("run", str(file), "--model", MODEL, "--json", **backend, **keys(api))

    assert live.code == 0, live.err
    team = shell.root / "teams" / live.json()["team"]
    holding = [path for path in team.rglob("*") if path.is_file() and b"sk-secret" in path.read_bytes()]
    assert holding == []


def test_a_tool_never_sees_the_key(shell: Shell, backend: dict[str, Any], tmp_path: Path) -> None:
    work = shell.cwd / "work"
    work.mkdir()
    task = {"key": "a", "subject": "Look", "script": [{"say": "x"}]}
    (shell.cwd / "team.json").write_text(
        json.dumps(
            {
                "name": "t1",
                "workspace": "work",
                "model": MODEL,
                "permissions": {"mode": "bypassPermissions"},
                "teammates": [{"name": "w1"}],
                "tasks": [task],
            }
        )
    )

    def turn(exchange: Exchange) -> Reply:
        return reply("Done.") if exchange.turns else reply(call("Bash", {"command": "env > seen"}))

    with MessagesApi(turn) as api:
        live = shell.swarm("run", "team.json", "--json", **backend, **keys(api))

    assert live.code == 0, live.err
    assert "ANTHROPIC" not in (work / "seen").read_text()
    assert "SWARM_AGENT=w1" in (work / "seen").read_text()
