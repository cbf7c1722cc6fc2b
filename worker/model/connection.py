"""The wire to a model service: one request out, the events of its answer in, every fault a `ModelError`.

All it needs to know of the service is taken from the teammate's own environment; what else lies about in
the process's, or in files of the SDK, is not looked at.
"""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import json
import threading
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from swarm.errors import ModelError
from swarm.settings import Settings
from worker.model.access import KEYS, base_url, check_access
from worker.model.failures import BROKEN_OFF, STALLED, UNREACHABLE, failure, service_failure

if TYPE_CHECKING:
    import anthropic
    import httpx2

_PING = "ping"
_OK = 200


class Connection:
    """Opened at the first request and kept for all that follow."""

    def __init__(self, environ: Mapping[str, str], settings: Settings) -> None:
        check_access(environ)
        self._environ = environ
        self._settings = settings
        self._client: anthropic.AsyncAnthropic | None = None

    async def events(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Send the request and yield the events of its answer as they come. Closing it drops the request."""
        if self._client is None:
            await self.load()
            self._client = self._make_client()
        import anthropic

        try:
            async with (
                self._client.messages.with_streaming_response.create(**body) as response,
                aclosing(self._read(response.http_response)) as events,
            ):
                async for event in events:
                    yield event
        except anthropic.APIStatusError as error:
            raise _refusal(error) from None
        except anthropic.APITimeoutError as error:
            raise failure(UNREACHABLE if _is_connecting(error) else STALLED, _cause(error)) from None
        except anthropic.APIConnectionError as error:
            raise failure(UNREACHABLE if _is_connecting(error) else BROKEN_OFF, _cause(error)) from None

    async def load(self) -> None:
        """Import the SDK without standing in the way of anything else; it takes seconds of CPU.

        Nobody waits for it at the end of the process either, so a teammate can be stopped meanwhile.
        """
        loop = asyncio.get_running_loop()
        loaded: asyncio.Future[None] = loop.create_future()

        def tell(error: Exception | None) -> None:
            if loaded.done():
                return
            if error is None:
                loaded.set_result(None)
            else:
                loaded.set_exception(error)

        def work() -> None:
            found: Exception | None = None
            try:
                importlib.import_module("anthropic")
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                found = error
            with suppress(RuntimeError):  # the loop may be over by now
                loop.call_soon_threadsafe(tell, found)

        threading.Thread(target=work, name="load-sdk", daemon=True).start()
        await loaded

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _read(self, response: httpx2.Response) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events; a service that only gives signs of life, or none, has stalled."""
        import anthropic
        import httpx2

        events = anthropic.AsyncStream.raw_events(response)
        try:
            while True:
                # Around each event alone: whoever asks for the next one may be another asyncio task.
                async with asyncio.timeout(self._settings.model_progress_seconds):
                    event = await _next_of(events)
                if event is None:
                    return
                yield event
        except TimeoutError:
            raise failure(STALLED, "no piece of the answer came for too long") from None
        except httpx2.TimeoutException:
            raise failure(STALLED, "the service fell silent in the middle of its answer") from None
        except httpx2.HTTPError as error:
            raise failure(BROKEN_OFF, str(error) or type(error).__name__) from None
        except ValueError as error:
            raise failure(BROKEN_OFF, f"an event of the answer is no JSON ({error})") from None

    def _make_client(self) -> anthropic.AsyncAnthropic:
        import anthropic
        import httpx2

        settings = self._settings
        limits = httpx2.Timeout(
            settings.model_silence_seconds, connect=settings.model_connect_seconds, pool=None
        )
        key, token = (self._environ.get(name, "").strip() or None for name in KEYS)
        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=None if key else token,
            base_url=base_url(self._environ),
            max_retries=0,
            timeout=limits,
        )


async def _next_of(events: Any) -> dict[str, Any] | None:
    """Return the next event that is a piece of the answer, or None after the last one."""
    async for sent in events:
        if sent.event == "error":
            raise _refusal_in_stream(sent.data)
        if sent.event in (None, _PING) or not sent.data:
            continue
        event = json.loads(sent.data)
        if isinstance(event, dict):
            return event
        raise ValueError("it is no object")
    return None


def _refusal_in_stream(data: str) -> ModelError:
    try:
        body: object = json.loads(data)
    except ValueError:
        body = data
    return service_failure(_OK, body)


def _refusal(error: anthropic.APIStatusError) -> ModelError:
    headers = error.response.headers
    return service_failure(
        error.status_code, error.body, retry_after=_retry_after(headers), request_id=error.request_id
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the service asks to wait; it may name them, milliseconds, or a time."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) / unit)
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            continue
    return None


def _cause(error: Exception) -> str:
    cause = error.__cause__
    return str(cause) or type(cause).__name__ if cause is not None else str(error)


def _is_connecting(error: Exception) -> bool:
    import httpx2

    return isinstance(
        error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)
    )
