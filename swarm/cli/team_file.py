"""Reading a team file with everything that can be checked before a team exists."""

from __future__ import annotations

from swarm.permissions.modes import check_mode
from swarm.permissions.rules import parse_rule
from swarm.teamfile.reader import LoadedTeamFile, load_team_file


def read_team_file(path: str, *, model: str | None = None, teammates: int | None = None) -> LoadedTeamFile:
    """Return the checked file; `model` takes the place of every model, `teammates` of the one count.

    Raises:
        ConfigError: the first fault in file order; all of them are in its details.

    """
    return load_team_file(
        path, model=model, teammates=teammates, check_rule=_check_rule, check_mode=check_mode
    )


def _check_rule(text: str) -> object:
    return parse_rule(text, "allow", "the team file")
