"""The commands that help where a team has come to a stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from swarm.cli.crew import has_failed
from swarm.cli.presence import Present

_AT_MOST = 3

Meant = Callable[[Present], bool]


def advice(
    agents: Sequence[Present], *, team: str, named: bool, leader: str, unfinished: bool
) -> tuple[str, ...]:
    """Return what could be done next, what matters most first. `named`: the command must say which team."""
    return tuple(_all(agents, team, f" -t {team}" if named else "", leader, unfinished=unfinished))[:_AT_MOST]


def _all(agents: Sequence[Present], team: str, which: str, leader: str, *, unfinished: bool) -> Iterator[str]:
    def names(is_meant: Meant) -> list[str]:
        return [agent.member.name for agent in agents if is_meant(agent)]

    dead = names(lambda agent: agent.state == "dead")
    if leader == "gone" and unfinished:
        yield f"swarm resume {team} takes the run up again"
    elif dead:
        yield f"swarm restart {dead[0]}{which} starts it anew{_and_so(dead)}"
    if cut := names(lambda agent: agent.start_was_cut):
        yield f"swarm spawn {cut[0]}{which} starts it{_and_so(cut)}"
    if stalled := names(lambda agent: agent.state == "stalled"):
        yield f"swarm logs {stalled[0]}{which} shows what it did last"
    if failed := names(has_failed):
        yield f"swarm logs {failed[0]}{which} says why it failed{_and_so(failed)}"
    if paused := names(lambda agent: agent.state == "paused"):
        yield f"swarm continue {' '.join(paused)}{which} lets {'it' if len(paused) == 1 else 'them'} go on"
    if damaged := names(lambda agent: agent.unread is None):
        yield f"swarm mail {damaged[0]}{which} says what is wrong with its mail"


def _and_so(names: Sequence[str]) -> str:
    """Return for whom the same holds as for the first."""
    return f", and so {', '.join(names[1:])}" if names[1:] else ""
