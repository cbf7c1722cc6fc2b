"""Write: a whole file, new or in place of an old one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from swarm.core.tags import as_meant
from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from worker.tools.changing import change_file, fault_of_change, find_same
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.excerpts import difference
from worker.tools.paths import fault_of_path, printable, resolve, shown
from worker.tools.text_files import (
    BOM,
    REPLACEMENT,
    LoadedFile,
    UnusableFileError,
    count_line_ends,
    encode,
    is_utf8,
    split_lines,
)


class WriteInput(ToolInput):
    """A file and all its text."""

    file_path: str = Field(description="The file, as an absolute path. Missing folders are made.")
    content: str = Field(description="The whole text of the file.")


class Write(Tool[WriteInput]):
    """Gives a file all its text. A file that exists keeps its mode, link, byte order mark and line ends."""

    name = "Write"
    Input = WriteInput
    edits = True

    def describe(self, settings: Settings) -> str:
        return (
            "Writes a whole file: a new one, or all the text of one that exists.\n"
            "- A file that exists must have been read with Read in this session, or the call fails: so "
            "nothing is overwritten unseen. It also fails when somebody changed the file since; then read "
            "it again. Only a file that already has this very text needs no reading.\n"
            "- To change part of a file use Edit instead: it is shorter and cannot lose the rest.\n"
            "- Missing folders are made. A byte order mark and uniform CRLF or CR line ends of an old "
            "file are kept; write plain line breaks.\n"
            "- Use this and not echo or a here-document in Bash, where quoting can spoil the text.\n"
            "- Write documentation files only when the task asks for them: nobody reads the others."
        )

    def meant(self, given: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
        content = given.get("content")
        return {**given, "content": as_meant(content)} if isinstance(content, str) else given

    def path_uses(self, given: WriteInput, context: ToolContext) -> tuple[PathUse, ...]:
        return (PathUse(path=resolve(given.file_path, context.cwd), write=True),)

    async def check(self, given: WriteInput, context: ToolContext) -> str | None:
        fault = fault_of_path(given.file_path)
        if fault:
            return fault
        path = resolve(given.file_path, context.cwd)
        if os.path.isdir(path) or path.endswith("/"):
            return f"{printable(path)} is a folder; give the path of a file."
        if not os.path.exists(path):
            return None
        fault = fault_of_change(path, context)
        return None if fault and self._find_same(given, path, context) else fault

    def _find_same(self, given: WriteInput, path: str, context: ToolContext) -> LoadedFile | None:
        return find_same(path, context, lambda file: _content_for(given.content, file))

    async def run(self, given: WriteInput, context: ToolContext) -> ToolOutput:
        path = resolve(given.file_path, context.cwd)
        same = self._find_same(given, path, context)
        if same is not None:
            context.read_state.note(same.path, same.digest, same.status)
            return ToolOutput(
                text=f"{shown(path, context.cwd)} already has this content.", touched=(same.path,)
            )
        try:
            old, real = await change_file(path, context, lambda file: _content_for(given.content, file))
        except UnusableFileError as error:
            return ToolOutput(text=str(error), is_error=True)
        return ToolOutput(text=_report(shown(path, context.cwd), old, given.content), touched=(real,))


def _content_for(content: str, old: LoadedFile | None) -> bytes:
    """Return the bytes to write, in the form that the old file had."""
    if old is None:
        return encode(content)
    if REPLACEMENT in content and not is_utf8(old.data):
        raise UnusableFileError(
            f"{printable(old.path)} holds bytes that are not UTF-8, shown as {REPLACEMENT}; writing it whole "
            "would lose them. Change the parts that you mean with Edit."
        )
    if old.text.startswith(BOM) and not content.startswith(BOM):
        content = BOM + content
    return encode(content.replace("\n", _uniform_line_end(old.text)) if "\r" not in content else content)


def _uniform_line_end(text: str) -> str:
    used = [end for end, count in count_line_ends(text).items() if count]
    return used[0] if len(used) == 1 else "\n"


def _report(path: str, old: LoadedFile | None, content: str) -> str:
    count = len(split_lines(content))
    lines = "1 line" if count == 1 else f"{count:,} lines"
    if old is None:
        return f"Created {path} ({lines})."
    changed = difference(old.text.removeprefix(BOM), content.removeprefix(BOM))
    return f"Replaced {path} ({lines})" + (f":\n{changed}" if changed else ".")
