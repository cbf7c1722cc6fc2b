"""Grep: files by what is in them."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Literal

from pydantic import Field

from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.paths import fault_of_path, printable, resolve, shown
from worker.tools.ripgrep import NOT_FOUND, VERSION_CONTROL, Found, excluded, find_ripgrep, run_ripgrep

NOTHING = "No matches found"
_COLUMNS_MAX = 500
_FAILED = 2
_TWO_LINES = "*\n*"
"""A name that in the output could not be told from the end of one line and the name before the next."""
_NUMBERED = re.compile(rb"\d+([:-])")


class GrepInput(ToolInput):
    """What to look for, where, and how to show it."""

    pattern: str = Field(min_length=1, description="Regular expression to look for.")
    path: str | None = Field(None, description="File or folder to search. Default: the working directory.")
    glob: str | None = Field(None, description='Only files whose name fits, such as "*.py" or "!*_test.go".')
    type: str | None = Field(None, description='Only files of this type, such as "py", "js", "rust".')
    output_mode: Literal["content", "files_with_matches", "count"] = Field(
        default="files_with_matches",
        description='"files_with_matches" (default) gives paths, "content" matching lines, "count" numbers.',
    )
    after: int | None = Field(
        None, alias="-A", ge=0, description='Lines to show after each match; for "content" only.'
    )
    before: int | None = Field(
        None, alias="-B", ge=0, description='Lines to show before each match; for "content" only.'
    )
    around: int | None = Field(
        None, alias="-C", ge=0, description='Lines to show before and after each match; for "content" only.'
    )
    line_numbers: bool = Field(
        default=True, alias="-n", description='Show line numbers; for "content" only. Default true.'
    )
    ignore_case: bool = Field(default=False, alias="-i", description="Ignore case. Default false.")
    multiline: bool = Field(
        default=False, description="Let the pattern, and the dot in it, cross line ends. Default false."
    )
    head_limit: int | None = Field(
        None,
        ge=0,
        description="Show only this many lines or paths. Default 250; 0 shows all, use it sparingly.",
    )
    offset: int = Field(default=0, ge=0, description="Leave out this many lines or paths first. Default 0.")


class Grep(Tool[GrepInput]):
    """Searches with ripgrep, in a fixed order, so that a limit and an offset page through the same list."""

    name = "Grep"
    Input = GrepInput

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.max_result_chars = settings.grep_result_max_chars

    def describe(self, settings: Settings) -> str:
        return (
            "Searches the content of files for a regular expression (that of ripgrep).\n"
            r'- Examples: "def \w+_user", "log.*Error". Braces that are meant literally need a backslash: '
            r'"interface\{\}".' + "\n"
            "- A pattern matches within one line; set `multiline` for one that crosses lines.\n"
            "- `output_mode`: paths of files that match (default), the matching lines (with `-A`, `-B`, "
            "`-C` lines around them), or the count in each file.\n"
            "- Leaves out what .gitignore names, binary files and version control folders. Lines are cut "
            f"after {_COLUMNS_MAX} bytes.\n"
            f"- Shows the first {settings.grep_head_limit} entries; go on with `offset`, or narrow the "
            "search by `glob`, `type` or `path`.\n"
            "- To find files by name use Glob. Always use this and never grep or rg in Bash: it needs no "
            "permission inside the workspace, and its output is bounded."
        )

    def read_only(self, given: GrepInput) -> bool:
        return True

    def concurrency_safe(self, given: GrepInput) -> bool:
        return True

    def path_uses(self, given: GrepInput, context: ToolContext) -> tuple[PathUse, ...]:
        return (PathUse(path=resolve(given.path or "", context.cwd), write=False),)

    async def check(self, given: GrepInput, context: ToolContext) -> str | None:
        if "\0" in given.pattern + (given.glob or "") + (given.type or ""):
            return "A NUL character cannot be searched for: files that hold one are taken as binary."
        fault = None if given.path is None else fault_of_path(given.path)
        path = resolve(given.path or "", context.cwd)
        if fault is None and not os.path.exists(path):
            return f"{printable(path)} does not exist; find the right path with Glob."
        if fault is None and "\n" in os.path.relpath(path, context.cwd):
            return (
                f"{printable(path)} has a line end in its name and is left out of searches; use Bash for it."
            )
        return fault

    async def run(self, given: GrepInput, context: ToolContext) -> ToolOutput:
        program = find_ripgrep()
        if program is None:
            return ToolOutput(text=NOT_FOUND, is_error=True)
        arguments = [*_options(given), f"--regexp={given.pattern}", "--", *_target(given, context.cwd)]
        timeout = context.settings.grep_timeout_seconds
        found = await run_ripgrep(program, arguments, context.cwd, context.environ, timeout)
        if found.exit_code == _FAILED and found.errors and not found.output:
            return ToolOutput(text=found.errors, is_error=True)
        entries = await asyncio.to_thread(_entries, given, found, context)
        return ToolOutput(text=_page(given, entries, found, context.settings))


def _target(given: GrepInput, cwd: str) -> list[str]:
    """Return the path for rg, which prints what it finds in the same form; none for the working directory."""
    path = os.path.normpath(resolve(given.path or "", cwd))
    return [] if path == os.path.normpath(cwd) else [shown(path, cwd)]


def _options(given: GrepInput) -> list[str]:
    options = [
        "--no-heading",
        "--with-filename",
        "--null",
        "--no-messages",
        "--sort=path",
        "--crlf",
        "--hidden",
    ]
    options += [f"--max-columns={_COLUMNS_MAX}", "--max-columns-preview", *excluded(*VERSION_CONTROL)]
    options += [f"--glob={given.glob}"] * (given.glob is not None)
    options += excluded(_TWO_LINES)
    options += [f"--type={given.type}"] * (given.type is not None)
    options += ["--ignore-case"] * given.ignore_case
    options += ["--multiline", "--multiline-dotall"] * given.multiline
    return options + _mode_options(given)


def _mode_options(given: GrepInput) -> list[str]:
    if given.output_mode == "files_with_matches":
        return ["--files-with-matches"]
    if given.output_mode == "count":
        return ["--count"]
    counts = {"--context": given.around, "--after-context": given.after, "--before-context": given.before}
    context = [f"{name}={count}" for name, count in counts.items() if count is not None]
    return [*context, "--line-number"]


def _entries(given: GrepInput, found: Found, context: ToolContext) -> list[str]:
    """Return what rg found, entry by entry, without files that may not be read."""
    end = b"\0" if given.output_mode == "files_with_matches" else b"\n"
    lines = [line.removesuffix(b"\r").partition(b"\0") for line in found.output.removesuffix(end).split(end)]
    paths = {os.fsdecode(path): path for path, _, _ in lines}
    may_read = context.may_read()
    hidden = {raw for path, raw in paths.items() if may_read and not may_read(resolve(path, context.cwd))}
    shown = [(path, rest) for path, _, rest in lines if path not in hidden and path]
    return [_entry(given, path, rest).decode("utf-8", "replace") for path, rest in shown]


def _entry(given: GrepInput, path: bytes, rest: bytes) -> bytes:
    """Return an entry as grep prints it: `:` after path and number of a match, `-` of lines around it."""
    line = _NUMBERED.match(rest) if given.output_mode == "content" else None
    if line is None:
        return path + b":" + rest if rest else path
    return path + line[1] + (line.group() if given.line_numbers else b"") + rest[line.end() :]


def _page(given: GrepInput, entries: list[str], found: Found, settings: Settings) -> str:
    limit = settings.grep_head_limit if given.head_limit is None else given.head_limit
    end = given.offset + limit if limit else len(entries)
    page = entries[given.offset : end]
    notes = [f"[{found.cut}; there may be more matches.]"] if found.cut else []
    if end < len(entries):
        shown_part = f"Entries {given.offset + 1:,} to {end:,} of {len(entries):,}"
        notes.append(f"[{shown_part}; go on with offset {end}, or narrow the search.]")
    elif entries and not page:
        notes.append(f"[There are only {len(entries):,} entries; none at offset {given.offset:,}.]")
    return "\n".join([*page, *notes]) or NOTHING
