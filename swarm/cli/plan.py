"""`swarm init|validate|plan` for a team file, and `swarm task graph` for a team: what waits for what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from swarm.cli.board import the_board
from swarm.cli.render import count, print_error, printable
from swarm.cli.session import Io, the_team
from swarm.cli.team_file import read_team_file
from swarm.core.identity import suggest_name
from swarm.errors import ConfigError, SwarmError
from swarm.teamfile.members import members
from swarm.teamfile.plan import Plan, plan_as_json, plan_tasks, render_graph
from swarm.teamfile.plan import plan as plan_file

_PIPE_WIDTH = 100


def init(args: Mapping[str, Any], io: Io) -> int:
    """Write a team file that runs as it is, and its schema beside it; neither is overwritten."""
    from swarm.teamfile.schema import SCHEMA_FILE_NAME, schema_text
    from swarm.teamfile.starter import starter_text

    path = _target(args["target"])
    folder = os.path.dirname(path) or "."
    _write_new(path, starter_text(_name_for(folder), schema=f"./{SCHEMA_FILE_NAME}"), folder)
    schema = os.path.join(folder, SCHEMA_FILE_NAME)
    if not os.path.lexists(schema):
        _write_new(schema, schema_text(), folder)
    io.print(printable(path))
    io.note(f"written, with {printable(schema)} for editors; look at it, then: swarm run {printable(path)}")
    return 0


def validate(args: Mapping[str, Any], io: Io) -> int:
    """Check a file and say all that is wrong; with `--json` its plan is printed, as by `swarm plan`."""
    try:
        team = read_team_file(args["file"]).team
    except ConfigError as error:
        print_error(error, io)
        _note_others(error, io)
        return error.exit_code
    if io.json:
        io.print_json(plan_as_json(plan_file(team)))
    else:
        parts = (count(len(members(team)), "teammate"), count(len(team.tasks), "task"))
        io.print(f"{printable(args['file'])} is right: team {team.name}, {', '.join(parts)}")
    return 0


def plan(args: Mapping[str, Any], io: Io) -> int:
    """Draw the tasks of a file."""
    planned = plan_file(read_team_file(args["file"]).team)
    if io.json:
        io.print_json(plan_as_json(planned))
    else:
        _draw(planned, args["format"], io)
    return 0


def graph(args: Mapping[str, Any], io: Io) -> int:
    """Draw the tasks of a team as they are now."""
    team = the_team(args, io)
    planned = plan_tasks(team.name, tuple(shown.task for shown in the_board(team, io).tasks))
    _draw(planned, args["format"], io)
    for cycle in planned.cycles:
        io.note(f"tasks {' -> '.join(cycle)} wait for each other: remove one link with swarm task edit")
    return 0


def _draw(planned: Plan, form: str | None, io: Io) -> None:
    encoding = getattr(io.out, "encoding", None) or "utf-8"
    drawn = render_graph(planned, form or "text", width=io.columns or _PIPE_WIDTH, encoding=encoding)
    io.print(drawn.rstrip("\n"))


def _note_others(error: ConfigError, io: Io) -> None:
    """Say what else is wrong; the first fault is the error itself."""
    for problem in error.details.get("problems", ())[1:]:
        place = f"line {problem['line']}" if "line" in problem else "file"
        io.note(f"also {place}: {printable(problem['key'])}: {printable(problem['message'])}")


def _target(given: str | None) -> str:
    """Return the file to write: the one named, or `team.yaml` in the folder named."""
    from swarm.teamfile.starter import STARTER_FILE_NAME

    path = given or "."
    ending = os.path.splitext(path)[1]
    if os.path.isdir(path) or not ending:
        return os.path.normpath(os.path.join(path, STARTER_FILE_NAME))
    if ending not in {".yaml", ".yml"}:
        raise ConfigError(
            f"{path} would be written as YAML; name it .yaml", code="bad_value", details={"value": path}
        )
    return os.path.normpath(path)


def _name_for(folder: str) -> str:
    return suggest_name(os.path.basename(os.path.abspath(folder)), "team")


def _write_new(path: str, text: str, folder: str) -> None:
    parent = os.path.dirname(folder) or "."
    if not os.path.lexists(parent):
        raise ConfigError(
            f"there is no folder {parent}; make it first", code="bad_value", details={"value": parent}
        )
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(
            f"{path} exists already and is left as it is; name another file",
            code="bad_value",
            details={"value": path},
        ) from error
    except OSError as error:
        raise SwarmError(
            f"{path} cannot be written: {error.strerror}",
            code="io_error",
            details={"path": path, "errno": error.errno or 0},
        ) from error
