"""Permission rules that are added to those of a team file."""

from __future__ import annotations

from swarm.core.spawn import RuleSet
from swarm.teamfile.reader import LoadedTeamFile


def with_rules(loaded: LoadedTeamFile, rules: RuleSet | None) -> LoadedTeamFile:
    """Return the file with these rules before its own; one that stands there already is not put in twice."""
    if rules is None:
        return loaded
    given = loaded.team.permissions
    lists = {
        key: tuple(dict.fromkeys((*getattr(rules, key), *getattr(given, key))))
        for key in ("allow", "deny", "ask")
    }
    permissions = given.model_copy(update=lists)
    return loaded.replace(team=loaded.team.model_copy(update={"permissions": permissions}))
