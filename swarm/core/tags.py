"""The tags by which a model tells what the runtime says from what others wrote; made here and nowhere else.

Three ways lead into a context. `letter` is for what agents and people write: all of it is escaped.
`tool_text` is for what calls return: only what imitates one of our tags is made inert, in a way that
`as_meant` undoes, so that a file which really holds such a tag can still be edited. `block` is for the
runtime's own words; what it quotes in them has gone through one of the other two or through `one_line`.
"""

from __future__ import annotations

import re
import sys
import unicodedata

from swarm.core.disguise import Disguised
from swarm.core.identity import LEADER, USER
from swarm.core.message import Message
from swarm.core.untrusted import UnsafeTextError, is_unseen, sanitised

SYSTEM_REMINDER = "system-reminder"
RUNTIME_NOTICE = "runtime-notice"
PERSISTED_OUTPUT = "persisted-output"
INSTRUCTION_FILE = "instruction-file"
TASK_TEXT = "task-text"
TASK_REPORT = "task-report"
TEAMMATE_MESSAGE = "teammate-message"
USER_NOTE = "user-note"
TOOL_OUTPUT = "tool-output"

TAGS = (
    SYSTEM_REMINDER,
    RUNTIME_NOTICE,
    PERSISTED_OUTPUT,
    INSTRUCTION_FILE,
    TASK_TEXT,
    TASK_REPORT,
    TEAMMATE_MESSAGE,
    USER_NOTE,
    TOOL_OUTPUT,
)
"""All that we make."""

RESERVED = (
    *TAGS,
    # Not ours, but models may know them from other programs as words of the system or of a person.
    *("bash-input", "bash-stdout", "bash-stderr", "channel-message", "command-args", "command-message"),
    *("command-name", "function-calls", "function-results", "invoke", "local-command-caveat"),
    *("local-command-stdout", "local-command-stderr", "system", "system-warning", "task-notification"),
    *("tool-result", "tool-use", "tool-use-error", "user-prompt-submit-hook"),
)
"""All that no foreign text can hold alive."""

TRUST_USER = "user"
TRUST_LEADER = "leader"
TRUST_PROJECT = "project"
TRUST_NONE = "none"

_DISGUISED = Disguised(RESERVED)
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_SPELT = re.compile("\u27e8(\\\\*)U\\+([0-9A-F]{4,6})\u27e9")
_DECORATED = "\xa9\xae\u203c-\u27e7\u27ea-\u2bff\u3030\u303d\u3297\u3299#*0-9\U0001f000-\U0001fbff"
_VARIANTS = re.compile(f"(?<![{_DECORATED}])\ufe0f")
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*+")


def trust_of(author: str) -> str:
    """Return how far the word of this author is to be trusted. Whom one is told about is nobody's word."""
    return {USER: TRUST_USER, LEADER: TRUST_LEADER}.get(author, TRUST_NONE)


def letter(tag: str, text: str, **attributes: str | None) -> str:
    """Return what an agent or a person wrote, in a tag that it can neither leave nor imitate.

    Attributes come from the runtime: who wrote it, and how far to trust that. An empty one is left out, and
    an underscore at the end of a name (`from_`) is dropped.
    """
    return block(tag, escaped(_safe(text)), **attributes)


def block(tag: str, text: str, **attributes: str | None) -> str:
    """Return the runtime's own words in a tag; nothing in `text` is escaped here."""
    if tag not in TAGS:
        raise ValueError(f"{tag} is none of our tags")
    shown = {name.removesuffix("_"): one_line(value or "") for name, value in attributes.items()}
    head = "".join(f' {name}="{value}"' for name, value in shown.items() if value)
    return f"<{tag}{head}>\n{text}\n</{tag}>"


def teammate_message(message: Message) -> str:
    """Return a message as the model reads it."""
    return letter(
        TEAMMATE_MESSAGE,
        message.text,
        teammate_id=message.sender,
        color=message.color,
        summary=message.summary,
        trust=trust_of(message.sender),
    )


def one_line(text: str) -> str:
    """Return foreign text as one escaped line: subjects, names, paths."""
    return escaped(" ".join(_safe(text).split()))


def escaped(text: str) -> str:
    for ch, entity in _ESCAPES.items():  # the ampersand first
        text = text.replace(ch, entity)
    return text


def _safe(text: str) -> str:
    try:
        return sanitised(text)
    except UnsafeTextError as error:
        return f"(this text was refused: {error})"


# What calls return


def tool_text(text: str) -> str:
    r"""Return output of a tool, or a file's content, with nothing in it that acts or hides.

    A tag of ours in any spelling gets a backslash: `<\system-reminder>`. Characters that nobody sees are
    spelt out, U+200B as `⟨U+200B⟩`. `as_meant` gives back the very same text.
    """
    marked = _DISGUISED.marked(text)
    if _PLAIN.fullmatch(marked):
        return marked
    marked = _SPELT.sub(lambda found: f"\u27e8\\{found[0][1:]}", marked)
    return _VARIANTS.sub("\u27e8U+FE0F\u27e9", marked.translate(_SPELLING))


def as_meant(text: str) -> str:
    """Return what a model means that copies from what it was shown by `tool_text`."""
    return _DISGUISED.unmarked(_SPELT.sub(_unspelt, text))


def _unspelt(found: re.Match[str]) -> str:
    backslashes, digits = found.groups()
    if backslashes:
        return "\u27e8" + found[0][2:]
    code = int(digits, 16)
    ch = chr(code) if code <= sys.maxunicode else "?"
    spelt = ch == "\ufe0f" or (is_unseen(ch) and unicodedata.category(ch) != "Cs")
    return ch if spelt else found[0]


class _Spelling(dict[int, str]):
    def __missing__(self, code: int) -> str:
        ch = chr(code)
        spelt = self[code] = f"\u27e8U+{code:04X}\u27e9" if is_unseen(ch) else ch
        return spelt


_SPELLING = _Spelling()
