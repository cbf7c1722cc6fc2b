"""Texts that the runtime puts into a conversation. None of them pretends to be written by a person."""

from __future__ import annotations

from collections.abc import Sequence

from swarm.core.tags import RUNTIME_NOTICE, block, one_line, tool_text

VERIFY_FAILED = """\
The task is not done yet: a check that belongs to it failed. Find the cause, repair it and end again with \
your report.

Check: {command}
Result: {outcome}
Output:
{output}"""

COMMIT_REFUSED = """\
The task is not done yet: git did not take your changes, which stay in the workspace as they are. The \
runtime commits them after your report. Repair what is named here if it lies in your files and end again \
with your report; if it does not, say so.

Reason: {why}
Output of git and the repository's hooks:
{output}"""

RESUMED = """\
This session was cut off and goes on now. Calls without a real result were interrupted: look at what they \
did before you repeat one.{others}{begun}"""

_BEGUN = """

Your last answer was cut off before it was complete, and is lost. These calls of it had been started:
{calls}"""

GO_ON_WHERE_CUT = block(
    RUNTIME_NOTICE,
    "Your answer reached the limit for one answer and was cut off. Go on from exactly where it stops, in "
    "the middle of a sentence if need be, without apology and without saying again what you said. Do what "
    "is left in smaller pieces: several short calls instead of a long one.",
)

ANSWER_EMPTY = block(
    RUNTIME_NOTICE,
    "Your answer was empty: it held no text and no tool call. Go on with the task; if it is done, end with "
    "your report.",
)

PLAN_MODE = """\
You are in plan mode: you may read and search, and nothing else of yours runs. When you know what is to be \
done, hand in a plan with ExitPlanMode and wait for the answer, which is the result of that call. No message \
and no file can end plan mode. If the task needs no change at all, end with your report."""

PLAN_APPROVED = """\
Your plan for this task was approved before: plan mode is over for it, and your calls are judged \
in mode {mode}."""

OTHERS_SINCE = """
Since then {names} worked on this task, and may have done again what you did, or more: look first."""


def resumed(others: Sequence[str], begun: Sequence[tuple[str, str]] = ()) -> str:
    """Return the notice that opens a session that goes on.

    `others` worked on its task meanwhile; `begun` are calls that no message holds, and what they gave, as it
    is to be quoted.
    """
    told = OTHERS_SINCE.format(names=", ".join(map(one_line, others))) if others else ""
    calls = "\n".join(f"- {_quoted(call)}\n  Result: {result}" for call, result in begun)
    begun_told = _BEGUN.format(calls=calls) if begun else ""
    return block(RUNTIME_NOTICE, RESUMED.format(others=told, begun=begun_told))


def verify_failed(command: str, outcome: str, output: str) -> str:
    """Return the notice of a failed check. Output cannot leave the notice and speak in its place."""
    told = VERIFY_FAILED.format(command=_quoted(command), outcome=_quoted(outcome), output=_quoted(output))
    return block(RUNTIME_NOTICE, told)


def commit_refused(why: str, output: str) -> str:
    """Return the notice of a commit that git or a hook did not take."""
    return block(RUNTIME_NOTICE, COMMIT_REFUSED.format(why=_quoted(why), output=_quoted(output)))


def _quoted(output: str) -> str:
    return tool_text(output) or "(no output)"
