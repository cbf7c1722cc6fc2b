"""`swarm run` and `swarm demo`: a team file from start to end, watched."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import worker.main
from rich.console import Console

from swarm.backends.in_process import InProcessBackend
from swarm.backends.select import select_backend
from swarm.cli.closing import print_closing
from swarm.cli.live import LiveView, PlainLines
from swarm.cli.session import Io
from swarm.core.identity import check_name
from swarm.leader.launch import prepare
from swarm.leader.options import RunOptions
from swarm.leader.outcome import RunResult, render_result
from swarm.leader.run import Run
from swarm.storage.processes import new_run
from swarm.storage.team import Team
from swarm.teamfile.reader import LoadedTeamFile, load_team_file

_DEMO_PACE_SECONDS = 0.35


def run(args: Mapping[str, Any], io: Io) -> int:
    """Run a team file to its end; return the exit code of its outcome."""
    loaded = load_team_file(args["file"], teammates=args.get("teammates"), model=_model(args, io))
    options = _options(args, io)
    return _go(loaded, options, args, io)


def demo(args: Mapping[str, Any], io: Io) -> int:
    """Run the shipped example in a scratch repository under a fresh team name."""
    scratch = make_scratch(examples_dir() / "demo")
    name = check_name(f"demo-{new_run()}", what="team")
    loaded = load_team_file(str(scratch / "team.yaml"))
    watched = not args.get("json") and io.is_terminal()
    options = _options(args, io).replace(name=name, pace_seconds=_DEMO_PACE_SECONDS if watched else 0.0)
    io.note(f"A scratch copy of the example is in {scratch}")
    code = _go(loaded, options, args, io)
    if not args.get("json"):
        io.note("No model was called: the scripted model played the turns that stand in the team file.")
    return code


def examples_dir() -> Path:
    """Folder of the shipped examples."""
    import teams_examples

    return Path(next(iter(teams_examples.__path__)))


def make_scratch(example: Path) -> Path:
    """Copy an example into a new folder; its workspace becomes a git repository if there is git."""
    scratch = Path(tempfile.mkdtemp(prefix="swarm-demo-"))
    shutil.copytree(example, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    if shutil.which("git"):
        identity = (
            "-c",
            "user.name=swarm demo",
            "-c",
            "user.email=demo@swarm.invalid",
            "-c",
            "commit.gpgsign=false",
        )
        for command in (
            ("init", "-q"),
            ("add", "-A"),
            (*identity, "commit", "-q", "-m", "The package before the refactor"),
        ):
            subprocess.run(["git", *command], cwd=scratch / "package", check=True, stdin=subprocess.DEVNULL)
    return scratch


def _model(args: Mapping[str, Any], io: Io) -> str | None:
    return args.get("model") or io.environ.get("ANTHROPIC_MODEL") or None


def _options(args: Mapping[str, Any], io: Io) -> RunOptions:
    backend, reason = select_backend(args.get("backend") or io.environ.get("SWARM_BACKEND") or "auto")
    return RunOptions(
        root=io.root,
        environ=dict(io.environ),
        name=args.get("name"),
        backend=backend,
        backend_reason=reason,
        model=args.get("model"),
        permission_mode=args.get("permission_mode"),
        timeout_seconds=args.get("timeout"),
        headless=bool(args.get("headless")),
        allow_dirty=bool(args.get("allow_dirty")),
        time_scale=float(io.environ.get("SWARM_TIME_SCALE", "1")),
    )


def _go(loaded: LoadedTeamFile, options: RunOptions, args: Mapping[str, Any], io: Io) -> int:
    team = prepare(loaded, options, io.settings)
    io.note(
        f"Team {team.name} in {team.layout.team_dir}; backend {options.backend}: {options.backend_reason}"
    )
    result = asyncio.run(_drive(team, loaded, options, args, io))
    if args.get("json"):
        io.print(json.dumps(render_result(result), ensure_ascii=False))
    else:
        print_closing(team, result, io)
    return result.exit_code


async def _drive(
    team: Team, loaded: LoadedTeamFile, options: RunOptions, args: Mapping[str, Any], io: Io
) -> RunResult:
    backend = InProcessBackend(worker.main.run_teammate, limit=io.settings.in_process_teammates_max)
    run_ = Run(team, loaded, options, io.settings, backend)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, run_.interrupt)
    with _watcher(team, args, io) as watcher:
        return await run_.to_the_end(watcher)


def _watcher(team: Team, args: Mapping[str, Any], io: Io) -> Any:
    if io.is_terminal() and not args.get("json"):
        return LiveView(team, Console(file=sys.stderr))
    return PlainLines(team, io)
