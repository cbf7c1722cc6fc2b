"""Which tmux server a team's panes belong to: the one that its leader runs in, else one of the team's own."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from swarm.backends.tmux_client import OTHER, Pane, TmuxError, TmuxServer

_PANE_ID = re.compile(r"%[0-9]+")
_SOCKET_MAX = 100  # a socket's path holds 107 bytes on Linux, 103 elsewhere
_TEAM_MAX = 32
_END_SECONDS = 2.0
_LOOK_SECONDS = 0.01
_USUAL = "/tmp"  # noqa: S108 - tmux's own default


def own_socket(team: str, root: str, environ: Mapping[str, str]) -> str:
    """Return where the server of a team that is led outside tmux has its socket: always the same place.

    The folder is the one that tmux uses for its own sockets, private to the user.
    """
    import hashlib

    known_by = hashlib.sha256(os.fsencode(f"{os.path.realpath(root)}/{team}")).hexdigest()[:8]
    name = f"tmux-{os.getuid()}/swarm-{team[:_TEAM_MAX]}-{known_by}"
    wished = os.path.join(os.path.realpath(environ.get("TMUX_TMPDIR") or _USUAL), name)
    return wished if len(os.fsencode(wished)) <= _SOCKET_MAX else os.path.join(_USUAL, name)


def told_socket(environ: Mapping[str, str]) -> str:
    """Return the socket that TMUX names; "" outside of tmux."""
    return environ.get("TMUX", "").rpartition(",")[0].rpartition(",")[0]


def make_socket_folder(socket: str) -> None:
    """Make the private folder of a socket; refuse one into which somebody else may look."""
    folder = os.path.dirname(socket)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise TmuxError(f"{folder} for tmux's socket cannot be made: {error.strerror}", OTHER) from error
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not os.path.isdir(folder):
        raise TmuxError(f"{folder} for tmux's socket is not private to you; set TMUX_TMPDIR", OTHER)


def own_pane(environ: Mapping[str, str], make: Callable[[str], TmuxServer]) -> tuple[TmuxServer, Pane] | None:
    """Return the server and the pane that this process runs in; None outside tmux, or if TMUX is stale.

    The process that is attached somewhere has no part in it: a person may look at another session.
    """
    socket, _, rest = environ.get("TMUX", "").rpartition(",")[0].rpartition(",")
    pane_id = environ.get("TMUX_PANE", "")
    if not (socket and rest.isdigit() and _PANE_ID.fullmatch(pane_id)):
        return None
    server = make(socket)
    if server.server_pid() != int(rest):
        return None
    pane = server.find_pane(pane_id)
    return None if pane is None else (server, pane)


def end_own_server(server: TmuxServer) -> None:
    """End a server in which nothing is left, and remove its socket; leave one that is in use."""
    deadline = time.monotonic() + _END_SECONDS
    while not server.end_if_empty():
        if time.monotonic() >= deadline or server.list_panes():
            return
        time.sleep(_LOOK_SECONDS)
    # tmux holds this very lock while it starts a server, so none can begin between the look and the removal.
    with suppress(OSError), open(f"{server.socket}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if server.server_pid() is None:
            os.unlink(server.socket)
        os.unlink(lock.name)
