"""Path patterns of rules: gitignore globs below the workspace, below home (`~/`) or anywhere (`//`)."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from swarm.permissions.paths import fold, is_below, normal_path, real_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_NO_STEPS = re.compile(r"/(?:\.?/)+")


def tidy(content: str) -> str:
    """Return the pattern without blanks before it and without steps that lead nowhere, such as `/./`."""
    content = content.lstrip(" \t")
    start = next((one for one in ("//", "~/", "./", "/") if content.startswith(one)), "")
    rest = _NO_STEPS.sub("/", f"/{content[len(start) :]}")[1:]
    if rest == "." or rest.endswith("/."):
        rest = rest[:-1]
    return (start or ("./" if content == "." else "")) + rest


def problem_with(content: str) -> str | None:
    """Say what is wrong with a pattern; None when it can be used."""
    if content.startswith("!"):
        return "a path pattern cannot be negated"
    if ".." in content.split("/"):
        return "a path pattern holds no '..'; write it in full, starting with //"
    if content.startswith("~") and not content.startswith("~/"):
        return "a path pattern starts at your own home with ~/, not at another's"
    if any(one in content for one in "\0\n"):
        return "a path pattern is one line"
    try:
        _spec(_split(content, "", "")[1])
    except ValueError as error:
        return str(error)
    return None


def quote_path(path: str, workspace: str) -> str:
    """Return the pattern that means this absolute path, short when it is in the workspace."""
    below = _relative(path, workspace)
    quoted = _quoted(path if below is None else f"/{below}")
    quoted = quoted[:-1] + "\\ " if quoted.endswith(" ") else quoted
    return f"/{quoted}" if below is None else quoted


def starting_at(content: str, folder: str) -> str | None:
    """Return the pattern with its leading slash standing for this folder; None when it has no single one."""
    if not content.startswith("/") or content.startswith("//"):
        return None
    return f"/{_quoted(normal_path(folder))}{content}"


def _quoted(path: str) -> str:
    return "".join(f"\\{one}" if one in "\\*?[]" else one for one in path)


class PathPattern:
    """One pattern with the folder that it starts at.

    With `whole_folders`, `src/**` fits the folder `src` as well: whoever may read all that is in it may
    search it.
    """

    def __init__(self, content: str, workspace: str, home: str, *, whole_folders: bool = False) -> None:
        self._base, pattern = _split(content, workspace, home)
        if whole_folders and pattern.endswith("/**"):
            pattern = "/" + pattern[:-3].lstrip("/")
        self._pattern = pattern

    def fits(self, path: str) -> bool:
        return self._fits(path, self._pattern)

    def fits_folded(self, path: str) -> bool:
        """The same on a file system that knows no upper and lower case, or on one that does."""
        return self.fits(path) or self._fits(path, fold(self._pattern), folded=True)

    def _fits(self, path: str, pattern: str, *, folded: bool = False) -> bool:
        everything = pattern in ("/", "**", "/**")
        for base in dict.fromkeys((normal_path(self._base), real_path(self._base))):
            below = _relative(fold(path), fold(base)) if folded else _relative(path, base)
            if below is not None and (everything or (below and _spec(pattern).match_file(below))):
                return True
        return False


def _split(content: str, workspace: str, home: str) -> tuple[str, str]:
    """Return the folder that the pattern starts at and the gitignore pattern below it."""
    if content.startswith("//"):
        return "/", content[1:]
    if content.startswith("~/"):
        return home, content[1:]
    if content.startswith("./"):
        return workspace, content[1:]
    return workspace, content


def _relative(path: str, base: str) -> str | None:
    return path[len(base.rstrip("/")) + 1 :] if is_below(path, base) else None


@functools.lru_cache(maxsize=512)
def _spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    line = f"\\{pattern}" if pattern.startswith("#") else pattern
    return GitIgnoreSpec.from_lines([_with_its_last_sign(line)])


def _with_its_last_sign(line: str) -> str:
    """Protect white space at the end: git drops nothing else there than spaces, the library all of it."""
    last = line[-1:]
    if not last.isspace() or last == " ":
        return line
    start = line[:-1]
    escaped = (len(start) - len(start.rstrip("\\"))) % 2
    return f"{start[:-1] if escaped else start}[{last}]"
