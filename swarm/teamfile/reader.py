"""Read a team file from disk, and store it with the team.

    loaded = load_team_file("team.yaml")
    loaded.team.tasks[0].key, loaded.workspace

Everything that is wrong is raised at once as one `ConfigError`: the first problem in file order is its
message, all of them are in `details["problems"]`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from functools import lru_cache

from swarm.core.task import NewTask, Requires
from swarm.errors import ConfigError
from swarm.teamfile.budget import with_budget
from swarm.teamfile.checks import Check, Rules, check_team
from swarm.teamfile.documents import PARSERS, Document
from swarm.teamfile.members import MemberSpec, members, roles, with_count
from swarm.teamfile.model import KNOWN_TOOLS, ScriptTurn, TaskSpec, TeamFile
from swarm.teamfile.problems import Path, Places, Problem, refusal
from swarm.teamfile.rendering import render_team_file
from swarm.teamfile.schema import SCHEMA_FILE_NAME
from swarm.teamfile.shape import shape
from swarm.teamfile.yaml_text import parse_yaml
from swarm.values import Value

__all__ = [
    "LoadedTeamFile",
    "MemberSpec",
    "dump_for_team",
    "load_team_file",
    "members",
    "new_tasks",
    "parse_team_file",
    "script_for",
]

FILE_BYTES_MAX = 4 * 1024 * 1024
_PARSERS = PARSERS | {".yaml": parse_yaml, ".yml": parse_yaml}


class LoadedTeamFile(Value):
    """A checked team file; `path` and `workspace` are absolute, `lines` is empty unless it is YAML."""

    team: TeamFile
    text: str
    path: str
    workspace: str
    lines: Mapping[Path, int] = {}


def own_files(loaded: LoadedTeamFile) -> tuple[str, str]:
    """Return the file and the schema beside it, which may lie in the workspace and are nobody's work."""
    return loaded.path, os.path.join(os.path.dirname(loaded.path), SCHEMA_FILE_NAME)


def load_team_file(
    path: str,
    *,
    model: str | None = None,
    teammates: int | None = None,
    budget: float | None = None,
    require_teammates: bool = True,
    known_tools: frozenset[str] = KNOWN_TOOLS,
    check_rule: Check | None = None,
    check_mode: Check | None = None,
) -> LoadedTeamFile:
    """Read and check this file.

    `model` takes the place of every model in it, `teammates` of the one count, `budget` of its US dollars.
    `check_rule` and `check_mode` are given each permission rule and mode, and refuse by a ConfigError.
    """
    rules = Rules(
        known_tools=known_tools,
        check_rule=check_rule,
        check_mode=check_mode,
        require_teammates=require_teammates,
    )
    return parse_team_file(_read_text(path), path, rules, model=model, teammates=teammates, budget=budget)


def parse_team_file(
    text: str,
    path: str,
    rules: Rules | None = None,
    *,
    model: str | None = None,
    teammates: int | None = None,
    budget: float | None = None,
) -> LoadedTeamFile:
    """Check this text as the content of `path`, which tells the format and where relative paths start."""
    document = _parser_of(path)(text)
    shaped = with_budget(_shaped(path, document), budget)
    team = with_count(_with_model(shaped, model), teammates)
    workspace = _workspace_of(path, team)
    problems = (*document.problems, *check_team(team, workspace, rules or Rules()))
    if problems:
        raise refusal(problems, path, document.places)
    lines = document.places.lines
    return LoadedTeamFile(team=team, text=text, path=os.path.abspath(path), workspace=workspace, lines=lines)


def new_tasks(team: TeamFile) -> tuple[NewTask, ...]:
    """The tasks to create, blockers first, otherwise in file order; `blocked_by` holds keys, not ids."""
    from swarm.teamfile.graph import topological_order

    by_key = {task.key: task for task in team.tasks}
    order = topological_order({key: task.blocked_by for key, task in by_key.items()})
    return tuple(_new_task(by_key[key], roles(team)) for key in order)


def dump_for_team(loaded: LoadedTeamFile) -> str:
    """YAML text to store with the team: the same content in one format, with an absolute workspace."""
    return render_team_file(loaded.team.model_copy(update={"workspace": loaded.workspace}))


def script_for(team_file_path: str, key: str) -> tuple[ScriptTurn, ...]:
    """The turns that the scripted model plays for this task; the file is read again only when it changed."""
    try:
        state = os.stat(team_file_path)
    except OSError as error:
        raise _unreadable(team_file_path, error.strerror or str(error)) from error
    scripts = _scripts(team_file_path, state.st_mtime_ns, state.st_size, state.st_ino)
    if key not in scripts:
        details = {"value": key, "valid": list(scripts)}
        raise ConfigError(f"{team_file_path} has no task {key}", code="unknown_reference", details=details)
    return scripts[key]


@lru_cache(maxsize=32)
def _scripts(path: str, _mtime: int, _size: int, _inode: int) -> Mapping[str, tuple[ScriptTurn, ...]]:
    team = _shaped(path, _parser_of(path)(_read_text(path)))
    return {task.key: task.script for task in team.tasks}


def _shaped(path: str, document: Document) -> TeamFile:
    if document.data is None and document.problems:
        raise refusal(document.problems, path, document.places)
    found = shape(document.data)
    if isinstance(found, TeamFile):
        return found
    raise refusal((*document.problems, *found), path, document.places)


def _with_model(team: TeamFile, model: str | None) -> TeamFile:
    if model is None:
        return team
    mates = tuple(mate.model_copy(update={"model": None}) for mate in team.teammates)
    return team.model_copy(update={"model": model, "teammates": mates})


def _workspace_of(path: str, team: TeamFile) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.normpath(os.path.join(folder, os.path.expanduser(team.workspace)))


def _new_task(task: TaskSpec, role_names: tuple[str, ...]) -> NewTask:
    if task.owner is None:
        requires = None
    else:
        requires = Requires(role=task.owner) if task.owner in role_names else Requires(agent=task.owner)
    return NewTask(
        subject=task.subject,
        description=task.description,
        blocked_by=task.blocked_by,
        requires=requires,
        key=task.key,
        files=task.files,
        verify=task.verify,
    )


def _read_text(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise _unreadable(path, _not_a_file(path, mode))
        with open(path, "rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise _unreadable(path, "there is no such file; `swarm init` writes one to start from") from error
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise _unreadable(path, f"is no path ({error})") from error
    return _decode(path, raw)


def _decode(path: str, raw: bytes) -> str:
    if len(raw) > FILE_BYTES_MAX:
        raise _unreadable(path, f"is larger than {FILE_BYTES_MAX // 1024 // 1024} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = Problem(message="is not UTF-8 text; save it as UTF-8", line=line)
        raise refusal([problem], path, Places()) from error


def _not_a_file(path: str, mode: int) -> str:
    if not stat.S_ISDIR(mode):
        return "is not a regular file"
    inside = os.path.join(path, "team.yaml")
    return (
        f"is a folder; did you mean {inside}?"
        if os.path.isfile(inside)
        else "is a folder; name the file in it"
    )


def _parser_of(path: str) -> Callable[[str], Document]:
    ending = os.path.splitext(path)[1].lower()
    if ending not in _PARSERS:
        raise _unreadable(path, "is not a team file by its name; call it .yaml, .yml, .toml or .json")
    return _PARSERS[ending]


def _unreadable(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path}: {why}", code="bad_team_file", details={"file": path, "key": ""})
