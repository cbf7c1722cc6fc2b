from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.permission import PermissionRequest, Resolution, request_digest
from swarm.core.shown import local_time
from swarm.core.times import format_time
from swarm.errors import ConfigError, CorruptStateError, NotFoundError, StateError, SwarmError
from swarm.leader.questions import answer, close_stale, open_questions
from swarm.storage import processes
from swarm.storage.layout import Layout
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import RUN_OF, SETTINGS, make_team

DIGEST = request_digest("Bash", {"command": "make all"}, "/srv/app")
NOTE = "not on my machine"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    """A team in which w1 and w2 live in this process."""
    made = make_team(tmp_path / "root", clock=clock)
    for name in ("w1", "w2"):
        made.agents.save(a_record(name))
    return made


def a_record(name: str, **changes: Any) -> AgentRecord:
    pid = os.getpid()
    record = AgentRecord(
        name=name, run_id=RUN_OF[name], backend="process", state="waiting", since="x",
        host=processes.host(), boot_id=processes.boot_id(), pid_ns=processes.pid_ns(), pid=pid,
        start_ticks=processes.start_ticks(pid),
    )  # fmt: skip
    return record.replace(**changes)


def ask(team: Team, agent: str = "w1", **changes: Any) -> PermissionRequest:
    now = team.clock.now()
    fields: dict[str, Any] = {
        "id": f"perm-{agent}-{len(team.permissions.pending())}",
        "agent": agent,
        "run_id": RUN_OF[agent],
        "tool": "Bash",
        "tool_use_id": "toolu_02",
        "input": {"command": "make all"},
        "cwd": "/srv/app",
        "why": "no rule allows it",
        "digest": DIGEST,
        "created_at": format_time(now),
        "deadline_at": format_time(now + 600),
        "suggested_rule": "Bash(make all)",
    }
    return team.permissions.request(PermissionRequest(**(fields | changes)))


def kinds(team: Team) -> list[str]:
    return [event.event for _, event in team.events.read()]


def test_open_questions_come_oldest_first_with_who_waits(team: Team, clock: FakeClock) -> None:
    first = ask(team)
    clock.advance(1)
    second = ask(team, "w2")
    team.agents.update("w2", state="stopped")
    assert [(q.request, q.asker) for q in open_questions(team)] == [(first, "alive"), (second, "gone")]


@pytest.mark.parametrize("ref", ["1", "#1", "perm-w1-0"])
def test_answer_says_who_and_when_and_why(team: Team, ref: str) -> None:
    ask(team)
    given = answer(team, ref, "deny", note=NOTE)
    assert isinstance(given, Resolution)
    assert (given.outcome, given.by, given.via, given.note) == ("deny", "user", "human", NOTE)
    assert open_questions(team) == ()
    assert team.permissions.resolution("perm-w1-0") == given
    (told,) = [event for _, event in team.events.read() if event.event == "permission_resolved"]
    assert (told.agent, told.data["outcome"], told.data["number"]) == ("w1", "deny", 1)


def test_second_answer_is_refused_and_says_who_was_first(team: Team) -> None:
    ask(team)
    first = answer(team, "1", "deny", by="alice", note=NOTE)
    with pytest.raises(StateError) as caught:
        answer(team, "1", "allow")
    assert (caught.value.code, caught.value.exit_code) == ("already_resolved", 4)
    at = local_time(first.at).split()[1]
    assert str(caught.value) == f"#1 was already denied by alice at {at}: {NOTE}; that stands"
    assert team.permissions.resolution("perm-w1-0") == first


def test_question_that_nobody_asked_is_unknown(team: Team) -> None:
    with pytest.raises(NotFoundError) as caught:
        answer(team, "7", "allow")
    assert (caught.value.code, caught.value.exit_code) == ("no_such_request", 3)
    assert "#7" in str(caught.value)


GONE: dict[str, dict[str, Any]] = {
    "stopped": {"state": "stopped"},
    "a later life": {"run_id": "k3v9qd7m.w1.2"},
    "its process is gone": {"start_ticks": 1},
    "before a reboot": {"boot_id": "other"},
}


