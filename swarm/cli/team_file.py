"""Reading a team file with everything that can be checked before a team exists."""

from __future__ import annotations

import re

from swarm.errors import ConfigError
from swarm.permissions.modes import check_mode
from swarm.permissions.rules import parse_rule
from swarm.teamfile.model import KNOWN_TOOLS
from swarm.teamfile.reader import LoadedTeamFile, load_team_file


def read_team_file(
    path: str, *, model: str | None = None, teammates: int | None = None, budget: float | None = None
) -> LoadedTeamFile:
    """Return the checked file; `model`, `teammates` and `budget` as in `load_team_file`.

    Raises:
        ConfigError: the first fault in file order; all of them are in its details.

    """
    return load_team_file(
        path,
        model=model,
        teammates=teammates,
        budget=budget,
        check_rule=check_rule,
        check_mode=check_mode,
    )


def check_rule(text: str, source: str = "the team file") -> object:
    """Refuse what is surely a slip: a rule that never matches protects nothing, without a word."""
    rule = parse_rule(text, "allow", source)
    if rule.tool not in KNOWN_TOOLS and not rule.tool.startswith("mcp__"):
        known = ", ".join(sorted(KNOWN_TOOLS))
        raise _bad_rule(text, f"there is no tool {rule.tool}; tools are {known}")
    plain = re.sub(r"\\.", "", text)
    if plain.count("(") != plain.count(")"):
        raise _bad_rule(text, "its brackets do not pair; put a backslash before one that is meant as it is")
    return rule


def _bad_rule(text: str, why: str) -> ConfigError:
    return ConfigError(f"permission rule {text!r}: {why}", code="bad_value", details={"value": text})
