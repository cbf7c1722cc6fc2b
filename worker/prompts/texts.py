"""Texts that the runtime puts into a conversation. None of them pretends to be written by a person."""

from __future__ import annotations

from collections.abc import Sequence

VERIFY_FAILED = """\
<runtime-notice>
The task is not done yet: a check that belongs to it failed. Find the cause, repair it and end again with \
your report.

Check: {command}
Result: {outcome}
Output:
{output}
</runtime-notice>"""

COMMIT_REFUSED = """\
<runtime-notice>
The task is not done yet: git did not take your changes, which stay in the workspace as they are. The \
runtime commits them after your report. Repair what is named here if it lies in your files and end again \
with your report; if it does not, say so.

Reason: {why}
Output of git and the repository's hooks:
{output}
</runtime-notice>"""

RESUMED = """\
<runtime-notice>
This session was cut off and goes on now. Calls without a real result were interrupted: look at what they \
did before you repeat one.{others}
</runtime-notice>"""

OTHERS_SINCE = """
Since then {names} worked on this task, and may have done again what you did, or more: look first."""


def resumed(others: Sequence[str]) -> str:
    """Return the notice that opens a session that goes on; `others` worked on its task meanwhile."""
    told = OTHERS_SINCE.format(names=", ".join(others)) if others else ""
    return RESUMED.format(others=told)


def verify_failed(command: str, outcome: str, output: str) -> str:
    """Return the notice of a failed check. Output cannot leave the notice and speak in its place."""
    return VERIFY_FAILED.format(command=command, outcome=outcome, output=_quoted(output))


def commit_refused(why: str, output: str) -> str:
    """Return the notice of a commit that git or a hook did not take."""
    return COMMIT_REFUSED.format(why=_quoted(why), output=_quoted(output))


def _quoted(output: str) -> str:
    return output.replace("</runtime-notice", "<\\/runtime-notice") or "(no output)"