@pytest.mark.parametrize("change", GONE.values(), ids=list(GONE))
def test_answer_to_an_agent_that_is_gone_is_refused(team: Team, change: dict[str, Any]) -> None:
    ask(team)
    team.agents.save(a_record("w1", **change))
    with pytest.raises(StateError) as caught:
        answer(team, "1", "allow")
    assert caught.value.code == "already_resolved"
    assert "the agent that asked is gone" in str(caught.value)
    assert open_questions(team) == ()
    closed = team.permissions.resolution("perm-w1-0")
    assert closed is not None
    assert (closed.outcome, closed.via, closed.by) == ("expired", "runtime", "runtime")


def test_late_answer_is_refused(team: Team, clock: FakeClock) -> None:
    ask(team)
    clock.advance(600)
    with pytest.raises(StateError, match="nobody answered in time"):
        answer(team, "1", "allow")
    with pytest.raises(StateError, match="nobody answered in time"):
        answer(team, "1", "allow")


def test_always_adds_the_rule_that_was_suggested(team: Team) -> None:
    ask(team)
    given = answer(team, "1", "allow", always=True)
    assert given.rule == "Bash(make all)"
    assert team.permissions.load_rules() == (("Bash(make all)",), (), ())
    assert kinds(team)[-2:] == ["permission_resolved", "rule_added"]


@pytest.mark.parametrize(("outcome", "rule"), [("allow", None), ("deny", "Bash(make all)")])
def test_always_without_a_rule_answers_nothing(team: Team, outcome: Any, rule: str | None) -> None:
    ask(team, suggested_rule=rule)
    with pytest.raises(ConfigError):
        answer(team, "1", outcome, always=True)
    assert len(open_questions(team)) == 1
    assert team.permissions.load_rules() == ((), (), ())


def test_question_that_is_not_what_was_asked_cannot_be_allowed(team: Team) -> None:
    """What the person reads is what the agent would do, or there is no consent."""
    asked = ask(team)
    path = Path(team.layout.pending_dir, f"{asked.id}.json")
    path.write_text(path.read_text().replace("make all", "make tea"))
    with pytest.raises(CorruptStateError):
        answer(team, "1", "allow")
    assert answer(team, "1", "deny").outcome == "deny"


def test_stale_questions_are_closed_once(team: Team, clock: FakeClock) -> None:
    ask(team, deadline_at=format_time(clock.now() + 10))
    ask(team, "w2")
    kept = ask(team)
    team.agents.update("w2", state="stopped")
    clock.advance(10)
    assert close_stale(team) == 2
    assert close_stale(team) == 0
    assert [question.request for question in open_questions(team)] == [kept]
    assert kinds(team).count("permission_resolved") == 2


def test_question_is_not_closed_by_a_record_that_cannot_be_read(team: Team) -> None:
    ask(team)
    Path(team.layout.agent("w1")).write_text("{")
    assert close_stale(team) == 0
    assert open_questions(team)[0].asker == "alive"


def _race(root: str, outcome: Any, start: Any, said: Any) -> None:
    clock = FakeClock()
    team = Team(Layout(root=root).team("demo"), SETTINGS, clock)
    start.wait()
    for ref in ("1", "2", "3", "4"):
        try:
            answer(team, ref, outcome, by=outcome)
            said.put((ref, outcome))
        except SwarmError as error:
            said.put((ref, error.code))


def test_of_answers_at_the_same_time_the_first_counts(team: Team) -> None:
    for _ in range(4):
        ask(team)
    context = multiprocessing.get_context("fork")
    start, said = context.Barrier(4), context.Queue()
    racers = [
        context.Process(target=_race, args=(team.root, outcome, start, said))
        for outcome in ("allow", "deny", "allow", "deny")
    ]
    for racer in racers:
        racer.start()
    heard = [said.get(timeout=60) for _ in range(16)]
    for racer in racers:
        racer.join(60)
    for number in range(1, 5):
        counted = team.permissions.find(str(number))
        assert isinstance(counted, Resolution)
        mine = sorted(what for ref, what in heard if ref == str(number))
        assert mine == sorted([counted.outcome, *["already_resolved"] * 3])
