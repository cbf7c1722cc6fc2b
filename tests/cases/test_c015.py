"""A name was used as given in file paths and shell text.

Here the names themselves; what the command does with them is tested end to end.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from swarm.core.identity import check_name, same_name, suggest_name
from swarm.errors import ConfigError

BAD_NAMES = [
    "../../x",
    "/etc/x",
    "a b",
    "a;touch PWNED",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a'b",
    'a"b',
    "a\\b",
    ".",
    "..",
    ".hidden",
    "-rf",
    "",
    " ",
    "x" * 300,
    "日本",
    "a\0b",
    "a\nb",
    "a\u200bb",
    "ａ",  # noqa: RUF001 - a full-width letter, which some file systems fold into the plain one
    "a@b",
    "a:b",
    "*",
    "a.b",
]


@pytest.mark.parametrize("what", ["team", "teammate"])
@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_dangerous_name_is_refused_with_one_that_is_safe(name: str, what: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_name(name, what)

    assert refused.value.exit_code == 2
    suggestion = refused.value.details["suggestion"]
    assert check_name(suggestion, what) == suggestion
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_suggested_stays_where_it_is_put(name: str, tmp_path: Path) -> None:
    """As a folder it lies in its parent, in a shell it is one harmless word."""
    suggestion = suggest_name(name)
    folder = tmp_path / suggestion
    folder.mkdir()

    assert os.listdir(tmp_path) == [suggestion]
    assert shlex.split(suggestion) == [suggestion]
    assert not suggestion.startswith("-")


def test_names_that_differ_in_case_are_one_name() -> None:
    """Both are good names, but on some disks they would share a folder: whoever comes second is refused."""
    assert check_name("Team", "team")
    assert check_name("team", "team")
    assert same_name("Team", "team")
