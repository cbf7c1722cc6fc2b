"""After a crash a team could neither be deleted, as somebody else's, nor be made anew, as one that exists."""

from __future__ import annotations

import os
from pathlib import Path

from swarm.core.identity import LEADER
from swarm.storage.team import Team
from tests.support.stores import RESULT, claim_task, make_team, prepare, token_of
from tests.support.verbs import error_of, verb
from tests.unit.cli.steps import a_record

NOBODY = 2**22 - 1  # no system gives its processes a higher number


def crashed(root: Path) -> Team:
    """Return a team whose leader and w2, on task 4, are gone without a word."""
    team = prepare(root)
    for name in (LEADER, "w2"):
        team.agents.save(a_record(name).replace(pid=NOBODY))
    return team


def test_the_name_is_taken_and_the_refusal_says_what_to_do(tmp_path: Path) -> None:
    crashed(tmp_path)

    error = error_of(verb(tmp_path, "team", "create", "demo", "--json"))

    assert error["code"] == "name_taken"
    assert "choose another name or delete it" in error["message"]


def test_anybody_may_delete_it_and_make_it_anew(tmp_path: Path) -> None:
    team = crashed(tmp_path)

    refused = error_of(verb(tmp_path, "team", "delete", "demo", "--json"))
    assert refused["code"] == "in_progress"
    assert "--force" in refused["message"]
    assert verb(tmp_path, "team", "delete", "demo", "--force").code == 0
    assert not os.path.exists(team.layout.tasks_dir)
    assert verb(tmp_path, "team", "create", "demo", "--workspace", str(tmp_path)).code == 0


def test_anybody_may_archive_it_and_make_it_anew(tmp_path: Path) -> None:
    """What the dead left is given back first, so that nothing has to be forced."""
    crashed(tmp_path)

    assert verb(tmp_path, "doctor", "--fix").code == 0
    assert verb(tmp_path, "team", "archive", "demo").code == 0
    assert verb(tmp_path, "team", "create", "demo", "--workspace", str(tmp_path)).code == 0


def test_anybody_may_go_on_with_it(tmp_path: Path) -> None:
    team = crashed(tmp_path)
    assert verb(tmp_path, "doctor", "--fix").code == 0

    task = claim_task(team, "w1", "4")

    team.tasks("w1").complete(task.id, token_of(team, "4"), RESULT)
    assert verb(tmp_path, "team", "show", "--json").json()["leader"] == "none"


def test_a_living_leader_is_respected(tmp_path: Path) -> None:
    """Also by force: what it has in hand would go on writing into nothing."""
    team = make_team(tmp_path)
    team.agents.save(a_record(LEADER, "working"))

    for words in (["delete", "demo"], ["delete", "demo", "--force"], ["archive", "demo", "--force"]):
        error = error_of(verb(tmp_path, "team", *words, "--json"))
        assert (error["code"], error["details"]["pid"]) == ("leader_alive", os.getpid())
    assert os.path.isdir(team.layout.team_dir)
