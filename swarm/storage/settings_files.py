"""The settings files that people have for Claude Code: where they are, and what is in them.

They are read here and never written. Those of a workspace come with its repository, so whoever wrote that
may have written them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import Any

from swarm.errors import ConfigError, CorruptStateError, StateError
from swarm.storage.files import find_bytes, parse_json
from swarm.values import Value

LOCAL, USER, PROJECT = "local settings", "user settings", "project settings"
MANAGED = "managed settings"

_MANAGED_FOLDER = {"darwin": "/Library/Application Support/ClaudeCode"}


class SettingsFile(Value):
    """One of these files, which need not exist; `kind` is how messages call it."""

    kind: str
    path: str

    @property
    def is_the_persons(self) -> bool:
        """Whether it lies outside of the workspace, where nobody but the person puts anything."""
        return self.kind == USER

    @property
    def comes_with_the_workspace(self) -> bool:
        """Whether whoever wrote the repository may have written it."""
        return self.kind in (LOCAL, PROJECT)


def managed_file() -> str:
    """Return where whoever administers the machine puts settings for all its users."""
    folder = _MANAGED_FOLDER.get(sys.platform, "/etc/claude-code")
    return os.path.join(folder, "managed-settings.json")


def settings_files(root: str, workspace: str | None) -> tuple[SettingsFile, ...]:
    """Return the files, what counts most first: the repository's own comes after the person's.

    What takes away counts from each of them; the order is for all else.
    """
    managed = SettingsFile(kind=MANAGED, path=managed_file())
    user = SettingsFile(kind=USER, path=os.path.join(root, "settings.json"))
    if workspace is None:
        return (user, managed)
    folder = os.path.join(workspace, ".claude")
    local = SettingsFile(kind=LOCAL, path=os.path.join(folder, "settings.local.json"))
    if os.path.realpath(folder) == os.path.realpath(root):  # at work in the home folder: it is the same file
        return (local, user, managed)
    return (local, user, SettingsFile(kind=PROJECT, path=os.path.join(folder, "settings.json")), managed)


def read_settings(path: str) -> Mapping[str, Any]:
    """Return what is in a settings file; nothing where there is none, or a blank one.

    Raises:
        ConfigError: It cannot be read, or is not one JSON object (bad_value).

    """
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise _unreadable(f"{path} cannot be read ({error.strerror})", path) from error
    try:
        data = find_bytes(path) if is_file else b"null"
        found = parse_json(data, path) if data and data.strip() else {}
    except CorruptStateError as error:
        raise _unreadable(f"{path} is damaged ({error.why})", path) from error
    except StateError as error:
        raise _unreadable(error.message, path) from error
    if not isinstance(found, dict):
        raise _unreadable(f"{path} holds no JSON object", path)
    return found


def is_trusted(environ: Mapping[str, str], workspace: str) -> bool:
    """Tell whether the person has said in Claude Code that this folder is to be trusted.

    That stands beside the settings: in the folder that `$CLAUDE_CONFIG_DIR` names, else at home.
    """
    given = environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME") or os.path.expanduser("~")
    try:
        projects = read_settings(os.path.join(os.path.abspath(given), ".claude.json")).get("projects")
    except ConfigError:
        return False
    project = projects.get(os.path.realpath(workspace)) if isinstance(projects, dict) else None
    return isinstance(project, dict) and project.get("hasTrustDialogAccepted") is True


def _unreadable(what: str, path: str) -> ConfigError:
    return ConfigError(what, code="bad_value", details={"path": path})
