"""The git repository that a team works in: what changed, and commits of exactly the files of one task.

Paths that come and go are relative to the workspace, which may be a folder inside the repository.
What the person has staged stays staged, hooks always run, and nothing but commits and `refs/swarm/` is made.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence

from swarm.core.globs import covers
from swarm.workspace.git_command import Bounds, GitAnswer, GitStoppedError, WorkspaceError, git

__all__ = ["Bounds", "GitStoppedError", "GitWorkspace", "WorkspaceError"]

_SUBJECT_MAX_CHARS = 120
_BARE = "safe.bareRepository"
_NOTHING_TO_COMMIT = (b"nothing to commit", b"nothing added to commit", b"no changes added to commit")


class GitWorkspace:
    """The repository around one workspace; without git or a repository, `is_repository()` is False.

    Every call runs git and may block, each command within `bounds`; after their stop it raises
    GitStoppedError. The caller holds the workspace's lock around `commit`.
    """

    def __init__(
        self, path: str, environ: Mapping[str, str] | None = None, bounds: Bounds | None = None
    ) -> None:
        self._path = os.path.realpath(path)
        self._bounds = bounds
        self._environ = os.environ if environ is None else environ

    def is_repository(self) -> bool:
        """Tell whether the workspace is in a working tree. WorkspaceError when git refuses to work there."""
        try:
            answer = self._try("rev-parse", "--is-inside-work-tree")
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return False
        if "dubious ownership" in answer.err:
            raise WorkspaceError(
                "work", "the repository belongs to another user; add it to safe.directory", self._path
            )
        return answer.code == 0 and answer.out.strip() == b"true"

    def must_commit(self, *, expected: bool) -> bool:
        """Tell whether work in this workspace is to be committed.

        As `is_repository`, but WorkspaceError where there should be a repository and git finds none: it is
        expected, or its files are there and broken.
        """
        if self.is_repository():
            return True
        if not expected and not self.has_git_files():
            return False
        try:
            answer = self._try("rev-parse", "--is-inside-work-tree")
        except FileNotFoundError as error:
            raise WorkspaceError("run", "git is not installed, or not on PATH", self._path) from error
        except OSError as error:
            raise WorkspaceError("run", str(error.strerror), self._path) from error
        if not expected and (answer.code == 0 or _BARE in answer.err):
            return False  # a bare repository, what looks like one, or the inside of a `.git`
        raise WorkspaceError("find the repository", answer.last_line, self._path, answer.ending)

    def has_git_files(self) -> bool:
        """Tell whether what looks like a repository holds the workspace, whatever git says of it."""
        folder = self._path
        while True:
            found = os.path.join(folder, ".git")
            if os.path.isfile(found) or os.path.lexists(os.path.join(found, "HEAD")):
                return True
            if folder == os.path.dirname(folder):
                return False
            folder = os.path.dirname(folder)

    def toplevel(self) -> str:
        return self._toplevel

    def head(self) -> str | None:
        """Return the full id of the current commit; None before the first one."""
        answer = self._try("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return answer.out.decode().strip() if answer.code == 0 else None

    def dirty_paths(self) -> tuple[str, ...]:
        """Return the changed, deleted and new files below the workspace, sorted; ignored ones are not."""
        return tuple(sorted(self._from_top(path) for path in self._status()))

    def changed_under(self, globs: Iterable[str]) -> tuple[str, ...]:
        """Return those of `dirty_paths` that one of a task's `files` patterns covers."""
        patterns = tuple(globs)
        return tuple(path for path in self.dirty_paths() if any(covers(one, path) for one in patterns))

    def keep_ref(self, team: str, *, replace: bool = True) -> str | None:
        """Point `refs/swarm/<team>/start` at the current commit and return its name; None before the first.

        Without `replace`, one that is there stays as it is: a run that is taken up again starts where it did.
        """
        head, name = self.head(), f"refs/swarm/{team}/start"
        if head is None:
            return None
        if replace or self._try("rev-parse", "--verify", "--quiet", name).code != 0:
            self._must("keep a reference", "update-ref", "-m", "swarm: start of the run", name, head)
        return name

    def not_in_head(self, commits: Iterable[str]) -> frozenset[str]:
        """Return those of these commits that what is checked out does not come after, or that are gone."""
        return frozenset(
            one for one in commits if self._try("merge-base", "--is-ancestor", one, "HEAD").code != 0
        )

    def diffstat(self, commit: str) -> str:
        """Return which files the commit changed and by how much, as text; empty for an unknown commit."""
        shown = self._try("show", "--stat=90", "--format=", "--no-color", "--end-of-options", commit)
        return shown.out.decode(errors="replace").strip("\n") if shown.code == 0 else ""

    def commit(
        self,
        paths: Iterable[str],
        subject: str,
        body: str,
        trailers: Mapping[str, str],
        author_name: str,
        team: str,
    ) -> str | None:
        """Commit these files as they are now and return the short id; None when none of them changed.

        Deleted files count; files that are ignored, in a submodule or outside the repository are left out.
        WorkspaceError when git or a hook refuses, GitStoppedError when it was ended before: then the index is
        as it was. What had been committed by then, before a later hook perhaps, counts as committed.
        """
        status, before = self._status(), self.head()
        wanted = [path for path in dict.fromkeys(map(self._to_top, paths)) if path in status]
        if not wanted:
            return None
        new = [path for path in wanted if status[path] == "??"]
        if new:
            self._must("add files", "add", "--intent-to-add", paths=new)
        try:
            committed = self._commit_only(wanted, _message(subject, body, trailers), author_name, team)
        except BaseException as error:
            if not (isinstance(error, GitStoppedError | WorkspaceError) and self._landed(before, trailers)):
                self._forget(new)
                raise
        else:
            if not committed:
                self._forget(new)
                return None
        return self._afterwards("rev-parse", "--short", "HEAD").out.decode().strip()

    def find_made(self, team: str, trailers: Mapping[str, str]) -> str | None:
        """Return the short id of the last commit since `keep_ref` with these trailers, if there is one."""
        lines = _trailer_lines(trailers)
        wanted = (*(f"--grep={line}" for line in lines), "--all-match", "--fixed-strings")
        shown = self._try(
            *("log", "-z", "--no-color", "--no-show-signature", *wanted, "--format=%h%n%B"),
            *("--end-of-options", f"refs/swarm/{team}/start..HEAD"),
        )
        if shown.code != 0:
            return None
        for record in shown.out.decode(errors="replace").split("\0"):
            found, _, message = record.partition("\n")
            if lines <= set(message.split("\n")):
                return found
        return None

    def _landed(self, before: str | None, trailers: Mapping[str, str]) -> bool:
        """Tell whether the current commit is the one that we asked for, on top of `before`."""
        shown = self._afterwards("log", "-1", "--no-color", "--no-show-signature", "--format=%P%n%B")
        parent, _, message = shown.out.decode(errors="replace").partition("\n")
        if shown.code != 0 or parent != (before or ""):
            return False
        return _trailer_lines(trailers) <= set(message.split("\n"))

    def _commit_only(self, wanted: Sequence[str], message: str, author_name: str, team: str) -> bool:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="replace", suffix=".txt") as file:
            file.write(message)
            file.flush()
            answer = self._try(
                *self._identity(author_name, team),
                *("commit", "--only", "--no-edit", "--no-status", "--cleanup=whitespace", "-F", file.name),
                paths=wanted,
            )
        if answer.code == 0:
            return True
        if any(text in answer.out for text in _NOTHING_TO_COMMIT):
            return False
        raise WorkspaceError("commit", answer.last_line, self._path, answer.ending)

    def _forget(self, new: Sequence[str]) -> None:
        """Take back what only the failed commit had made known to the index."""
        if new:
            self._afterwards("rm", "--cached", "--force", "--quiet", "--ignore-unmatch", paths=new)

    def _identity(self, author_name: str, team: str) -> list[str]:
        """Return options that stand in for what the person has not configured."""
        given = {"user.name": author_name, "user.email": f"{author_name}@{team}.invalid"}
        missing = [key for key in given if self._try("config", "--get", key).code != 0]
        return [part for key in missing for part in ("-c", f"{key}={given[key]}")]

    def _status(self) -> dict[str, str]:
        """Return the two status letters of each changed file below the workspace, by path from the top.

        Nested repositories (their names end in a slash) and submodules are none of ours.
        """
        options = ("--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
        answer = self._must("list changes", "--no-optional-locks", "status", *options, "--", ".")
        entries = [os.fsdecode(entry) for entry in answer.out.split(b"\0") if entry]
        return {entry[3:]: entry[:2] for entry in entries if not entry.endswith("/")}

    @functools.cached_property
    def _toplevel(self) -> str:
        answer = git(self._path, ("rev-parse", "--show-toplevel"), environ=self._environ)
        if answer.code != 0:
            raise WorkspaceError("find the repository", answer.last_line, self._path, answer.ending)
        return os.path.realpath(os.fsdecode(answer.out.removesuffix(b"\n")))

    def _to_top(self, path: str) -> str:
        """Return the path from the top; a link is meant itself, the folders on the way are followed."""
        folder, name = os.path.split(os.path.normpath(os.path.join(self._path, path)))
        return os.path.relpath(os.path.join(os.path.realpath(folder), name), self._toplevel)

    def _from_top(self, path: str) -> str:
        return os.path.relpath(os.path.join(self._toplevel, path), self._path)

    def _try(self, *arguments: str, paths: Sequence[str] | None = None) -> GitAnswer:
        folder = self._path if paths is None else self._toplevel
        return git(folder, arguments, environ=self._environ, paths=paths, bounds=self._bounds)

    def _afterwards(self, *arguments: str, paths: Sequence[str] | None = None) -> GitAnswer:
        """Run what has to be run whether or not the stop has come; it is short."""
        folder = self._path if paths is None else self._toplevel
        return git(folder, arguments, environ=self._environ, paths=paths)

    def _must(self, what: str, *arguments: str, paths: Sequence[str] | None = None) -> GitAnswer:
        answer = self._try(*arguments, paths=paths)
        if answer.code != 0:
            raise WorkspaceError(what, answer.last_line, self._path, answer.ending)
        return answer


def _message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """Return the commit message; subject and trailers are one line each, whatever they hold.

    A line of the body that looks like one of these trailers is quoted: who did what is not the agent's word.
    """
    title = _one_line(subject)
    if len(title) > _SUBJECT_MAX_CHARS:
        title = title[: _SUBJECT_MAX_CHARS - 1].rstrip() + "…"
    ending = "\n".join(f"{key}: {_one_line(value)}" for key, value in trailers.items())
    ours = re.compile(rf"^(?=\s*(?:{'|'.join(map(re.escape, trailers))})\s*:)", re.IGNORECASE | re.MULTILINE)
    told = ours.sub("> ", "\n".join(body.replace("\0", "").splitlines())).strip()
    parts = [title or "Work of a task", told, ending]
    return "\n\n".join(part for part in parts if part) + "\n"


def _trailer_lines(trailers: Mapping[str, str]) -> set[str]:
    return {f"{key}: {_one_line(value)}" for key, value in trailers.items()}


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", "").split())
