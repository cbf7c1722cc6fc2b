"""What makes sense only together: names, workspace, permissions, teammates. Tasks are in `task_checks`.

Every check gives all the problems it finds; whoever collects them puts them in file order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from swarm.core.identity import check_name
from swarm.errors import ConfigError
from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.budget import find_unpriced
from swarm.teamfile.built import find_unbuilt
from swarm.teamfile.members import member_names
from swarm.teamfile.model import KNOWN_TOOLS, TeamFile
from swarm.teamfile.problems import Path, Problem
from swarm.teamfile.task_checks import check_tasks
from swarm.values import Value

Check = Callable[[str], object]
"""Takes one rule or mode and raises ConfigError when it is no good."""


class Rules(Value):
    """What the caller knows and this package does not: tools that exist, and how permissions are written."""

    known_tools: frozenset[str] = KNOWN_TOOLS
    check_rule: Check | None = None
    check_mode: Check | None = None
    require_teammates: bool = True


def check_team(team: TeamFile, workspace: str, rules: Rules) -> Iterator[Problem]:
    """Everything that is wrong with a file whose shape is right."""
    yield from _refusals(lambda name: check_name(name, what="team"), team.name, ("name",))
    yield from _check_workspace(team, workspace)
    yield from _check_permissions(team, rules)
    yield from _check_teammates(team, rules)
    if team.fallback_model == SCRIPTED_MODEL:
        message = "a script cannot stand in for a model; name another model, or leave it out"
        yield Problem(message=message, path=("fallback_model",))
    yield from find_unbuilt(team)
    yield from find_unpriced(team)
    yield from check_tasks(team, rules.known_tools)


def _refusals(check: Check | None, value: str, path: Path) -> Iterator[Problem]:
    if check is None:
        return
    try:
        check(value)
    except ConfigError as error:
        yield Problem(message=error.message, path=path, code=error.code, details=error.details)


def _check_workspace(team: TeamFile, workspace: str) -> Iterator[Problem]:
    if not os.path.exists(workspace):
        message = f"there is no folder {team.workspace} (looked for {workspace})"
        yield Problem(message=message, path=("workspace",))
    elif not os.path.isdir(workspace):
        yield Problem(message=f"{team.workspace} is not a folder ({workspace})", path=("workspace",))


def _check_permissions(team: TeamFile, rules: Rules) -> Iterator[Problem]:
    given = team.permissions
    if given.mode is not None:
        yield from _refusals(rules.check_mode, given.mode, ("permissions", "mode"))
    for key, texts in (("allow", given.allow), ("deny", given.deny), ("ask", given.ask)):
        for position, text in enumerate(texts):
            yield from _refusals(rules.check_rule, text, ("permissions", key, position))
    for position, one in enumerate(team.permissions.answers):
        yield from _refusals(rules.check_rule, one.match, ("permissions", "answers", position, "match"))
    for position, teammate in enumerate(team.teammates):
        if teammate.permission_mode is not None:
            path = ("teammates", position, "permission_mode")
            yield from _refusals(rules.check_mode, teammate.permission_mode, path)


def _check_teammates(team: TeamFile, rules: Rules) -> Iterator[Problem]:
    if not team.teammates and rules.require_teammates:
        yield Problem(message="nobody would do the work; name at least one teammate", path=("teammates",))
    taken: dict[str, tuple[int, str]] = {}
    for position, teammate in enumerate(team.teammates):
        path = ("teammates", position, "name")
        wrong = list(_refusals(check_name, teammate.name, path))
        if not wrong and teammate.count is not None:
            wrong = list(_refusals(check_name, member_names(teammate)[-1], path))
        yield from wrong
        names = dict.fromkeys((teammate.name, *member_names(teammate)))
        yield from _clashes(names, taken, position)
        for name in names:
            taken.setdefault(name.casefold(), (position, name))


def _clashes(names: dict[str, None], taken: dict[str, tuple[int, str]], position: int) -> Iterator[Problem]:
    for name in names:
        if name.casefold() in taken:
            other, same = taken[name.casefold()]
            message = f"{name} is taken: teammates[{other}] is or makes {same}; give one another name"
            path: Path = ("teammates", position, "name")
            yield Problem(message=message, path=path, code="bad_name", details={"value": name})
            return
