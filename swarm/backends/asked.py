"""Where a person wants teammates to run: an option says so, else $SWARM_BACKEND, else a settings file."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.backends.select import OPTION
from swarm.errors import ConfigError
from swarm.storage.settings_files import read_settings, settings_files
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
    for file in settings_files(root, workspace):
        mode = _mode_in(file.path)
        if mode is not None:
            return Asked(backend=mode, by=f"{KEY} in {file.path}")
    return Asked(backend="auto")


def _mode_in(path: str) -> str | None:
    """Return the mode that a file sets; None where it sets none, whatever else is in it."""
    try:
        mode = read_settings(path).get(KEY)
    except ConfigError as error:
        raise _useless(path, f"{error.message}, so what it says of {KEY} is not known") from error
    if mode is not None and mode not in MODES:
        raise _useless(path, f"{KEY} in {path} is {mode!r}, which is none of {', '.join(MODES)}")
    return mode


def _useless(path: str, what: str) -> ConfigError:
    return ConfigError(
        f"{what}; mend it, or say where teammates are to run by {OPTION} or ${VARIABLE}",
        code="bad_value",
        details={"path": path, "key": KEY, "valid": list(MODES)},
    )
