"""Where a person wants teammates to run: an option says so, else $SWARM_BACKEND, else a settings file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from swarm.backends.select import OPTION
from swarm.errors import ConfigError, CorruptStateError, StateError
from swarm.storage.files import find_bytes, parse_json
from swarm.values import Value

VARIABLE = "SWARM_BACKEND"
KEY = "teammateMode"
MODES = ("auto", "in-process", "tmux", "iterm2")
"""What the settings of Claude Code know, by the names that they have here."""


class Asked(Value):
    """A backend and where it stands that it is wanted; nobody asks for the usual `auto`."""

    backend: str
    by: str = ""


def what_is_asked(
    given: str | None, environ: Mapping[str, str], root: str, workspace: str | None = None
) -> Asked:
    """Return what is asked for, by the first that says anything; what comes after it is not even read.

    Raises:
        ConfigError: A settings file that would come next is damaged, or says what is no mode (bad_value).

    """
    if given:
        return Asked(backend=given, by=OPTION)
    if environ.get(VARIABLE):
        return Asked(backend=environ[VARIABLE], by=f"${VARIABLE}")
    for path in _settings_files(root, workspace):
        mode = _mode_in(path)
        if mode is not None:
            return Asked(backend=mode, by=f"{KEY} in {path}")
    return Asked(backend="auto")


def _settings_files(root: str, workspace: str | None) -> Iterator[str]:
    """Yield settings files, what counts most first: the repository's own comes after the person's."""
    if workspace is not None:
        yield os.path.join(workspace, ".claude", "settings.local.json")
    yield os.path.join(root, "settings.json")
    if workspace is not None:
        yield os.path.join(workspace, ".claude", "settings.json")


def _mode_in(path: str) -> str | None:
    """Return the mode that a file sets; None where it sets none, whatever else is in it."""
    mode = _read(path).get(KEY)
    if mode is not None and mode not in MODES:
        raise _useless(path, f"{KEY} in {path} is {mode!r}, which is none of {', '.join(MODES)}")
    return mode


def _read(path: str) -> dict[str, Any]:
    """Return what is in a file; nothing where there is none, or a blank one."""
    if not os.path.exists(path):
        return {}
    try:
        data = find_bytes(path) if os.path.isfile(path) else b"null"
        found = parse_json(data, path) if data and data.strip() else {}
    except CorruptStateError as error:
        raise _unknown(f"{path} is damaged ({error.why})", path) from error
    except StateError as error:
        raise _unknown(error.message, path) from error
    if not isinstance(found, dict):
        raise _unknown(f"{path} holds no JSON object", path)
    return found


def _unknown(what: str, path: str) -> ConfigError:
    return _useless(path, f"{what}, so what it says of {KEY} is not known")


def _useless(path: str, what: str) -> ConfigError:
    return ConfigError(
        f"{what}; mend it, or say where teammates are to run by {OPTION} or ${VARIABLE}",
        code="bad_value",
        details={"path": path, "key": KEY, "valid": list(MODES)},
    )
