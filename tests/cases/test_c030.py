"""After a crash a team could neither be deleted, as somebody else's, nor be made anew, as one that exists."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.command import Ended
from tests.support.crew import BACKENDS, Crew, crew, long_task
from tests.support.stores import RESULT, claim_task, make_team, prepare, token_of
from tests.support.verbs import error_of, verb
from tests.unit.cli.steps import a_record

pytestmark = pytest.mark.timeout(90)

SLEEPS_ONCE = "[ -e began ] && exit 0; touch began; sleep 600"
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


@pytest.fixture(params=BACKENDS)
def led(isolated_home: Path, request: pytest.FixtureRequest) -> Iterator[Crew]:
    """A run in the middle of its work, whose leader is no child of who asks for its team."""
    tasks = [long_task("job", SLEEPS_ONCE, owner="w1")]
    with crew(request.param, isolated_home, "w1", tasks=tasks, led=True) as team:
        team.bring_up()
        team.until_there("began")
        team.until_state("working")
        yield team


def refusal(ended: Ended) -> str:
    assert ended.code == 4
    return str(json.loads(ended.err)["error"]["code"])


def test_a_real_leader_is_respected_and_a_killed_one_is_followed(led: Crew) -> None:
    """The new one takes up what lives, starts anew what died, and the work is done."""
    for words in (["team", "delete", "demo", "--force"], ["team", "archive", "demo", "--force"]):
        assert refusal(led.swarm(*words, "--json")) in {"leader_alive", "agent_alive"}
    assert refusal(led.swarm("resume", "demo", "--json")) == "leader_alive"
    assert refusal(led.swarm("team", "create", "demo", "--json")) == "name_taken"
    led.kill_now(LEADER, "w1")
    assert refusal(led.swarm("team", "create", "demo", "--json")) == "name_taken"

    led.lead()
    led.until_task("job")
    assert (led.task("job").status, led.task("job").crashes) == ("completed", 1)


def test_what_a_killed_leader_left_can_be_deleted_and_made_anew(led: Crew) -> None:
    """Who still lives of it is ended first; without that, also by force, it is refused."""
    led.kill_now(LEADER, "w1")
    if led.backend != "in-process":
        assert refusal(led.swarm("team", "delete", "demo", "--force", "--json")) == "agent_alive"
    assert led.swarm("stop", "--all").code == 0
    assert led.swarm("team", "delete", "demo").code == 0
    assert led.swarm("team", "create", "demo").code == 0
    wait_until(lambda: led.states() == {}, what="nobody is in the new one")
