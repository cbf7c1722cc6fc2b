"""Glob patterns as regular expressions over relative paths.

`*` and `?` stay within one name, `**` crosses folders, `[…]` and `{a,b}` are alternatives. A pattern
without a slash is looked for at any depth, as in `.gitignore`; one that ends in a slash means all below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ANY_FOLDERS = r"(?:[^/]+/)*"
_TOKEN = re.compile(r"\*\*/|\*+|\?|\[[!^]?\]?[^\]/]*\]|\\.|.", re.DOTALL)
_MAGIC = re.compile(r"[*?\[{]")
_HIDDEN = re.compile(r"(?:^|[/{,])\.(?!\.?(?:/|$))")


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return an expression to `fullmatch` with a path below the folder of the search. Raises `re.error`."""
    pattern = pattern.removeprefix("./")
    prefix = "" if "/" in pattern else _ANY_FOLDERS
    tokens = _TOKEN.findall(pattern + "**" if pattern.endswith("/") else pattern)
    return re.compile(prefix + "".join(_pieces(tokens)), re.DOTALL)


def wants_hidden(pattern: str) -> bool:
    """Tell whether the pattern itself names something that starts with a dot."""
    return _HIDDEN.search(pattern) is not None


def split_absolute(pattern: str) -> tuple[str, str]:
    """Return the folder up to the first wildcard of an absolute pattern, and the pattern below it."""
    magic = _MAGIC.search(pattern)
    end = pattern.rfind("/", 0, magic.start() if magic else len(pattern))
    below = pattern[end + 1 :]
    return pattern[:end] or "/", below if "/" in below else f"./{below}"


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    grouped = _has_groups(tokens)
    for token in tokens:
        if grouped and token == "{":
            depth += 1
            yield "(?:"
        elif grouped and token == "}":
            depth -= 1
            yield ")"
        else:
            yield "|" if depth and token == "," else _translate(token)


def _has_groups(tokens: list[str]) -> bool:
    """Tell whether the braces are balanced; otherwise they stand for themselves."""
    depth = 0
    for token in tokens:
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return False
    return depth == 0


def _translate(token: str) -> str:
    if token == "**/":
        return _ANY_FOLDERS
    if token.startswith("*"):
        return "[^/]*" if token == "*" else ".*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and len(token) > 1:
        return _translate_set(token[1:-1])
    return re.escape(token[-1])


def _translate_set(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = "".join(char if char == "-" else re.escape(char) for char in inside[negated:])
    return f"[^/{members}]" if negated else f"[{members}]"
