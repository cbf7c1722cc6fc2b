"""The run that a team had before, as its files tell it, and taking it up with a new life of its leader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, USER, make_run_id, parse_run_id
from swarm.core.roster import Roster
from swarm.core.spawn import TeammateSpec
from swarm.errors import StateError
from swarm.leader.ending import end_agents, is_over
from swarm.leader.enlisting import next_life
from swarm.leader.inheritance import inherited, with_own
from swarm.leader.records import leader_record
from swarm.storage.leadership import leader_state
from swarm.storage.lock import FileLock
from swarm.storage.processes import new_run
from swarm.storage.team import Team
from swarm.values import Value


class Earlier(Value):
    """What there is of a run: `leader_run_id` is the life that takes it up, `living` are its teammates."""

    run: str
    leader_run_id: str
    roster: Roster
    records: Mapping[str, AgentRecord]
    living: tuple[AgentRecord, ...]

    def spec_of(self, spec: TeammateSpec, mode: str) -> TeammateSpec:
        """Return what this teammate is to be started with: as it was, and in its next life if it is over.

        Its mode is no looser than `mode`, its leader's.
        """
        record, member = self.records.get(spec.name), self.roster.find(spec.name)
        if member is not None:
            spec = spec.replace(
                model=member.model or spec.model,
                permission_mode=inherited(member.permission_mode or spec.permission_mode, mode),
                rules=with_own(spec.rules, member),
            )
        if record is None:
            return spec
        lives = any(one.name == record.name for one in self.living)
        return spec.replace(run_id=record.run_id if lives else next_life(record))

    def in_order(self, specs: Sequence[TeammateSpec]) -> list[TeammateSpec]:
        """Put those first that were at work: before the idle look they have their task."""
        return sorted(specs, key=lambda spec: not self._was_at_work(spec.name))

    def _was_at_work(self, name: str) -> bool:
        record = self.records.get(name)
        return record is not None and record.task is not None


def backend_before(team: Team) -> str | None:
    """Return where the leader's teammates ran."""
    leader = team.agents.load(LEADER)
    return leader.backend if leader is not None else None


def take_up(team: Team, backend: str) -> Earlier:
    """Become the leader of this team, and free what those held that are over.

    Of several that try at the same time one succeeds; while a leader lives nobody does (leader_alive).
    """
    with FileLock(team.layout.lock("leader"), team.settings, team.clock, USER):
        if leader_state(team) == "alive":
            raise StateError(
                f"team {team.name} is being led now; swarm status shows it, and Ctrl-C where it runs ends it",
                code="leader_alive",
                details={"team": team.name},
            )
        leader = team.agents.load(LEADER)
        run = parse_run_id(leader.run_id).run if leader is not None else new_run()
        mine = next_life(leader) if leader is not None else make_run_id(run, LEADER, 1)
        team.agents.save(leader_record(mine, backend, "starting", team.clock.now()))
    records = {record.name: record for record in team.agents.list_agents() if record.name != LEADER}
    living = tuple(one for one in records.values() if one.pid is not None and not is_over(one))
    over = [name for name in records if name not in {one.name for one in living}]
    end_agents(team, over, by=LEADER, timeout=0.0, force=True)
    return Earlier(run=run, leader_run_id=mine, roster=team.roster.load(), records=records, living=living)
