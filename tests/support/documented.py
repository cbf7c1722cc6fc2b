"""The examples in the documentation, by the label that stands in a comment above each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"<!-- (?P<label>[a-z]+: [a-z ]+) -->\n```json\n(?P<body>.*?)```", re.DOTALL)


def page_text(page: str) -> str:
    return (DOCS / page).read_text()


def blocks(page: str) -> dict[str, str]:
    """Return the text of each labelled JSON block of a page."""
    return {match["label"]: match["body"] for match in _BLOCK.finditer(page_text(page))}


def objects(text: str) -> list[Any]:
    """Return the JSON values that follow one another in a text."""
    decoder, values, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return values


def example(page: str, label: str) -> Any:
    """Return the first value of a labelled block."""
    return objects(blocks(page)[label])[0]
