"""How the work in a folder is checked, guessed from the files that say so. Nothing is run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

_BYTES_MAX = 1024 * 1024
_TARGET = re.compile(r"^(test|check)\s*::?(?!=)", re.MULTILINE)
_NO_NPM_TEST = "no test specified"
_PYTEST_FILES = ("pytest.ini", "conftest.py", "tests", "test")
_RUNNERS = (("uv.lock", "uv run "), ("poetry.lock", "poetry run "), ("pdm.lock", "pdm run "))
_PACKAGERS = (("pnpm-lock.yaml", "pnpm test"), ("yarn.lock", "yarn test"), ("bun.lock", "bun run test"))


def find_check(folder: str) -> str | None:
    """Return the command by which this project is tested; None where nothing tells."""
    return next((command for guess in _GUESSES if (command := guess(folder)) is not None), None)


def _make(folder: str) -> str | None:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        targets = _TARGET.findall(_read(folder, name))
        if targets:
            return f"make {'test' if 'test' in targets else 'check'}"
    return None


def _pytest(folder: str) -> str | None:
    """Return pytest as it is called in this project: where its settings are, or tests for it."""
    settings = _read(folder, "pyproject.toml")
    if not settings and not any(_has(folder, name) for name in ("pytest.ini", "setup.py", "setup.cfg")):
        return None
    if "pytest" not in settings and not any(_has(folder, name) for name in _PYTEST_FILES):
        return None
    runner = next((runner for lock, runner in _RUNNERS if _has(folder, lock)), "")
    return f"{runner}pytest -q"


def _npm(folder: str) -> str | None:
    try:
        package = json.loads(_read(folder, "package.json") or "{}")
    except (ValueError, RecursionError):
        return None
    scripts = package.get("scripts") if isinstance(package, dict) else None
    test = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(test, str) or not test.strip() or _NO_NPM_TEST in test:
        return None
    return next((command for lock, command in _PACKAGERS if _has(folder, lock)), "npm test")


def _others(folder: str) -> str | None:
    known = (("Cargo.toml", "cargo test -q"), ("go.mod", "go test ./..."))
    return next((command for name, command in known if _has(folder, name)), None)


_GUESSES: tuple[Callable[[str], str | None], ...] = (_make, _pytest, _npm, _others)
"""What a project itself calls its test comes before what is usual for its language."""


def _has(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name))


def _read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            return file.read(_BYTES_MAX)
    except OSError:
        return ""
