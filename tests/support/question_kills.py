"""A program that cuts off what is done with questions, at every place, and checks what is left.

    python -m tests.support.question_kills FOLDER DEED

Each deed is killed (in a forked child) before every call that changes a file and inside every append, and is
refused there: once, and by a disk that is full from then on. A killed one has left one of the states that
an undisturbed one goes through. Whatever happened, the next process goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from swarm.core.permission import PLAN_TOOL, PermissionRequest, Resolution, parse_request
from swarm.errors import StateError, StorageIOError
from swarm.leader.questions import answer, close_stale
from swarm.permissions.calls import Call, Decision
from swarm.storage.health import examine_root, examine_team, mend
from swarm.storage.layout import Layout
from swarm.storage.questions import settle
from swarm.storage.syscalls import Hook, fault_hook
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support import questions
from tests.support.faults import FailAt, FullDisk, Point, Recorder, die_at
from tests.support.record_kills import check_files
from tests.support.stores import copied, make_team, reopened
from worker.asking import Asking, Unanswered

State = Mapping[str, Any]
RULE = "Bash(make:*)"
PLAN = "Look first.\n" * 1000
_ANSWERED, _OPEN, _NEW = 1, 2, 3
"""The questions of a prepared team, and the number that the next one gets."""

_ASK = Decision(behavior="ask", reason="No rule allows it.", why="no_rule", suggested_rule=RULE)
_CALL = Call(tool="Bash", input={"command": "make " * 2000}, cwd="/srv/app")
_PLAN_CALL = Call(tool=PLAN_TOOL, input={"plan": PLAN}, cwd="/srv/app")


class _StoppedError(Exception):
    """The agent is stopped while it waits."""


def _ask(team: Team, call: Call, judge: Callable[[Team], Decision]) -> None:
    """Ask as an agent does; `judge` is what happens while it waits."""
    with suppress(Unanswered, _StoppedError):
        asyncio.run(Asking(team, questions.W1, "7").ask(call, _ASK, partial(judge, team)))


def _refuse(team: Team) -> None:
    Asking(team, questions.W1, "7").refuse(_CALL, _ASK)


def _by_a_rule(_team: Team) -> Decision:
    return _ASK.replace(behavior="allow", reason="A rule allows it.", why="rule")


def _by_one_who_was_killed(team: Team) -> Decision:
    """Be answered for always by somebody who is killed before the rule is added."""
    settle(team, team.permissions.pending()[-1], "allow", via="human", by="user", rule=RULE)
    return _ASK


def _by_a_person(team: Team) -> Decision:
    answer(team, str(_NEW), "allow", note="Go ahead.")
    return _ASK


def _stopped(_team: Team) -> Decision:
    raise _StoppedError


def _expire(team: Team) -> None:
    assert isinstance(team.clock, FakeClock)
    team.clock.advance(600.0)
    close_stale(team)


DEEDS: dict[str, Callable[[Team], object]] = {
    "ask": lambda team: _ask(team, _CALL, _by_a_rule),
    "ask_always": lambda team: _ask(team, _CALL, _by_one_who_was_killed),
    "ask_and_stop": lambda team: _ask(team, _CALL, _stopped),
    "hand_in_plan": lambda team: _ask(team, _PLAN_CALL, _by_a_person),
    "refuse": _refuse,
    "allow": lambda team: answer(team, str(_OPEN), "allow", note="this once"),
    "deny": lambda team: answer(team, str(_OPEN), "deny", note="not on my machine"),
    "always": lambda team: answer(team, str(_OPEN), "allow", always=True),
    "expire": _expire,
}


def prepare(root: Path) -> None:
    """Make a team with an answered question, an open one of an agent that lives here, and a rule."""
    team = make_team(root)
    team.permissions.add_rule("deny", "Bash(rm:*)")
    questions.ask(team, "rm -f a")
    answer(team, str(_ANSWERED), "deny")
    questions.ask(team, rule=RULE)


def state_of(team: Team) -> State:
    """Return what readers see; ids are drawn by lot, so each question stands under its number."""
    store, plans = team.permissions, Path(Layout(root=team.root).plans_dir)
    return {
        "open": {one.number: _without_id(one) for one in store.pending()},
        "answers": dict(map(_by_number, store.list_resolved())),
        "rules": store.load_rules(),
        "plans": [path.read_text() for path in plans.glob("*.md")],
    }


def _without_id(request: PermissionRequest) -> PermissionRequest:
    return request.replace(id="")


def _by_number(resolution: Resolution) -> tuple[int | None, tuple[Resolution, PermissionRequest]]:
    assert resolution.request is not None
    request = parse_request(resolution.request)
    assert (resolution.id, resolution.digest) == (request.id, request.digest)
    return request.number, (resolution.replace(id="", request=None), _without_id(request))


class _Watcher:
    """Notes each state that an undisturbed deed goes through."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self.states: list[State] = []
        self.look()

    def __call__(self, _call: str, _path: str, _size: int) -> None:
        with fault_hook(lambda *_: None):
            self.look()

    def look(self) -> None:
        state = state_of(reopened(self._team))
        if state not in self.states:
            self.states.append(state)


