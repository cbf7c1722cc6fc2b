"""`config.json`: who belongs to the team. Changed under the roster lock, by rename; read without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swarm.core.identity import same_name
from swarm.core.ports import Clock
from swarm.core.roster import Member, Roster, parse_roster, render_roster
from swarm.errors import CorruptStateError, NotFoundError, StateError
from swarm.settings import Settings
from swarm.storage import files, network, syscalls
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock


def find_roster(path: str) -> Roster | None:
    """Return the roster in a file, None when it is missing. One that does not parse is an error."""
    try:
        found = files.find_object(path)
        return None if found is None else parse_roster(found)
    except CorruptStateError as error:
        raise _damaged(path, error.why) from error
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, why: str) -> CorruptStateError:
    return CorruptStateError(
        path, why, "mend it by hand, or let swarm doctor --fix make it anew from the agents' records"
    )


def find_roster_of(team: TeamLayout) -> Roster | None:
    """Return a team's roster, None when there is none; one that is being replaced is waited for."""
    found = find_roster(team.config)
    if found is None and syscalls.find_stat(team.team_dir) is not None:
        return network.look_again(lambda: find_roster(team.config))
    return found


class RosterStore:
    """The roster of one team. Two names that differ only in case are one name."""

    def __init__(self, layout: TeamLayout, settings: Settings, clock: Clock) -> None:
        self._layout = layout
        self._lock = FileLock(layout.lock("roster"), settings, clock, f"roster@{layout.team}")

    def load(self) -> Roster:
        """Return the roster as it is now; `no_such_team` when the team is gone."""
        roster = find_roster_of(self._layout)
        if roster is None:
            raise NotFoundError(
                f"no team {self._layout.team}: it has no roster",
                code="no_such_team",
                details={"value": self._layout.team, "valid": []},
            )
        return roster

    def add_member(self, member: Member) -> Roster:
        """Add a member and return the roster; `name_taken` when there is one of that name."""
        return self._change(lambda roster: _with_new(roster, member))

    def update_member(self, name: str, **changes: Any) -> Roster:
        """Change fields of one member and return the roster."""
        return self._change(lambda roster: roster.with_member(roster.member(name).replace(**changes)))

    def remove_member(self, name: str) -> Roster:
        """Take a member off; its mail, transcript and record stay. A name that is not there is no error."""
        return self._change(lambda roster: roster.without_member(name))

    def _change(self, change: Callable[[Roster], Roster]) -> Roster:
        with self._lock:
            old = self.load()
            new = change(old)
            if new != old:
                files.remove_drafts(self._layout.config)
                files.write_json(self._layout.config, render_roster(new))
        return new


def _with_new(roster: Roster, member: Member) -> Roster:
    twin = next((name for name in roster.names() if same_name(name, member.name)), None)
    if twin is not None:
        raise StateError(
            f"team {roster.name} has a member {twin} already; choose another name than {member.name}",
            code="name_taken",
            details={"value": member.name, "taken": twin},
        )
    return roster.with_member(member)
