"""What a teammate is told that is started by hand: from the wish, its earlier life, and the team file."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, check_name, color_for, make_run_id, parse_run_id
from swarm.core.roster import Member, Roster
from swarm.core.spawn import RuleSet, TeammateSpec
from swarm.errors import StateError
from swarm.leader.inheritance import after_plan, inherited, mode_of_leader, rules_of_file, with_own
from swarm.leader.settings_policy import SettingsPolicy
from swarm.permissions.modes import DEFAULT_MODE
from swarm.settings import DEFAULT_MODEL
from swarm.storage.leadership import leader_state
from swarm.storage.processes import new_run
from swarm.storage.team import Team
from swarm.teamfile.reader import LoadedTeamFile
from swarm.values import Value


class Wish(Value):
    """What a person says about a teammate. None leaves it as it was, or as the team file has it."""

    backend: str
    model: str | None = None
    permission_mode: str | None = None
    role: str | None = None
    rules: RuleSet | None = None


def asked_mode(
    roster: Roster, name: str, wish: Wish, file: LoadedTeamFile | None, settings: SettingsPolicy
) -> str:
    """Return the mode that is wanted of a teammate: as the person says, as it was, as its leader's."""
    member, in_file = roster.find(name), file.team.permissions.mode if file is not None else None
    before = member.permission_mode if member is not None else None
    return (
        wish.permission_mode or before or mode_of_leader(roster) or in_file or settings.mode or DEFAULT_MODE
    )


def make_spec(
    team: Team,
    name: str,
    wish: Wish,
    environ: Mapping[str, str],
    file: LoadedTeamFile | None,
    settings: SettingsPolicy,
) -> TeammateSpec:
    """Return what to start this teammate with; it is the next life of a name that there was before."""
    roster = team.roster.load()
    roster.check_spelling(check_name(name))
    member = roster.find(name)
    if roster.workspace is None:
        raise StateError(
            f"team {team.name} has no workspace", code="corrupt_state", details={"path": team.layout.config}
        )
    mode = inherited(asked_mode(roster, name, wish, file, settings), mode_of_leader(roster))
    settings.check(mode)
    of_file = (rules_of_file(file.team),) if file is not None else ()
    rules = tuple(one for one in (*of_file, *settings.rules) if one)
    model = wish.model or (member and member.model) or (file and file.team.model)
    return TeammateSpec(
        root=team.root,
        team=team.name,
        name=name,
        role=wish.role or (member.role if member else None),
        run_id=_next_life(team, name),
        leader_run_id=_living_leader(team),
        workspace=roster.workspace,
        model=model or environ.get("ANTHROPIC_MODEL") or DEFAULT_MODEL,
        fallback_model=file.team.fallback_model if file else None,
        permission_mode=mode,
        color=_color(member, len(roster.members) - 1),
        backend=wish.backend,
        rules=(wish.rules, *rules) if wish.rules else with_own(rules, member),
        environ=environ,
        time_scale=float(environ.get("SWARM_TIME_SCALE", "1")),
        mode_after_plan=after_plan(mode_of_leader(roster)),
    )


def _color(member: Member | None, others: int) -> str:
    return (member.color if member else None) or color_for(others)


def _next_life(team: Team, name: str) -> str:
    record, leader = team.agents.load(name), team.agents.load(LEADER)
    if record is not None:
        return next_life(record)
    if leader is not None and _living_leader(team) is not None:
        return make_run_id(parse_run_id(leader.run_id).run, name, 1)
    return make_run_id(new_run(), name, 1)


def next_life(record: AgentRecord) -> str:
    """Return the run id of the life after this one, in the same run."""
    life = parse_run_id(record.run_id)
    return make_run_id(life.run, record.name, int(life.life) + 1 if life.life.isdigit() else 1)


def _living_leader(team: Team) -> str | None:
    leader = team.agents.load(LEADER)
    return leader.run_id if leader is not None and leader_state(team) == "alive" else None
