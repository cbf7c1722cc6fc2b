"""Reads the whole history of a team and checks that it can be true, by a model of its own.

The model is as simple as can be and shares nothing with the product but the parser of a line: what the
product decided with its indexes is decided here again by looking at every task.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from swarm.core.journal import parse_line
from swarm.storage.team import Team
from tests.support.mail_storm import is_named, text_of

_MARK = re.compile(r"#(s\d+) (\d+)#(x*)")
_EVENT_OF = {
    "new": {"task_created"},
    "claim": {"task_claimed"},
    "done": {"task_completed", "task_failed", "task_cancelled"},
    "free": {"task_released", "task_retried"},
    "edge": {"task_linked", "task_unlinked"},
    "edit": {"task_edited"},
    "del": {"task_deleted"},
}


class _Task:
    """One task while the history is read."""

    def __init__(self, owner: str | None, blockers: Iterable[str]) -> None:
        self.status = "pending"
        self.owner = owner
        self.blockers = set(blockers)
        self.token: str | None = None
        """The token that counts now; None while nobody holds the task."""


class History:
    """What happened to the tasks of a team, line by line. Reading it checks each line on its own time."""

    def __init__(self, team: Team, *, chosen: Iterable[str] = ()) -> None:
        """Read and check everything. `chosen` are names that asked for a task by its id."""
        self.claims: dict[str, str] = {}
        """Task of each token ever given out."""
        self.done: dict[str, str] = {}
        """Task of each token by which one was ended."""
        self.freed: Counter[str] = Counter()
        """How often each task came back."""
        self._chosen = frozenset(chosen)
        self._tasks: dict[str, _Task] = {}
        self._highest = 0
        self.lines = _lines(team)
        for number, line in enumerate(self.lines, 1):
            assert line["seq"] == number, f"line {number} has number {line['seq']}"
            getattr(self, f"_{line['op']}")(line)
        _check_events(team, self.lines)
        self._check_files(team)

    def statuses(self) -> Counter[str]:
        return Counter(task.status for task in self._tasks.values())

    def _new(self, line: dict[str, Any]) -> None:
        number = int(line["id"])
        assert number > self._highest, f"id {number} was used before"
        self._highest = number
        task = line["task"]
        assert task["status"] == "pending"
        self._tasks[line["id"]] = _Task(task.get("owner"), task["blockedBy"])

    def _claim(self, line: dict[str, Any]) -> None:
        name, task = line["by"], self._tasks[line["id"]]
        assert line["run"].split(".")[1] == name
        assert not [one for one in self._tasks.values() if one.token and one.owner == name], f"{name} has one"
        assert self._may_take(name, task), f"line {line['seq']}: task {line['id']} is not free for {name}"
        if name not in self._chosen:
            lowest = min((one for one in self._tasks if self._may_take(name, self._tasks[one])), key=int)
            assert line["id"] == lowest, f"line {line['seq']}: task {lowest} was ready, and lower"
        task.status, task.owner = "in_progress", name
        task.token = f"{line['seq']}/{line['run']}"
        self.claims[task.token] = line["id"]

    def _may_take(self, name: str, task: _Task) -> bool:
        open_blockers = [one for one in task.blockers if self._tasks[one].status != "completed"]
        return task.status == "pending" and not open_blockers and task.owner in (None, name)

    def _done(self, line: dict[str, Any]) -> None:
        task = self._tasks[line["id"]]
        if line["status"] == "cancelled":
            assert task.status in ("pending", "in_progress")
        else:
            self._check_token(task, line)
            self.done[line["token"]] = line["id"]
        task.status, task.token = line["status"], None

    def _free(self, line: dict[str, Any]) -> None:
        task = self._tasks[line["id"]]
        if task.status in ("failed", "cancelled"):
            assert "token" not in line
        else:
            self._check_token(task, line)
            self.freed[line["id"]] += 1
        task.status, task.token, task.owner = "pending", None, line.get("owner")

    def _check_token(self, task: _Task, line: dict[str, Any]) -> None:
        assert task.status == "in_progress", f"line {line['seq']}: task {line['id']} is {task.status}"
        assert line["token"] == task.token, f"line {line['seq']} was written with an old token"

    def _edge(self, line: dict[str, Any]) -> None:
        assert line["a"] in self._tasks
        blockers = self._tasks[line["b"]].blockers
        (blockers.add if line["add"] else blockers.discard)(line["a"])

    def _edit(self, line: dict[str, Any]) -> None:
        task = self._tasks[line["id"]]
        if "owner" in line["set"]:
            assert task.status != "in_progress"
            task.owner = line["set"]["owner"]

    def _del(self, line: dict[str, Any]) -> None:
        assert self._tasks.pop(line["id"]).status != "in_progress"
        for task in self._tasks.values():
            task.blockers.discard(line["id"])

    def _check_files(self, team: Team) -> None:
        found = {task.id: (task.status, task.owner) for task in team.tasks("user").list_tasks()}
        assert found == {one: (task.status, task.owner) for one, task in self._tasks.items()}


def _lines(team: Team) -> list[dict[str, Any]]:
    raw = Path(team.layout.journal).read_bytes()
    assert raw.endswith(b"\n")
    return [parse_line(line) for line in raw.splitlines()]


def _check_events(team: Team, lines: list[dict[str, Any]]) -> None:
    """Check that each line has its event, once, in the same order."""
    told = [event for _, event in team.events.read() if event.event.startswith("task_")]
    assert [event.seq for event in told] == [line["seq"] for line in lines]
    for event, line in zip(told, lines, strict=True):
        assert event.event in _EVENT_OF[line["op"]]
        assert event.task == (line.get("id") or line["b"])


def check_answers(history: History, answers: Iterable[tuple[str, str, str]]) -> Counter[str]:
    """Check what workers were told (`claimed`, `completed`, `released` or `refused`, task, token); count it.

    What was granted is in the history, what was refused is not.
    """
    told: Counter[str] = Counter()
    granted = Counter((what, token) for what, _, token in answers if what != "refused")
    assert set(granted.values()) <= {1}, "one answer was given twice"
    for what, task_id, token in answers:
        told[what] += 1
        assert history.claims[token] == task_id
        if what == "completed":
            assert history.done[token] == task_id
        elif what == "refused":
            assert token not in history.done, f"{token} was refused, and counted all the same"
    return told


def check_mail(
    team: Team, owner: str, told: Mapping[str, Sequence[str]], each: int, sizes: str
) -> Counter[str]:
    """Check what a storm of mail left, against what its senders were told; count what became of messages.

    Each message that was sent is in one user message of the owner's transcript, whole, and in its history
    once; what a killed sender had in hand may also never have arrived. The order of each sender is kept.
    """
    shown = [found for block in _mail_blocks(team, owner) for found in _MARK.findall(block)]
    counts = Counter((name, int(number)) for name, number, _ in shown)
    assert set(counts.values()) == {1}, "the model saw a message twice"
    for name, number, rest in shown:
        assert f"#{name} {number}#{rest}" == text_of(name, int(number), sizes)
    became: Counter[str] = Counter()
    for name, answers in told.items():
        arrived = [int(number) for one, number, _ in shown if one == name]
        assert arrived == sorted(arrived), f"the order of {name} was changed"
        sent = {int(line.split()[1]) for line in answers if line.startswith("sent ")}
        tried = {int(line.split()[1]) for line in answers if line.startswith("trying ")}
        assert sent <= set(arrived) <= tried
        assert tried == set(range(each))
        if is_named(name):
            assert sent == tried
        became += Counter(sent=len(sent), arrived=len(arrived), lost_with_sender=len(tried) - len(arrived))
        became["full"] += sum(line.startswith("full ") for line in answers)
    inbox = team.inbox(owner)
    assert inbox.peek() == ()
    history = [_MARK.findall(message.text)[0] for message in inbox.history()]
    assert sorted(history) == sorted(shown)
    assert json.loads(Path(team.layout.inbox(owner)).read_bytes()) == []
    assert not Path(team.layout.overflow(owner)).exists()
    return became


def _mail_blocks(team: Team, owner: str) -> list[str]:
    """Return the text of all mail that the model was shown, in order, over all transcripts of its agent."""
    raw = Path(team.layout.transcript(owner)).read_bytes()
    lines = [json.loads(line) for line in raw.splitlines()]
    blocks = []
    for line in lines:
        content = line["message"]["content"] if line.get("msg_ids") else []
        assert len(content) == len(line.get("msg_ids", ()))
        blocks += [block["text"] for block in content]
    return blocks
