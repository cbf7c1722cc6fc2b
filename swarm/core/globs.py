"""The patterns in a task's `files`: which paths they cover, and whether two of them may meet.

Patterns are relative to the workspace. `*`, `?` and `[…]` stay within one name, `**` stands for any number
of folders, and a pattern covers everything below what it names. One without `/` that has a wildcard covers
such names in every folder; one without either is a file or folder at the top.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

_ANY_DEPTH = "**"
_ONE = ""  # token of a character class or `?`: some one character
_FILE = re.compile(r".+\.\w+")

_Place = tuple[int, int]
"""How far a walk has come in each of two sequences."""


def may_overlap(a: str, b: str) -> bool:
    """Tell whether some path may be covered by both patterns; in doubt they overlap.

    A name with an extension counts as a file, unless the other pattern names it as a folder.
    """
    mine, theirs = _parts(a), _parts(b)
    if ".." in (*mine, *theirs):
        return True
    return _reaches(lambda i, j: _meet(mine, i, theirs, j), lambda i, j: _pattern_steps(mine, i, theirs, j))


def covers(pattern: str, path: str) -> bool:
    """Tell whether a path relative to the workspace is one that the pattern names, or below one."""
    from fnmatch import fnmatchcase

    parts, names = _parts(pattern), [name for name in path.split("/") if name]

    def steps(i: int, j: int) -> Iterable[_Place]:
        if j < len(names) and parts[i] == _ANY_DEPTH:
            return (i + 1, j), (i, j + 1)
        return [(i + 1, j + 1)] if j < len(names) and fnmatchcase(names[j], parts[i]) else []

    return _reaches(lambda i, _j: _is_any_depth(parts[i:]), steps)


def _parts(pattern: str) -> list[str]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    anywhere = "/" not in pattern.strip("/") and not pattern.startswith("/") and _has_wildcard(pattern)
    return [_ANY_DEPTH, *parts] if anywhere else parts


def _has_wildcard(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _is_any_depth(parts: Iterable[str]) -> bool:
    return all(part == _ANY_DEPTH for part in parts)


def _reaches(goal: Callable[[int, int], bool], steps: Callable[[int, int], Iterable[_Place]]) -> bool:
    """Tell whether steps lead from (0, 0) to a goal; each place is looked at once, so this never explodes."""
    seen: set[_Place] = set()
    waiting: list[_Place] = [(0, 0)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if goal(*place):
            return True
        waiting.extend(steps(*place))
    return False


def _meet(a: Sequence[str], i: int, b: Sequence[str], j: int) -> bool:
    """Tell whether one pattern has been walked to its end and may hold what is left of the other."""
    return (_is_any_depth(a[i:]) and _may_hold(a, b, j)) or (_is_any_depth(b[j:]) and _may_hold(b, a, i))


def _may_hold(outer: Sequence[str], inner: Sequence[str], at: int) -> bool:
    is_file = bool(outer) and bool(_FILE.fullmatch(outer[-1]))
    if not is_file or _is_any_depth(inner[at:]) or inner[at] != _ANY_DEPTH:
        return True
    return at > 0 and _names_meet(outer[-1], inner[at - 1])


def _pattern_steps(a: Sequence[str], i: int, b: Sequence[str], j: int) -> list[_Place]:
    if i == len(a) or j == len(b):
        return []
    if _ANY_DEPTH in (a[i], b[j]):
        return [(i + 1, j), (i, j + 1)]
    return [(i + 1, j + 1)] if _names_meet(a[i], b[j]) else []


def _names_meet(a: str, b: str) -> bool:
    if not (_has_wildcard(a) or _has_wildcard(b)):
        return a == b
    mine, theirs = _tokens(a), _tokens(b)
    ends = (len(mine), len(theirs))
    return _reaches(lambda i, j: (i, j) == ends, lambda i, j: _token_steps(mine, i, theirs, j))


def _token_steps(a: Sequence[str], i: int, b: Sequence[str], j: int) -> list[_Place]:
    star_a, star_b = a[i : i + 1] == ["*"], b[j : j + 1] == ["*"]
    steps = [(i + 1, j)] if star_a else []
    if star_b:
        steps.append((i, j + 1))
    if i < len(a) and j < len(b) and (star_a or star_b or _ONE in (a[i], b[j]) or a[i] == b[j]):
        steps.append((i + (not star_a), j + (not star_b)))
    return steps


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
