"""What reaches an agent beside its work: the leader's orders, and that the leader is gone.

Looked at between tasks and while a session runs, without any model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from swarm.core.message import ANSWERS, CONTINUE_ORDER, PAUSE_ORDER
from swarm.errors import StateError
from swarm.storage import network
from swarm.storage.leadership import leader_state
from swarm.storage.team import Team
from worker.hold import LEADER_GONE, PAUSED, Hold
from worker.presence import Presence
from worker.session.mail import order_in

logger = logging.getLogger(__name__)

ASKED = "asked"
ORPHANED = "orphaned"


class Orders:
    """Obeys what the runtime obeys by itself: `stop` is set, and the hold is put on or lifted.

    A leader that is gone holds the agent, and ends it after the grace time unless there is a leader again.
    """

    def __init__(self, team: Team, name: str, presence: Presence, stop: asyncio.Event, hold: Hold) -> None:
        self._team = team
        self._name = name
        self._stop = stop
        self._hold = hold
        self._presence = presence
        self._seen: object = None
        self._gone_at: float | None = None
        self._requests: list[tuple[str, str]] = []
        self.ending = ASKED
        """Why the agent ends, once `stop` is set."""

    def look(self) -> None:
        """Look once; costs a look at two files when there is nothing new."""
        self._look_at_mail()
        self._look_at_leader()

    @asynccontextmanager
    async def watched(self, hint: asyncio.Event) -> AsyncIterator[None]:
        """Go on looking while the block runs: at each hint, and about once a second."""
        watching = asyncio.create_task(self._watch(hint))
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self, hint: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(self._team.settings.idle_check_seconds):
                    await hint.wait()
            except TimeoutError:
                pass
            hint.clear()
            try:
                self.look()
            except StateError as error:  # the next look may do better
                logger.warning("orders not read", extra={"swarm_error": str(error)})
            await asyncio.sleep(self._team.settings.idle_pause_seconds)

    def answer(self, say: Callable[[str], None]) -> None:
        """Answer the requests that this agent ends, by `say(request_id)`. Its last words."""
        for msg_id, request_id in self._requests:
            say(request_id)
            self._team.inbox(self._name).acknowledge([msg_id])
        self._requests.clear()

    # Mail

    def mail_mark(self) -> object:
        """Return what differs after new mail."""
        layout = self._team.layout
        return _state_of(layout.inbox(self._name)), _state_of(layout.overflow(self._name))

    def _look_at_mail(self) -> None:
        mark = self.mail_mark()
        if mark == self._seen:
            return
        inbox = self._team.inbox(self._name)
        known = {msg_id for msg_id, _ in self._requests}
        for mail in inbox.peek():
            order = order_in(mail, self._name)
            if order is None or mail.msg_id in known:
                continue
            if self._obey(order, mail.msg_id):
                inbox.acknowledge([mail.msg_id])
        self._seen = mark

    def _obey(self, order: Mapping[str, object], msg_id: str) -> bool:
        """Obey, and tell whether the order is done with; one to end is, when it has been answered."""
        if order["type"] == PAUSE_ORDER:
            self._hold.put(PAUSED)
        elif order["type"] == CONTINUE_ORDER:
            self._hold.lift(PAUSED)
        elif order["type"] in ANSWERS:
            logger.info("answer told by mail", extra={"swarm_request": str(order.get("requestId", ""))})
        else:
            self._requests.append((msg_id, str(order.get("requestId", ""))))
            self._stop.set()
            return False
        return True

    # The leader

    def _look_at_leader(self) -> None:
        if not self._presence.watches_leader or self._stop.is_set():
            return
        if leader_state(self._team) == "alive":
            self._gone_at = None
            self._hold.lift(LEADER_GONE)
            return
        now = self._team.clock.monotonic()
        if self._gone_at is None:
            self._gone_at = now
            self._hold.put(LEADER_GONE)
            logger.warning("leader is gone")
        elif now - self._gone_at >= self._team.settings.orphan_grace_seconds:
            self.ending = ORPHANED
            self._presence.orphaned()
            self._stop.set()


def _state_of(path: str) -> tuple[int, int, int] | None:
    found = network.find_stat_anew(path)
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)
