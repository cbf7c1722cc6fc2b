"""docs/injection.md is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swarm.core.tags import TAGS, as_meant, tool_text, trust_of

PAGE = (Path(__file__).parents[3] / "docs/injection.md").read_text()
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("held", "shown"), ROWS)
def test_a_result_is_shown_as_the_page_says(held: str, shown: str) -> None:
    assert tool_text(held) == shown
    assert as_meant(shown) == held


def test_every_tag_is_on_the_page() -> None:
    table = PAGE[PAGE.index("## Tags") : PAGE.index("## Letters")]

    assert set(TAGS) <= set(re.findall(r"`([a-z-]+)`", table))
    assert {trust_of(one) for one in ("user", "team-lead", "w1")} <= set(
        re.findall(r"^\| `(\w+)` ", table, re.MULTILINE)
    )


def test_the_page_has_examples() -> None:
    assert len(ROWS) >= 5
