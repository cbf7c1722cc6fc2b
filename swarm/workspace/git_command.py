"""One git command: no questions, no editor, no inherited repository, an end after a time limit."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence

from swarm.core.untrusted import clean
from swarm.errors import StateError
from swarm.values import Value
from swarm.workspace.commands import MARK
from swarm.workspace.git_ending import end_git, remove_locks

TIMEOUT_SECONDS = 600.0
"""Hooks run the project's checks, which may take as long as a task's."""

LOCK_WAIT_SECONDS = 3.0
_LOCK_POLL_SECONDS = 0.1
_POLL_SECONDS = 0.1
_OUTPUT_LINES = 20
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_LOCKED = re.compile(r"Unable to create '.*\.lock': File exists|cannot lock ref", re.DOTALL)

_SETTINGS = (
    *("-c", "core.quotePath=false", "-c", "advice.detachedHead=false"),
    # Files that an agent writes can be the parts of a bare repository, and its settings name programs.
    *("-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"),
)

# Who commits and which settings hold may come from the environment; which repository is meant may not.
_KEPT = re.compile(
    r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL)|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|GIT_EXEC_PATH|GIT_SSL_\w+"
)
_DROPPED = re.compile(r"(GIT|ANTHROPIC|TMUX)(_|$)|SWARM_SPAWN_FILE$|PAGER$|EDITOR$|VISUAL$")


class Bounds(Value):
    """How long one git command may take, and what ends it before its time."""

    seconds: float = TIMEOUT_SECONDS
    stop: threading.Event | None = None

    @property
    def stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()


class GitStoppedError(Exception):
    """The stop came first: git was ended, or was not started. Nothing of it happens any more."""


class WorkspaceError(StateError):
    """Git refused; the message ends with its own words. Nothing was committed.

    `output` is the end of all that git and its hooks printed.
    """

    def __init__(self, what: str, git_said: str, path: str, output: str = "") -> None:
        self.what = what
        self.git_said = git_said
        self.output = output
        super().__init__(
            f"git could not {what} in {path}: {git_said}", code="io_error", details={"path": path, "errno": 0}
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.git_said, str(self.details["path"]), self.output)


class GitAnswer(Value):
    """How a git command ended, with its output as bytes: paths are bytes."""

    code: int
    out: bytes
    err: str

    @property
    def locked(self) -> bool:
        """Somebody else holds a lock of the repository, usually for a moment."""
        return self.code != 0 and _LOCKED.search(self.err) is not None

    @property
    def last_line(self) -> str:
        """The sentence that tells most, for an error message."""
        spoken = [line for line in self._lines if line and not line.startswith("hint:")]
        told = [line for line in spoken if line.startswith(("fatal:", "error:"))]
        return (told or spoken or [f"exit code {self.code}"])[-1]

    @property
    def ending(self) -> str:
        """The last lines of what was printed: a hook says there what it found."""
        return "\n".join(self._lines[-_OUTPUT_LINES:])

    @property
    def _lines(self) -> list[str]:
        text = self.err if self.err.strip() else self.out.decode(errors="replace")
        lines = [clean(line).rstrip() for line in _ESCAPES.sub("", text).splitlines()]
        return [line for line in lines if line]


def git(
    path: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    paths: Sequence[str] | None = None,
    bounds: Bounds | None = None,
) -> GitAnswer:
    """Run git in `path`. With `paths`, the command reads them as literal path specifications.

    A held index lock is waited for a few seconds; then the answer says so. FileNotFoundError without git,
    GitStoppedError when the bounds' stop came first.
    """
    within = bounds or Bounds()
    line = ["git", "--literal-pathspecs", *_SETTINGS, *arguments]
    given = None
    if paths is not None:
        line += ["--pathspec-from-file=-", "--pathspec-file-nul"]
        given = b"".join(os.fsencode(one) + b"\0" for one in paths)
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        answer = _run(line, path, git_environment(environ), given, within)
        if not answer.locked or time.monotonic() >= deadline:
            return answer
        time.sleep(_LOCK_POLL_SECONDS)


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git and for the hooks that it runs; no secret of ours is in it."""
    kept = {
        name: value for name, value in environ.items() if _KEPT.fullmatch(name) or not _DROPPED.match(name)
    }
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "LC_ALL": "C"}


def _run(
    line: Sequence[str], path: str, environ: Mapping[str, str], given: bytes | None, bounds: Bounds
) -> GitAnswer:
    """Run to the end of git itself; a process that a hook leaves behind is not waited for."""
    if bounds.stopped:
        raise GitStoppedError
    mark, began = secrets.token_hex(12), time.time_ns()
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(given or b"")
        source.seek(0)
        process = subprocess.Popen(
            line,
            cwd=path,
            env={**environ, MARK: mark},
            stdin=source if given is not None else subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        by_itself = False
        try:
            by_itself = _wait(process, bounds)
        finally:
            if not by_itself:
                _end(process, mark, path, environ, began)
        ended = not by_itself and process.returncode != 0
        if ended and bounds.stopped:
            raise GitStoppedError
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace")
        if ended:
            said += f"\nfatal: it took longer than {bounds.seconds:g} s"
        return GitAnswer(code=124 if ended else process.returncode, out=out.read(), err=said)


def _wait(process: subprocess.Popen[bytes], bounds: Bounds) -> bool:
    """Return whether git ended by itself, before the stop and in its time."""
    deadline = time.monotonic() + bounds.seconds
    while not bounds.stopped and (left := deadline - time.monotonic()) > 0:
        try:
            process.wait(min(_POLL_SECONDS, left))
        except subprocess.TimeoutExpired:
            continue
        return True
    return False


def _end(
    process: subprocess.Popen[bytes], mark: str, path: str, environ: Mapping[str, str], began: int
) -> None:
    end_git(process, f"{MARK}={mark}")
    if process.returncode != -signal.SIGKILL:
        return
    folder = _run(("git", *_SETTINGS, "rev-parse", "--absolute-git-dir"), path, environ, None, Bounds())
    if folder.code == 0:
        remove_locks(os.fsdecode(folder.out.removesuffix(b"\n")), process.pid, began)
