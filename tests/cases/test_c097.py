"""A task for an agent that does not exist ended in a bare StopIteration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Ended
from tests.support.stores import make_team
from tests.support.verbs import error_of, verb


def one_line(ended: Ended) -> str:
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
    return ended.err


@pytest.mark.parametrize("verb_words", [["task", "add", "x"], ["task", "edit", "1"]], ids=["add", "edit"])
def test_an_unknown_owner_is_named_with_the_valid_ones(verb_words: list[str], tmp_path: Path) -> None:
    make_team(tmp_path)
    assert verb(tmp_path, "task", "add", "first").code == 0

    ended = verb(tmp_path, *verb_words, "--owner", "nosuch")

    assert ended.code == 2
    assert one_line(ended) == "error: nobody in team demo is called 'nosuch'; it has team-lead, w1, w2\n"
    details = error_of(verb(tmp_path, *verb_words, "--owner", "nosuch", "--json"))["details"]
    assert details == {"value": "nosuch", "valid": ["team-lead", "w1", "w2"]}


@pytest.mark.parametrize(
    ("verb_words", "option"),
    [(["task", "add", "x"], "--blocked-by"), (["task", "edit", "1"], "--add-blocked-by")],
    ids=["add", "edit"],
)
def test_an_unknown_blocker_is_named_with_the_valid_ones(
    verb_words: list[str], option: str, tmp_path: Path
) -> None:
    make_team(tmp_path)
    assert verb(tmp_path, "task", "add", "first").code == 0

    ended = verb(tmp_path, *verb_words, option, "999")

    assert ended.code == 2
    assert one_line(ended) == "error: there is no task 999 to wait for; tasks are 1\n"
    assert error_of(verb(tmp_path, *verb_words, option, "999", "--json"))["code"] == "unknown_reference"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '{"name": '),
        ("x.yaml", "name: [\n"),
        ("x.toml", "name = "),
        ("y.json", ""),
        ("z.yaml", "\0"),
    ],
)
def test_a_damaged_team_file_is_one_line(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    for word in ("validate", "plan", "run"):
        ended = verb(tmp_path, word, name)

        assert ended.code == 2, word
        assert one_line(ended).startswith(f"error: {name}")
