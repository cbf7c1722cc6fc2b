"""Paths as a model gives them, and as it is shown them."""

from __future__ import annotations

import os
import stat


def resolve(given: str, cwd: str) -> str:
    """Return the absolute path meant. Links and `..` are left for the system, which knows where they lead."""
    return os.path.join(cwd, given)


def fault_of_path(given: str) -> str | None:
    """Return what is wrong with a path as text, as a sentence for the model, or None."""
    if not given.strip():
        return "The path is empty; give the path of a file or folder."
    if "\0" in given:
        return "The path holds a NUL character; no file has such a name."
    if given.startswith("~"):
        return f"{given}: ~ is not expanded here; give an absolute path."
    return None


def shown(path: str, cwd: str) -> str:
    """Return the path as text: relative to `cwd` where it lies below, with odd bytes replaced."""
    below = path[len(cwd) :].lstrip("/") if path.startswith(cwd.rstrip("/") + "/") else path
    return printable(below)


def printable(path: str) -> str:
    """Return the path as text on one line: a name with a line end in it must not look like two."""
    return os.fsencode(path).decode("utf-8", "replace").replace("\n", "\\n").replace("\r", "\\r")


def fault_of_kind(mode: int, path: str) -> str | None:
    """Return why a thing of this kind cannot be read as a text file, as a sentence for the model, or None."""
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return f"{path} is a folder, not a file; list what is in it with Glob."
    return f"{path} is not a regular file but a device, pipe or socket; it cannot be read or written as text."
