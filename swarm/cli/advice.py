"""The commands that help where a team has come to a stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from swarm.cli.crew import has_failed
from swarm.cli.presence import Present
from swarm.core.task import name_tasks
from swarm.values import Value

_AT_MOST = 3
_OVER = ("stopped", "dead", "unknown")


class Stand(Value):
    """How a team stands. `named`: commands must say which team; `led`: it has a living leader.

    `has_run`: there is a run that could be taken up. `failed` are its failed tasks.
    `grace_seconds`: for how long teammates wait for a leader that is gone.
    """

    team: str
    named: bool
    led: bool
    has_run: bool
    unfinished: bool
    grace_seconds: float | None
    failed: tuple[str, ...]


def advice(stand: Stand, agents: Sequence[Present]) -> tuple[str, ...]:
    """Return what could be done next, what matters most first."""
    which = f" -t {stand.team}" if stand.named else ""
    return (*_for_the_run(stand, which, agents), *_for_teammates(stand, which, agents))[:_AT_MOST]


def _for_the_run(stand: Stand, which: str, agents: Sequence[Present]) -> Iterator[str]:
    if stand.led:
        return
    if stand.failed:
        numbers, tasks = " ".join(stand.failed), name_tasks(stand.failed)
        yield f"swarm task retry {numbers}{which} lets {tasks} be tried again"
    if stand.has_run and stand.unfinished:
        waiting = stand.grace_seconds is not None and any(agent.state not in _OVER for agent in agents)
        else_ends = (
            f"; its teammates wait {stand.grace_seconds:g} s for that, and then end" if waiting else ""
        )
        yield f"swarm resume {stand.team} takes the run up again{else_ends}"


def _for_teammates(stand: Stand, which: str, agents: Sequence[Present]) -> Iterator[str]:
    def names(is_meant: Callable[[Present], bool]) -> list[str]:
        return [agent.member.name for agent in agents if is_meant(agent)]

    unserved = names(lambda agent: has_failed(agent) and _says_why(agent))
    dead = names(lambda agent: agent.state == "dead")
    if dead and stand.unfinished and (stand.led or not stand.has_run):  # else they come with the run
        yield f"swarm restart {dead[0]}{which} starts it anew{_and_so(dead)}"
    if cut := names(lambda agent: agent.start_was_cut):
        yield f"swarm spawn {cut[0]}{which} starts it{_and_so(cut)}"
    if stalled := names(lambda agent: agent.state == "stalled"):
        yield f"swarm logs {stalled[0]}{which} shows what it did last"
    if unserved and stand.unfinished and (stand.led or not stand.has_run):
        yield f"swarm restart {unserved[0]}{which} starts it anew once its model answers{_and_so(unserved)}"
    if failed := [name for name in names(has_failed) if name not in unserved]:
        yield f"swarm logs {failed[0]}{which} says why it failed{_and_so(failed)}"
    if paused := names(lambda agent: agent.state == "paused"):
        yield f"swarm continue {' '.join(paused)}{which} lets {'it' if len(paused) == 1 else 'them'} go on"
    if damaged := names(lambda agent: agent.unread is None):
        yield f"swarm mail {damaged[0]}{which} says what is wrong with its mail"


def _says_why(agent: Present) -> bool:
    return agent.record is not None and agent.record.why is not None


def _and_so(names: Sequence[str]) -> str:
    """Return for whom the same holds as for the first."""
    return f", and so {', '.join(names[1:])}" if names[1:] else ""
