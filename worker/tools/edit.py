"""Edit: one passage of a file replaced by another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from swarm.core.tags import as_meant
from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from worker.tools.changing import change_file, fault_of_change
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.edits import Edited, EditError, flattened, replace_passage
from worker.tools.excerpts import excerpt
from worker.tools.paths import fault_of_path, printable, resolve, shown
from worker.tools.text_files import LoadedFile, UnusableFileError, encode, load


class EditInput(ToolInput):
    """What to replace by what, and where."""

    file_path: str = Field(description="The file, as an absolute path. It must have been read before.")
    old_string: str = Field(description="The passage to replace, exactly as it stands in the file.")
    new_string: str = Field(description="What takes its place; must differ from old_string.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence instead of the only one. Default false."
    )


class Edit(Tool[EditInput]):
    """Replaces a passage and nothing else: line ends, encoding, mode and links stay."""

    name = "Edit"
    Input = EditInput
    edits = True

    def describe(self, settings: Settings) -> str:
        return (
            "Replaces a passage in a file that exists.\n"
            "- The file must have been read with Read in this session, or the call fails: so nobody edits "
            "from memory. It also fails when somebody changed the file since; then read it again.\n"
            "- `old_string` must occur exactly once, or the call fails: so no edit lands in the wrong "
            "place. Add lines around it until it is unique (two to four lines are mostly enough), or set "
            "`replace_all` to change every occurrence, as for renaming.\n"
            "- Copy the passage as Read shows it after the line number and the tab, with the same "
            "indentation and spaces; the number and the tab themselves are not part of the file and "
            "belong in neither string.\n"
            "- Line ends of the file are kept, whichever they are; write them as plain line breaks.\n"
            "- Several edits in one message are made in their order, each on the outcome of the one "
            "before.\n"
            "- To create a file or rewrite most of it use Write. Use this and not sed or a script in Bash: "
            "here a wrong match fails instead of spoiling the file."
        )

    def meant(self, given: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
        """Take the passage as it was shown, unless the file holds only the very text that was given."""
        path, old, new = (given.get(name) for name in ("file_path", "old_string", "new_string"))
        if not (isinstance(path, str) and isinstance(old, str) and isinstance(new, str)):
            return given
        plain = as_meant(old)
        if plain != old and _only_as_given(old, plain, resolve(path, context.cwd), context):
            return given
        return {**given, "old_string": plain, "new_string": as_meant(new)}

    def path_uses(self, given: EditInput, context: ToolContext) -> tuple[PathUse, ...]:
        return (PathUse(path=resolve(given.file_path, context.cwd), write=True),)

    async def check(self, given: EditInput, context: ToolContext) -> str | None:
        fault = fault_of_path(given.file_path)
        if fault:
            return fault
        path = resolve(given.file_path, context.cwd)
        if not given.old_string:
            return "old_string is empty; to create a file or to give it all its text use Write."
        if given.old_string == given.new_string:
            return "old_string and new_string are equal, so there is nothing to change."
        if os.path.isdir(path):
            return f"{printable(path)} is a folder; give the path of a file."
        if not os.path.exists(path):
            return (
                f"{printable(path)} does not exist; create it with Write, or find the right path with Glob."
            )
        return fault_of_change(path, context)

    async def run(self, given: EditInput, context: ToolContext) -> ToolOutput:
        path = resolve(given.file_path, context.cwd)
        done: list[Edited] = []

        def make(file: LoadedFile | None) -> bytes:
            if file is None:
                raise UnusableFileError(
                    f"{printable(path)} does not exist any more; look with Glob where it went."
                )
            done.append(
                replace_passage(file.text, given.old_string, given.new_string, replace_all=given.replace_all)
            )
            return encode(done[0].text)

        try:
            _, real = await change_file(path, context, make)
        except (UnusableFileError, EditError) as error:
            return ToolOutput(text=str(error), is_error=True)
        return ToolOutput(text=_report(shown(path, context.cwd), done[0]), touched=(real,))


def _only_as_given(old: str, plain: str, path: str, context: ToolContext) -> bool:
    """Tell whether the file holds the passage letter by letter, and not what it would stand for."""
    try:
        text = flattened(load(path, context.settings.edit_file_max_bytes).text)
    except UnusableFileError:  # the check says so in its own words
        return False
    return flattened(old) in text and flattened(plain) not in text


def _report(path: str, edited: Edited) -> str:
    many = f" at {edited.count:,} places; the first" if edited.count > 1 else ""
    return f"Changed {path}{many}:\n{excerpt(edited.text, edited.start, edited.end)}"
