"""The git repository that a team works in: what changed, one commit per task, a way back.

Every call runs `git` with an argument list, closed standard input and none of the caller's `GIT_*`
variables; paths travel as NUL-separated standard input, so any file name is safe.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence

from swarm.errors import StateError

_LOCK_WAIT_SECONDS = 3.0
_LOCK_RETRY_SECONDS = 0.1


class WorkspaceError(StateError):
    """Git refused; its own last line says why. Files stay as they are."""

    def __init__(self, what: str, said: str) -> None:
        super().__init__(f"{what}: {said}", code="io_error", details={"path": what, "errno": 0})


class GitWorkspace:
    """A folder that may be a git repository, or lie inside one. Paths are relative to the folder."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)

    def is_repository(self) -> bool:
        """Whether the folder lies in a work tree of git; False too where there is no git."""
        try:
            asked = self._git("rev-parse", "--is-inside-work-tree")
        except OSError:
            return False
        return asked.returncode == 0 and asked.stdout.strip() == b"true"

    def toplevel(self) -> str:
        """The root folder of the work tree."""
        return self._text("rev-parse", "--show-toplevel")

    def head(self) -> str | None:
        """The commit that is checked out; None in a repository without one."""
        asked = self._git("rev-parse", "--verify", "-q", "HEAD")
        return asked.stdout.decode().strip() if asked.returncode == 0 else None

    def dirty_paths(self) -> tuple[str, ...]:
        """Paths in the folder that differ from the last commit, untracked ones too, sorted."""
        return tuple(sorted(self._changed(".")))

    def changed_under(self, globs: Iterable[str]) -> tuple[str, ...]:
        """The same for what these globs name; `**` crosses folders."""
        specs = [f":(glob){glob}" for glob in globs]
        return tuple(sorted(self._changed(*specs))) if specs else ()

    def keep_ref(self, team: str) -> str | None:
        """Remember the commit that the team started from as a ref; None when there is no commit yet."""
        head = self.head()
        if head is None:
            return None
        ref = f"refs/swarm/{team}/start"
        self._text("update-ref", ref, head)
        return ref

    def diffstat(self, commit: str) -> str:
        """What a commit changed, as `git show --stat` prints it; empty for an unknown one."""
        shown = self._git("show", "--stat=100", "--format=", commit)
        return shown.stdout.decode("utf-8", "replace") if shown.returncode == 0 else ""

    def commit(
        self,
        paths: Sequence[str],
        *,
        subject: str,
        body: str,
        trailers: Mapping[str, str],
        author_name: str,
        team: str,
    ) -> str | None:
        """Commit these paths and nothing else; return the short hash, or None when none of them changed.

        What the person has staged stays staged. Hooks run as ever.
        """
        changed = [path for path in self._changed(".") if _is_among(path, paths)]
        if not changed:
            return None
        given = b"\0".join(os.fsencode(path) for path in changed)
        from_input = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._patiently("add", "--intent-to-add", *from_input, given=given)
        message = "\n\n".join(part for part in (subject, body.strip()) if part)
        marks = [word for key, value in trailers.items() for word in ("--trailer", f"{key}: {value}")]
        self._patiently(
            *self._identity(author_name, team),
            "commit",
            "-q",
            "--only",
            "-m",
            message,
            *marks,
            *from_input,
            given=given,
        )
        return self._text("rev-parse", "--short", "HEAD")

    # Talking to git

    def _changed(self, *specs: str) -> list[str]:
        asked = self._git(
            "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *specs
        )
        if asked.returncode != 0:
            raise WorkspaceError("git status", _last_line(asked.stderr))
        prefix = self._text("rev-parse", "--show-prefix")
        entries = [os.fsdecode(entry[3:]) for entry in asked.stdout.split(b"\0") if entry]
        return [entry.removeprefix(prefix).rstrip("/") for entry in entries if entry.startswith(prefix)]

    def _identity(self, author_name: str, team: str) -> tuple[str, ...]:
        if self._git("var", "GIT_COMMITTER_IDENT").returncode == 0 and self._is_set("user.email"):
            return ()
        return ("-c", f"user.name={author_name}", "-c", f"user.email={author_name}@{team}.invalid")

    def _is_set(self, key: str) -> bool:
        return bool(self._git("config", "--get", key).stdout.strip())

    def _text(self, *words: str) -> str:
        asked = self._git(*words)
        if asked.returncode != 0:
            raise WorkspaceError(f"git {words[0]}", _last_line(asked.stderr))
        return os.fsdecode(asked.stdout).rstrip("\n")

    def _patiently(self, *words: str, given: bytes) -> None:
        """Run git; wait a little for somebody else's lock on the index."""
        deadline = time.monotonic() + _LOCK_WAIT_SECONDS
        while True:
            asked = self._git(*words, given=given)
            if asked.returncode == 0:
                return
            if b"index.lock" not in asked.stderr or time.monotonic() > deadline:
                verb = next(word for word in words if not word.startswith("-") and "=" not in word)
                raise WorkspaceError(f"git {verb}", _last_line(asked.stderr or asked.stdout))
            time.sleep(_LOCK_RETRY_SECONDS)

    def _git(self, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        feed = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            ["git", "--literal-pathspecs" if given else "--no-optional-locks", *words],
            cwd=self.path,
            env=_environ(),
            capture_output=True,
            check=False,
            **feed,
        )


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "LC_ALL": "C"}


def _is_among(path: str, wanted: Sequence[str]) -> bool:
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in wanted)


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "git gave no reason"
