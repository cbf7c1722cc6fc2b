"""A team as one object: the stores of its files, each made when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from swarm.core.ports import Clock
from swarm.errors import StateError
from swarm.settings import Settings
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.listing import TeamListing, default_team, is_native, is_plain, list_teams, no_such_team
from swarm.storage.roster import RosterStore, find_roster_of

if TYPE_CHECKING:
    from swarm.storage.agents import AgentStore
    from swarm.storage.costs import Costs
    from swarm.storage.events import EventLog
    from swarm.storage.inbox import Inbox
    from swarm.storage.permissions import PermissionStore
    from swarm.storage.tasks import TaskStore

__all__ = ["Team", "TeamListing", "create_team", "default_team", "delete_team", "list_teams", "open_team"]


class Team:
    """Everything on disk of one team. Cheap to make: stores open their files when they are used."""

    def __init__(self, layout: TeamLayout, settings: Settings, clock: Clock) -> None:
        self.layout = layout
        self.settings = settings
        self.clock = clock
        self.roster = RosterStore(layout, settings, clock)
        self._tasks: dict[str, TaskStore] = {}
        self._inboxes: dict[str, Inbox] = {}

    @property
    def name(self) -> str:
        return self.layout.team

    @property
    def root(self) -> str:
        return self.layout.root

    @cached_property
    def agents(self) -> AgentStore:
        from swarm.storage.agents import AgentStore

        return AgentStore(self.layout, self.settings, self.clock)

    @cached_property
    def events(self) -> EventLog:
        from swarm.storage.events import EventLog

        return EventLog(self.layout, self.settings, self.clock)

    @cached_property
    def costs(self) -> Costs:
        from swarm.storage.costs import Costs

        return Costs(self.layout, self.settings, self.clock)

    @cached_property
    def permissions(self) -> PermissionStore:
        from swarm.storage.permissions import PermissionStore

        return PermissionStore(self.layout, self.settings, self.clock)

    def tasks(self, by: str) -> TaskStore:
        """Return the task store whose changes are signed `by` this agent or person."""
        from swarm.storage.tasks import TaskStore

        if by not in self._tasks:
            self._tasks[by] = TaskStore(self.layout, by, self.settings, self.clock)
        return self._tasks[by]

    def inbox(self, name: str) -> Inbox:
        from swarm.storage.inbox import Inbox

        if name not in self._inboxes:
            self._inboxes[name] = Inbox(self.layout, name, self.settings, self.clock)
        return self._inboxes[name]

    def close(self) -> None:
        """Close the files that the task stores keep open; they open again when used."""
        for store in self._tasks.values():
            store.close()


def open_team(root: str, name: str, settings: Settings, clock: Clock) -> Team:
    """Return a team of ours; `no_such_team` tells which there are, `mixed_team` that it is not ours alone."""
    layout = Layout(root=root).team(name)
    roster = find_roster_of(layout) if is_plain(name) else None
    if roster is None:
        raise no_such_team(root, name)
    if not is_native(name, roster):
        raise StateError(
            f"team {name} was not made by swarm, or has members of another client; it can only be listed",
            code="mixed_team",
            details={"value": name},
        )
    return Team(layout, settings, clock)


def create_team(  # noqa: PLR0913 - one for each thing that a team is made of
    root: str, name: str, *, description: str = "", workspace: str, isolation: str = "shared",
    settings: Settings, clock: Clock, lead_session_id: str | None = None, team_file: bytes | None = None,
) -> Team:  # fmt: skip
    """Make a team and its task list, with the leader as its only member; all of it or nothing.

    `team_file` is kept with a team that a run makes, so that a kill leaves none without it.
    `name_taken` when a team or a task list of that name exists, also in other case.
    """
    from swarm.storage.creation import build, new_roster

    roster = new_roster(name, description, workspace, isolation, clock.now(), lead_session_id)
    return Team(build(Layout(root=root), roster, settings, clock, team_file), settings, clock)


def delete_team(root: str, name: str, *, force: bool, settings: Settings, clock: Clock) -> None:
    """Remove a team with its task list, mail, transcripts and logs.

    Refused while an agent of it is alive (`agent_alive`, `leader_alive`), whatever `force` says: stop it
    first. Without `force` also refused for a foreign team, and while tasks run or results would be lost.
    """
    from swarm.storage.deletion import delete

    delete(Team(Layout(root=root).team(name), settings, clock), force=force)
