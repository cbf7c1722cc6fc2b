"""Teammates in tmux panes: in a window of the leader's session, else on a server of the team's own."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Collection, Mapping, Sequence
from threading import Event
from typing import Any

from swarm.backends.panes import PaneBackend
from swarm.backends.tmux_client import NO_SERVER, NO_SPACE, NO_TARGET, Pane, TmuxError, TmuxServer
from swarm.backends.tmux_socket import end_own_server, make_socket_folder, own_pane, own_socket, told_socket
from swarm.storage.team import Team

_TRIES = 4
_HEARS_WITHIN_SECONDS = 1.0
_LOOK_SECONDS = 0.01


def tmux_backend(team: Team, environ: Mapping[str, str], hurry: Event | None = None) -> PaneBackend:
    """Return the backend for this team, led by a process with this environment."""
    timeout = team.settings.terminal_timeout_seconds
    return PaneBackend(team, TmuxTerminal(team.name, team.root, environ, timeout=timeout, hurry=hurry))


def where_panes_come(team: Team, environ: Mapping[str, str]) -> str:
    """Return in one line where a person will see the teammates of a leader with this environment."""
    terminal = TmuxTerminal(team.name, team.root, environ, timeout=team.settings.terminal_timeout_seconds)
    return terminal.describe()


class TmuxTerminal:
    """Makes windows of its own, named after the team and tiled; other windows and the focus stay."""

    name = "tmux"

    def __init__(
        self, team: str, root: str, environ: Mapping[str, str], *, timeout: float, hurry: Event | None = None
    ) -> None:
        self._team = team
        self._environ = environ
        self._timeout = timeout
        self._hurry = hurry
        self._own_socket = own_socket(team, root, environ)
        self._label = f"{team}.{hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:8]}"

    def describe(self) -> str:
        """Return in one line where its panes come."""
        if own_pane(self._environ, self._server) is not None:
            return f"The panes are in the window swarm:{self._team} of this tmux session"
        stale = "TMUX names no pane that is there; " if self._environ.get("TMUX") else ""
        return (
            f"{stale}The panes are on a server of their own: tmux -S {shlex.quote(self._own_socket)} attach"
        )

    def open(self, agent: str, argv: Sequence[str], *, mark: str, cwd: str) -> tuple[dict[str, str], int]:
        """Run a program in a new pane; see `Terminal.open`."""
        for left in reversed(range(_TRIES)):
            try:
                server, pane = self._place(argv, mark, cwd)
                break
            except TmuxError as error:  # the window, session or server went while we looked
                if error.kind not in (NO_TARGET, NO_SERVER) or not left:
                    raise
        else:
            raise AssertionError("unreachable")
        server.label_pane(pane.id, agent)
        return {"socket": server.socket, "pane": pane.id}, pane.pid

    def _place(self, argv: Sequence[str], mark: str, cwd: str) -> tuple[TmuxServer, Pane]:
        """Start it where there is room: in a window of ours, in a new one, or in a session of its own."""
        inside = own_pane(self._environ, self._server)
        server, session = (inside[0], inside[1].session) if inside else (self._server(self._own_socket), None)
        windows = [found for found in server.find_windows(self._label) if session in (None, found[0])]
        for _, window in windows:
            try:
                return server, server.split(window, argv, mark=mark, cwd=cwd)
            except TmuxError as error:
                if error.kind != NO_SPACE:
                    raise
        session = session or (windows[0][0] if windows else None)
        if session is None:
            make_socket_folder(server.socket)
            name = f"swarm-{self._team}"
            return server, server.new_session(name, argv, mark=mark, cwd=cwd, label=self._label)
        name = f"swarm:{self._team}"
        return server, server.new_window(session, name, argv, mark=mark, cwd=cwd, label=self._label)

    def knows(self, handle: Mapping[str, Any]) -> bool:
        """Whether it names a socket and a pane."""
        return all(isinstance(handle.get(key), str) for key in ("socket", "pane"))

    def read(self, handle: Mapping[str, Any], pid: int) -> tuple[int | None, tuple[str, ...]]:
        """Return how the program ended and what stands in its pane; tmux hears of an end a little later."""
        server, pane_id = self._server(handle["socket"]), handle["pane"]
        deadline = time.monotonic() + _HEARS_WITHIN_SECONDS
        while True:
            pane = server.find_pane(pane_id)
            if pane is None or pane.pid != pid:
                return None, ()
            code = server.how_ended(pane_id, pid)
            if code is not None or time.monotonic() >= deadline:
                break
            time.sleep(_LOOK_SECONDS)
        lines = server.read_pane(pane_id)
        return code, tuple(line for line in lines if not line.startswith("Pane is dead"))

    def close(self, handle: Mapping[str, Any], pid: int) -> None:
        """Close the pane of this very program."""
        self._server(handle["socket"]).close_pane(handle["pane"], pid)

    def show(self, handle: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the tmux command that selects the pane, and attaches unless we are on that server."""
        socket, pane = handle["socket"], handle["pane"]
        select = ("tmux", "-S", socket, "select-window", "-t", pane, ";", "select-pane", "-t", pane, ";")
        if told_socket(self._environ) == socket:
            return (*select, "switch-client", "-t", pane)
        return ("env", "-u", "TMUX", *select, "attach-session", "-t", pane)

    def tidy(self) -> None:
        """End the team's own server once nothing is in it."""
        self._tidy(self._own_socket)

    def sweep(self, handles: Collection[Mapping[str, Any]], agents: Collection[str] | None) -> None:
        """Close panes of the team in which nothing runs, on every server that it had some on."""
        known = {str(handle["socket"]) for handle in handles}
        for socket in {*known, self._own_socket, told_socket(self._environ)}:
            if os.path.exists(socket):
                server = self._server(socket)
                for agent, pane in server.find_ended(self._label):
                    if agents is None or agent in agents:
                        server.close_pane(pane.id, pane.pid)
                server.have_it_look()  # else what it has not noticed stays as a zombie
                self._tidy(socket)

    def _tidy(self, socket: str) -> None:
        """End a server of the team's own, wherever TMUX_TMPDIR had it put; no other."""
        if os.path.basename(socket) == os.path.basename(self._own_socket) and os.path.exists(socket):
            end_own_server(self._server(socket))

    def _server(self, socket: str) -> TmuxServer:
        return TmuxServer(socket, self._environ, timeout=self._timeout, hurry=self._hurry)
