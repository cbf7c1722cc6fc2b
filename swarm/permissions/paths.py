"""What a path really means, and which paths are never written through a general tool.

Every question is asked of two paths: the one that was given and the one it leads to after symlinks.
Nothing is opened; folders are only looked at.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable

from swarm.permissions.calls import Policy
from swarm.values import Value

_START_UP_FILES = frozenset(
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout "
    ".gitconfig".split()
)
_SETTINGS_FOLDERS = frozenset("hooks agents commands skills rules plugins teams tasks".split())
PROJECT_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
"""What every agent is told of the workspace, from its top; what is read later weighs more."""

_SETTINGS_FILE = re.compile(r"settings.*\.json")

# Characters that are not control or format characters, and yet leave no mark on a screen.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class BadPathError(ValueError):
    """The path is refused whatever it is wanted for; the text says why."""


class Place(Value):
    """A path as given, made absolute (`lexical`), and where it leads after symlinks (`real`)."""

    lexical: str
    real: str


def locate(path: str, cwd: str, home: str) -> Place:
    """Return the place that a tool means by `path`; BadPathError when that is unclear or hidden.

    What does not exist yet is resolved as far as it exists, so that a new file behind a symlink is
    found where it would be made.
    """
    _refuse_hidden_characters(path)
    _refuse_lookalike_steps(path)
    joined = os.path.join(cwd, _expand_home(path, home))
    real = real_path(joined)
    if any(
        map(os.path.islink, _self_and_above(real))
    ):  # what is resolved holds no link, unless it has no end
        raise BadPathError(f"{path} is a symlink that leads back to itself")
    return Place(lexical=normal_path(joined), real=real)


def is_inside(place: Place, folder: str) -> bool:
    """Tell whether both the given and the real path lie in `folder`, or are it."""
    real = real_path(folder)
    given_inside = any(is_below(place.lexical, one) for one in (normal_path(folder), real))
    return given_inside and is_below(place.real, real)


def normal_path(path: str) -> str:
    """Return the path without needless steps; two slashes at its start, which POSIX leaves open, are one."""
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def real_path(path: str) -> str:
    """Return where the path leads after symlinks, as far as it exists."""
    return normal_path(os.path.realpath(path))


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def immune_reason(place: Place, policy: Policy) -> str | None:
    """Say why this place is never written, in any mode; None when it may be."""
    for path in dict.fromkeys((place.lexical, place.real)):
        reason = _protected_name(path)
        if reason is None and in_control_folder(path, policy):
            reason = "it belongs to the swarm's own files, which only the runtime writes"
        if reason is None and _in_config_root(path, policy):
            reason = "it lies in the agents' configuration folder"
        if reason is not None:
            return reason
    return None


def instructs(place: Place, policy: Policy) -> bool:
    """Tell whether agents are told as the project's word what stands in this place."""
    paths = [os.path.join(normal_path(policy.workspace), name) for name in PROJECT_INSTRUCTIONS]
    told = {fold(path) for one in paths for path in (one, real_path(one))}
    return not told.isdisjoint((fold(place.lexical), fold(place.real)))


def in_control_folder(path: str, policy: Policy) -> bool:
    """Tell whether the absolute `path` is one of the swarm's folders or lies in one, by whatever name."""
    return _is_or_below_any(path, with_real(policy.control_roots))


def config_roots(policy: Policy) -> tuple[str, ...]:
    """Return the folders that hold the control folders, as given and resolved; never `/`."""
    parents = dict.fromkeys(os.path.dirname(normal_path(root)) for root in policy.control_roots)
    return tuple(root for root in with_real(parents) if root != "/")


def is_config_root(path: str, policy: Policy) -> bool:
    roots = config_roots(policy)
    if fold(path) in {fold(root) for root in roots}:
        return True
    identity = _identity(path)
    return identity is not None and identity in {_identity(root) for root in roots}


def fold(path: str) -> str:
    """Return the form in which two names of one file on any file system are equal."""
    return unicodedata.normalize("NFKC", path).casefold()


def _refuse_hidden_characters(path: str) -> None:
    for character in path:
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cf", "Cs", "Zl", "Zp") or _BLANK.fullmatch(character):
            raise BadPathError(f"the path holds the invisible character U+{ord(character):04X}")
    if not path:
        raise BadPathError("the path is empty")


def _refuse_lookalike_steps(path: str) -> None:
    """Refuse full-width dots and the like: some file systems take them for `..`, and people do."""
    steps = unicodedata.normalize("NFKC", path).split("/")
    if steps.count("..") > path.split("/").count(".."):
        raise BadPathError("the path holds characters that look like '..' and are not")


def _expand_home(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    if path.startswith("~"):
        raise BadPathError(f"{path} starts at somebody's home folder; write the path in full")
    return path


def _protected_name(path: str) -> str | None:
    names = [_bare(name) for name in fold(path).split("/") if name]
    for position, name in enumerate(names):
        rest = names[position + 1 :]
        if name in (".git", "git~1"):
            return ".git is protected"
        if name == ".ssh":
            return ".ssh is protected"
        if name == ".claude" and rest and (rest[0] in _SETTINGS_FOLDERS or _SETTINGS_FILE.fullmatch(rest[0])):
            return "the agents' own settings are protected"
    last = names[-1] if names else ""
    if last in _START_UP_FILES or names[-3:] == [".config", "git", "config"]:
        return f"{last} is read when a shell or git starts"
    return "the agents' own settings are protected" if last in (".mcp.json", ".claude.json") else None


def _bare(name: str) -> str:
    """Drop what some file systems ignore at the end of a name: dots, blanks, a named stream."""
    return name if name in (".", "..") else name.partition(":")[0].rstrip(" .")


def _in_config_root(path: str, policy: Policy) -> bool:
    """Tell whether `path` is in the configuration folder; a workspace in there is no part of it."""
    roots = config_roots(policy)
    if not _is_or_below_any(path, roots):
        return False
    workspaces = [one for one in with_real((policy.workspace,)) if _is_or_below_any(one, roots)]
    return not any(is_below(path, one) and one not in roots for one in workspaces)


def _is_or_below_any(path: str, folders: tuple[str, ...]) -> bool:
    folded = fold(path)
    if any(is_below(folded, fold(folder)) for folder in folders):
        return True
    identities = {_identity(folder) for folder in folders} - {None}
    return any(_identity(above) in identities for above in _self_and_above(path))


def _self_and_above(path: str) -> Iterable[str]:
    while path not in ("/", ""):
        yield path
        path = os.path.dirname(path)


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode: a mount, or a name spelled differently, is still the same folder."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def with_real(folders: Iterable[str]) -> tuple[str, ...]:
    normal = [normal_path(folder) for folder in folders]
    return tuple(dict.fromkeys(normal + [real_path(folder) for folder in normal]))
