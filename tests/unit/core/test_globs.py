from __future__ import annotations

import pytest

from swarm.core.globs import covers, may_overlap


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("api/users.py", "api/users.py", True),
        ("api/users.py", "api/users.pyc", False),
        ("api", "api/deep/users.py", True),
        ("api/", "api/users.py", True),
        ("./api/**", "api/users.py", True),
        ("/api", "api/users.py", True),
        ("api/**", "apis/users.py", False),
        ("api/*.py", "api/users.py", True),
        ("api/*.py", "api/deep/users.py", False),
        ("api/*", "api/deep/users.py", True),
        ("api/**/*.py", "api/users.py", True),
        ("api/**/*.py", "api/a/b/users.py", True),
        ("**/test_*.py", "test_a.py", True),
        ("*.md", "docs/deep/index.md", True),
        ("/*.md", "docs/index.md", False),
        ("README.md", "docs/README.md", False),
        ("[ab].py", "x/a.py", True),
        ("[!ab].py", "a.py", False),
        ("file?.txt", "file1.txt", True),
        ("**", "any/thing", True),
    ],
)
def test_a_pattern_covers_what_it_names_and_all_below(pattern: str, path: str, expected: bool) -> None:
    assert covers(pattern, path) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("api/**", "api/users.py", True),
        ("api/**", "web/**", False),
        ("api", "api/users.py", True),
        ("api/a.py", "api/b.py", False),
        ("api/*.py", "api/users.py", True),
        ("api/*.py", "api/users.md", False),
        ("api/*.py", "api/user*", True),
        ("api/a*.py", "api/b*.py", False),
        ("api/*a", "api/*b", False),
        ("**/a.py", "api/*/a.py", True),
        ("**/a.py", "api/**/b.py", False),
        ("*.py", "README.md", False),
        ("*.py", "api/users.py", True),
        ("*.py", "api/**", True),
        ("**/*.md", "src/app.py", False),
        ("**/*.md", "src/app", True),
        ("conf.d", "conf.d/site", True),
        ("conf.d", "conf.d/**/site.md", True),
        ("*.d", "conf.d/**/site.md", True),
        ("", "api", True),
        ("api/?.py", "api/[abc].py", True),
        ("api/??.py", "api/[abc].py", False),
        ("api/[a", "api/[a", True),
        ("api/[!]a]", "api/x", True),
        ("**", "x", True),
        ("api/../web/a.py", "lib/b.py", True),
    ],
)
def test_patterns_overlap_if_some_path_fits_both(a: str, b: str, expected: bool) -> None:
    """In doubt they do: running one after the other only costs time."""
    assert may_overlap(a, b) == expected
    assert may_overlap(b, a) == expected


def test_a_nasty_pattern_takes_no_time() -> None:
    """Backtracking would need longer than the universe has."""
    assert not may_overlap("x/" + "*a" * 60 + "b", "x/" + "*a" * 60 + "c")
    assert may_overlap("/".join(["**", "a"] * 60), "/".join(["**", "b"] * 60))