def main(folder: str, name: str) -> None:
    logging.disable()  # of the mail that a full disk refuses
    template = Path(folder) / "template"
    prepare(template)
    deed, recorder = DEEDS[name], Recorder()
    with fault_hook(recorder):
        deed(copied(template, "recorded"))
    team = copied(template, "watched")
    watcher = _Watcher(team)
    with fault_hook(watcher):
        deed(team)
    watcher.look()
    states = watcher.states
    kills = list(enumerate(recorder.changing_points()))
    reached = [_after_kill(copied(template, f"k{number}"), deed, point, states) for number, point in kills]
    assert set(reached) == set(range(len(states)))
    for number, point in enumerate(recorder.growing_points()):
        for way in (FailAt, FullDisk):
            _after_error(copied(template, f"e{number}{way.__name__}"), deed, way(point), states)
    sys.stdout.write(json.dumps({"states": len(states), "kills": len(kills)}))


def _after_kill(team: Team, deed: Callable[[Team], object], point: Point, states: list[State]) -> int:
    """Check what a killed one has left, and return which of the states that is."""
    die_at(point, deed, reopened(team))
    check_files(team)
    seen = state_of(team)
    assert seen in states, (point, seen)
    go_on(team, seen)
    return states.index(seen)


def _after_error(team: Team, deed: Callable[[Team], object], hook: Hook, states: list[State]) -> None:
    """Check that nothing was lost, and that nothing was allowed but what was allowed before the error."""
    with fault_hook(hook), suppress(StorageIOError):
        deed(reopened(team))
    check_files(team)
    seen, first = state_of(team), states[0]
    assert seen["rules"] in [state["rules"] for state in states]
    assert seen["plans"] in ([], states[-1]["plans"])
    for number in {*first["open"], *first["answers"], *seen["open"], *seen["answers"]}:
        known = [state[kind].get(number) for state in states for kind in ("open", "answers")]
        found = seen["answers"].get(number) or seen["open"].get(number)
        assert found in known or (found[0].outcome == "expired" and found[1] in known), found
    go_on(team, seen)


def go_on(team: Team, seen: State) -> None:
    """Check that rules are of answers, that answers stand, and that others go on: nothing is left to mend."""
    given = [answered.rule for answered, _ in seen["answers"].values()]
    assert all(rule in given for rule in seen["rules"][0])
    for number, (answered, _) in seen["answers"].items():
        other = "deny" if answered.outcome == "allow" else "allow"
        assert _answered_by(team, number, other) == answered.outcome
    for number in seen["open"]:
        assert _answered_by(team, number, "deny") in ("deny", "expired")
    again = questions.ask(team)
    assert again.number is not None
    assert again.number > max([*seen["open"], *seen["answers"]])
    assert _answered_by(team, again.number, "allow") == "allow"
    team.permissions.add_rule("allow", "Bash(ls:*)")
    close_stale(team)
    after = state_of(team)
    assert (after["open"], list(Path(team.layout.pending_dir).glob("*.json"))) == ({}, [])
    assert seen["answers"].items() <= after["answers"].items()
    assert set(after["answers"]) == {*seen["open"], *seen["answers"], again.number}
    assert all(set(old) <= set(new) for old, new in zip(seen["rules"], after["rules"], strict=True))
    _mend_all(team)


def _answered_by(team: Team, number: int, outcome: Any) -> str:
    """Answer a question and return what stands, in the words of who was first."""
    try:
        return answer(team, str(number), outcome).outcome
    except StateError as error:
        if error.code != "already_resolved":
            raise
        return str(error.details["outcome"])


def _mend_all(team: Team) -> None:
    looks: Iterable[Callable[[], Any]] = (
        partial(examine_team, team, lambda _life: None),
        partial(examine_root, team.root, team.settings, team.clock),
    )
    for look in looks:
        assert [outcome for outcome in mend(look) if not outcome.fixed] == []
        assert look() == ()
    assert [path for path in Path(team.root).rglob("*") if path.name.endswith(".tmp")] == []


if __name__ == "__main__":
    main(*sys.argv[1:])
