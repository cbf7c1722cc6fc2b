"""Questions whose askers and answerers are killed, have no room, or do the same at the same moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.question_kills import DEEDS
from tests.support.races import run_program

STATES = {"ask_always": 4, "hand_in_plan": 4, "allow": 2, "deny": 2, "expire": 2}


@pytest.mark.parametrize("deed", DEEDS)
def test_cut_off_deed_leaves_whole_questions_answers_and_rules(tmp_path: Path, deed: str) -> None:
    """At every call and inside every write: an answer stands as it was given, and nothing else allows."""
    counted = json.loads(run_program("question_kills", tmp_path, deed))
    assert counted["states"] == STATES.get(deed, 3)
    assert counted["kills"] >= 10
