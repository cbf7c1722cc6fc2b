"""Runs the checks of a task. What they say decides, not what the agent says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarm.core.untrusted import clean
from swarm.settings import Settings
from swarm.values import Value
from swarm.workspace.commands import CommandResult, run_shell
from worker.tools.tracking import ProcessTracker

_CALL_ID = "verify"
_OUTPUT_LIMIT = 1_000_000


class CheckFailure(Value):
    """The first check that failed. `output` is the end of what it wrote."""

    command: str
    outcome: str
    output: str

    def __str__(self) -> str:
        return f"the check `{self.command}` failed: {self.outcome}"


async def run_checks(
    commands: Sequence[str],
    *,
    workspace: str,
    environ: Mapping[str, str],
    settings: Settings,
    track: ProcessTracker,
) -> CheckFailure | None:
    """Run the commands one after another until one fails. The caller holds the lock of the workspace."""
    for command in commands:
        try:
            result = await run_shell(
                command,
                workspace,
                environ,
                settings.verify_timeout_seconds,
                _OUTPUT_LIMIT,
                on_start=lambda pgid, ticks: track.started(_CALL_ID, _CALL_ID, pgid, ticks),
                kill_wait=settings.bash_kill_wait_seconds,
            )
        finally:
            track.ended(_CALL_ID)
        if result.error is not None or result.exit_code != 0:
            return _failure(command, result, settings)
    return None


def _failure(command: str, result: CommandResult, settings: Settings) -> CheckFailure:
    output = clean(result.output).strip()
    kept = output[-settings.verify_output_chars :]
    if len(kept) < len(output):
        kept = f"[the first {len(output) - len(kept)} characters are left out]\n{kept}"
    outcome = result.error or f"exit code {result.exit_code}"
    return CheckFailure(command=command, outcome=outcome, output=kept)
