"""A run told in lines, for pipes, logs and CI: one for each event that matters, and each question in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from swarm.cli.events import event_line
from swarm.cli.line_input import drop_typed
from swarm.cli.question import question_lines, reference, summary
from swarm.cli.session import Io
from swarm.core.permission import PermissionRequest
from swarm.leader.questions import open_questions
from swarm.storage.team import Team

_QUIET = frozenset({"team_created", "task_created", "agent_ready", "mail_sent", "mail_acknowledged"})


class PlainLines:
    """Prints what comes from this place in the event log on, and the questions that are open or get so.

    With `-q` and `--json` it is only questions, in a line each: somebody has to hear of them.
    """

    def __init__(self, team: Team, io: Io, since: int = 0) -> None:
        self._team = team
        self._io = io
        self._offset = since
        self._asked: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.look()
        if self._asked:
            drop_typed(self._io.source)

    def look(self) -> None:
        """Print what happened since the last look."""
        for offset, event in self._team.events.read(self._offset):
            self._offset = offset + 1  # inside this line: its torn rest is no event
            if event.event not in _QUIET:
                self._io.note(event_line(event))
        for question in open_questions(self._team):
            if question.asker == "alive" and question.request.id not in self._asked:
                self._asked.add(question.request.id)
                self._tell_question(question.request)

    def _tell_question(self, request: PermissionRequest) -> None:
        """Tell a question in full, unless only what matters is to be said."""
        if self._io.quiet or self._io.json:
            what = summary(request, unicode=self._unicode)
            self._io.urge(f"{what}   (swarm permissions {reference(request)} -t {self._team.name})")
            return
        columns = self._io.error_columns
        where = ", in another terminal" if self._io.source.isatty() else ""
        for line in _in_full(request, self._team.name, columns, where, unicode=self._unicode):
            self._io.note(line)

    @property
    def _unicode(self) -> bool:
        return (self._io.err.encoding or "").lower().startswith("utf")


def _in_full(
    request: PermissionRequest, team: str, columns: int | None, where: str, *, unicode: bool
) -> Iterator[str]:
    for line in question_lines(request, columns, None, unicode=unicode, color=False):
        yield line.plain
    ref = reference(request)
    always = ", or with --always" if request.suggested_rule else ""
    yield f"  yes{where}: swarm approve {ref} -t {team}{always}"
    yield f"  no: swarm deny {ref} -t {team} --note WHY"
