"""Examining what is on disk, and mending it: never by removing what somebody may need.

Looking takes locks but writes nothing. What is damaged or odd is moved to the team's folder `set-aside`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from swarm.core.identity import USER
from swarm.core.permission import is_plan_request
from swarm.core.ports import Clock
from swarm.errors import LockTimeoutError, SwarmError
from swarm.settings import Settings
from swarm.storage import processes, syscalls
from swarm.storage.archive import archive_tasks
from swarm.storage.creation import STAGED, is_unused, remove_tree, teams_lock
from swarm.storage.dead import EndTools
from swarm.storage.finding import Finding, Held, undisturbed
from swarm.storage.health_agents import examine_agents, examine_secrets
from swarm.storage.health_folders import (
    examine_drafts,
    examine_folders,
    examine_leftovers,
    examine_locks,
    held_lock,
)
from swarm.storage.health_lines import examine_lines, examine_mail
from swarm.storage.health_permissions import examine_permissions
from swarm.storage.health_roster import examine_rosters
from swarm.storage.health_tasks import examine_tasks
from swarm.storage.layout import Layout
from swarm.storage.listing import is_plain
from swarm.storage.team import Team
from swarm.values import Value

_ROUNDS = 3
_STAGING = re.compile(r"\..+\.(?P<pid>[0-9]+)(\.new|\.gone)", re.ASCII)


class Outcome(Value):
    """What became of a finding; `error` says why it could not be mended."""

    finding: Finding
    fixed: bool = False
    error: str = ""


def examine_team(team: Team, end_tools: EndTools, held: Held | None = None) -> tuple[Finding, ...]:
    """Return all that is wrong with a team of ours, in the order in which it should be mended.

    With the same `held` for each look a lock that somebody keeps is waited for once in all of them.
    """
    held = {} if held is None else held
    first: tuple[Callable[[Team], Iterator[Finding]], ...]
    rest: tuple[Callable[[Team], Iterator[Finding]], ...]
    first = (examine_folders, partial(examine_locks, held=held), partial(examine_tasks, held=held))
    found = [finding for part in first for finding in _guarded(team, part)]
    mail, lines = partial(examine_mail, held=held), partial(examine_lines, held=held)
    rest = (examine_secrets, mail, lines, examine_permissions, examine_leftovers)
    if not any(
        finding.kind == "cut_journal" for finding in found
    ):  # whose table nobody reads without mending it
        rest = (partial(examine_agents, end_tools=end_tools), *rest)
    found += [finding for part in rest for finding in _guarded(team, part)]
    team.close()
    return tuple({finding.key: finding for finding in reversed(found)}.values())[::-1]


def examine_root(
    root: str, settings: Settings, clock: Clock, held: Held | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong between the teams: halves of teams, and rosters that cannot be read."""
    layout = Layout(root=root)
    try:
        with undisturbed(layout.creation_lock, settings, clock, {} if held is None else held):
            return tuple(_between_teams(layout, settings, clock))
    except LockTimeoutError as error:
        return (held_lock(error, layout.creation_lock),)
    except SwarmError as error:
        return (Finding(kind="unreadable", path=layout.teams_dir, what=error.message),)


def mend(examine: Callable[[], tuple[Finding, ...]]) -> tuple[Outcome, ...]:
    """Mend what can be mended until nothing more is found, and return what became of each finding.

    Mending may bring to light what was hidden; that is mended in a further round. The last look decides
    what is fixed.
    """
    seen: dict[tuple[str, str], Finding] = {}
    errors: dict[tuple[str, str], str] = {}
    found = examine()
    for _ in range(_ROUNDS):
        seen |= {finding.key: finding for finding in found if finding.key not in seen}
        if not any(finding.mend for finding in found):
            break
        errors |= _mend_each(found)
        found = examine()
    seen |= {finding.key: finding for finding in found}
    left = {finding.key for finding in found}
    return tuple(
        Outcome(finding=finding, fixed=key not in left, error=errors.get(key, "") if key in left else "")
        for key, finding in seen.items()
    )


def record_mending(team: Team, outcomes: Iterable[Outcome]) -> None:
    """Write an event that tells what was mended, if anything was."""
    kinds = sorted({outcome.finding.kind for outcome in outcomes if outcome.fixed})
    if kinds:
        team.events.emit("store_repaired", USER, mended=", ".join(kinds))


def _mend_each(found: Iterable[Finding]) -> dict[tuple[str, str], str]:
    errors = {}
    for finding in found:
        if finding.mend is None:
            continue
        try:
            finding.mend()
        except (SwarmError, OSError) as error:
            errors[finding.key] = str(error)
    return errors


def _guarded(team: Team, part: Callable[[Team], Iterator[Finding]]) -> Iterator[Finding]:
    """Let one part that cannot be looked at not hide the others."""
    try:
        yield from part(team)
    except (SwarmError, OSError) as error:
        path = str(error.details.get("path", team.layout.team_dir)) if isinstance(error, SwarmError) else ""
        yield Finding(kind="unreadable", path=path or team.layout.team_dir, what=str(error))


def _between_teams(layout: Layout, settings: Settings, clock: Clock) -> Iterator[Finding]:
    for parent in (layout.teams_dir, layout.tasks_root):
        for entry in sorted(syscalls.list_folder(parent)):
            match = _STAGING.fullmatch(entry)
            if match and processes.start_ticks(int(match["pid"])) is None:
                path = f"{parent}/{entry}"
                deed = "made" if entry.endswith(STAGED) else "deleted"
                yield Finding(
                    kind="leftover_folder",
                    path=path,
                    what=f"a team was being {deed} here when swarm was killed",
                    remedy="it is removed",
                    mend=partial(_remove_locked, layout, settings, clock, path),
                )
    yield from examine_rosters(layout, settings, clock)
    for name in sorted(filter(is_plain, syscalls.list_folder(layout.tasks_root))):
        yield from _lone_tasks(Team(layout.team(name), settings, clock))
    for draft in examine_drafts(layout.plans_dir):
        if is_plan_request(os.path.basename(draft.path).removeprefix(".")):  # others have plans there, too
            yield draft


def _lone_tasks(team: Team) -> Iterator[Finding]:
    """Find a task list of ours without its team; other clients have task lists without teams."""
    layout = team.layout
    if syscalls.find_stat(layout.team_dir) is not None or syscalls.find_stat(layout.journal) is None:
        return
    unused = is_unused(layout)
    remove = partial(_remove_locked, Layout(root=team.root), team.settings, team.clock, layout.tasks_dir)
    yield Finding(
        kind="tasks_without_team",
        path=layout.tasks_dir,
        what=f"there is no team {team.name}" + ("" if unused else ", but it has tasks"),
        remedy="it is removed, since it was never used" if unused else "it is archived",
        mend=remove if unused else partial(archive_tasks, team),
    )


def _remove_locked(layout: Layout, settings: Settings, clock: Clock, path: str) -> None:
    with teams_lock(layout, settings, clock):
        remove_tree(path)
