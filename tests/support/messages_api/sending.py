"""One answer on its way over a connection, with everything that may go wrong on it."""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.messages_api.exchange import Exchange
from tests.support.messages_api.render import compact
from tests.support.messages_api.reply import BEFORE_HEAD, Fault, Reply
from tests.support.messages_api.stream import (
    PING,
    Event,
    finished,
    packets,
    plan_events,
    stop_details,
    to_wire,
)

_STEP_SECONDS = 0.01


class EndedError(Exception):
    """A fault, or the end of the server, has ended this answer."""


class GoneError(Exception):
    """The client has closed the connection."""


class Sending:
    """Sends one answer; `begun` is called as soon as the service would have read the prompt."""

    def __init__(
        self,
        handler: BaseHTTPRequestHandler,
        exchange: Exchange,
        answer: Reply,
        *,
        begun: Callable[[], None],
        closing: threading.Event,
    ) -> None:
        self._handler = handler
        self._socket: socket.socket = handler.connection
        self._exchange = exchange
        self._answer = answer
        self._begun = begun
        self._closing = closing
        self._blocks = 0
        self._chunked = False

    def send(self) -> None:
        """Send it all, or as much as the faults and the client let through."""
        try:
            self._meet_faults(BEFORE_HEAD)
            if self._answer.status != 200:
                self._send_error()
            elif self._exchange.body.get("stream"):
                self._send_stream()
            else:
                self._send_whole()
        except EndedError:
            self._handler.close_connection = True
        except (GoneError, ConnectionError):
            self._exchange.dropped = not self._exchange.whole
            self._handler.close_connection = True

    def _send_error(self) -> None:
        answer = self._answer
        body = {
            "type": "error",
            "error": {"type": answer.error, "message": answer.message},
            "request_id": self._request_id(),
        }
        self._send_json(answer.status, body)

    def _send_whole(self) -> None:
        message = {
            **self._message(),
            "content": [finished(block) for block in self._answer.blocks],
            "stop_reason": self._answer.stops_for(),
            "stop_details": stop_details(self._answer.stops_for()),
            "usage": self._exchange.usage,
        }
        self._begun()
        self._send_json(200, message)

    def _send_json(self, status: int, body: dict[str, Any]) -> None:
        data = compact(body).encode("utf-8", "backslashreplace")
        self._head(status, ("content-type", "application/json"), ("content-length", str(len(data))))
        self._handler.wfile.write(data)
        self._exchange.whole = True

    def _send_stream(self) -> None:
        self._head(
            200,
            ("content-type", "text/event-stream; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("transfer-encoding", "chunked"),
        )
        self._chunked = True
        self._begun()
        self._meet_faults(0)
        for event in plan_events(self._answer, self._message(), self._exchange.usage):
            self._wait(self._answer.event_delay)
            self._send_event(event)
            ended_block = event["type"] == "content_block_stop"
            self._blocks += ended_block
            self._exchange.events_sent += 1
            self._exchange.whole = event["type"] == "message_stop"
            self._meet_faults(self._exchange.events_sent, ended_block=ended_block)
        self._end_body()

    def _head(self, status: int, *headers: tuple[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in (("request-id", self._request_id()), *headers, *self._answer.headers):
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _send_event(self, event: Event) -> None:
        for part in packets(to_wire(event)):
            self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def _end_body(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def _meet_faults(self, events: int, *, ended_block: bool = False) -> None:
        for fault in self._answer.faults:
            by_blocks = fault.after_blocks is not None
            if (ended_block or not by_blocks) and fault.is_due(events, self._blocks):
                self._meet(fault)

    def _meet(self, fault: Fault) -> None:
        if fault.kind in {"stall", "hold"}:
            self._wait(fault.seconds, fault)
        elif fault.kind == "event" and fault.event:
            self._send_event(fault.event)
        else:
            self._end_by(fault)

    def _end_by(self, fault: Fault) -> None:
        if fault.kind == "error":
            error = {"type": fault.error, "message": fault.message}
            self._send_event({"type": "error", "error": error, "request_id": self._request_id()})
        if fault.kind in {"error", "close"} and self._chunked:
            self._end_body()
        if fault.kind == "reset":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise EndedError

    def _wait(self, seconds: float, fault: Fault | None = None) -> None:
        """Wait, but not for a client that is gone; the gate of a fault is waited for without a limit."""
        gate = fault.gate if fault else None
        ping_every = fault.ping_every if fault else None
        end = time.monotonic() + seconds
        ping_at = time.monotonic() + (ping_every or 0)
        while True:
            if self._closing.is_set():
                raise EndedError
            if self._is_gone():
                raise GoneError
            if _is_open(gate) if gate is not None else time.monotonic() >= end:
                return
            if ping_every and self._chunked and time.monotonic() >= ping_at:
                self._send_event(PING)
                ping_at += ping_every
            time.sleep(_STEP_SECONDS)

    def _is_gone(self) -> bool:
        readable, _, _ = select.select([self._socket], [], [], 0)
        try:
            return bool(readable) and self._socket.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    def _message(self) -> dict[str, Any]:
        return {
            "id": f"msg_{self._exchange.number:04}",
            "type": "message",
            "role": "assistant",
            "model": self._exchange.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _request_id(self) -> str:
        return f"req_{self._exchange.number:04}"


def _is_open(gate: threading.Event | str) -> bool:
    return os.path.exists(gate) if isinstance(gate, str) else gate.is_set()
