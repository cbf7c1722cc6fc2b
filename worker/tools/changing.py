"""Changing a file that the session knows: never over what somebody else wrote meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable

from worker.tools.contract import ToolContext
from worker.tools.file_writing import folder_held, replace_file
from worker.tools.paths import printable
from worker.tools.read_state import FileStamp, digest_of
from worker.tools.text_files import LoadedFile, UnusableFileError, load


def fault_of_change(path: str, context: ToolContext) -> str | None:
    """Return why the existing file at `path` may not be changed now, as a sentence for the model, or None."""
    stamp = context.read_state.find(path)
    if stamp is None:
        return (
            f"{printable(path)} has not been read in this session; read it with Read first, then change it."
        )
    try:
        status = os.stat(path)
        if (status.st_mtime_ns, status.st_size) == (stamp.mtime_ns, stamp.size):
            return None
        return _fault_of_content(load(path, context.settings.edit_file_max_bytes), stamp)
    except FileNotFoundError:
        return f"{printable(path)} does not exist any more; look with Glob where it went."
    except UnusableFileError as error:
        return str(error)


def _fault_of_content(file: LoadedFile, stamp: FileStamp | None) -> str | None:
    """A newer time alone is no change: the content decides."""
    if stamp is not None and stamp.digest == file.digest:
        return None
    return (
        f"{printable(file.path)} was changed since you read it, perhaps by a teammate; nothing was written. "
        "Read it again and make your change to what is there now."
    )


async def change_file(
    path: str, context: ToolContext, make: Callable[[LoadedFile | None], bytes]
) -> tuple[LoadedFile | None, str]:
    """Write what `make` returns for the current file (None: there is none) and note it as known.

    Compares the content with what the session knows and writes in one go, with all other agents kept out.
    Returns the file as it was and the real path. Raises `UnusableFileError`, and whatever `make` raises.
    """
    real = os.path.realpath(path)
    limit = context.settings.edit_file_max_bytes
    try:
        os.makedirs(os.path.dirname(real), exist_ok=True)
        async with folder_held(real, context.settings.file_lock_seconds):
            old = _load_known(real, context)
            data = make(old)
            if len(data) > limit:
                raise UnusableFileError(
                    f"The text is larger than {limit:,} bytes; write it in smaller files."
                )
            status = replace_file(real, data, None if old is None else old.status)
    except OSError as error:
        raise UnusableFileError(
            f"{printable(path)} cannot be written: {error.strerror}; what was there is untouched."
        ) from error
    context.read_state.note(real, digest_of(data), status)
    return old, real


def find_same(
    path: str, context: ToolContext, make: Callable[[LoadedFile | None], bytes]
) -> LoadedFile | None:
    """Return the file if it already holds what `make` returns for it, known to the session or not.

    So an attempt that repeats the steps of an earlier one gets through: nothing is overwritten unseen.
    """
    try:
        old = load(path, context.settings.edit_file_max_bytes)
        return old if make(old) == old.data else None
    except UnusableFileError:
        return None


def _load_known(real: str, context: ToolContext) -> LoadedFile | None:
    if not os.path.lexists(real):
        return None
    old = load(real, context.settings.edit_file_max_bytes)
    fault = _fault_of_content(old, context.read_state.find(real))
    if fault:
        raise UnusableFileError(fault)
    if not os.access(real, os.W_OK):
        raise UnusableFileError(
            f"{printable(real)} is write-protected; leave it, or ask the leader about it."
        )
    return old
