"""The teammates that a team file names, `count` written out."""

from __future__ import annotations

from swarm.errors import ConfigError
from swarm.teamfile.model import COUNT_MAX, TeamFile, TeammateSpec
from swarm.values import Value


class MemberSpec(Value):
    """One teammate to start. `role` is set for those that `count` made."""

    name: str
    role: str | None
    model: str
    permission_mode: str | None
    """What the file says for it alone; None: as its leader's."""


def member_names(teammate: TeammateSpec) -> tuple[str, ...]:
    """`builder` with count 2 is `builder-1`, `builder-2`; without a count it is itself."""
    if teammate.count is None:
        return (teammate.name,)
    return tuple(f"{teammate.name}-{number}" for number in range(1, teammate.count + 1))


def with_count(team: TeamFile, count: int | None) -> TeamFile:
    """Return the team with `count` teammates; only a team that names at most one can be multiplied."""
    if count is None:
        return team
    if len(team.teammates) > 1:
        raise ConfigError(
            f"team {team.name} names {len(team.teammates)} teammates; give each its own count in the file",
            code="bad_usage",
            details={"value": count},
        )
    if not 1 <= count <= COUNT_MAX:
        message = f"{count} teammates cannot be started; give 1 to {COUNT_MAX}"
        raise ConfigError(message, code="bad_value", details={"value": count})
    only = team.teammates[0] if team.teammates else TeammateSpec(name="worker")
    return team.model_copy(update={"teammates": (only.model_copy(update={"count": count}),)})


def members(team: TeamFile) -> tuple[MemberSpec, ...]:
    """All teammates in file order."""
    return tuple(
        MemberSpec(
            name=name,
            role=None if teammate.count is None else teammate.name,
            model=teammate.model or team.model,
            permission_mode=teammate.permission_mode,
        )
        for teammate in team.teammates
        for name in member_names(teammate)
    )


def roles(team: TeamFile) -> tuple[str, ...]:
    """Names that stand for any of several teammates."""
    return tuple(teammate.name for teammate in team.teammates if teammate.count is not None)


def owners(team: TeamFile) -> tuple[str, ...]:
    """Every name that a task's `owner` may hold: teammates, then roles."""
    return (*(member.name for member in members(team)), *roles(team))


def who_may_claim(team: TeamFile, owner: str | None) -> tuple[MemberSpec, ...]:
    """The teammates that may work on a task of this owner; all of them when it has none."""
    return tuple(member for member in members(team) if owner in (None, member.name, member.role))
