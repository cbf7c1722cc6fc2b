"""Where answers come from: a list, one for each task or agent, a function, or a team file's scripts."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.model import ScriptTurn
from swarm.teamfile.reader import load_team_file, new_tasks
from tests.support.messages_api.exchange import Exchange
from tests.support.messages_api.reply import Fault, Reply, reply, reply_from_json
from worker.model.port import ModelRequest, TurnDone
from worker.model.scripted import ScriptedModel, ScriptError

Script = Callable[[Exchange], Reply]
Source = Script | Sequence[Reply | str] | Mapping[str, Sequence[Reply | str]]


class UnscriptedError(Exception):
    """Nothing was planned for this request."""


def as_script(source: Source) -> Script:
    """Return the function for any source of answers."""
    if callable(source):
        return source
    if isinstance(source, Mapping):
        return _ByKey(source)
    return _InOrder(source, "the script")


def team_script(team_file: str | Path) -> Script:
    """Return what the scripted model would say to the same messages, for the tasks of this team file."""
    return _TeamScript(str(team_file))


def with_changes(script: Source, changes: Mapping[int, Reply | Fault]) -> Script:
    """Return the script with other answers, or with faults in its answers, to the requests of these numbers.

    An answer in place of the script's own takes nothing from it: the script gives its own next time.
    """
    inner = as_script(script)

    def changed(exchange: Exchange) -> Reply:
        change = changes.get(exchange.number)
        if isinstance(change, Reply):
            return change
        answer = inner(exchange)
        return answer.but(change) if change else answer

    return changed


def script_from_file(path: str | Path) -> Script:
    """Return the script that a JSON file describes.

    It has `replies` (a list), `tasks` (a list for each task or agent) or `team_file` (a path, from the
    file's folder), and may have `changes`: by number of the request an answer, or `{"fault": {...}}`.
    """
    data = json.loads(Path(path).read_text())
    script = _source_of(data, Path(path).parent)
    changes = {int(number): _change(change) for number, change in data.get("changes", {}).items()}
    return with_changes(script, changes) if changes else script


def _source_of(data: Mapping[str, Any], folder: Path) -> Script:
    if "team_file" in data:
        return team_script(folder / data["team_file"])
    if "tasks" in data:
        return as_script({key: [reply_from_json(r) for r in row] for key, row in data["tasks"].items()})
    return as_script([reply_from_json(r) for r in data["replies"]])


def _change(data: Any) -> Reply | Fault:
    if isinstance(data, dict) and "fault" in data:
        return Fault(**data["fault"])
    return reply_from_json(data)


class _InOrder:
    """Gives one answer after another, whoever asks."""

    def __init__(self, replies: Iterable[Reply | str], name: str) -> None:
        self._left = [reply(r) if isinstance(r, str) else r for r in replies]
        self._name = name
        self._lock = threading.Lock()

    def __call__(self, exchange: Exchange) -> Reply:
        with self._lock:
            if not self._left:
                raise UnscriptedError(f"{self._name} has no answer left")
            return self._left.pop(0)


class _ByKey:
    """Gives each task, or each agent, its own answers in order."""

    def __init__(self, rows: Mapping[str, Sequence[Reply | str]]) -> None:
        self._rows = {key: _InOrder(row, f"the script of {key}") for key, row in rows.items()}

    def __call__(self, exchange: Exchange) -> Reply:
        for key in (exchange.task, exchange.agent):
            if key is not None and key in self._rows:
                return self._rows[key](exchange)
        raise UnscriptedError(f"no script for task {exchange.task}, agent {exchange.agent}")


class _TeamScript:
    """Plays the scripts of a team file: the tasks have the ids that a new team gives them."""

    def __init__(self, team_file: str) -> None:
        team = load_team_file(team_file, model=SCRIPTED_MODEL, require_teammates=False).team
        scripts = {task.key: task.script for task in team.tasks}
        self._scripts: dict[str, tuple[ScriptTurn, ...]] = {
            str(number): tuple(scripts[str(task.key)]) for number, task in enumerate(new_tasks(team), start=1)
        }

    def __call__(self, exchange: Exchange) -> Reply:
        if exchange.task not in self._scripts:
            raise UnscriptedError(f"the team file has no task {exchange.task}")
        model = ScriptedModel(
            self._scripts[exchange.task], id_prefix=f"toolu_{exchange.task}_{exchange.number}"
        )
        try:
            turn = asyncio.run(_next_turn(model, exchange))
        except ScriptError as error:
            raise UnscriptedError(str(error)) from error
        return reply(*turn.message["content"], stop_reason=turn.stop_reason)


async def _next_turn(model: ScriptedModel, exchange: Exchange) -> TurnDone:
    request = ModelRequest(
        model=model.name,
        system=(),
        messages=exchange.messages,
        tools=[],
        max_tokens=1,
    )
    events = [event async for event in model.stream(request)]
    turn = events[-1]
    assert isinstance(turn, TurnDone)
    return turn
