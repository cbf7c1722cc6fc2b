"""`swarm run` and `swarm demo`: a team file from start to end, watched."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event
from typing import Any

from swarm.backends.asked import what_is_asked
from swarm.backends.port import Backend
from swarm.backends.select import IN_PROCESS, select_backend
from swarm.cli.backends import make_backend
from swarm.cli.closing import print_closing
from swarm.cli.given_rules import given_rules, settings_policy
from swarm.cli.leader_log import complaints_told
from swarm.cli.live import LiveView
from swarm.cli.plain_lines import PlainLines
from swarm.cli.render import printable
from swarm.cli.scratch import examples_dir, make_scratch
from swarm.cli.session import Io
from swarm.cli.team_file import read_team_file
from swarm.core.identity import LEADER
from swarm.errors import SwarmError
from swarm.leader.earlier import Earlier
from swarm.leader.inheritance import COMMAND_LINE, notes_on_modes
from swarm.leader.launch import mode_to_lead_with, prepare
from swarm.leader.options import RunOptions
from swarm.leader.outcome import RunResult, render_result
from swarm.leader.run import Run
from swarm.leader.signals import heeded
from swarm.permissions.modes import check_mode
from swarm.settings import SCRIPTED_MODEL
from swarm.storage.creation import teams_lock
from swarm.storage.layout import Layout
from swarm.storage.processes import new_run
from swarm.storage.team import Team, list_teams
from swarm.storage.watch import Watch, files_of_agents
from swarm.teamfile.reader import LoadedTeamFile, members
from swarm.workspace.git import GitWorkspace

_DEMO_PACE_SECONDS = 0.35


def run(args: Mapping[str, Any], io: Io) -> int:
    """Run a team file to its end; return the exit code of its outcome."""
    chosen = {"teammates": args["teammates"], "budget": args["budget"]}
    loaded = read_team_file(args["file"], model=args["model"], **chosen)
    usual = io.environ.get("ANTHROPIC_MODEL")
    if usual and args["model"] is None and loaded.team.model != SCRIPTED_MODEL:
        loaded = read_team_file(args["file"], model=usual, **chosen)
    if args["resume"]:
        name = args["name"] or loaded.team.name
        if any(team.name == name for team in list_teams(io.root)):
            from swarm.cli.resume import resume

            return resume({**args, "name": name}, io)
    return _go(loaded, _options(args, io, loaded.workspace), io)


def demo(args: Mapping[str, Any], io: Io) -> int:
    """Run the shipped example in a scratch repository under a fresh team name."""
    options = _options(args, io, None).replace(name=f"demo-{new_run()}")
    if _is_watched(io):
        options = options.replace(pace_seconds=_DEMO_PACE_SECONDS)
    with teams_lock(Layout(root=io.root), io.settings, io.clock):  # where this is refused, nothing is made
        scratch = make_scratch(examples_dir() / "demo")
    io.note(f"A scratch copy of the example is in {scratch}")
    return _go(read_team_file(str(scratch / "team.yaml")), options, io)


def _options(args: Mapping[str, Any], io: Io, workspace: str | None) -> RunOptions:
    asked = what_is_asked(args["backend"], io.environ, io.root, workspace)
    backend, reason = select_backend(asked.backend, io.environ, by=asked.by)
    mode = args.get("permission_mode")
    return RunOptions(
        root=io.root,
        environ=dict(io.environ),
        name=args.get("name"),
        backend=backend,
        backend_reason=reason,
        permission_mode=None if mode is None else check_mode(mode),
        rules=given_rules(args, COMMAND_LINE),
        settings=settings_policy(args, io, workspace),
        timeout_seconds=args.get("timeout"),
        allow_dirty=bool(args.get("allow_dirty")),
        headless=bool(args.get("headless")),
    )


def _go(loaded: LoadedTeamFile, options: RunOptions, io: Io) -> int:
    """Make the team and lead it; interrupted before it is whole, it is gone again."""
    check_models(loaded, io)
    try:
        team = prepare(loaded, options, io.settings)
    except KeyboardInterrupt as error:
        raise _not_begun("there is no team of it") from error
    return drive(team, loaded, options, io)


def _not_begun(what: str) -> SwarmError:
    return SwarmError(f"interrupted before the run began: {what}", code="interrupted")


def check_models(loaded: LoadedTeamFile, io: Io) -> None:
    """Refuse, before anything is made, a model that there is no key for."""
    from worker.model.choose import check_model

    for member in members(loaded.team):
        check_model(member.model, io.environ)


def drive(
    team: Team,
    loaded: LoadedTeamFile,
    options: RunOptions,
    io: Io,
    earlier: Earlier | None = None,
    since: int = 0,
) -> int:
    """Lead this team until nothing is left to do, and tell of it as it goes.

    Without a live view the lines begin `since` that place in the event log.
    """
    try:
        _tell(team, loaded, options, io)
        with complaints_told(io):
            result = asyncio.run(_drive(team, loaded, options, io, earlier, since))
    except KeyboardInterrupt as error:  # the loop did not listen yet
        raise _not_begun(f"swarm resume {team.name} begins it, swarm team delete gives it up") from error
    with suppress(BrokenPipeError):  # the run is over, and its outcome stands, whoever reads it
        if io.json:
            io.print_json(render_result(result))
        else:
            print_closing(team, result, io)
            io.flush()
            if result.outcome == "completed":
                _tell_what_was_played(loaded, io)
    return result.exit_code


def _tell_what_was_played(loaded: LoadedTeamFile, io: Io) -> None:
    """Say that no model was called, and that nothing was done where the scripts call no tool."""
    if any(member.model != SCRIPTED_MODEL for member in members(loaded.team)):
        return
    if any(turn.calls for task in loaded.team.tasks for turn in task.script):
        io.note("No model was called: the scripted model played the turns that stand in the team file.")
    else:
        io.note(
            "Nothing was done: the scripted model plays only the turns that stand in the team file, and none "
            "of them calls a tool. Write such turns under script, or name another model."
        )


def _tell(team: Team, loaded: LoadedTeamFile, options: RunOptions, io: Io) -> None:
    io.note(f"Team {team.name} in {team.layout.team_dir}")
    io.note(f"Backend {options.backend}: {options.backend_reason}")
    if options.backend == "tmux":
        from swarm.backends.tmux import where_panes_come

        io.note(where_panes_come(team, options.environ))
    if not GitWorkspace(loaded.workspace).is_repository():
        why = "is no git repository" if shutil.which("git") else "is used without git, which is not installed"
        io.note(f"The workspace {why}: nothing will be committed")
    for note in notes_on_modes(_asked_modes(team, loaded, options), mode_to_lead_with(loaded, options, team)):
        io.note(note)


def _asked_modes(team: Team, loaded: LoadedTeamFile, options: RunOptions) -> dict[str, str | None]:
    """Return the mode that is wanted for each teammate: what it had before, else what the file says."""
    if options.permission_mode is not None:
        return {}
    asked = {member.name: member.permission_mode for member in members(loaded.team)}
    return asked | {one.name: one.permission_mode for one in team.roster.load().members if one.name != LEADER}


async def _drive(
    team: Team, loaded: LoadedTeamFile, options: RunOptions, io: Io, earlier: Earlier | None, since: int
) -> RunResult:
    hurry = Event()
    backend = make_backend(options.backend, team, options.environ, hurry)
    going = Run(team, loaded, options, io.settings, backend, earlier, hurry=hurry)
    loop = asyncio.get_running_loop()
    for number in heeded():
        loop.add_signal_handler(number, going.interrupt)
    view = LiveView(team, io) if _is_watched(io) else PlainLines(team, io, since)
    names = [member.name for member in members(loaded.team)]
    with _hinted(team, backend, names, io), view:
        result = await going.to_the_end(view)
    if going.left_open is not None:
        again = f"swarm stop --all -t {team.name} tries again"
        io.note(f"Note: panes may be left: {printable(going.left_open)}; {again}")
    return result


@contextmanager
def _hinted(team: Team, backend: Backend, names: Sequence[str], io: Io) -> Iterator[None]:
    """Tell those that share this process of changes, by one watch for all; a process of its own watches."""
    if backend.name != IN_PROCESS:
        yield
        return
    with Watch(files_of_agents(team.layout, names)) as watch:
        if watch.problem is not None:
            io.note(f"Warning: {watch.problem}")
        with watch.telling(asyncio.get_running_loop(), backend.hint):
            yield


def _is_watched(io: Io) -> bool:
    """Whether there is a terminal to draw on, and nothing else is to be written there."""
    told = io.json or io.quiet or io.verbose
    return io.err.isatty() and not told and io.environ.get("TERM") != "dumb"
