"""What an agent without a task does with its mail: its model reads it, and may answer or act."""

from __future__ import annotations

import asyncio
import logging

from swarm.errors import StateError, SwarmError
from swarm.storage.processes import new_short_id
from worker.hold import Hold
from worker.loop.reasons import COMPLETED, Terminal
from worker.model.port import Model
from worker.prompts import load_prompt
from worker.session.history import carried_mail, mail_blocks
from worker.talk import Subject, Talk
from worker.workbench import Workbench

logger = logging.getLogger(__name__)

MAIL = "mail"
"""Cause of a session that is about no task."""

READ = "completed"
UNREAD = "released"
FAULT = "fault"


class Correspondence:
    """One session about the mail that is there. Mail that comes meanwhile is read in it, too."""

    def __init__(self, bench: Workbench, model: Model, stop: asyncio.Event, hold: Hold | None = None) -> None:
        self.id = new_short_id()
        self._bench = bench
        self._talk = _MailTalk(bench, Subject(model=model, check=lambda: None), stop, self.id, hold)

    async def run(self) -> Terminal:
        """Return how the talk ended; what was not answered stands in the transcript and comes up again.

        A fault of our own is such an end; raises only when the team's files cannot be used.
        """
        try:
            terminal = await self._talk.begin()
        except StateError:
            raise
        except Exception as error:
            logger.exception("mail session failed")
            terminal = _broken(error)
        try:
            outcome = READ if terminal.reason == COMPLETED else UNREAD
            self._talk.transcript.end(why=terminal.reason, outcome=outcome)
        except SwarmError as error:
            logger.warning("transcript not ended", extra={"swarm_error": str(error)})
        return terminal


def _broken(error: Exception) -> Terminal:
    told = error if isinstance(error, SwarmError) else SwarmError(f"{type(error).__name__}: {error}")
    return Terminal(reason=FAULT, messages=(), turns=0, usage={}, error=told)


class _MailTalk(Talk):
    async def begin(self) -> Terminal:
        """Read the mail, and what an earlier request was cut off with."""
        carried = carried_mail(self._earlier)
        self._start(MAIL, carried=carried)
        self._carried = mail_blocks(self._earlier, carried)
        return await self._say(load_prompt(MAIL))
