"""Text that somebody else wrote, on its way into a model's context."""

from __future__ import annotations

import re

from swarm.core.message import Message

_TAG = "teammate-message"
_FAKED_TAG = re.compile(rf"<\s*(/?)\s*(?={_TAG})", re.IGNORECASE)
_LINE_ENDS = re.compile("\r\n?|[\u0085\u2028\u2029]")
_INVISIBLE = re.compile(
    "["
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # controls, without tab and line feed
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width and direction
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"  # fillers, variants, byte order mark
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # format controls, tags
    "\ud800-\udfff"  # halves of surrogate pairs
    "]"
)


def clean(text: str) -> str:
    """Return the text as a person would see it: no controls but tab and line feed, nothing invisible."""
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))


def wrap_teammate_message(message: Message) -> str:
    """Return a message as the model reads it: in a tag that names its sender, which the body cannot leave."""
    shown = {"teammate_id": message.sender, "color": message.color, "summary": message.summary}
    values = {key: _attribute(value or "") for key, value in shown.items()}
    attributes = "".join(f' {key}="{value}"' for key, value in values.items() if value)
    body = _FAKED_TAG.sub(r"<\\\1", clean(message.text))
    return f"<{_TAG}{attributes}>\n{body}\n</{_TAG}>"


def _attribute(value: str) -> str:
    line = " ".join(clean(value).split())
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
