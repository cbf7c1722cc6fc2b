"""Wrong keys and types, told in plain words with line and key path."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("name: demo", "nme: demo", "1 nme", "unknown key; did you mean name?"),
        ("    verify:", "    verfy:", "17 tasks[1].verfy", "unknown key; did you mean verify?"),
        (
            "    blocked_by:",
            "    depends_on:",
            "15 tasks[1].depends_on",
            "unknown key; did you mean blocked_by?",
        ),
        (
            "{name: scout}",
            "{name: scout, colour: red}",
            "5 teammates[1].colour",
            "unknown key; known here: name,",
        ),
        ("model: scripted", "budget: {usd: 3, eur: 3}", "2 budget.eur", "unknown key; known here: usd"),
        (
            'verify: ["test -d src"]',
            "verify: 3",
            "17 tasks[1].verify",
            "expected a list of strings, got a number",
        ),
        ('verify: ["test -d src"]', "verify: test -d src", "17 tasks[1].verify", "got text; put it in [ ]"),
        (
            'verify: ["test -d src"]',
            "verify: [3]",
            "17 tasks[1].verify[0]",
            "expected text, got a number; put it",
        ),
        (
            'verify: ["test -d src"]',
            "verify:",
            "17 tasks[1].verify",
            "expected a list of strings, got nothing",
        ),
        ("name: demo", "name: true", "1 name", "expected text, got true or false; put it in quotes"),
        ("name: demo", "name: [demo]", "1 name", "expected text, got a list"),
        (
            "{name: scout}",
            "scout",
            "5 teammates[1]",
            "expected a mapping with keys such as name, count, model",
        ),
        ("count: 2", "count: two", "4 teammates[0].count", "expected a whole number, got text"),
        ("count: 2", "count: 1.5", "4 teammates[0].count", "expected a whole number, got 1.5"),
        ("count: 2", "count: 0", "4 teammates[0].count", "must be at least 1, got 0"),
        ("count: 2", "count: 65", "4 teammates[0].count", "must be at most 64, got 65"),
        ("model: scripted", "budget: {usd: 0}", "2 budget.usd", "must be more than 0, got 0"),
        ("model: scripted", "budget: {usd: 2000000000}", "2 budget.usd", "must be at most 1000000000, got"),
        (
            "model: scripted",
            "budget: 5",
            "2 budget",
            "expected a mapping with keys such as usd, got a number",
        ),
        ("model: scripted", "prices: 5", "2 prices", "expected a mapping of models to prices, got a number"),
        ("model: scripted", "prices: {m: 5}", "2 prices.m", "expected a mapping with keys such as input,"),
        ("model: scripted", "prices: {m: {input: 5}}", "2 prices.m.output", "is missing"),
        (
            "model: scripted",
            "prices: {tasks: {inptu: 5, output: 5}}",
            "2 prices.tasks.inptu",
            "unknown key; did you mean input?",
        ),
        (
            "model: scripted",
            "prices: {m: {input: -5, output: 5}}",
            "2 prices.m.input",
            "must be at least 0, got -5",
        ),
        ("model: scripted", "budget: {usd: five}", "2 budget.usd", "expected a number, got text"),
        ("model: scripted", "isolation: none", "2 isolation", "expected 'shared' or 'worktree', got none"),
        ("model: scripted", "isolation: 3", "2 isolation", "expected 'shared' or 'worktree', got a number"),
        (
            "- say: Seen it.",
            "- Seen it.",
            "11 tasks[0].script[0]",
            "expected a mapping with keys such as say, calls",
        ),
        (
            "- Read: {file_path: src/a.py}",
            "- Read",
            "21 tasks[1].script[0].calls[0]",
            "expected one call such as",
        ),
        (
            "- Read: {file_path: src/a.py}",
            "- {Read: {}, Bash: {}}",
            "21 tasks[1].script[0].calls[0]",
            "a mapping of 2",
        ),
        (
            "- Read: {file_path: src/a.py}",
            "- Read:",
            "21 tasks[1].script[0].calls[0]",
            "the input of Read as a mapping",
        ),
        ("    subject: Build it\n", "", "12 tasks[1].subject", "is missing"),
    ],
)
def test_wrong_shape_is_told_where_and_how(refused, changed, old, new, place, message) -> None:
    """Each row breaks one line of a good file."""
    error = refused(changed(old, new))

    assert error.code == "bad_team_file"
    assert f"{error.details['line']} {error.details['key']}" == place
    assert message in error.message
    assert len(error.details["problems"]) == 1


def test_message_is_one_sentence_with_file_line_and_key(refused, changed) -> None:
    """Editors and people jump to FILE:LINE."""
    error = refused(changed("count: 2", "count: 0"))

    assert str(error) == f"{error.details['file']}:4: teammates[0].count: must be at least 1, got 0"


def test_toml_and_json_are_told_by_key_path(refused) -> None:
    """Their parsers keep no lines."""
    data = {"name": "demo", "tasks": [{"key": "a", "subject": "A", "verify": 3}]}
    error = refused(json.dumps(data), "team.json")

    assert "line" not in error.details
    assert error.details["key"] == "tasks[0].verify"


@pytest.mark.parametrize(("text", "got"), [("[]", "a list"), ("just text", "text"), ("3", "a number")])
def test_file_must_hold_a_mapping(refused, text, got) -> None:
    """The commonest slip is a lost first line."""
    assert f"expected a mapping with keys such as name, description, workspace, isolation, got {got}" in str(
        refused(text)
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_empty_file_is_told_as_such(refused, text) -> None:
    """`swarm init` is the way out."""
    assert "the file is empty; `swarm init` writes one" in str(refused(text))


def test_first_error_in_file_order_comes_first_and_the_others_are_counted(refused, good) -> None:
    """One error at a time is tiresome, a list of twenty unreadable; programs get all."""
    text = (
        good.replace("count: 2", "count: 0")
        .replace("subject: Build it", "subject: 3")
        .replace("say: Done.", "says: x")
    )
    error = refused(text)

    assert error.message.endswith("must be at least 1, got 0 (and 2 more)")
    assert [(p["line"], p["key"]) for p in error.details["problems"]] == [
        (4, "teammates[0].count"),
        (13, "tasks[1].subject"),
        (22, "tasks[1].script[1].says"),
    ]


def test_errors_of_different_kinds_come_in_file_order(refused, good) -> None:
    """A key given twice near the end does not hide a wrong name at the top."""
    error = refused(good.replace("name: demo", "name: d mo") + "name: again\n")

    assert (error.code, error.details["line"]) == ("bad_name", 1)
    assert [p["line"] for p in error.details["problems"]] == [1, 23]
