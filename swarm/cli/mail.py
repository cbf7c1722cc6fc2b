"""`swarm send` and `swarm mail`: write to teammates, and look at what waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swarm.cli.render import count, local_time, printable, printable_lines
from swarm.cli.session import Io, acting_as, only_for_people, team_to_change, the_team
from swarm.core.identity import LEADER, USER
from swarm.core.message import Message, may_send, parse_control
from swarm.core.nearest import some_of
from swarm.errors import ConfigError, CorruptStateError, NotFoundError, StateError, SwarmError

if TYPE_CHECKING:
    from swarm.storage.mail import SendResult
    from swarm.storage.team import Team

_SHOWN = (
    "from",
    "to",
    "text",
    "summary",
    "timestamp",
    "priority",
    "in_reply_to",
    "expires_at",
    "msg_id",
    "acked_at",
)
_WORDS = {"taskId": "task", "idleReason": "reason", "requestId": "request"}
_NOT_READING = frozenset({"stopped", "dead"})


def send(args: Mapping[str, Any], io: Io) -> int:
    """Deliver one message, or one to each with `*`; the exit code is that of the first that failed."""
    from swarm.storage.mail import send as deliver

    text = io.source.read().removesuffix("\n") if args["text"] == "-" else args["text"]
    if not text.strip():
        raise ConfigError("the message is empty; give it a text", code="bad_value", details={"value": text})
    team = team_to_change(args, io)
    sender = acting_as(args, io) or USER
    if _would_count(text, sender, args["to"]):
        only_for_people(io, "send what the runtime sends by itself; write what you want in plain words")
    if not io.environ.get("SWARM_AGENT"):  # who says so is the runtime, also of one that claimed by hand
        _check_sender(sender, team)
    try:
        results = deliver(team, sender, args["to"], text, summary=args["summary"], msg_id=args["msg_id"])
    except SwarmError as error:
        from swarm.cli.not_sent import how_to_repeat

        error.message += how_to_repeat(error)
        raise
    if io.json:
        io.print_json({"results": [_result_object(result) for result in results]})
    else:
        _print_results(results, io)
    return next((result.error.exit_code for result in results if result.error), 0)


def _would_count(text: str, sender: str, to: str) -> bool:
    """Tell whether the text would be taken for a message of the runtime; any other is mail like all mail."""
    control = parse_control(text)
    return control is not None and may_send(control["type"], sender, LEADER if to == "*" else to)


def _check_sender(name: str, team: Team) -> None:
    """Refuse a name given by a person that is neither a member's nor the person's: nobody could answer it.

    Raises:
        ConfigError: a member's name in another case (bad_name).
        NotFoundError: no member (no_such_agent).

    """
    if name == USER:
        return
    roster = team.roster.load()
    roster.check_spelling(name)
    if roster.find(name) is None:
        known = some_of(roster.names(), name)
        raise NotFoundError(
            f"no agent {name} in team {team.name}; it has {known}, and a person sends without --as",
            code="no_such_agent",
            details={"value": name, "valid": list(roster.names())},
        )


def mail(args: Mapping[str, Any], io: Io) -> int:
    """Show unread or all mail of one agent, and leave it where it is."""
    if args["unread"] and args["all"]:
        raise ConfigError("give --unread or --all, not both", code="bad_usage")
    team = the_team(args, io)
    name = team.roster.load().member(args["name"]).name
    if args["follow"]:
        from swarm.cli.follow import follow

        layout = team.layout
        paths = [layout.inbox(name), layout.overflow(name), layout.history(name)]
        return follow(team, io, paths, _follower(team, name, io, everything=args["all"]))
    messages = _messages(team, name, everything=args["all"])
    strays, aside = team.inbox(name).left_out()
    if io.json:
        shown = {"agent": name, "messages": [_message_object(message) for message in messages]}
        io.print_json(
            shown | ({"strays": strays} if strays else {}) | ({"set_aside": aside} if aside else {})
        )
        return 0
    if messages:
        _print_messages(messages, io)
    else:
        io.note(f"{name} has no mail" if args["all"] else f"{name} has no unread mail")
    if strays:
        io.note(f"not shown: {count(strays, 'item')} in {team.layout.inbox(name)}, no message")
    if aside:
        io.note(f"not shown: mail of {name} that was damaged, kept in {', '.join(aside)}")
    return 0


def _messages(team: Team, name: str, *, everything: bool) -> tuple[Message, ...]:
    inbox = team.inbox(name)
    try:
        waiting = inbox.look()
    except CorruptStateError as error:
        raise StateError(
            f"the mail of {name} cannot be read: {error.message}; swarm doctor --fix keeps it aside, "
            "and so does the next message",
            code=error.code,
            details={"agent": name, **error.details},
        ) from error
    if not everything:
        return waiting
    # History is read last: a message that is acknowledged in between is then seen twice, not missed.
    return tuple({message.msg_id: message for message in (*inbox.history(), *waiting)}.values())


def _follower(team: Team, name: str, io: Io, *, everything: bool) -> Callable[[], None]:
    """Return a function that prints mail not printed before, also what its owner read in the meantime."""
    shown = set() if everything else {message.msg_id for message in team.inbox(name).history()}

    def print_new() -> None:
        new = [m for m in _messages(team, name, everything=True) if m.msg_id not in shown]
        shown.update(message.msg_id for message in new)
        if io.json:
            for message in new:
                io.print_json(_message_object(message))
        else:
            _print_messages(new, io)

    return print_new


def _result_object(result: SendResult) -> dict[str, Any]:
    if result.error:
        return {"to": result.to, **result.error.as_json()}
    known = {"to": result.to, "msg_id": result.msg_id}
    return known | ({"recipient": result.recipient} if result.recipient else {})


def _print_results(results: Sequence[SendResult], io: Io) -> None:
    for result in results:
        if not result.error:
            io.print(f"sent to {result.to}{_reader(result.recipient)}")
    if any(result.error for result in results):
        from swarm.cli.not_sent import failures

        for line in failures(results):
            io.note(line)


def _reader(state: str | None) -> str:
    if state is None:
        return " (not started yet)"
    return f" ({state}: will read it when started again)" if state in _NOT_READING else f" ({state})"


def _message_object(message: Message) -> dict[str, Any]:
    from swarm.core.message import render_message

    rendered = render_message(message)
    return {key: rendered[key] for key in _SHOWN if key in rendered} | {"acked": message.acked_at is not None}


def _print_messages(messages: Iterable[Message], io: Io) -> None:
    for message in messages:
        marks = [message.priority or "", "read" if message.acked_at else "", message.summary or ""]
        about = "; ".join(filter(None, marks))
        who = printable(message.sender)
        head = f"{local_time(message.timestamp)}  {who}{f'  ({printable(about)})' if about else ''}"
        io.print_line(head, "bold", label=who, indent=8)
        for line in printable_lines(_readable(message)).split("\n"):
            io.print_line(f"    {line}")


def _readable(message: Message) -> str:
    """Return a message's text; a control message that its sender may send is put in words."""
    control = parse_control(message.text)
    if control is None or not may_send(control["type"], message.sender, message.to):
        return message.text
    words = control["type"].removeprefix("swarm.").replace("_", " ")
    facts = [
        f"{_WORDS.get(key, key)}: {_fact(value)}" for key, value in control.items() if _tells(key, value)
    ]
    return f"[{words}] {', '.join(facts)}".rstrip()


def _tells(key: str, value: object) -> bool:
    return key not in {"type", "from", "timestamp"} and value not in (None, "", [])


def _fact(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
