"""Teammates in panes of iTerm2, through the AppleScript that it documents.

`osascript` is given one script and a verb with its arguments; nothing is put into the text of the script.
Tried against a stand-in for `osascript` only: `auto` never chooses this backend.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from threading import Event
from typing import Any

from swarm.backends.client import call
from swarm.backends.panes import PaneBackend
from swarm.errors import BackendError
from swarm.storage.team import Team
from swarm.workspace.processes import members

_LOOK_SECONDS = 0.02

SCRIPT = """\
on run argv
  set verb to item 1 of argv
  if verb is "open" then return my openPane(item 2 of argv, item 3 of argv, item 4 of argv)
  tell application "iTerm2"
    repeat with aWindow in windows
      repeat with aTab in tabs of aWindow
        repeat with aSession in sessions of aTab
          if unique id of aSession is item 2 of argv then
            if verb is "read" then return contents of aSession
            if verb is "close" then close aSession
            if verb is "show" then
              select aWindow
              select aTab
              select aSession
              activate
            end if
            return ""
          end if
        end repeat
      end repeat
    end repeat
  end tell
  return ""
end run

on openPane(besides, title, told)
  tell application "iTerm2"
    set before to current session of current window
    set here to missing value
    repeat with aWindow in windows
      repeat with aTab in tabs of aWindow
        repeat with aSession in sessions of aTab
          if unique id of aSession is besides then set here to contents of aSession
        end repeat
      end repeat
    end repeat
    set made to missing value
    if here is not missing value then
      try
        tell here to set made to (split horizontally with default profile command told)
      end try
    end if
    if made is missing value then
      tell current window to set aTab to (create tab with default profile command told)
      set made to current session of aTab
    end if
    tell made to set name to title
    select before
    return unique id of made
  end tell
end openPane
"""


def iterm2_backend(team: Team, environ: Mapping[str, str], hurry: Event | None = None) -> PaneBackend:
    """Return the backend for this team."""
    timeout = team.settings.terminal_timeout_seconds
    return PaneBackend(team, ItermTerminal(environ, timeout=timeout, hurry=hurry))


class ItermTerminal:
    """A tab of its own for the team, split for each further teammate; a further tab when it is full."""

    name = "iterm2"

    def __init__(self, environ: Mapping[str, str], *, timeout: float, hurry: Event | None = None) -> None:
        self._environ = {name: value for name, value in environ.items() if not name.startswith("ANTHROPIC_")}
        self._timeout = timeout
        self._hurry = hurry or Event()
        self._last = ""

    def open(self, agent: str, argv: Sequence[str], *, mark: str, cwd: str) -> tuple[dict[str, str], int]:
        """Run a program in a new pane; see `Terminal.open`. iTerm2 takes one text of quoted words."""
        session = self._ask("open", self._last, agent, shlex.join(argv)).strip()
        if not session:
            raise BackendError("iTerm2 did not say which pane it made", code="io_error")
        self._last = session
        try:
            return {"session": session}, self._wait_for(mark)
        except BackendError:
            self._ask("close", session)
            raise

    def _wait_for(self, mark: str) -> int:
        """Return the pid of what was started: iTerm2 does not tell, the mark in its environment does."""
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline:
            found = members(None, mark)
            if found:
                return min(found, key=lambda seen: (seen.start_ticks, seen.pid)).pid
            time.sleep(_LOOK_SECONDS)
        raise BackendError("nothing came up in the pane that iTerm2 made", code="io_error")

    def knows(self, handle: Mapping[str, Any]) -> bool:
        """Whether it names a session of iTerm2."""
        return isinstance(handle.get("session"), str)

    def read(self, handle: Mapping[str, Any], pid: int) -> tuple[int | None, tuple[str, ...]]:
        """Return what stands in the pane; how its program ended is not known."""
        lines = self._ask("read", handle["session"]).splitlines()
        return None, tuple(line.rstrip() for line in lines if line.strip())

    def close(self, handle: Mapping[str, Any], pid: int) -> None:
        """Close the pane; ids of iTerm2's sessions are never used again."""
        self._ask("close", handle["session"])

    def show(self, handle: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the command that brings iTerm2 with this pane to the front."""
        return ("osascript", "-e", SCRIPT, "show", handle["session"])

    def tidy(self) -> None:
        """Do nothing: iTerm2 closes a tab with its last pane."""

    def sweep(self, handles: Collection[Mapping[str, Any]], agents: Collection[str] | None) -> None:
        """Do nothing: a pane of iTerm2 is found by its handle only."""

    def _ask(self, *arguments: str) -> str:
        try:
            words = ["osascript", "-e", SCRIPT, *arguments]
            done = call(words, self._environ, timeout=self._timeout, hurry=self._hurry)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BackendError(f"iTerm2 cannot be asked: {error}", code="io_error") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
            raise BackendError(f"iTerm2 did not {arguments[0]} a pane: {said}", code="io_error")
        return done.stdout.decode(errors="replace")
