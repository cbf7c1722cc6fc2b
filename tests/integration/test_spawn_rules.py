"""Rules and modes of a teammate that is started by hand: what it gets, and what its next lives keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from swarm.core.identity import LEADER
from swarm.core.spawn import RuleSet
from swarm.leader.earlier import Earlier
from swarm.leader.enlisting import Wish, make_spec
from swarm.leader.settings_policy import SettingsPolicy
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.integration.team.steps import task
from tests.support.command import Ended, Shell
from tests.support.live_team import LiveTeam

pytestmark = pytest.mark.timeout(60)

BY_HAND = ("--backend", "process")
SETTINGS = SettingsPolicy(rules=(RuleSet(source="user settings", deny=("Bash(rm:*)",)),), mode="acceptEdits")
TOUCHES = [{"calls": [{"Bash": {"command": "touch made"}}], "expect": "error"}, {"say": "Then not."}]


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[task("a", script=TOUCHES), task("b", "a", script=TOUCHES)],
    )


@pytest.fixture
def shell(isolated_home: Path, team: LiveTeam) -> Iterator[Shell]:
    made = Shell(isolated_home, team.workspace)
    yield made
    made.swarm("stop", "--all", "--force")
    assert all(start_ticks(found.pid) is None for found in team.team.agents.list_agents() if found.pid)


def spec_of(team: LiveTeam, name: str, settings: SettingsPolicy = SETTINGS, **wish: Any) -> Any:
    return make_spec(team.team, name, Wish(backend="process", **wish), {}, None, settings)


def lead(team: LiveTeam, mode: str | None) -> None:
    team.team.roster.update_member(LEADER, permission_mode=mode)


@pytest.mark.parametrize(
    ("leaders", "before", "wish", "mode"),
    [
        (None, None, None, "acceptEdits"),
        (None, None, "bypassPermissions", "bypassPermissions"),
        (None, "plan", None, "plan"),
        (None, "plan", "acceptEdits", "acceptEdits"),
        ("default", None, None, "default"),
        ("default", None, "acceptEdits", "default"),
        ("default", None, "plan", "plan"),
        ("bypassPermissions", None, None, "bypassPermissions"),
        ("bypassPermissions", "plan", None, "plan"),
        ("dontAsk", "bypassPermissions", None, "dontAsk"),
        ("plan", "plan", "bypassPermissions", "plan"),
    ],
)
def test_the_mode_of_one_that_is_started_by_hand(
    team: LiveTeam, leaders: str | None, before: str | None, wish: str | None, mode: str
) -> None:
    """A team that nobody has led yet has no leader to be measured by."""
    lead(team, leaders)
    team.team.roster.update_member("w1", permission_mode=before)

    assert spec_of(team, "w1", permission_mode=wish).permission_mode == mode


def test_a_new_name_gets_the_mode_of_its_leader_and_the_rules_of_the_settings(team: LiveTeam) -> None:
    lead(team, "dontAsk")

    spec = spec_of(team, "new")

    assert (spec.permission_mode, spec.rules) == ("dontAsk", SETTINGS.rules)


def test_a_run_that_is_taken_up_clamps_what_was_recorded(team: LiveTeam) -> None:
    """Whoever has loosened the roster by hand meanwhile."""
    own = RuleSet(source="spawn command", deny=("Write",))
    team.team.roster.update_member("w1", permission_mode="bypassPermissions", rules=own)
    records: Mapping[str, Any] = {}
    earlier = Earlier(
        run=team.run,
        leader_run_id=team.run_id(LEADER, 2),
        roster=team.team.roster.load(),
        records=records,
        living=(),
    )

    spec = earlier.spec_of(team.spec("w1", rules=SETTINGS.rules), "default")

    assert (spec.permission_mode, spec.rules) == ("default", (own, *SETTINGS.rules))


def test_rules_of_a_spawn_are_kept_in_its_next_lives_and_are_nobody_elses(
    team: LiveTeam, shell: Shell
) -> None:
    ended(shell.swarm("spawn", "w1", *BY_HAND, "--deny", "Bash(touch:*)", "--allow", "Read(//etc/**)"))
    wait_until(lambda: team.task("a").finished, timeout=20, what="it has done the first")
    member = team.team.roster.load().member("w1")
    assert member.rules == RuleSet(source="spawn command", allow=("Read(//etc/**)",), deny=("Bash(touch:*)",))
    ended(shell.swarm("restart", "w1", *BY_HAND))
    wait_until(lambda: team.task("b").finished, timeout=20, what="it has done the second")

    assert {team.task("a").status, team.task("b").status} == {"completed"}
    assert not (team.workspace / "made").exists()
    told = [str(result["content"]) for result in team.results("w1")]
    assert all("The rule Bash(touch:*) of the spawn command forbids this call." in one for one in told)
    assert team.team.roster.load().member("w1").rules == member.rules
    ended(shell.swarm("spawn", "w2", *BY_HAND))
    assert team.team.roster.load().member("w2").rules is None


def ended(found: Ended) -> None:
    assert found.code == 0, found.err
