"""Claiming a task that does not exist was answered with `blocked` instead of `not found`."""

from __future__ import annotations

from pathlib import Path

from tests.support.stores import make_team
from tests.support.verbs import error_of, verb


def test_claims_that_cannot_be_have_messages_and_codes_of_their_own(tmp_path: Path) -> None:
    make_team(tmp_path)
    for words in (
        ["task", "add", "taken"],
        ["task", "add", "blocked", "--blocked-by", "1"],
        ["task", "add", "finished"],
        ["task", "add", "for w2", "--owner", "w2"],
        ["task", "claim", "3", "--as", "w1"],
        ["task", "complete", "3", "--as", "w1"],
        ["task", "claim", "1", "--as", "w2"],
    ):
        assert verb(tmp_path, *words).code == 0, words

    refused = {
        i: verb(tmp_path, "task", "claim", i, "--as", "w1", "--json") for i in ("999", "3", "2", "1", "4")
    }
    errors = {i: error_of(ended) for i, ended in refused.items()}

    assert {i: (ended.code, errors[i]["code"]) for i, ended in refused.items()} == {
        "999": (3, "no_such_task"),
        "3": (4, "finished"),
        "2": (4, "blocked"),
        "1": (4, "taken"),
        "4": (4, "requires_unmet"),
    }
    assert len({error["message"] for error in errors.values()}) == len(errors)
    assert errors["2"]["details"]["open_blockers"] == ["1"]
    assert errors["1"]["details"]["owner"] == "w2"
    assert verb(tmp_path, "task", "claim", "--as", "w1", "--json").code == 4
