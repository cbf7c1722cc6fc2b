"""Sending: from one agent, or a person, to one member or to all others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from swarm.core.agent import derive_state
from swarm.core.message import Message
from swarm.core.nearest import some_of
from swarm.core.roster import Roster
from swarm.core.times import format_time, parse_time
from swarm.errors import ConfigError, CorruptStateError, NotFoundError, SwarmError
from swarm.storage import processes
from swarm.values import Value

if TYPE_CHECKING:
    from swarm.storage.team import Team

EVERYONE = "*"
_MSG_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)


class SendResult(Value):
    """What became of one copy. `recipient` is the state of the agent that will read it, if it ever ran."""

    to: str
    msg_id: str | None = None
    recipient: str | None = None
    error: SwarmError | None = None


def send(
    team: Team, sender: str, to: str, text: str, *, summary: str | None = None, priority: str | None = None,
    in_reply_to: str | None = None, msg_id: str | None = None,
) -> tuple[SendResult, ...]:  # fmt: skip
    """Deliver to a member, or with `*` to all others in roster order, and return one result for each.

    With one recipient a failure is raised; with `*` it stands in that recipient's result. Where the message
    may have arrived all the same, `to` and `msg_id` stand in the error's details: who repeats the send gives
    that id, and it arrives once.
    """
    roster = team.roster.load()
    recipients = _recipients(roster, sender, to, msg_id)
    from_member = roster.find(sender)
    draft = Message(
        sender=sender,
        text=text,
        summary=summary,
        timestamp=format_time(team.clock.now()),
        color=from_member.color if from_member else None,
        msg_id=msg_id or "",
        priority=priority,
        in_reply_to=in_reply_to,
    )
    if to != EVERYONE:
        return (_deliver(team, draft.replace(to=to), retry=msg_id is not None),)
    return tuple(_try_deliver(team, draft.replace(to=name)) for name in recipients)


def _recipients(roster: Roster, sender: str, to: str, msg_id: str | None) -> tuple[str, ...]:
    others = tuple(name for name in roster.names() if name != sender)
    if to == EVERYONE:
        if msg_id is not None:
            raise ConfigError("a message to all has an id for each copy; send again to one", code="bad_value")
        return others
    if msg_id is not None and not _MSG_ID.fullmatch(msg_id):
        raise ConfigError(
            f"{msg_id!r} can be no message's id; it holds A-Z, a-z, 0-9, _, . and -, at most 128",
            code="bad_value",
            details={"value": msg_id},
        )
    if to == sender:
        raise ConfigError(f"{sender} cannot send mail to itself", code="bad_value", details={"value": to})
    if to not in others:
        raise NotFoundError(
            f"no agent {to!r} in team {roster.name}; send to one of {some_of(others, to)}, or to *",
            code="no_such_agent",
            details={"value": to, "valid": list(others)},
        )
    return (to,)


def _try_deliver(team: Team, message: Message) -> SendResult:
    try:
        return _deliver(team, message, retry=False)
    except SwarmError as error:
        return SendResult(to=message.to, error=error)


def _deliver(team: Team, message: Message, *, retry: bool) -> SendResult:
    if not message.msg_id:
        message = message.replace(msg_id=processes.new_msg_id())
    try:
        team.inbox(message.to).deliver(message, retry=retry)
        team.events.emit(
            "mail_sent", message.sender, to=message.to, msg_id=message.msg_id, summary=message.summary
        )
        recipient = _state_of(team, message.to)
    except SwarmError as error:
        if error.code != "inbox_full":  # then it is known that it did not arrive
            error.details |= {"to": message.to, "msg_id": message.msg_id}
        raise
    return SendResult(to=message.to, msg_id=message.msg_id, recipient=recipient)


def _state_of(team: Team, name: str) -> str | None:
    """Return the recipient's state; a damaged record does not undo what was delivered."""
    try:
        record = team.agents.load(name)
        if record is None:
            return None
        age = None if record.heartbeat is None else team.clock.now() - parse_time(record.heartbeat)
    except (CorruptStateError, ValueError):
        return "unknown"
    return derive_state(record, processes.liveness(record), age, team.settings.stalled_after_seconds)
