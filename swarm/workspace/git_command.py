"""One git command: no questions, no editor, no inherited repository, an end after a time limit."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence

from swarm.errors import StateError
from swarm.values import Value
from swarm.workspace.commands import MARK
from swarm.workspace.processes import Leader, kill_tree, start_ticks

TIMEOUT_SECONDS = 600.0
"""Hooks run the project's checks, which may take as long as a task's."""

LOCK_WAIT_SECONDS = 3.0
_LOCK_POLL_SECONDS = 0.1
_KILL_WAIT_SECONDS = 2.0
_LOCKED = re.compile(r"Unable to create '.*\.lock': File exists|cannot lock ref", re.DOTALL)

# Who commits and which settings hold may come from the environment; which repository is meant may not.
_KEPT = re.compile(
    r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL)|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|GIT_EXEC_PATH|GIT_SSL_\w+"
)
_DROPPED = re.compile(r"(GIT|ANTHROPIC|TMUX)(_|$)|SWARM_SPAWN_FILE$|PAGER$|EDITOR$|VISUAL$")


class WorkspaceError(StateError):
    """Git refused; the message ends with its own words. Nothing was committed."""

    def __init__(self, what: str, git_said: str, path: str) -> None:
        self.what = what
        self.git_said = git_said
        super().__init__(
            f"git could not {what} in {path}: {git_said}", code="io_error", details={"path": path, "errno": 0}
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.git_said, str(self.details["path"]))


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
        lines = [line.strip() for line in (self.err or self.out.decode(errors="replace")).splitlines()]
        spoken = [line for line in lines if line and not line.startswith("hint:")]
        told = [line for line in spoken if line.startswith(("fatal:", "error:"))]
        return (told or spoken or [f"exit code {self.code}"])[-1]


def git(
    path: str, arguments: Sequence[str], *, environ: Mapping[str, str], paths: Sequence[str] | None = None
) -> GitAnswer:
    """Run git in `path`. With `paths`, the command reads them as literal path specifications.

    A held index lock is waited for a few seconds; then the answer says so. FileNotFoundError without git.
    """
    options = ["--literal-pathspecs", "-c", "core.quotePath=false", "-c", "advice.detachedHead=false"]
    line = ["git", *options, *arguments]
    given = None
    if paths is not None:
        line += ["--pathspec-from-file=-", "--pathspec-file-nul"]
        given = b"".join(os.fsencode(one) + b"\0" for one in paths)
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        answer = _run(line, path, git_environment(environ), given)
        if not answer.locked or time.monotonic() >= deadline:
            return answer
        time.sleep(_LOCK_POLL_SECONDS)


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git and for the hooks that it runs; no secret of ours is in it."""
    kept = {
        name: value for name, value in environ.items() if _KEPT.fullmatch(name) or not _DROPPED.match(name)
    }
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat", "LC_ALL": "C"}


def _run(line: Sequence[str], path: str, environ: Mapping[str, str], given: bytes | None) -> GitAnswer:
    """Run to the end of git itself; a process that a hook leaves behind is not waited for."""
    mark = secrets.token_hex(12)
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
        try:
            code = process.wait(TIMEOUT_SECONDS)
        except BaseException as error:
            leader = Leader(process.pid, start_ticks(process.pid) or 0)
            kill_tree(leader, f"{MARK}={mark}", _KILL_WAIT_SECONDS)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return GitAnswer(code=124, out=b"", err=f"fatal: it took longer than {TIMEOUT_SECONDS:g} s")
        out.seek(0)
        err.seek(0)
        return GitAnswer(code=code, out=out.read(), err=err.read().decode(errors="replace"))
