"""Writes one agent's transcript: a line is appended when the thing happens and never touched again.

Only the agent itself writes to its file, so there is no lock; a last line that a kill has torn is cut first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swarm.core.jsontext import json_line, parse_object
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.core.transcript import (
    Position,
    assistant_line,
    end_line,
    message_ids,
    note_line,
    result_line,
    start_line,
    user_line,
)
from swarm.storage.files import append_line, read_lines
from worker.messages import Block, Message

Line = Mapping[str, Any]


def read_transcript(path: str) -> list[Line]:
    """Return the lines of a transcript, oldest first; what does not parse is passed over."""
    lines = []
    for _, raw in read_lines(path):
        try:
            lines.append(parse_object(raw))
        except ValueError:
            continue
    return lines


class Transcript:
    """The lines of one session on their way to the file. Lines are numbered from 1."""

    def __init__(self, path: str, clock: Clock, *, session: str, run_id: str, task: str | None) -> None:
        self.path = path
        self.session = session
        self._clock = clock
        self._run_id = run_id
        self._task = task
        self._n = 0
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)

    def start(
        self, *, cause: str, model: str, parent: str | None = None, carried: Sequence[str] = ()
    ) -> None:
        self._append(start_line(self._next(), cause=cause, model=model, parent=parent, carried=carried))

    def user(self, message: Message, msg_ids: Sequence[str] = ()) -> None:
        """Append a prompt, or mail with its ids: one block for each id, in the same order."""
        self._append(user_line(self._next(), message=message, msg_ids=msg_ids))

    def assistant(self, message: Message, stop_reason: str, usage: Mapping[str, int]) -> None:
        self._append(assistant_line(self._next(), message=message, stop_reason=stop_reason, usage=usage))

    def result(
        self,
        block: Block,
        elapsed_seconds: float,
        persisted: str | None = None,
        seen: Mapping[str, str] | None = None,
    ) -> None:
        elapsed = round(elapsed_seconds, 3)
        self._append(
            result_line(self._next(), block=block, elapsed_seconds=elapsed, persisted=persisted, seen=seen)
        )

    def note(self, what: str, text: str, data: Mapping[str, Any] | None = None) -> None:
        self._append(note_line(self._next(), what=what, text=text, data=data))

    def end(self, *, why: str, outcome: str) -> None:
        self._append(end_line(self._next(), why=why, outcome=outcome))

    def _next(self) -> Position:
        self._n += 1
        return Position(
            session=self.session,
            n=self._n,
            time=format_time(self._clock.now()),
            run_id=self._run_id,
            task=self._task,
        )

    def _append(self, line: Line) -> None:
        append_line(self.path, json_line(line))


def mail_given(lines: Iterable[Line]) -> frozenset[str]:
    """Return the ids of all mail that the transcript holds: it is not shown a second time."""
    return message_ids(lines)
