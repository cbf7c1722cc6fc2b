"""`swarm validate|plan` for a team file, and `swarm task graph` for a team: what waits for what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from swarm.cli.board import the_board
from swarm.cli.render import count, print_error, printable
from swarm.cli.session import Io, the_team
from swarm.cli.team_file import read_team_file
from swarm.errors import ConfigError
from swarm.teamfile.members import members
from swarm.teamfile.plan import Plan, plan_as_json, plan_tasks, render_graph
from swarm.teamfile.plan import plan as plan_file
from swarm.teamfile.starter import STARTER_FILE_NAME

_PIPE_WIDTH = 100


def validate(args: Mapping[str, Any], io: Io) -> int:
    """Check a file and say all that is wrong; with `--json` its plan is printed, as by `swarm plan`."""
    file = _file(args)
    try:
        team = read_team_file(file).team
    except ConfigError as error:
        print_error(error, io)
        _note_others(error, io)
        return error.exit_code
    if io.json:
        io.print_json(plan_as_json(plan_file(team)))
    else:
        parts = (count(len(members(team)), "teammate"), count(len(team.tasks), "task"))
        io.print(f"{printable(file)} is right: team {team.name}, {', '.join(parts)}")
    return 0


def plan(args: Mapping[str, Any], io: Io) -> int:
    """Draw the tasks of a file."""
    planned = plan_file(read_team_file(_file(args)).team)
    if io.json:
        io.print_json(plan_as_json(planned))
    else:
        _draw(planned, args["format"], io)
    return 0


def _file(args: Mapping[str, Any]) -> str:
    """Return the file that is named, else the one that `swarm init` writes."""
    given: str | None = args["file"]
    if given is None and not os.path.lexists(STARTER_FILE_NAME):
        raise ConfigError(f"which team file? there is no {STARTER_FILE_NAME} here", code="bad_usage")
    return STARTER_FILE_NAME if given is None else given


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
