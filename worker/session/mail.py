"""Mail on its way into the conversation: peeked at, written to the transcript, then acknowledged.

In this order a kill loses nothing and shows nothing twice: what the transcript has is only acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable

from swarm.core.message import ORDERS, may_send, parse_control
from swarm.core.message import Message as Mail
from swarm.core.tags import teammate_message
from swarm.storage.inbox import Inbox
from worker.messages import Block, text_block, user_message
from worker.session.transcript import Transcript


class MailReader:
    """Hands one agent's mail to its model. `given` holds the ids that its transcript has already."""

    def __init__(self, inbox: Inbox, owner: str, given: Iterable[str]) -> None:
        self._inbox = inbox
        self._owner = owner
        self._given = set(given)

    def take(self, transcript: Transcript) -> list[Block]:
        """Return the new mail as text for the model, already in the transcript and acknowledged.

        Orders that the runtime obeys are left to it.
        """
        waiting = [mail for mail in self._inbox.peek() if order_in(mail, self._owner) is None]
        fresh = [mail for mail in waiting if mail.msg_id not in self._given]
        blocks = [text_block(teammate_message(mail)) for mail in fresh]
        if fresh:
            ids = [mail.msg_id for mail in fresh]
            transcript.user(user_message(*blocks), msg_ids=ids)
            self._given.update(ids)
        if waiting:
            self._inbox.acknowledge([mail.msg_id for mail in waiting])
        return blocks


def senders_of_letters(inbox: Inbox, owner: str) -> frozenset[str]:
    """Return who has written to the model, beside orders that the runtime obeys by itself."""
    return frozenset(mail.sender for mail in inbox.peek() if order_in(mail, owner) is None)


def order_in(mail: Mail, owner: str) -> dict[str, object] | None:
    """Return the order of the leader that this mail holds, if it is one that the runtime obeys by itself.

    The same text from anybody else is text.
    """
    control = parse_control(mail.text)
    if control is None or control["type"] not in ORDERS:
        return None
    return control if may_send(control["type"], mail.sender, owner) else None
