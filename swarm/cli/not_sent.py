"""What is said of copies of a message that were not sent: each reason once, with all whom it kept from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from swarm.cli.render import printable

if TYPE_CHECKING:
    from swarm.errors import SwarmError
    from swarm.storage.mail import SendResult

_EACH = "NAME"


def how_to_repeat(error: SwarmError, whom: str = "") -> str:
    """Return what to do where nobody knows whether the message arrived."""
    msg_id = error.details.get("msg_id")
    if msg_id is None:
        return ""
    return f"; it may have arrived: send it again{whom} with --id {msg_id}, and it is there once"


def failures(results: Sequence[SendResult]) -> Iterator[str]:
    """Yield a line for each reason; those that differ by no more than whom they name are one."""
    groups: dict[str, list[tuple[str, SwarmError]]] = {}
    for result in results:
        if result.error is not None:
            reason = _of_each(result.error.message, result.to)
            groups.setdefault(reason, []).append((result.to, result.error))
    for reason, group in groups.items():
        yield from _lines(reason, group)


def _of_each(message: str, name: str) -> str:
    """Return a reason as it would be said of any recipient."""
    said = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", _EACH, message)
    return f"each{said.removeprefix(_EACH)}" if said.startswith(f"{_EACH} ") else said


def _lines(reason: str, group: Sequence[tuple[str, SwarmError]]) -> Iterator[str]:
    (name, error), *others = group
    if not others:
        yield f"not sent to {name}: {printable(error.message + how_to_repeat(error, f' to {name}'))}"
        return
    *firsts, last = (name for name, _ in group)
    ids = [(name, str(error.details["msg_id"])) for name, error in group if "msg_id" in error.details]
    how = "; it may have arrived: send it again to each with its id, and it is there once" if ids else ""
    yield f"not sent to {', '.join(firsts)} and {last}: {printable(reason + how)}"
    for name, msg_id in ids:
        yield f"  {printable(name)} --id {printable(msg_id)}"
