"""Texts that try to be more than text, and what tells whether one of them has become more.

`injection_corpus.json` holds them. What is expected of each is the same: it is read, so `shown` is still
there for the model, and nothing else follows from it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from swarm.core.tags import RESERVED
from swarm.values import Value


class Attack(Value):
    """One text of the corpus."""

    id: str
    text: str
    shown: str
    about: str = ""


CORPUS = tuple(
    Attack(**one) for one in json.loads(Path(__file__).with_name("injection_corpus.json").read_text())
)

HARMLESS = Attack(id="harmless", text="Two callers were found.", shown="callers")

_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_LOOK = str.maketrans("\u0455\u0443\u0456\u0435\u043e\u0430_", "syieoa-")
_NAMES = "|".join(" ?".join(name) for name in RESERVED)
_BEFORE = r"([\s/|*'\"]*)(?:[a-z]+ ?: ?)?"
_TAG = re.compile(rf"<{_BEFORE}({_NAMES})(?![a-z0-9-])")
_SPELT_TAG = re.compile(
    rf"(?:[<\u2039\u3008\u27e8\xab\u276c\u300a]|&(?:amp;)*(?:lt|#60|#x3c);|\\u003c|\\0?74|%3c)"
    rf"{_BEFORE}({_NAMES})(?![a-z0-9-])"
)


def live_tags(text: str, *, spelt: bool = False) -> Counter[str]:
    """Return the tags that a careless reader could see in a text, by a simpler rule than the product's.

    With `spelt` also those whose bracket is not one, but could be taken for one.
    """
    letters = (
        ch for ch in unicodedata.normalize("NFKD", text) if unicodedata.category(ch) not in {"Mn", "Cf"}
    )
    folded = re.sub(r"\s+", " ", "".join(letters).translate(_LOOK).casefold())
    pattern = _SPELT_TAG if spelt else _TAG
    found = ((one[1], one[2].replace(" ", "")) for one in pattern.finditer(folded))
    return Counter(f"{'/' if '/' in between else ''}{name}" for between, name in found)


def unseen(text: str) -> list[str]:
    """Return the characters of a text that people do not see."""
    return _UNSEEN.findall(text)


def texts_of(value: Any) -> Iterator[str]:
    """Yield all text in the messages of a request, keys as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)


def shape(messages: list[dict[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the role of each message with the kinds of its blocks."""
    return [(one["role"], tuple(block["type"] for block in one["content"])) for one in messages]


def faults(messages: list[dict[str, Any]], like: list[dict[str, Any]]) -> list[str]:
    """Return in what these messages differ from those that the same way makes of a harmless text."""
    said, wanted = "\n".join(texts_of(messages)), "\n".join(texts_of(like))
    found = [f"unseen characters {unseen(said)!a}"] if unseen(said) else []
    if shape(messages) != shape(like):
        found.append(f"other blocks: {shape(messages)}")
    if live_tags(said) != live_tags(wanted):
        found.append(f"other tags: {live_tags(said)}, not {live_tags(wanted)}")
    return found
