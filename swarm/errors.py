"""Everything that can go wrong, as types that say what, for whom and what to do.

Every error has a *code* (a stable word for programs) and a message (one sentence for a person).
The exit code of the command line follows from the code; see `EXIT_CODES`.
"""

from __future__ import annotations

import errno
from typing import Any

_CODES_BY_EXIT: dict[int, str] = {
    1: "bug",
    2: "bad_usage bad_value bad_name bad_team_file unknown_reference not_built no_key no_price team_needed",
    3: "no_such_team no_such_task no_such_agent no_such_request",
    4: (
        "nothing_ready blocked taken finished agent_busy requires_unmet files_overlap not_owner wrong_agent "
        "stale_token cycle in_progress has_dependents name_taken agent_alive leader_alive inbox_full "
        "not_running not_started not_undoable already_resolved dirty_tree mixed_team corrupt_state io_error"
    ),
    5: "denied nobody_to_ask",
    6: "task_failed",
    7: "budget_spent",
    75: "busy",
    124: "timed_out",
    130: "interrupted",
}
EXIT_CODES: dict[str, int] = {
    code: number for number, codes in _CODES_BY_EXIT.items() for code in codes.split()
}
"""Exit code of each error code; codes are never renamed, messages may be."""


class SwarmError(Exception):
    """Root of every expected failure. `details` holds what a program needs to act on it."""

    def __init__(self, message: str, *, code: str = "bug", details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details or {}

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.code, self.details)

    @property
    def exit_code(self) -> int:
        """What the process exits with when this error ends it."""
        return EXIT_CODES[self.code]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints on stderr."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


def _rebuild(kind: type[SwarmError], message: str, code: str, details: dict[str, Any]) -> SwarmError:
    error = kind.__new__(kind)
    SwarmError.__init__(error, message, code=code, details=details)
    return error


class ConfigError(SwarmError):
    """Bad input from a person: an option, a name, a team file (exit 2)."""


class NotFoundError(SwarmError):
    """The team, task, agent or request named does not exist (exit 3)."""


class StateError(SwarmError):
    """The files of a team are in a state that forbids the operation, or could not be read or written."""


class LockTimeoutError(StateError):
    """Another process held the lock for the whole timeout (exit 75: the same command may succeed later)."""

    def __init__(self, resource: str, waited: float, holder: str | None = None) -> None:
        held_by = f", held by {holder}" if holder else ""
        super().__init__(
            f"{resource} is still locked after {waited:.1f}s{held_by}; try again",
            code="busy",
            details={"lock": resource, "holder": holder or "unknown", "waited_seconds": round(waited, 3)},
        )


class CorruptStateError(StateError):
    """A file of the team does not parse; it is left as it is. `advice` says what would help."""

    def __init__(self, path: str, why: str, advice: str = "") -> None:
        super().__init__(
            f"{path} is damaged ({why}); it was left untouched{advice and f'; {advice}'}",
            code="corrupt_state",
            details={"path": path},
        )

    @property
    def why(self) -> str:
        """What is wrong with the file, where its path is said already."""
        text = self.message.removeprefix(f"{self.details['path']} is damaged (")
        return text.rpartition("); it was left untouched")[0] or text


class LostStateError(CorruptStateError):
    """A file or folder is missing without which a team cannot go on. `advice` says what would help."""

    def __init__(self, what: str, path: str, advice: str) -> None:
        SwarmError.__init__(
            self,
            f"{what} is missing ({path}); {advice}",
            code="corrupt_state",
            details={"path": path},
        )


def give_up(team: str) -> str:
    """Return the last way out of a team whose files no command can mend."""
    return f"give the team up with swarm team delete {team} --force"


class StorageIOError(StateError):
    """The operating system refused a read or write (a full disk, too). Nothing that was there is lost."""

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(
            f"{path}: {error.strerror or error}",
            code="io_error",
            details={"path": path, "errno": error.errno or 0},
        )


def is_full(error: BaseException) -> bool:
    """Tell whether files of ours had no room: the fault of nobody, and gone once there is some."""
    return isinstance(error, StorageIOError) and error.details["errno"] in (errno.ENOSPC, errno.EDQUOT)


class TaskError(SwarmError):
    """A task refuses the operation: blocked, taken, finished, stale token and the like (exit 4)."""


class CycleError(TaskError):
    """The edge would close a loop in the task graph."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        path = " -> ".join(cycle)
        super().__init__(
            f"this dependency closes a cycle: {path}", code="cycle", details={"cycle": list(cycle)}
        )


class BackendError(SwarmError):
    """A teammate could not be started, looked at or stopped."""


class ModelError(SwarmError):
    """The model gave no usable answer; the task it was for is not completed."""
