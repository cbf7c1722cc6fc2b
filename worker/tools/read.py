"""Read: a text file as numbered lines."""

from __future__ import annotations

import asyncio
import os

from pydantic import Field

from swarm.core.tags import SYSTEM_REMINDER, block, one_line, tool_text
from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.paths import fault_of_path, resolve
from worker.tools.text_files import BOM, LoadedFile, UnusableFileError, load, split_lines


class ReadInput(ToolInput):
    """A file, and which part of it."""

    file_path: str = Field(description="The file, as an absolute path.")
    offset: int | None = Field(None, ge=1, description="First line to show, counted from 1.")
    limit: int | None = Field(None, ge=1, description="How many lines to show at most.")


class Read(Tool[ReadInput]):
    """Shows a file and notes in the read state what was seen, which is what permits a later change."""

    name = "Read"
    Input = ReadInput

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        # A result that was moved to a file would have to be read by Read again, without end.
        self.max_result_chars = None

    def describe(self, settings: Settings) -> str:
        return (
            "Reads a text file and returns its lines, each as its number, a tab and the text. A file must be "
            "read with this before Edit or Write may change it.\n"
            f"- Shows the first {settings.read_lines_default:,} lines; of a longer file ask for a part with "
            "`offset` and `limit`. Without a reason to look at a part, read the whole file.\n"
            f"- Cuts lines after {settings.read_line_max_chars:,} characters. Files above "
            f"{settings.read_file_max_bytes:,} bytes are read in parts only.\n"
            "- Use this and not cat, head, tail or sed in Bash: only what was read here can be edited.\n"
            "- It reads files, not folders: to find files by name use Glob, to find text in them use Grep.\n"
            "- Binary files are refused. Several files that you need together are best read by several calls "
            "in one message."
        )

    def read_only(self, given: ReadInput) -> bool:
        return True

    def concurrency_safe(self, given: ReadInput) -> bool:
        return True

    def path_uses(self, given: ReadInput, context: ToolContext) -> tuple[PathUse, ...]:
        return (PathUse(path=resolve(given.file_path, context.cwd), write=False),)

    async def check(self, given: ReadInput, context: ToolContext) -> str | None:
        return fault_of_path(given.file_path)

    async def run(self, given: ReadInput, context: ToolContext) -> ToolOutput:
        path = resolve(given.file_path, context.cwd)
        try:
            file = await asyncio.to_thread(_load, path, given, context.settings)
        except UnusableFileError as error:
            return ToolOutput(text=str(error), is_error=True)
        context.read_state.note(file.path, file.digest, file.status)
        return ToolOutput(text=await asyncio.to_thread(_render, file, given, context.settings), tagged=True)


def _load(path: str, given: ReadInput, settings: Settings) -> LoadedFile:
    in_part = given.offset is not None or given.limit is not None
    limit = settings.read_part_file_max_bytes if in_part else settings.read_file_max_bytes
    if os.path.isfile(path) and os.path.getsize(path) > limit:
        way_out = (
            "search it with Grep"
            if in_part
            else "read it in parts with offset and limit, or search it with Grep"
        )
        raise UnusableFileError(f"{path} is larger than {limit:,} bytes; {way_out}.")
    return load(path, limit)


def _render(file: LoadedFile, given: ReadInput, settings: Settings) -> str:
    lines = split_lines(file.data.decode("utf-8", "replace").removeprefix(BOM))
    first = given.offset or 1
    if not lines:
        return _reminder(f"{one_line(file.path)} exists but is empty.")
    if first > len(lines):
        return _reminder(
            f"{one_line(file.path)} has {len(lines):,} lines; there is none at offset {first:,}."
        )
    wanted = lines[first - 1 : first - 1 + (given.limit or settings.read_lines_default)]
    numbered = [
        f"{number}\t{_cut(line, settings.read_line_max_chars)}" for number, line in enumerate(wanted, first)
    ]
    kept = _fitting([tool_text(line) for line in numbered], settings.read_result_max_chars)
    last = first - 1 + len(kept)
    text = "\n".join(kept)
    if last == len(lines):
        return text
    return f"{text}\n" + _reminder(
        f"Lines {first:,} to {last:,} of {len(lines):,}; go on with offset {last + 1}."
    )


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[:limit]}… [{len(line) - limit:,} more characters]"


def _fitting(lines: list[str], limit: int) -> list[str]:
    """Return as many lines as fit into the limit, at least one."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > limit and count:
            return lines[:count]
    return lines


def _reminder(text: str) -> str:
    return block(SYSTEM_REMINDER, text)
