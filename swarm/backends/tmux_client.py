"""A small client over the `tmux` command, for one server that is named by the path of its socket.

Everything is addressed by the ids that tmux gives (`$1`, `@2`, `%3`), never by name or number; only ids and
numbers are read back, so no title or command of a stranger can confuse the reading. Nothing is typed into a
pane, and no shell is asked: a program and its arguments go after `--` as they are.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Event
from typing import NamedTuple

from swarm.backends.client import call
from swarm.errors import BackendError
from swarm.storage.processes import start_ticks

MISSING, NO_SERVER, NO_TARGET, NO_SPACE, TAKEN, SILENT, OTHER = (
    "missing", "no_server", "no_target", "no_space", "taken", "silent", "other",
)  # fmt: skip
"""What a failure of tmux means. `OTHER` may pass when asked again, the rest will not."""

_ANSWERS = (
    (
        NO_SERVER,
        re.compile(
            r"no server running on |error connecting to .*\((No such file|Connection refused)"
            r"|server exited unexpectedly"
        ),
    ),
    (NO_TARGET, re.compile(r"(can't find|no such) (client|session|window|pane)|no current (session|target)")),
    (NO_SPACE, re.compile(r"no space for (a )?new pane|pane too small")),
    (TAKEN, re.compile(r"duplicate session")),
)
_KEPT = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG TERM TMPDIR TMUX_TMPDIR TZ XDG_CONFIG_HOME XDG_RUNTIME_DIR".split()
)
_TRIES = 6
_PAUSE_SECONDS = 0.02
_PANE = "#{session_id} #{window_id} #{pane_id} #{pane_pid} #{pane_dead}"
_PANE_LINE = re.compile(r"(\$[0-9]+) (@[0-9]+) (%[0-9]+) ([0-9]+) ([01]?)")
_END_LINE = re.compile(r"([0-9]+) 1 ([0-9]*) ([0-9]*)")
_WINDOW_LINE = re.compile(r"(\$[0-9]+) (@[0-9]+)")


class TmuxError(BackendError):
    """tmux did not do it; `kind` is what that means."""

    def __init__(self, message: str, kind: str) -> None:
        code = "bad_value" if kind == MISSING else "io_error"
        super().__init__(message, code=code, details={"tmux": kind})

    @property
    def kind(self) -> str:
        return str(self.details["tmux"])


class Pane(NamedTuple):
    """One pane: its pid tells it from a pane of a later server, where ids begin anew."""

    session: str
    window: str
    id: str
    pid: int
    dead: bool


class TmuxServer:
    """The server behind one socket; it need not run. Calls block for the few milliseconds that tmux takes.

    `environ` gives the PATH on which tmux is found; of the rest only names without secrets are handed on,
    as a server keeps the environment that it was started with and shows it to everybody in it.
    Once `hurry` is set nobody waits for a tmux that does not answer.
    """

    def __init__(
        self, socket: str, environ: Mapping[str, str], *, timeout: float, hurry: Event | None = None
    ) -> None:
        self.socket = socket
        self._timeout = timeout
        self._hurry = hurry or Event()
        self._environ = {k: v for k, v in environ.items() if k in _KEPT or k.startswith("LC_")}

    # Looking

    def list_panes(self) -> tuple[Pane, ...]:
        """Return all panes of the server; none when no server runs."""
        return _panes(self._read("list-panes", "-a", "-F", _PANE))

    def find_pane(self, pane_id: str) -> Pane | None:
        """Return the pane with this id; None when tmux says that there is none, or that no server runs."""
        return next(iter(_panes(self._read("display-message", "-p", "-t", pane_id, _PANE))), None)

    def find_started(self, mark: str) -> Pane | None:
        """Return the pane that was started with `mark` among its arguments; tmux itself looks for it."""
        wanted = f"#{{m:*{mark}*,#{{pane_start_command}}}}"
        return next(iter(_panes(self._read("list-panes", "-a", "-F", _PANE, "-f", wanted))), None)

    def find_windows(self, label: str) -> tuple[tuple[str, str], ...]:
        """Return the session and id of each window that was labelled so."""
        wanted = f"#{{==:#{{@swarm_team}},{label}}}"
        lines = self._read("list-windows", "-a", "-F", "#{session_id} #{window_id}", "-f", wanted)
        found = (_WINDOW_LINE.fullmatch(line) for line in lines)
        return tuple((match[1], match[2]) for match in found if match)

    def find_ended(self, label: str) -> tuple[tuple[str, Pane], ...]:
        """Return the panes of windows labelled so in which a program of ours has ended, and whose it was."""
        ours = f"#{{&&:#{{==:#{{@swarm_team}},{label}}},#{{m:*SWARM_RUN_ID=*,#{{pane_start_command}}}}}}"
        lines = self._read("list-panes", "-a", "-F", f"{_PANE}|#{{@swarm_agent}}", "-f", ours)
        told = (line.partition("|") for line in lines)
        found = ((agent, pane) for facts, _, agent in told for pane in _panes([facts]))
        return tuple(one for one in found if one[1].dead or start_ticks(one[1].pid) is None)

    def server_pid(self) -> int | None:
        """Return the pid of the running server."""
        return next((int(line) for line in self._read("display-message", "-p", "#{pid}") if line), None)

    def read_pane(self, pane_id: str) -> tuple[str, ...]:
        """Return what stands in a pane, and what has scrolled out of it, without blank lines."""
        lines = self._read("capture-pane", "-p", "-J", "-S", "-200", "-t", pane_id)
        return tuple(line.rstrip() for line in lines if line.strip())

    # Changing

    def new_session(self, name: str, argv: Sequence[str], *, mark: str, cwd: str, label: str) -> Pane:
        """Start a program in a session of its own on a server of our own; nobody is attached.

        A name that is taken belongs to somebody else: the session then gets another one.
        """
        try:
            return self._new_session(name, argv, mark, cwd, label)
        except TmuxError as error:
            if error.kind != TAKEN:
                raise
        return self._new_session(f"{name}-{os.getpid()}-{time.monotonic_ns()}", argv, mark, cwd, label)

    def _new_session(self, name: str, argv: Sequence[str], mark: str, cwd: str, label: str) -> Pane:
        # In one go: with either option on in tmux.conf the session would end with this very call.
        stay = (";", "set-option", "-s", "exit-unattached", "off")
        keep = (*stay, ";", "set-option", "-t", f"={name}:", "destroy-unattached", "off")
        command = ("new-session", "-d", "-x", "200", "-y", "50", "-s", name, "-n", name)
        return self._create(command, argv, mark, cwd, (*keep, *_labelling(f"={name}:", label)))

    def new_window(
        self, session: str, name: str, argv: Sequence[str], *, mark: str, cwd: str, label: str
    ) -> Pane:
        """Start a program in a window of its own at the end of a session; the current window stays."""
        end = f"{session}:{{end}}"
        command = ("new-window", "-d", "-a", "-t", end, "-n", name)
        return self._create(command, argv, mark, cwd, _labelling(end, label))

    def split(self, window: str, argv: Sequence[str], *, mark: str, cwd: str) -> Pane:
        """Start a program in a further pane of a window; `NO_SPACE` when it is full."""
        self.run("select-layout", "-t", window, "tiled")
        try:
            return self._create(("split-window", "-d", "-t", window), argv, mark, cwd)
        finally:
            self.run("select-layout", "-t", window, "tiled", missing_ok=True)

    def label_pane(self, pane_id: str, agent: str) -> None:
        self.run("set-option", "-p", "-t", pane_id, "@swarm_agent", agent, missing_ok=True)

    def close_pane(self, pane_id: str, pid: int) -> None:
        """Close a pane if it is still the one in which `pid` was started; tmux itself compares."""
        same = f"#{{==:#{{pane_pid}},{pid}}}"
        self.run("if-shell", "-F", "-t", pane_id, same, f"kill-pane -t {pane_id}", missing_ok=True)

    def end_if_empty(self) -> bool:
        """End the server if nothing is in it, as `exit-empty off` keeps such; whether none runs now."""
        if self.list_panes():
            return False
        self.run("if-shell", "-F", "#{S:session}", "", "kill-server", missing_ok=True)
        return self.server_pid() is None

    def how_ended(self, pane_id: str, pid: int) -> int | None:
        """Return how the program of a dead pane ended, as `subprocess` would say it; None when not known yet.

        A program whose end tmux has not noticed stays a zombie, without a status, until another one ends.
        """
        shown = "#{pane_pid} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"
        for line in self._read("display-message", "-p", "-t", pane_id, shown):
            known = _END_LINE.fullmatch(line)
            if known and int(known[1]) == pid:
                if known[3] or known[2]:
                    return -int(known[3]) if known[3] else int(known[2])
                self.have_it_look()
        return None

    def have_it_look(self) -> None:
        """Have tmux look for children that have ended: it was seen to miss the signal of one in three."""
        server = self.server_pid()
        if server is not None:
            with suppress(OSError):
                os.kill(server, signal.SIGCHLD)

    def _create(
        self, command: tuple[str, ...], argv: Sequence[str], mark: str, cwd: str, then: Sequence[str] = ()
    ) -> Pane:
        """Start a program once, although a failure of tmux may leave open whether it was started."""
        place = ("-P", "-F", _PANE, "-c", _literal(cwd.replace("#", "##")), "--", *map(_literal, argv), *then)
        for left in reversed(range(_TRIES)):
            try:
                panes = _panes(self._call(*command, *place))
            except TmuxError as error:
                if error.kind not in (OTHER, SILENT):
                    raise
                found = self.find_started(mark)
                if found is None and (error.kind == SILENT or not left):
                    raise
                panes = (found,) if found else ()
                time.sleep(_PAUSE_SECONDS)
            if panes:
                return panes[0]
        raise TmuxError(f"tmux on {self.socket} did not say which pane it made", OTHER)

    # The command

    def run(self, *arguments: str, missing_ok: bool = False) -> tuple[str, ...]:
        """Run a command that may be repeated, and return its lines. A failure that may pass is tried again.

        With `missing_ok`, a server or target that is gone is no failure.
        """
        for left in reversed(range(_TRIES)):
            try:
                return self._call(*arguments)
            except TmuxError as error:
                if missing_ok and error.kind in (NO_SERVER, NO_TARGET):
                    return ()
                if error.kind != OTHER or not left:
                    raise
            time.sleep(_PAUSE_SECONDS)
        raise AssertionError("unreachable")

    def _read(self, *arguments: str) -> tuple[str, ...]:
        return self.run(*arguments, missing_ok=True)

    def _call(self, *arguments: str) -> tuple[str, ...]:
        try:
            words = ["tmux", "-u", "-S", self.socket, *arguments]
            done = call(words, self._environ, timeout=self._timeout, hurry=self._hurry)
        except FileNotFoundError:
            raise TmuxError("tmux is not installed; use --backend process", MISSING) from None
        except PermissionError as error:
            raise TmuxError(
                f"tmux cannot be run: {error.strerror}; use --backend process", MISSING
            ) from error
        except subprocess.TimeoutExpired as error:
            within = "at once" if self._hurry.is_set() else f"in {self._timeout:g}s"
            raise TmuxError(f"tmux on {self.socket} gave no answer {within}", SILENT) from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
            raise TmuxError(f"tmux {arguments[0]} on {self.socket}: {said}", _meaning(said))
        return tuple(done.stdout.decode(errors="replace").splitlines())


def _panes(lines: Sequence[str]) -> tuple[Pane, ...]:
    found = (_PANE_LINE.fullmatch(line) for line in lines)
    return tuple(Pane(m[1], m[2], m[3], int(m[4]), m[5] == "1") for m in found if m)


def _labelling(window: str, label: str) -> tuple[str, ...]:
    """Return what makes a window ours: found by `label`, it shows who is who and keeps what failed readable.

    It stands in the call that makes the window, as what is in it may end before the next.
    """
    options = (
        ("@swarm_team", label),
        ("pane-border-format", " #{@swarm_agent} "),
        ("pane-border-status", "top"),
        ("remain-on-exit", "failed"),
    )
    return tuple(word for option in options for word in (";", "set-option", "-w", "-t", window, *option))


def _literal(argument: str) -> str:
    """An argument that ends in `;` would end the command."""
    return f"{argument[:-1]}\\;" if argument.endswith(";") else argument


def _meaning(said: str) -> str:
    return next((kind for kind, pattern in _ANSWERS if pattern.search(said)), OTHER)
