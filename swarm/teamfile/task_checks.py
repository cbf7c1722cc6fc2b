"""What can be wrong with tasks and their scripts beyond their shape."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from swarm.core.changes import runs_something
from swarm.core.identity import suggest_name
from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.members import owners, who_may_claim
from swarm.teamfile.model import ScriptTurn, TaskSpec, TeamFile
from swarm.teamfile.problems import Path, Problem, did_you_mean

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def check_tasks(team: TeamFile, known_tools: frozenset[str]) -> Iterator[Problem]:
    """Everything that is wrong with the tasks of this file."""
    if not team.tasks:
        yield Problem(message="there is nothing to do; give at least one task", path=("tasks",))
    first: dict[str, int] = {}
    for position, task in enumerate(team.tasks):
        path: Path = ("tasks", position)
        yield from _check_key(task, path, first.setdefault(task.key, position))
        yield from _check_owner(team, task, path)
        yield from _check_texts(task, path)
        yield from _check_script(team, task, path, known_tools)
    for position, task in enumerate(team.tasks):
        yield from _check_blockers(task, ("tasks", position, "blocked_by"), first)
    yield from _check_cycles(team, first)


def _check_key(task: TaskSpec, path: Path, first: int) -> Iterator[Problem]:
    if not _KEY.fullmatch(task.key):
        message = f"a key is made of letters, digits, - and _ (at most 64), not {task.key!r}"
        details = {"value": task.key, "suggestion": suggest_name(task.key, "task")}
        yield Problem(message=message, path=(*path, "key"), code="bad_name", details=details)
    if first != path[1]:
        yield Problem(message=f"tasks[{first}] has the key {task.key} already", path=(*path, "key"))


def _check_owner(team: TeamFile, task: TaskSpec, path: Path) -> Iterator[Problem]:
    valid = owners(team)
    if task.owner is None or task.owner in valid:
        return
    listed = f"; teammates and roles are {', '.join(valid)}" if valid else "; the file names no teammates"
    message = f"no teammate or role is called {task.owner}{did_you_mean(task.owner, valid) or listed}"
    yield _unknown(message, (*path, "owner"), task.owner, valid)


def _check_texts(task: TaskSpec, path: Path) -> Iterator[Problem]:
    if not task.subject.strip():
        yield Problem(message="must say what is to be done", path=(*path, "subject"))
    for position, line in enumerate(task.verify):
        if not runs_something(line):
            yield Problem(message="an empty command verifies nothing", path=(*path, "verify", position))
    for position, glob in enumerate(task.files):
        if wrong := _wrong_glob(glob):
            yield Problem(message=wrong, path=(*path, "files", position))


def _wrong_glob(glob: str) -> str | None:
    if not glob.strip():
        return "an empty glob matches nothing"
    if glob.startswith(("/", "~")):
        return f"{glob} is absolute; write it relative to the workspace"
    if ".." in glob.split("/"):
        return f"{glob} leaves the workspace; a glob holds no .."
    return None


def _check_blockers(task: TaskSpec, path: Path, keys: Collection[str]) -> Iterator[Problem]:
    for position, blocker in enumerate(task.blocked_by):
        here = (*path, position)
        if blocker == task.key:
            details = {"cycle": [blocker, blocker]}
            yield Problem(message=f"{task.key} cannot wait for itself", path=here, details=details)
        elif blocker not in keys:
            hint = did_you_mean(blocker, keys) or f"; keys are {', '.join(keys)}"
            yield _unknown(f"no task has the key {blocker}{hint}", here, blocker, keys)
        elif blocker in task.blocked_by[:position]:
            yield Problem(message=f"{blocker} is named twice", path=here)


def _check_cycles(team: TeamFile, first: dict[str, int]) -> Iterator[Problem]:
    from swarm.teamfile.graph import find_cycles

    waits = {task.key: [b for b in task.blocked_by if b != task.key] for task in reversed(team.tasks)}
    for cycle in find_cycles({key: waits[key] for key in first}):
        message = f"tasks wait for each other: {' -> '.join(cycle)}; take one of these links out"
        path: Path = ("tasks", first[cycle[0]], "blocked_by")
        yield Problem(message=message, path=path, details={"cycle": list(cycle)})


def _check_script(team: TeamFile, task: TaskSpec, path: Path, tools: frozenset[str]) -> Iterator[Problem]:
    models = {member.model for member in who_may_claim(team, task.owner)} or {team.model}
    if SCRIPTED_MODEL in models and not task.script:
        message = f"{task.key} has no script for the scripted model to play"
        yield Problem(message=message, path=(*path, "script"))
    for position, turn in enumerate(task.script):
        yield from _check_turn(turn, (*path, "script", position), tools)


def _check_turn(turn: ScriptTurn, path: Path, tools: frozenset[str]) -> Iterator[Problem]:
    if not turn.calls and not (turn.say or "").strip():
        yield Problem(message="a turn says something, calls tools, or both", path=path)
    if turn.expect is not None and not turn.calls:
        yield Problem(message="there is no call whose result could be an error", path=(*path, "expect"))
    for position, call in enumerate(turn.calls):
        if call.tool not in tools:
            valid = sorted(tools)
            hint = did_you_mean(call.tool, valid) or f"; tools are {', '.join(valid)}"
            message = f"no tool is called {call.tool}{hint}"
            yield _unknown(message, (*path, "calls", position), call.tool, valid)


def _unknown(message: str, path: Path, value: str, valid: Iterable[str]) -> Problem:
    details = {"value": value, "valid": list(valid)}
    return Problem(message=message, path=path, code="unknown_reference", details=details)
