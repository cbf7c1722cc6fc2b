"""A report was marked as read but never shown, when a notice of idleness followed it closely."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import parse_control
from swarm.core.task import Task, TaskResult
from swarm.storage.team import Team
from tests.support.live_team import LiveTeam
from worker.session.mail import MailReader
from worker.session.transcript import Transcript, read_transcript

NOTICE = "idle_notification"


def report(number: int) -> str:
    return f"Report {number:03}: the tests pass."


def reports_then_ends(number: int) -> list[dict[str, object]]:
    return [{"calls": [{"SendMessage": {"to": LEADER, "message": report(number)}}]}, {"say": "Done."}]


def tasks(runs: int) -> list[dict[str, object]]:
    """Each task waits for one that only `gate` may do, so that the worker is idle before each of them."""
    found: list[dict[str, object]] = []
    for number in range(runs):
        gate = {"key": f"gate{number}", "subject": f"Gate {number}", "owner": "gate"}
        found.append(gate | {"script": [{"say": "Open."}]})
        report_task = {"key": f"job{number}", "subject": f"Job {number}", "blocked_by": [f"gate{number}"]}
        found.append(report_task | {"owner": "w1", "script": reports_then_ends(number)})
    return found


class Leader:
    """Reads its mail as a leader with a model does: each look is a part of the next request."""

    def __init__(self, team: Team) -> None:
        self._reader = MailReader(team.inbox(LEADER), LEADER, ())
        self._path = team.layout.transcript(LEADER)
        self._transcript = Transcript(
            self._path, team.clock, session="q7m2xk4d", run_id="k3v9qd7m.team-lead.1", task=None
        )
        self.told: list[str] = []
        """What its requests held, in order: reports, and the kinds of control messages."""

    def look(self) -> int:
        """Take what is new; return how often the worker has said that it is idle."""
        self.told += [_kind(block["text"]) for block in self._reader.take(self._transcript)]
        return self.told.count(NOTICE)

    def written(self) -> list[str]:
        lines = [line for line in read_transcript(self._path) if line.get("msg_ids")]
        return [_kind(block["text"]) for line in lines for block in line["message"]["content"]]


@pytest.mark.parametrize("runs", [25, pytest.param(100, marks=pytest.mark.soak)])
async def test_the_last_report_is_in_the_leaders_request_before_the_idle_notice(
    isolated_home: Path, runs: int
) -> None:
    live = LiveTeam(isolated_home, teammates=[{"name": "w1"}, {"name": "gate"}], tasks=tasks(runs))
    leader = Leader(live.team)
    live.start("w1")
    await _stretches(live, leader, 1)
    for number in range(runs):
        _open_gate(live, number)
        await _stretches(live, leader, number + 2)
    await live.stop()
    leader.look()

    expected = [NOTICE]
    for number in range(runs):
        expected += [report(number), "swarm.task_report", NOTICE]
    assert [one for one in leader.told if one in expected] == expected
    assert leader.written() == leader.told
    assert live.team.inbox(LEADER).unread_count() == 0


async def _stretches(live: LiveTeam, leader: Leader, number: int) -> None:
    """Wait until the worker was idle this often, while the leader reads all the time."""
    await live.until(lambda: leader.look() >= number, f"the {number}th stretch of idleness")


def _open_gate(live: LiveTeam, number: int) -> None:
    store = live.team.tasks("gate")
    task = store.claim("gate", None, live.run_id("gate"), live.ids[f"gate{number}"])
    assert isinstance(task, Task)
    assert task.claim is not None
    store.complete(task.id, task.claim.token, TaskResult(summary="Open."))


def _kind(block: str) -> str:
    """Return a report's text, or the kind of a control message."""
    body = unescape("\n".join(block.splitlines()[1:-1])) if block.startswith("<") else block
    control = parse_control(body.strip())
    return str(control["type"]) if control else body.strip()
