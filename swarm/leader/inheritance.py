"""Which permission mode a teammate gets: never a looser one than its leader's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swarm.core.identity import LEADER
from swarm.core.roster import SPAWN_COMMAND, Member, Roster
from swarm.core.spawn import RuleSet
from swarm.permissions.modes import DEFAULT_MODE, PLAN, is_looser, no_looser
from swarm.teamfile.model import TeamFile

COMMAND_LINE = "command line"
TEAM_FILE = "team file"


def mode_of_leader(roster: Roster) -> str | None:
    """Return the mode of the team's run, as it is on the roster; None where nobody has led it."""
    leader = roster.find(LEADER)
    return leader.permission_mode if leader is not None else None


def inherited(asked: str, leaders: str | None) -> str:
    """Return the mode that a teammate gets of whom this one is asked."""
    return asked if leaders is None else no_looser(asked, leaders)


def after_plan(leaders: str | None) -> str:
    """Return the mode of a teammate in plan mode once its plan was approved: its leader's, or the default."""
    return DEFAULT_MODE if leaders in (None, PLAN) else str(leaders)


def notes_on_modes(asked: Mapping[str, str | None], leaders: str | None) -> tuple[str, ...]:
    """Say of which teammates a looser mode was asked than they get."""
    return tuple(
        f"Note: {name} gets mode {leaders}, not {mode}: no teammate has a looser one than its leader"
        for name, mode in asked.items()
        if leaders is not None and mode is not None and is_looser(mode, leaders)
    )


def rules_of_file(team: TeamFile) -> RuleSet:
    given = team.permissions
    return RuleSet(source=TEAM_FILE, allow=tuple(given.allow), deny=tuple(given.deny), ask=tuple(given.ask))


def with_own(rules: Iterable[RuleSet], member: Member | None) -> tuple[RuleSet, ...]:
    """Return the rules with those, before all others, that this teammate was started with by hand."""
    others = (one for one in rules if one.source != SPAWN_COMMAND)
    own = member.rules if member is not None else None
    return (*((own,) if own else ()), *others)
