"""The examples in docs/permissions.md are what happens."""

from __future__ import annotations

import os
import re

import pytest

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "docs", "permissions.md")
ROW = re.compile(r"^\| `((?:Bash|Edit)\(.*\))` \| `(.*)` \| `(.*)` \|$", re.MULTILINE)


def rows():
    with open(PAGE, encoding="utf-8") as page:
        return ROW.findall(page.read())


@pytest.mark.parametrize(("rule", "matching", "other"), rows(), ids=[row[0] for row in rows()])
def test_examples_of_rules_hold(world, rule, matching, other):
    """A page that is wrong about permissions is worse than none."""
    tool = rule.split("(")[0]

    assert world.decide(tool, matching, allow=[rule]).behavior == "allow"
    assert world.decide(tool, other, allow=[rule]).behavior == "ask"


def test_all_examples_are_found():
    """A table that the pattern above does not read would test nothing."""
    assert len(rows()) == 9
