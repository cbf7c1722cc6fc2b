"""Taking back what a team has committed: the branch goes to where the run began, and nothing is lost.

What is undone stays in the repository under a reference; what is not committed stays in the working tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from swarm.errors import StateError
from swarm.values import Value
from swarm.workspace.git_command import GitAnswer, WorkspaceError, git

_FIELDS = ("%H", "%s", "%(trailers:key=Agent,valueonly)", "%(trailers:key=Task,valueonly)")
_FORM = "%x00".join(_FIELDS)  # no message holds a NUL


class Undone(Value):
    """One commit since the start; `agent` and `task` are there when it is the work of this team."""

    commit: str
    subject: str
    agent: str | None = None
    task: str | None = None


class UndoPlan(Value):
    """What an undo would do: take these commits, newest first, off the branch that is at `head`."""

    start: str
    head: str
    commits: tuple[Undone, ...]
    kept: str

    @property
    def others(self) -> tuple[Undone, ...]:
        """Those that are not the team's work."""
        return tuple(one for one in self.commits if one.agent is None)


class GitUndo:
    """The repository of one workspace, as an undo sees it. Nobody else may commit meanwhile."""

    def __init__(self, path: str, environ: Mapping[str, str], team: str) -> None:
        self._environ = environ
        self._team = team
        self._top = path
        found = self._must("find the repository", "rev-parse", "--show-toplevel")
        self._top = os.fsdecode(found.out.removesuffix(b"\n"))

    def plan(self) -> UndoPlan:
        """Return what there is to undo; not_undoable when there is no way back from here."""
        start = self._commit(f"refs/swarm/{self._team}/start")
        head = self._commit("HEAD")
        if start is None or head is None:
            raise _not_undoable(f"team {self._team} has kept no commit to go back to", self._top)
        if self._try("merge-base", "--is-ancestor", start, head).code != 0:
            raise _not_undoable(
                f"what is checked out does not come after {start[:12]}, where the run began", self._top
            )
        kept = f"refs/swarm/{self._team}/undone-{head[:12]}"
        return UndoPlan(start=start, head=head, commits=tuple(self._log(start, head)), kept=kept)

    def in_the_way(self, plan: UndoPlan) -> tuple[str, ...]:
        """Return what is not committed and would be touched, by path from the top, and all that is staged."""
        changed = set(self._paths("diff", "--name-only", "--no-renames", plan.start, plan.head))
        removed = self._paths("diff", "--name-only", "--no-renames", "--diff-filter=D", plan.start, plan.head)
        staged = set(self._paths("diff", "--cached", "--name-only", "--no-renames"))
        options = ("--porcelain=v1", "--untracked-files=all", "--no-renames")
        dirty = {entry[3:] for entry in self._paths("--no-optional-locks", "status", *options)}
        hit = {path for path in dirty if _touches(path, changed)}
        # What is ignored is in no list, and would be overwritten all the same.
        hit |= {path for path in removed if os.path.lexists(os.path.join(self._top, path))}
        return tuple(sorted(hit | staged))

    def undo(self, plan: UndoPlan) -> None:
        """Keep what is undone, then go back. Git refuses where a change would be lost."""
        self._must("keep a reference", "update-ref", "-m", "swarm: undone", plan.kept, plan.head)
        self._must("go back", "reset", "--keep", "--quiet", plan.start)

    def _log(self, start: str, head: str) -> Iterable[Undone]:
        shown = self._must(
            "list commits", "log", "-z", "--no-show-signature", f"--format={_FORM}", f"{start}..{head}"
        )
        parts = shown.out.decode(errors="replace").split("\0")
        for at in range(0, len(parts) - 1, len(_FIELDS)):
            commit, subject, agents, tasks = parts[at : at + len(_FIELDS)]
            agent = agents.strip()
            ours = agent.endswith(f"@{self._team}") and bool(tasks.strip())
            yield Undone(
                commit=commit,
                subject=subject,
                agent=agent.removesuffix(f"@{self._team}") if ours else None,
                task=tasks.split()[0] if ours else None,
            )

    def _commit(self, name: str) -> str | None:
        found = self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return found.out.decode().strip() if found.code == 0 else None

    def _paths(self, *arguments: str) -> tuple[str, ...]:
        answer = self._must("list changes", *arguments, "-z")
        return tuple(os.fsdecode(path) for path in answer.out.split(b"\0") if path)

    def _try(self, *arguments: str) -> GitAnswer:
        return git(self._top, arguments, environ=self._environ)

    def _must(self, what: str, *arguments: str) -> GitAnswer:
        answer = self._try(*arguments)
        if answer.code != 0:
            raise WorkspaceError(what, answer.last_line, self._top, answer.ending)
        return answer


def _touches(path: str, changed: set[str]) -> bool:
    """Tell whether a path is among these, or above or below one of them."""
    plain = path.rstrip("/")
    parts = plain.split("/")
    above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    return not above.isdisjoint(changed) or any(one.startswith(f"{plain}/") for one in changed)


def _not_undoable(why: str, path: str) -> StateError:
    return StateError(why, code="not_undoable", details={"path": path})
