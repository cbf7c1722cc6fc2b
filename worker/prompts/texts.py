"""Texts that the runtime puts into a conversation. None of them pretends to be written by a person."""

from __future__ import annotations

VERIFY_FAILED = """\
<runtime-notice>
The task is not done yet: a check that belongs to it failed. Find the cause, repair it and end again with \
your report.

Check: {command}
Result: {outcome}
Output:
{output}
</runtime-notice>"""

RESUMED = """\
<runtime-notice>
This session was cut off and goes on now. Calls without a real result were interrupted: look at what they \
did before you repeat one.
</runtime-notice>"""


def verify_failed(command: str, outcome: str, output: str) -> str:
    """Return the notice of a failed check. Output cannot leave the notice and speak in its place."""
    shown = output.replace("</runtime-notice", "<\\/runtime-notice") or "(no output)"
    return VERIFY_FAILED.format(command=command, outcome=outcome, output=shown)
