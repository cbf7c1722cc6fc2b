"""The server: takes requests, checks and counts them, and has them answered."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self, cast

from tests.support.messages_api import exchange as records
from tests.support.messages_api.cache import CacheUse, PromptCache
from tests.support.messages_api.exchange import Exchange, Exchanges
from tests.support.messages_api.issued import Issued
from tests.support.messages_api.reply import Reply, http_error
from tests.support.messages_api.rules import check
from tests.support.messages_api.scripts import Source, UnscriptedError, as_script
from tests.support.messages_api.sending import Sending
from tests.support.messages_api.shapes import RefusalError
from tests.support.messages_api.stream import finished, output_tokens

PATH = "/v1/messages"
BYTES_MAX = 32 * 1024 * 1024


class MessagesApi(Exchanges):
    """A Messages API on a port of this machine, while its `with` block runs.

    `script` says what is answered, see `scripts`. Any key is good unless `api_keys` are given, any model
    unless `models` are, any way to think unless `thinking_types` are. `context_window` (tokens of input)
    makes it refuse what does not fit, `prefill` makes it take a last message of the assistant. `log` is a
    file that gets a line for each exchange as it begins, and another as it ends.
    """

    def __init__(
        self,
        script: Source = (),
        *,
        cache: PromptCache | None = None,
        api_keys: Collection[str] | None = None,
        models: Collection[str] | None = None,
        thinking_types: Collection[str] | None = None,
        context_window: int | None = None,
        bytes_max: int = BYTES_MAX,
        prefill: bool = False,
        log: str | Path | None = None,
        port: int = 0,
    ) -> None:
        self.script = as_script(script)
        self.cache = cache or PromptCache()
        self.exchanges: list[Exchange] = []
        self.closing = threading.Event()
        self.bytes_max = bytes_max
        self.problems: list[BaseException] = []
        self._issued = Issued()
        self._api_keys = api_keys
        self._models = models
        self._thinking_types = thinking_types
        self._context_window = context_window
        self._prefill = prefill
        self._log = log
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of all clients, then wait for every thread."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    def all_exchanges(self) -> Sequence[Exchange]:
        with self._lock:
            return list(self.exchanges)

    def serve(self, handler: BaseHTTPRequestHandler, raw: bytes) -> None:
        """Answer the request that this handler has read."""
        with self._lock:
            exchange = Exchange(
                len(self.exchanges) + 1, handler.path, dict(handler.headers), raw, received=records.now()
            )
            self.exchanges.append(exchange)
            self._write_log(exchange)
        try:
            answer, begun = self._answer(exchange)
            Sending(handler, exchange, answer, begun=begun, closing=self.closing).send()
        finally:
            with self._lock:
                exchange.finished = records.now()
                self._write_log(exchange)

    def _answer(self, exchange: Exchange) -> tuple[Reply, Callable[[], None]]:
        """Return the answer, and what to call when it begins."""
        answer = self._planned(exchange)
        exchange.status = answer.status
        if answer.status != 200:
            exchange.error, exchange.message = answer.error, answer.message
            return answer, lambda: None
        answer = self._issued.complete(answer, exchange.body, exchange.number)
        use = self.cache.look_up(exchange.body)
        exchange.usage = _usage(use, answer)
        exchange.blocks = tuple(finished(block) for block in answer.blocks)
        exchange.stop_reason = answer.stops_for()
        return answer, partial(self.cache.commit, use)

    def _planned(self, exchange: Exchange) -> Reply:
        """Return the script's answer to a valid request, or why it gets none."""
        try:
            self._check(exchange)
        except RefusalError as refusal:
            exchange.outcome = "refused"
            return http_error(refusal.status, refusal.message)
        exchange.marks = records.marked_places(exchange.body)
        exchange.merged_roles = records.merged_places(exchange.body)
        if too_long := self._too_long(exchange):
            return too_long
        try:
            return self.script(exchange)
        except UnscriptedError as error:
            exchange.outcome = "unscripted"
            return http_error(400, f"unscripted: {error}")
        except Exception as error:  # noqa: BLE001  # a script is code of a test: its failure is told to the test
            self.problems.append(error)
            exchange.outcome = "unscripted"
            return http_error(400, f"the script failed: {error!r}")

    def _check(self, exchange: Exchange) -> None:
        self._check_head(exchange)
        try:
            body = json.loads(exchange.raw)
        except ValueError as error:
            raise RefusalError(f"The request body is not valid JSON: {error}") from error
        if not isinstance(body, dict):
            raise RefusalError("Input should be a valid dictionary")
        check(body, self._issued, prefill=self._prefill)
        if self._models is not None and body["model"] not in self._models:
            raise RefusalError(f"model: {body['model']}", status=404)
        kind = (body.get("thinking") or {}).get("type")
        if self._thinking_types is not None and kind and kind not in self._thinking_types:
            raise RefusalError(f'"thinking.type.{kind}" is not supported for this model.')

    def _check_head(self, exchange: Exchange) -> None:
        if exchange.path.partition("?")[0] != PATH:
            raise RefusalError("Not Found", status=404)
        bearer = exchange.headers.get("authorization", "").removeprefix("Bearer ")
        key = exchange.headers.get("x-api-key") or bearer
        if not key:
            raise RefusalError("x-api-key header is required", status=401)
        if self._api_keys is not None and key not in self._api_keys:
            raise RefusalError("invalid x-api-key", status=401)
        if len(exchange.raw) > self.bytes_max:
            raise RefusalError("Request exceeds the maximum size", status=413)
        if "anthropic-version" not in exchange.headers:
            raise RefusalError("anthropic-version: header is required")

    def _too_long(self, exchange: Exchange) -> Reply | None:
        if self._context_window is None:
            return None
        tokens = sum(self.cache.look_up(exchange.body).counters().values())
        if tokens <= self._context_window:
            return None
        return http_error(400, f"prompt is too long: {tokens} tokens > {self._context_window} maximum")

    def _write_log(self, exchange: Exchange) -> None:
        if self._log is not None:
            with open(self._log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(exchange.to_line() + "\n")


def _usage(use: CacheUse, answer: Reply) -> dict[str, Any]:
    counters = {**use.counters(), "output_tokens": output_tokens(answer), **(answer.usage or {})}
    written = {
        "ephemeral_5m_input_tokens": use.written_5m,
        "ephemeral_1h_input_tokens": use.written_1h,
    }
    return {**counters, "cache_creation": written, "service_tier": "standard"}


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], api: MessagesApi) -> None:
        super().__init__(address, _Handler)
        self.api = api
        self._connections: set[socket.socket] = set()

    def server_bind(self) -> None:
        """Bind without asking the resolver for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close without a farewell where a reset is wanted: that would come first."""
        self._connections.discard(request)
        lingers = request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
        if any(lingers):
            request.close()
        else:
            super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.api.problems.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        cast(_Http, self.server).api.serve(self, self.rfile.read(length))

    def do_GET(self) -> None:
        cast(_Http, self.server).api.serve(self, b"")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the base class's
        """Say nothing."""
