"""What models are told, as Markdown files of this package, and the texts that the loop itself puts in."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load_prompt(name: str) -> str:
    """Return the text of `<name>.md` in this package, without surrounding blank lines."""
    return (files(__package__) / f"{name}.md").read_text(encoding="utf-8").strip()
