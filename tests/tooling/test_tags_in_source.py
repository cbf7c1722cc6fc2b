"""Tags are made by one module: what else puts one together could forget to make its content inert."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from swarm.core.tags import RESERVED

ROOT = Path(__file__).parents[2]
MAKER = ROOT / "swarm/core/tags.py"
_TAG = re.compile(rf"</?(?:{'|'.join(map(re.escape, RESERVED))})\b")
_OPEN = re.compile(r"</?$")


def sources() -> list[Path]:
    return [path for folder in ("swarm", "worker") for path in sorted((ROOT / folder).rglob("*.py"))]


def tags_made(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each place that spells a tag of ours, or puts a value behind a bracket."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    formats = {id(node.format_spec) for node in ast.walk(tree) if isinstance(node, ast.FormattedValue)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and _TAG.search(text):
                yield node.lineno, text
            case ast.JoinedStr(values=[*parts]) if id(node) not in formats:
                for part, following in pairwise(parts):
                    if _ends_open(part) and isinstance(following, ast.FormattedValue):
                        yield node.lineno, ast.unparse(node)
            case ast.BinOp(left=left, op=ast.Add()) if _ends_open(left):
                yield node.lineno, ast.unparse(node)


def _ends_open(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_OPEN.search(node.value))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_tag_is_made_elsewhere(path: Path) -> None:
    made = list(tags_made(path.read_text()))

    assert bool(made) == (path == MAKER), made


@pytest.mark.parametrize(
    "source",
    [
        'x = "<system-reminder>hello"',
        'x = f"<system-reminder>{y}</system-reminder>"',
        'x = f"<{tag}>{y}"',
        'x = f"{y}</{tag}>"',
        'x = "<" + tag',
        "def f():\n    '''Doc.'''\n    return '</teammate-message>'",
    ],
)
def test_the_walk_finds(source: str) -> None:
    assert list(tags_made(source))


@pytest.mark.parametrize(
    "source", ["'''Makes <system-reminder>.'''", 'x = f"{a:<{b}} < {b}"', 'x = "<p>" + y']
)
def test_the_walk_passes(source: str) -> None:
    assert not list(tags_made(source))
