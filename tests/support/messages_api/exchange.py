"""One request and what became of it; what a test may ask of them all."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from swarm.values import Value
from tests.support.messages_api.render import Body, Piece, blocks_of, merged, render, settings

_TASK = re.compile(r"^# Your task: (\S+)", re.MULTILINE)
_AGENT = re.compile(r"^For ([^,\n]+?)(?:, [^\n]*)? in team ", re.MULTILINE)
_SECRET = ("x-api-key", "authorization")


class Exchange:
    """A request as it came, and its answer.

    `outcome` is `answered`, `refused` (the request was not valid) or `unscripted` (no answer was planned).
    """

    def __init__(
        self, number: int, path: str, headers: Mapping[str, str], raw: bytes, *, received: float
    ) -> None:
        self.number = number
        self.path = path
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.raw = raw
        self.body = _parsed(raw)
        self.received = received
        self.outcome = "answered"
        self.status = 0
        self.error: str | None = None
        self.message: str | None = None
        self.blocks: tuple[dict[str, Any], ...] = ()
        self.stop_reason: str | None = None
        self.usage: dict[str, Any] = {}
        self.marks: list[str] = []
        self.merged_roles: list[int] = []
        self.events_sent = 0
        self.whole = False
        self.dropped = False
        self.finished: float | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    @property
    def turns(self) -> int:
        """Number of the assistant's messages, the place in a script."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def task(self) -> str | None:
        """Id of the task that the first message hands over."""
        return _first(_TASK, self._first_text())

    @property
    def agent(self) -> str | None:
        text = self._first_text()
        start = _TASK.search(text)
        return _first(_AGENT, text[start.end() :]) if start else None

    @property
    def conversation(self) -> str:
        """What groups requests that should share a prefix: the model and the task, else the first text."""
        about = f"{self.task} {self.agent}" if self.task else self._first_text().partition("\n\n")[0]
        return f"{self.body.get('model')} {about}"

    def _first_text(self) -> str:
        first = self.messages[0] if self.messages else None
        content = first.get("content") if isinstance(first, dict) else None
        blocks = blocks_of(content) if isinstance(content, (str, list)) else []
        return "\n\n".join(str(b["text"]) for b in blocks if isinstance(b, dict) and "text" in b)

    def to_line(self) -> str:
        """Return what the log holds of it, as one line; keys of users are left out."""
        fields = {name: value for name, value in vars(self).items() if name not in {"raw", "body"}}
        fields["headers"] = {n: "(left out)" if n in _SECRET else v for n, v in self.headers.items()}
        fields["raw"] = self.raw.decode("utf-8", "backslashreplace")
        return json.dumps(fields, ensure_ascii=False)


def exchange_from_line(line: str) -> Exchange:
    """Return what a line of the log tells."""
    fields = json.loads(line)
    head = {name: fields.pop(name) for name in ("number", "path", "headers", "received")}
    exchange = Exchange(raw=fields.pop("raw").encode(), **head)
    for name, value in fields.items():
        setattr(exchange, name, tuple(value) if name == "blocks" else value)
    return exchange


class PrefixBreak(Value):
    """A prefix that was marked in one request and was not there in the next of the conversation."""

    earlier: int
    later: int
    where: str


class Exchanges(ABC):
    """What a test asks of a list of exchanges; in the order of arrival."""

    @abstractmethod
    def all_exchanges(self) -> Sequence[Exchange]:
        """Return them; who keeps them knows how."""

    @property
    def refused(self) -> list[Exchange]:
        """Requests that were not valid; a client that works makes none."""
        return [e for e in self.all_exchanges() if e.outcome == "refused"]

    @property
    def unscripted(self) -> list[Exchange]:
        return [e for e in self.all_exchanges() if e.outcome == "unscripted"]

    @property
    def dropped(self) -> list[Exchange]:
        """Those whose client was gone before the answer was whole."""
        return [e for e in self.all_exchanges() if e.dropped]

    @property
    def in_flight(self) -> int:
        """Number of requests that are being answered."""
        return sum(e.finished is None for e in self.all_exchanges())

    @property
    def most_in_flight(self) -> int:
        """Largest number of requests that were answered at the same time."""
        return most_at_once([(e.received, e.finished) for e in self.all_exchanges()])

    @property
    def merged_roles(self) -> list[tuple[int, int]]:
        """Number of the request and position of each message that had the role of the one before it."""
        return [(e.number, at) for e in self.all_exchanges() for at in e.merged_roles]

    def of_task(self, task: str) -> list[Exchange]:
        return [e for e in self.all_exchanges() if e.task == task]

    def prefix_breaks(self) -> list[PrefixBreak]:
        """Return where a marked prefix changed from a valid request to the next one of its conversation.

        A request without a turn of the assistant begins a new conversation, whatever its first message says.
        """
        latest: dict[str, Exchange] = {}
        breaks = []
        for exchange in self.all_exchanges():
            if exchange.outcome == "refused" or not exchange.messages:
                continue
            before = latest.get(exchange.conversation)
            if before is not None and exchange.turns and (where := first_change(before.body, exchange.body)):
                breaks.append(PrefixBreak(earlier=before.number, later=exchange.number, where=where))
            latest[exchange.conversation] = exchange
        return breaks


def most_at_once(spans: Sequence[tuple[float, float | None]]) -> int:
    """Return how many of these spans overlapped at most; one without an end goes on."""
    steps = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans if end is not None])
    return max(accumulate(step for _, step in steps), default=0)


def first_change(earlier: Body, later: Body) -> str | None:
    """Return where the earlier request's marked prefix ends to be that of the later one, byte for byte."""
    marked = _up_to_last_mark(render(earlier))
    if not marked:
        return None
    if settings(earlier) != settings(later):
        return "settings"
    came = render(later)
    for at, piece in enumerate(marked):
        if at >= len(came) or came[at].data != piece.data or came[at].where != piece.where:
            return piece.where
    return None


def marked_places(body: Body) -> list[str]:
    """Return the place of each mark in a valid request, as in `messages.2.content.0 5m`."""
    return [f"{piece.where} {piece.ttl}" for piece in render(body) if piece.ttl]


def merged_places(body: Body) -> list[int]:
    return merged(body["messages"])[1]


def now() -> float:
    return time.time()


def _up_to_last_mark(row: Sequence[Piece]) -> Sequence[Piece]:
    last = max((at for at, piece in enumerate(row) if piece.ttl), default=-1)
    return row[: last + 1]


def _parsed(raw: bytes) -> Body:
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match.group(1) if match else None
