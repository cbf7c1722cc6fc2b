"""The live view of a run: draws what the team's files say, and takes the answers of who looks on.

It has the whole terminal while it runs, and gives it back as it was. Whatever happens to it, the run goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Self

from rich.console import Console

from swarm.cli.alert import Alert
from swarm.cli.answer_desk import AnswerDesk
from swarm.cli.frame import Size, Typing, draw
from swarm.cli.line_input import LineInput
from swarm.cli.painting import Painter
from swarm.cli.screen import Screen, given_back_on_stop
from swarm.cli.session import Io
from swarm.cli.sight import Looker, Sight
from swarm.core.permission import PermissionRequest, called
from swarm.errors import SwarmError
from swarm.leader.questions import open_questions
from swarm.storage.questions import NOBODY_ANSWERED
from swarm.storage.team import Team

_FRAME_SECONDS = 0.1
_KEY_SECONDS = 0.03
_SAID_SECONDS = 30.0


class LiveView:
    """Redraws about ten times a second, by itself where a loop runs. Use as a context manager.

    A terminal that was closed is not an error: nobody looks any more. What is noted meanwhile is shown, and
    printed when the terminal is given back.
    """

    def __init__(self, team: Team, io: Io) -> None:
        own = Team(team.layout, team.settings, team.clock)  # the run's stores may be at work in a thread
        self._team = own
        self._io = io
        self._looker = Looker(own)
        self._desk = AnswerDesk(own)
        self._alert = Alert(io.err, io.environ, self._note)
        self._screen = Screen(io.err)
        self._input = LineInput(io.source)
        self._painter = Painter(Console(file=io.err, force_terminal=True), color=io.color_errors)
        self._unicode = io.err.encoding.lower().startswith("utf")
        self._sight = Sight(team=team.name)
        self._said = Typing()
        self._said_until = 0.0
        self._is_about_line = False
        self._late: tuple[str, ...] = ()
        self._in_full: str | None = None
        self._began_with: tuple[str, ...] = ()
        self._next = 0.0
        self._notes: list[str] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._team.close)
            stack.callback(self._pass_notes_on)
            self._io.takes_notes = self._note
            stack.enter_context(self._alert)
            stack.enter_context(self._input)
            stack.enter_context(given_back_on_stop(self._screen))
            stack.enter_context(self._terminal())
            stack.enter_context(self._ticking())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def look(self) -> None:
        """Take what was typed, and redraw if that changed anything or the last frame is old."""
        try:
            self._look()
        except OSError:  # nobody has the terminal open any more
            return
        except Exception as error:  # noqa: BLE001 - a fault of the view must not end the run that it shows
            self._say(f"bug in the live view: {type(error).__name__}: {error}", is_bad=True)

    def _look(self) -> None:
        if not self._screen.is_ours():
            return
        before, lines = self._input.text, self._input.poll()
        if not before:
            self._began_with = tuple(question.id for question in self._sight.questions)
        for line in lines:
            self._take(line)
        now = time.monotonic()
        if now < self._next and not lines and self._input.text == before:
            return
        self._next = now + _FRAME_SECONDS
        self._show(self._questions())

    def _take(self, line: str) -> None:
        if not line.strip():
            self._said_until, self._in_full = 0.0, None
            return
        try:
            said = self._desk.take(line, self._began_with)
        except SwarmError as error:
            self._say(error.message, is_bad=True)
        else:
            self._in_full = said.show or self._in_full
            self._say(said.text, is_bad=said.bad)
        self._is_about_line = True

    def _say(self, text: str, *, is_bad: bool) -> None:
        self._said = Typing(said=text, is_bad=is_bad)
        self._said_until = time.monotonic() + _SAID_SECONDS
        self._is_about_line, self._late = False, ()

    def _questions(self) -> tuple[PermissionRequest, ...]:
        """Return what is to be answered; for what cannot be read now the last sight stands."""
        before = self._sight.questions
        try:
            questions = open_questions(self._team)
            asked = [question.request for question in questions if question.asker == "alive"]
            asked.sort(key=lambda request: request.id != self._in_full)
            self._sight = self._looker.look(asked)
            self._tell_changes(before, asked)
        except SwarmError as error:
            self._say(error.message, is_bad=True)
        return self._sight.questions

    def _tell_changes(self, before: Sequence[PermissionRequest], asked: Sequence[PermissionRequest]) -> None:
        """Say whose time is over. What was wrong with the last line is old once another question has come."""
        now = {request.id for request in asked}
        if self._is_about_line and self._said.is_bad and now - {request.id for request in before}:
            self._said_until = 0.0
        late = [called(one) for one in before if one.id not in now and self._was_late(one)]
        if late:
            names = (*(self._late if time.monotonic() < self._said_until else ()), *late)
            they = "it was" if len(names) == 1 else "they were"
            self._say(f"{' and '.join(names)}: {NOBODY_ANSWERED}, so {they} denied", is_bad=True)
            self._late = names

    def _was_late(self, request: PermissionRequest) -> bool:
        answer = self._team.permissions.resolution(request.id)
        return answer is not None and (answer.outcome, answer.note) == ("expired", NOBODY_ANSWERED)

    def _show(self, asked: tuple[PermissionRequest, ...]) -> None:
        columns, rows = self._screen.size
        size = Size(columns=columns, rows=rows, unicode=self._unicode, color=True)
        said = self._said if time.monotonic() < self._said_until else Typing()
        typing = said.replace(listens=self._input.reads, text=self._input.text, shows=self._in_full or "")
        frame = draw(self._sight, size, typing, self._team.clock.now())
        lines = [self._painter.paint(line) for line in frame.lines]
        self._screen.show(lines, (columns, rows), frame.cursor)
        self._alert.look(self._team.name, asked)

    def _note(self, text: str) -> None:
        """Show what somebody else has to say, and keep it for the end."""
        self._notes.append(text)
        self._say(text, is_bad=True)

    def _pass_notes_on(self) -> None:
        self._io.takes_notes = None
        for note in self._notes:
            self._io.note(note)

    # The terminal is ours only while we run in its foreground

    @contextmanager
    def _terminal(self) -> Iterator[None]:
        try:
            self.look()
            yield
        finally:
            with suppress(OSError):
                self._screen.end()

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        """Look again and again while the loop runs, also while the run itself waits for something."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            yield
            return
        ticking = loop.create_task(self._tick(), name="live view")
        try:
            yield
        finally:
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_KEY_SECONDS)
