"""Teams whose teammates ask a Messages API of this machine, as a person starts them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.steps import write_team
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.messages_api import MessagesApi
from tests.support.private_tmux import needs_tmux, private_tmux

MODEL = "claude-sonnet-5-5"
KEY = "sk-secret-key"
BY_HAND = ["process", pytest.param("tmux", marks=needs_tmux)]
"""Where a teammate can be started by hand."""
BACKENDS = ["in-process", *BY_HAND]

Blocks = list[dict[str, Any]]


def access(api: MessagesApi, key: str = KEY) -> dict[str, Any]:
    return {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": api.url}


@contextmanager
def placed(backend: str) -> Iterator[dict[str, Any]]:
    """Yield the environment of commands whose teammates are to be there."""
    if backend != "tmux":
        yield {"SWARM_BACKEND": backend}
        return
    with private_tmux() as tmux:
        yield {"SWARM_BACKEND": backend, "TMUX_TMPDIR": tmux.folder}


def work(key: str = "job", **more: Any) -> dict[str, Any]:
    """Return a task for a team file; the script in it is none for a model."""
    return {"key": key, "subject": f"Do {key}", "script": [{"say": "x"}], **more}


def live_team(home: Path, *tasks: dict[str, Any], mode: str = "bypassPermissions", **team: Any) -> LiveTeam:
    """Return a team whose teammates a test starts, in this process or by `swarm spawn`."""
    facts = {"teammates": [{"name": "w1"}], "permissions": {"mode": mode}, "tasks": list(tasks)}
    return LiveTeam(home, **facts | team)


def idle_team(home: Path) -> LiveTeam:
    """Return a team in which w1 has nothing to do: the only task is for somebody who is not there."""
    return live_team(home, work(owner="w2"), teammates=[{"name": "w1"}, {"name": "w2"}])


def state_of(team: LiveTeam, name: str = "w1") -> str:
    record = team.team.agents.load(name)
    return "" if record is None else record.state


def begin(team: LiveTeam, api: MessagesApi, name: str = "w1", life: int = 1, **changes: Any) -> None:
    """Start a whole teammate of this team in this process."""
    team.start(name, life, model=MODEL, environ={**team.environ, **access(api)}, **changes)


def write_live_team(shell: Shell, tasks: list[dict[str, Any]], **more: object) -> str:
    """Write a team file for `swarm run`, by default with all permissions."""
    facts: dict[str, object] = {"model": MODEL, "permissions": {"mode": "bypassPermissions"}}
    return write_team(shell, tasks, **facts | more)


def all_blocks(body: dict[str, Any]) -> Blocks:
    """Return every block of a request, those in results of tools too."""
    system = body.get("system") or []
    found: Blocks = [] if isinstance(system, str) else list(system)
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            found.append(block)
            inner = block.get("content")
            found += [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    return found


def told(exchange_body: dict[str, Any]) -> str:
    """Return all that a request says, as one text; its lines stay lines."""
    texts = [block.get("text", block.get("content", "")) for block in all_blocks(exchange_body)]
    return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in texts)
