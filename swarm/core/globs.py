"""The patterns in a task's `files`: which paths they cover, and whether two of them may meet.

Patterns are relative to the workspace. `*`, `?` and `[…]` stay within one name, `**` stands for any number
of folders, and a pattern covers everything below what it names. One without `/` that has a wildcard covers
such names in every folder; one without either is a file or folder at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_ANY_DEPTH = "**"
_ONE = ""  # token of a character class or `?`: some one character


def may_overlap(a: str, b: str) -> bool:
    """Tell whether some path may be covered by both patterns; in doubt they overlap."""
    mine, theirs = _parts(a), _parts(b)
    return ".." in (*mine, *theirs) or _meet(mine, theirs, _names_meet, below=True)


def covers(pattern: str, path: str) -> bool:
    """Tell whether a path relative to the workspace is one that the pattern names, or below one."""
    return _meet(_parts(pattern), [part for part in path.split("/") if part], _name_matches, below=False)


def _parts(pattern: str) -> list[str]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    anywhere = "/" not in pattern.strip("/") and not pattern.startswith("/") and _has_wildcard(pattern)
    return [_ANY_DEPTH, *parts] if anywhere else parts


def _has_wildcard(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _meet(a: Sequence[str], b: Sequence[str], same: Callable[[str, str], bool], *, below: bool) -> bool:
    """Walk both lists at once, keeping every pair of places that the names so far allow.

    The first list covers all below it, so its end is a meeting; the end of the second only if `below`.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        i, j = place
        if all(part == _ANY_DEPTH for part in a[i:]) or (below and all(part == _ANY_DEPTH for part in b[j:])):
            return True
        if j < len(b):
            waiting.extend(_steps(a, b, i, j, same=same, patterns=below))
    return False


def _steps(
    a: Sequence[str], b: Sequence[str], i: int, j: int, *, same: Callable[[str, str], bool], patterns: bool
) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    if a[i] == _ANY_DEPTH:
        steps += [(i + 1, j), (i, j + 1)]
    if patterns and b[j] == _ANY_DEPTH:
        steps += [(i, j + 1), (i + 1, j)]
    return steps or ([(i + 1, j + 1)] if same(a[i], b[j]) else [])


def _tokens(name: str) -> list[str]:
    """Return the name in tokens: `*`, `_ONE` or a character. A class counts as any one character."""
    tokens: list[str] = []
    at = 0
    while at < len(name):
        end = _class_end(name, at) if name[at] == "[" else -1
        tokens.append(_ONE if end > 0 or name[at] == "?" else name[at])
        at = end + 1 if end > 0 else at + 1
    return tokens


def _class_end(name: str, start: int) -> int:
    """Return where the class that begins here ends, or -1: then the bracket is a character like others."""
    first = start + 2 if name[start + 1 : start + 2] == "!" else start + 1
    return name.find("]", first + 1)


def _names_meet(a: str, b: str) -> bool:
    if not (_has_wildcard(a) or _has_wildcard(b)):
        return a == b
    return _tokens_meet(_tokens(a), _tokens(b))


def _tokens_meet(a: Sequence[str], b: Sequence[str]) -> bool:
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        i, j = place
        if i == len(a) and j == len(b):
            return True
        star_a, star_b = a[i : i + 1] == ["*"], b[j : j + 1] == ["*"]
        if star_a:
            waiting.append((i + 1, j))
        if star_b:
            waiting.append((i, j + 1))
        if i < len(a) and j < len(b) and (star_a or star_b or _ONE in (a[i], b[j]) or a[i] == b[j]):
            waiting.append((i + (not star_a), j + (not star_b)))
    return False


def _name_matches(pattern: str, name: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)
