"""`.spawn/<name>.json`: all that a teammate in a process of its own is told, its keys too.

Whoever starts it writes the file, which only its owner may read; the teammate removes it as it reads it.
"""

from __future__ import annotations

from swarm.core.spawn import TeammateSpec, parse_spec, render_spec
from swarm.errors import ConfigError
from swarm.storage import files, syscalls
from swarm.storage.layout import TeamLayout


def write_spawn_file(layout: TeamLayout, spec: TeammateSpec) -> str:
    """Write what this teammate is to read and return the path. One that is there already is replaced."""
    path = layout.spawn_file(spec.name)
    syscalls.make_folders(layout.spawn_dir)
    files.write_json(path, render_spec(spec))
    return path


def read_spawn_file(path: str) -> TeammateSpec:
    """Return what the file says and remove it, whatever it says: it can be read once.

    A ConfigError, for the one who started this by hand, when it is missing or no spawn file.
    """
    data = files.find_bytes(path)
    if data is None:
        raise ConfigError(
            f"there is no spawn file {path}; swarm run and swarm spawn write one for each worker they start",
            code="bad_value",
            details={"value": path},
        )
    syscalls.unlink(path)
    try:
        return parse_spec(files.parse_json(data, path))
    except ValueError as error:
        raise ConfigError(
            f"{path} is no spawn file of this version: {error}; start the agent anew",
            code="bad_value",
            details={"value": path},
        ) from error


def remove_spawn_file(layout: TeamLayout, name: str) -> bool:
    """Remove a file that its reader did not come up to read; False when it is gone, as it should be."""
    return syscalls.unlink(layout.spawn_file(name))
