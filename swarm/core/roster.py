"""The roster: who belongs to a team. It says nothing of processes; those have records of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import (
    EMPTY,
    an_object,
    integer,
    mapping,
    optional_flag,
    optional_integer,
    optional_text,
    present,
    rest,
    text,
    texts,
    wrong,
)
from swarm.core.identity import other_spelling
from swarm.core.nearest import some_of
from swarm.core.spawn import RuleSet, parse_rules, render_rules
from swarm.errors import ConfigError, NotFoundError
from swarm.values import Value

SCHEMA = 1

SPAWN_COMMAND = "spawn command"
"""Source of the rules that a teammate was started with by hand."""


class Member(Value):
    """One member as other readers of the file expect it. `joined_at` is epoch milliseconds.

    The leader's `permission_mode` is that of its run; `rules` are those that a teammate was started with by
    hand, and keeps in its next lives. `backend_type` and `tmux_pane_id` are written once at spawn and never
    read by us.
    """

    agent_id: str
    name: str
    joined_at: int
    cwd: str
    color: str | None = None
    tmux_pane_id: str = ""
    subscriptions: tuple[str, ...] = ()
    agent_type: str | None = None
    model: str | None = None
    prompt: str | None = None
    plan_mode_required: bool | None = None
    backend_type: str | None = None
    role: str | None = None
    permission_mode: str | None = None
    rules: RuleSet | None = None
    extra: Mapping[str, Any] = EMPTY
    swarm_extra: Mapping[str, Any] = EMPTY


class Roster(Value):
    """A team's `config.json`. `schema` is None in a team that is not ours; `native`: only our workers."""

    name: str
    created_at: int
    lead_agent_id: str
    description: str | None = None
    lead_session_id: str | None = None
    members: tuple[Member, ...] = ()
    schema: int | None = None
    native: bool | None = None
    workspace: str | None = None
    isolation: str | None = None
    extra: Mapping[str, Any] = EMPTY
    swarm_extra: Mapping[str, Any] = EMPTY

    @property
    def is_ours(self) -> bool:
        return self.schema is not None

    def find(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)

    def member(self, name: str) -> Member:
        """Return the member of this name, else `no_such_agent` with the names that exist."""
        found = self.find(name)
        if found is None:
            known = some_of(self.names(), name)
            raise NotFoundError(
                f"no agent {name} in team {self.name}; it has {known}",
                code="no_such_agent",
                details={"value": name, "valid": list(self.names())},
            )
        return found

    def check_spelling(self, name: str) -> None:
        """Refuse a name that differs from a member's in case alone (bad_name); any other need be nobody's."""
        spelling = other_spelling(name, self.names())
        if spelling is not None:
            raise ConfigError(
                f"there is no {name} in team {self.name}, but {spelling}; write it like that",
                code="bad_name",
                details={"value": name, "suggestion": spelling},
            )

    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.members)

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Return each role with the names that have it."""
        found: dict[str, tuple[str, ...]] = {}
        for member in self.members:
            if member.role is not None:
                found[member.role] = (*found.get(member.role, ()), member.name)
        return found

    def role_of(self, name: str) -> str | None:
        """Return the role of a member; a name that is not on the roster has none."""
        member = self.find(name)
        return member.role if member else None

    def with_member(self, member: Member) -> Roster:
        """Return the roster with this member, in the place of one of the same name if there is one."""
        if self.find(member.name) is None:
            return self.replace(members=(*self.members, member))
        return self.replace(members=tuple(member if old.name == member.name else old for old in self.members))

    def without_member(self, name: str) -> Roster:
        return self.replace(members=tuple(member for member in self.members if member.name != name))


def parse_member(obj: Mapping[str, Any]) -> Member:
    swarm = mapping(obj, "swarm")
    return Member(
        agent_id=text(obj, "agentId"),
        name=text(obj, "name"),
        joined_at=integer(obj, "joinedAt", 0),
        cwd=optional_text(obj, "cwd") or "",
        color=optional_text(obj, "color"),
        tmux_pane_id=optional_text(obj, "tmuxPaneId") or "",
        subscriptions=texts(obj, "subscriptions"),
        agent_type=optional_text(obj, "agentType"),
        model=optional_text(obj, "model"),
        prompt=optional_text(obj, "prompt"),
        plan_mode_required=optional_flag(obj, "planModeRequired"),
        backend_type=optional_text(obj, "backendType"),
        role=optional_text(swarm, "role"),
        permission_mode=optional_text(swarm, "permission_mode"),
        rules=parse_rules(mapping(swarm, "rules"), SPAWN_COMMAND) or None,
        extra=rest(obj, _MEMBER_KEYS),
        swarm_extra=rest(swarm, _MEMBER_SWARM_KEYS),
    )


def render_member(member: Member) -> dict[str, Any]:
    rules = render_rules(member.rules) if member.rules else None
    own = present(role=member.role, permission_mode=member.permission_mode, rules=rules)
    swarm = {**own, **member.swarm_extra}
    known = present(
        agentId=member.agent_id,
        name=member.name,
        color=member.color,
        agentType=member.agent_type,
        joinedAt=member.joined_at,
        tmuxPaneId=member.tmux_pane_id,
        subscriptions=list(member.subscriptions),
        model=member.model,
        prompt=member.prompt,
        planModeRequired=member.plan_mode_required,
        cwd=member.cwd,
        backendType=member.backend_type,
        swarm=swarm or None,
    )
    return {**known, **member.extra}


def parse_roster(obj: Mapping[str, Any]) -> Roster:
    """Return the roster of any team, ours or not; a schema that we do not know is a ValueError."""
    swarm = mapping(obj, "swarm")
    schema = optional_integer(swarm, "schema")
    if schema not in (None, SCHEMA):
        raise ValueError(f"schema {schema} is not known here; this swarm knows {SCHEMA}")
    return Roster(
        name=text(obj, "name"),
        description=optional_text(obj, "description"),
        created_at=integer(obj, "createdAt", 0),
        lead_agent_id=optional_text(obj, "leadAgentId") or "",
        lead_session_id=optional_text(obj, "leadSessionId"),
        members=_members(obj),
        schema=schema,
        native=optional_flag(swarm, "native"),
        workspace=optional_text(swarm, "workspace"),
        isolation=optional_text(swarm, "isolation"),
        extra=rest(obj, _ROSTER_KEYS),
        swarm_extra=rest(swarm, _ROSTER_SWARM_KEYS),
    )


def render_roster(roster: Roster) -> dict[str, Any]:
    ours = present(
        schema=roster.schema, native=roster.native, workspace=roster.workspace, isolation=roster.isolation
    )
    swarm = {**ours, **roster.swarm_extra}
    known = present(
        name=roster.name,
        description=roster.description,
        createdAt=roster.created_at,
        leadAgentId=roster.lead_agent_id,
        leadSessionId=roster.lead_session_id,
        members=[render_member(member) for member in roster.members],
        swarm=swarm or None,
    )
    return {**known, **roster.extra}


def _members(obj: Mapping[str, Any]) -> tuple[Member, ...]:
    value = obj.get("members", [])
    if not isinstance(value, list):
        raise wrong("members", "a list", value)
    return tuple(parse_member(an_object(item, "a member")) for item in value)


_MEMBER_KEYS = frozenset(
    {"agentId", "name", "color", "agentType", "joinedAt", "tmuxPaneId", "subscriptions", "model", "prompt"}
    | {"planModeRequired", "cwd", "backendType", "swarm"}
)
_MEMBER_SWARM_KEYS = frozenset({"role", "permission_mode", "rules"})
_ROSTER_KEYS = frozenset(
    {"name", "description", "createdAt", "leadAgentId", "leadSessionId", "members", "swarm"}
)
_ROSTER_SWARM_KEYS = frozenset({"schema", "native", "workspace", "isolation"})
