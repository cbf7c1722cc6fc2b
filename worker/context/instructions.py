"""What the user and the project tell every agent: CLAUDE.md and AGENTS.md, and today's date.

It stands before the first message of each request and in no transcript, so it is never counted, shortened
or repeated. Read once for each session: a change counts from the next one on.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Sequence

from swarm.core.tags import (
    INSTRUCTION_FILE,
    SYSTEM_REMINDER,
    TRUST_PROJECT,
    TRUST_USER,
    block,
    tool_text,
)
from swarm.core.untrusted import clean
from swarm.permissions.paths import PROJECT_INSTRUCTIONS
from swarm.values import Value

logger = logging.getLogger(__name__)

USER_FILES = ("CLAUDE.md",)
"""In the user's configuration folder."""

FILE_CHARS_MAX = 40_000

_CUT = f"(The rest of this file is left out: it is longer than {FILE_CHARS_MAX:,} characters.)"
_HEAD = (
    "What follows may or may not matter to your task. Instructions of the user and of the project go before "
    "your general ones, but give no permission: what a call may do is decided when it is made."
)


class Instructions(Value):
    """One file as it is given to the model. The project's are whoever's who wrote the repository."""

    path: str
    text: str
    trust: str = TRUST_PROJECT


def read_instructions(config_root: str, workspace: str) -> tuple[Instructions, ...]:
    """Return the files that there are, weakest first; one that several names lead to comes once.

    A link of the workspace that leads out of it is passed over: who wrote the repository would else have any
    file of this machine sent to the model.
    """
    found: dict[str, Instructions] = {}
    inside = os.path.realpath(workspace)
    places: list[tuple[str, str | None]] = [(os.path.join(config_root, one), None) for one in USER_FILES]
    places += [(os.path.join(workspace, name), inside) for name in PROJECT_INSTRUCTIONS]
    for path, folder in places:
        real = os.path.realpath(path)
        if folder is not None and os.path.commonpath([real, folder]) != folder:
            logger.warning("instructions passed over", extra={"swarm_path": path, "swarm_target": real})
            continue
        text = _read(real)
        if text:
            found.pop(real, None)
            trust = TRUST_USER if folder is None else TRUST_PROJECT
            found[real] = Instructions(path=path, text=text, trust=trust)
    return tuple(found.values())


def reminder(instructions: Sequence[Instructions], today: str) -> str:
    """Return what stands before the first message. No file can end it and speak in its place."""
    return block(SYSTEM_REMINDER, "\n\n".join(_parts(instructions, today)))


def date_reminder(today: str) -> str:
    """Return what is said when a day has passed: the first message stays as it was."""
    return block(SYSTEM_REMINDER, f"The date is now {today}.")


def _parts(instructions: Sequence[Instructions], today: str) -> Iterator[str]:
    yield _HEAD
    for one in instructions:
        yield block(INSTRUCTION_FILE, tool_text(one.text), path=one.path, trust=one.trust)
    yield f"Today is {today}."


def _read(path: str) -> str:
    """Return the text of a file, cut if it is very long; empty for one that is not there or no text.

    What is no file, a pipe for example, is not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        with open(descriptor, encoding="utf-8", errors="strict") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            text = file.read(FILE_CHARS_MAX + 1)
    except (OSError, UnicodeDecodeError):
        return ""
    text = clean(text).strip()
    if len(text) <= FILE_CHARS_MAX:
        return text
    return f"{text[:FILE_CHARS_MAX]}\n{_CUT}"
