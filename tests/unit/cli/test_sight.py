"""What the live view gathers: what the files say, read again only where they have changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.sight import AgentRow, Looker, TaskRow
from swarm.core.event import Event
from swarm.core.permission import PermissionRequest
from swarm.leader.activity import Activity
from swarm.storage import files, syscalls
from swarm.storage.team import Team
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed

GONE_PID = 2**22 + 1
LATER = "2999-01-01T00:00:00Z"


def a_question(number: int | None) -> PermissionRequest:
    return PermissionRequest(
        id="perm-x", number=number, agent="w1", run_id="k3v9qd7m.w1.1", tool="Bash", tool_use_id="c",
        input={}, cwd="/", why="", digest="sha256:0", created_at="", deadline_at="",
    )  # fmt: skip


def row_of(team: Team, *asked: PermissionRequest) -> AgentRow:
    return Looker(team).look(asked).agents[0]


def test_tasks_are_seen_with_who_has_them_and_what_they_wait_for(demo: Swarm, team: Team) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    add(demo, "third", "--owner", "w2")
    claimed(demo, "1", "w1")
    sight = Looker(team).look()

    assert (sight.team, sight.done, sight.failed, sight.total) == ("demo", 0, 0, 3)
    assert sight.tasks == (
        TaskRow(id="1", state="in_progress", subject="first", owner="w1"),
        TaskRow(id="2", state="blocked", subject="second", waits=("1",)),
        TaskRow(id="3", state="ready", subject="third", owner="w2"),
    )


@pytest.mark.parametrize(
    ("facts", "state", "why"),
    [
        ({"task": "1"}, "working", ""),
        ({"state": "idle", "reason": "no_task"}, "idle", "no task"),
        ({"state": "idle", "reason": "waiting_for_task", "on": "3"}, "idle", "needs task 3"),
        ({"state": "idle", "reason": "budget_spent"}, "idle", "no money left"),
        ({"state": "waiting", "reason": "rate_limit", "until": LATER}, "waiting", "service busy, "),
        ({"state": "waiting", "reason": "rate_limit", "until": "soon"}, "waiting", "service busy"),
        ({"state": "waiting", "reason": "leader_gone"}, "waiting", "leader is gone"),
        ({"state": "waiting", "reason": "permission"}, "waiting", "permission"),
        ({"state": "paused"}, "paused", ""),
        ({"silent": 3700}, "stalled", "silent 1h 01m"),
        ({"pid": GONE_PID}, "dead", ""),
        ({"state": "stopped", "reason": "asked"}, "stopped", ""),
        ({"state": "stopped", "reason": "failed"}, "stopped", "failed"),
    ],
)
def test_why_somebody_does_nothing(team: Team, facts: dict[str, Any], state: str, why: str) -> None:
    team.agents.save(a_record("w1", **facts))
    row = row_of(team)

    assert row.state == state
    assert row.why.startswith(why)
    assert bool(row.why) == bool(why)


def test_who_waits_names_all_that_its_next_task_waits_for(demo: Swarm, team: Team) -> None:
    """As the graph does above it."""
    for _ in range(2):
        add(demo, "first", "--owner", "w1")
    add(demo, "last", "--owner", "w2", "--blocked-by", "1", "--blocked-by", "2")
    team.agents.save(a_record("w2", "idle", reason="waiting_for_task", on="1"))

    (row,) = Looker(team).look().agents
    assert row.why == "needs tasks 1 and 2"


def test_an_agent_of_another_host_is_what_its_record_says(team: Team) -> None:
    team.agents.save(a_record("w1").replace(host="elsewhere"))

    assert row_of(team).state == "working"


def test_who_asks_is_told_by_the_number_of_the_question(team: Team) -> None:
    team.agents.save(a_record("w1", "waiting", reason="permission", on="perm-x"))

    assert row_of(team, a_question(3)).asks == "#3"
    assert row_of(team, a_question(None)).asks == "perm-x"
    assert row_of(team).asks is None


def test_money_and_tokens_come_from_the_costs(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 2.0})
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 20}
    team.costs.record(agent="w1", run_id="k3v9qd7m.w1.1", task="1", model="claude-sonnet-4-5", usage=usage)
    sight = Looker(team).look()

    assert (sight.read, sight.written, sight.limit) == (1500, 20, 2_000_000)
    assert sight.spent > 0


def test_what_happened_last_is_told_without_what_the_frame_shows_anyway(demo: Swarm, team: Team) -> None:
    looker = Looker(team)
    assert looker.look().happened == ()
    add(demo, "first")
    claimed(demo, "1", "w1")
    team.events.emit("mail_sent", "w1", to="team-lead", summary="idle")
    team.events.emit("mail_sent", "w1", to="w2", summary="see task 1")

    assert [line[10:] for line, _ in looker.look().happened] == [
        "w1 claimed task 1: first",
        "w1 sent mail: to w2; see task 1",
    ]


def test_of_a_long_log_only_the_end_is_read(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    long = {"subject": "x" * 100}
    team.events.append_all(
        Event(time="2026-11-30T12:31:02.410Z", event="task_claimed", agent="w1", task=str(number), data=long)
        for number in range(500)
    )
    read = bytes_read(monkeypatch)
    happened = Looker(team).look().happened

    assert len(happened) <= 32
    assert "task 499" in happened[-1][0]
    assert sum(read) < 32 * 1024


def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is read of files that grow and of records."""
    read: list[int] = []
    real_at, real_object = syscalls.read_at, files.find_object

    def read_at(fd: int, path: str, size: int, offset: int) -> bytes:
        data = real_at(fd, path, size, offset)
        read.append(len(data))
        return data

    def find_object(path: str) -> dict[str, Any] | None:
        read.append(1)
        return real_object(path)

    monkeypatch.setattr(syscalls, "read_at", read_at)
    monkeypatch.setattr(files, "find_object", find_object)
    return read


def test_a_look_at_what_has_not_changed_reads_nothing(
    demo: Swarm, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long transcripts, events and costs are."""
    add(demo, "first")
    team.agents.save(a_record("w1", task="1"))
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Here."}]}}
    transcript = Path(team.layout.transcript("w1"))
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text((json.dumps(said) + "\n") * 1000)
    looker = Looker(team)
    before = looker.look()
    assert before.agents[0].activity == Activity(said="Here.")

    read = bytes_read(monkeypatch)
    after = looker.look()
    assert after.replace(elapsed=0.0) == before.replace(elapsed=0.0)
    assert read == []

    team.agents.save(a_record("w1", "paused"))
    claimed(demo, "1", "w1")
    changed = looker.look()
    assert changed.agents[0].state == "paused"
    assert changed.tasks[0].state == "in_progress"
