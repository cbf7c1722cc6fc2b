"""Glob: files by name."""

from __future__ import annotations

import asyncio
import os
import re

from pydantic import Field

from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from worker.tools.contract import MayRead, Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.glob_patterns import compile_glob, split_absolute, wants_hidden
from worker.tools.paths import fault_of_path, printable, resolve, shown
from worker.tools.ripgrep import NOT_FOUND, VERSION_CONTROL, Found, excluded, find_ripgrep, run_ripgrep


class GlobInput(ToolInput):
    """Which names, below which folder."""

    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description='Pattern for file names, such as "**/*.py" or "src/**/test_*.ts".',
    )
    path: str | None = Field(None, description="Folder to search in. Default: the working directory.")


class Glob(Tool[GlobInput]):
    """Lists files by name, the last changed first."""

    name = "Glob"
    Input = GlobInput

    def describe(self, settings: Settings) -> str:
        return (
            "Finds files by name and returns their paths, the last changed first.\n"
            "- `*` and `?` stay within one name, `**` crosses folders, `{a,b}` are alternatives. A pattern "
            'without a slash is looked for in all folders: "*.py" finds every Python file.\n'
            "- Leaves out what .gitignore names, version control folders, and hidden files unless the "
            "pattern "
            'names them (".github/**").\n'
            f"- Shows {settings.glob_results_max} paths at most and says how many more there are.\n"
            "- To find files by what is in them use Grep. Use this and not find or ls in Bash, which also go "
            "through ignored folders. Several searches that may all be useful are best made in one message."
        )

    def read_only(self, given: GlobInput) -> bool:
        return True

    def concurrency_safe(self, given: GlobInput) -> bool:
        return True

    def path_uses(self, given: GlobInput, context: ToolContext) -> tuple[PathUse, ...]:
        return (PathUse(path=_where(given, context)[0], write=False),)

    async def check(self, given: GlobInput, context: ToolContext) -> str | None:
        folder, pattern = _where(given, context)
        fault = fault_of_path(given.path or folder) or fault_of_path(given.pattern)
        if fault:
            return fault
        if ".." in pattern.split("/"):
            return f"{given.pattern}: a pattern cannot lead upwards; give the folder as path."
        try:
            compile_glob(pattern)
        except re.error as error:
            return f"{given.pattern} is no pattern for file names: {error}."
        if not os.path.isdir(folder):
            return f"{printable(folder)} is not a folder that exists; give an existing folder as path."
        return None

    async def run(self, given: GlobInput, context: ToolContext) -> ToolOutput:
        program = find_ripgrep()
        if program is None:
            return ToolOutput(text=NOT_FOUND, is_error=True)
        folder, pattern = _where(given, context)
        arguments = ["--files", "--null", "--no-messages", *excluded(*VERSION_CONTROL)]
        if wants_hidden(pattern):
            arguments.append("--hidden")
        timeout = context.settings.grep_timeout_seconds
        found = await run_ripgrep(program, arguments, folder, context.environ, timeout)
        if found.errors and not found.output:
            return ToolOutput(text=found.errors, is_error=True)
        paths = await asyncio.to_thread(_find_paths, found, folder, compile_glob(pattern), context.may_read())
        return ToolOutput(text=_render([shown(path, context.cwd) for path in paths], found, context.settings))


def _where(given: GlobInput, context: ToolContext) -> tuple[str, str]:
    """Return the folder to search in and the pattern below it."""
    if given.pattern.startswith("/"):
        return split_absolute(given.pattern)
    return resolve(given.path or "", context.cwd).rstrip("/") or "/", given.pattern


def _find_paths(found: Found, folder: str, wanted: re.Pattern[str], may_read: MayRead | None) -> list[str]:
    """Return the paths that fit and may be read, the newest first."""
    names = [os.fsdecode(name) for name in found.output.split(b"\0") if name]
    paths = [os.path.join(folder, name) for name in names if wanted.fullmatch(name)]
    readable = [path for path in paths if may_read is None or may_read(path)]
    return sorted(readable, key=lambda path: (-_modified(path), path))


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _render(paths: list[str], found: Found, settings: Settings) -> str:
    limit = settings.glob_results_max
    notes = [f"[{found.cut}; there may be more files.]"] if found.cut else []
    if len(paths) > limit:
        notes.append(
            f"[The {limit} newest of {len(paths):,} files; narrow the pattern or the path to see others.]"
        )
    return "\n".join([*(paths[:limit] or ["No files found"]), *notes])
