"""What is wrong with a team file, where, and how it is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from swarm.errors import ConfigError
from swarm.values import Value

Path = tuple[str | int, ...]
"""Where a value stands: keys and list positions from the top of the file."""

NOT_IN_FILE = 1 << 60


class Problem(Value):
    """One thing that is wrong. `message` completes "KEY: …"; `path` may name a key that is missing."""

    message: str
    path: Path = ()
    code: str = "bad_team_file"
    line: int | None = None
    details: Mapping[str, Any] = {}


class Places(Value):
    """Order of all values in the file, and their lines where the format tells them (YAML)."""

    lines: Mapping[Path, int] = {}
    order: Mapping[Path, int] = {}

    def line(self, path: Path) -> int | None:
        """Line of this value, else of the nearest one around it."""
        return next((self.lines[p] for p in _outward(path) if p in self.lines), None)

    def position(self, problem: Problem) -> tuple[int, int]:
        """Sort key: problems come in the order in which a reader of the file meets them."""
        line = problem.line or self.line(problem.path) or 0
        return line, next((self.order[p] for p in _outward(problem.path) if p in self.order), NOT_IN_FILE)


def _outward(path: Path) -> Iterable[Path]:
    return (path[:length] for length in range(len(path), -1, -1))


def render_path(path: Path) -> str:
    """`("tasks", 2, "verify")` as `tasks[2].verify`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def closest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that was probably meant."""
    matches = difflib.get_close_matches(word, list(valid), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing when no valid word is near."""
    meant = closest(word, valid)
    return f"; did you mean {meant}?" if meant else ""


def refusal(problems: Iterable[Problem], file: str, places: Places) -> ConfigError:
    """The error that tells the first problem in file order and counts the others; there must be one."""
    ordered = sorted(problems, key=places.position)
    told = [_as_details(problem, places) for problem in ordered]
    first, more = ordered[0], len(ordered) - 1
    message = _sentence(file, told[0]) + (f" (and {more} more)" if more else "")
    place = {name: told[0][name] for name in ("line", "key") if name in told[0]}
    details = {"file": file} | place | dict(first.details) | {"problems": told}
    return ConfigError(message, code=first.code, details=details)


def _as_details(problem: Problem, places: Places) -> dict[str, Any]:
    line = problem.line or places.line(problem.path)
    at = {"line": line} if line else {}
    return at | {"key": render_path(problem.path), "code": problem.code, "message": problem.message}


def _sentence(file: str, told: Mapping[str, Any]) -> str:
    place = f"{file}:{told['line']}" if "line" in told else file
    return f"{place}: {told['key']}: {told['message']}" if told["key"] else f"{place}: {told['message']}"
