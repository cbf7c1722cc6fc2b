"""A model behind the Messages API: one streamed request for each turn, sent again when that may help."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from swarm.errors import ModelError
from swarm.settings import Settings
from worker.messages import Message, repair_pairing, thoughtless
from worker.model.assembly import Assembly, BrokenAnswerError
from worker.model.backoff import Backoff
from worker.model.connection import Connection
from worker.model.estimate import InputEstimate
from worker.model.failures import BAD_REQUEST, BROKEN_OFF, OVERLOADED, STALLED, failure, kind_of
from worker.model.meter import Meter
from worker.model.port import ModelEvent, ModelRequest, Retrying
from worker.model.request import request_body

logger = logging.getLogger(__name__)


class LiveModel:
    """One model, and another one in its place once it stays overloaded."""

    def __init__(
        self, name: str, connection: Connection, settings: Settings, meter: Meter, fallback: str | None = None
    ) -> None:
        self.name = name
        self._connection = connection
        self._settings = settings
        self._meter = meter
        self._fallback = fallback
        self._overloads = 0
        self._estimate = InputEstimate()
        self._forgotten = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield what arrives. After a failure that may pass it waits and asks again, as `Retrying` says."""
        backoff = Backoff(self._settings)
        while True:
            assembly = Assembly()
            try:
                async with aclosing(self._attempt(request, assembly)) as events:
                    async for event in events:
                        yield event
            except ModelError as error:
                retrying, backoff = self._after(error, request, backoff)
                yield retrying
                await asyncio.sleep(retrying.wait_seconds)
            else:
                self._overloads = 0
                yield assembly.turn()
                return

    def unfinished(self, messages: list[Message]) -> str | None:
        """Return None: a model knows by itself when it has finished."""
        return None

    def may_go_on(self, messages: list[Message]) -> bool:
        """Return True: a model can always be told more."""
        return True

    def _after(self, error: ModelError, request: ModelRequest, backoff: Backoff) -> tuple[Retrying, Backoff]:
        """Return what to do after a failed try; raises the failure when nothing is left to do."""
        self._overloads = self._overloads + 1 if kind_of(error) == OVERLOADED else 0
        if self._fallback is not None and self._overloads >= self._settings.model_overloads_max:
            self._forget_thoughts(request)  # they are signed for the model that had them
            why = f"{error}; {self._fallback} is asked in place of {self.name}"
            logger.warning("fallback model taken", extra={"swarm_model": self._fallback})
            self.name, self._fallback, self._overloads = self._fallback, None, 0
            return Retrying(why=why, tried=backoff.tried + 1, wait_seconds=0.0), Backoff(self._settings)
        if kind_of(error) == BAD_REQUEST and _is_about_thoughts(error) and self._forget_thoughts(request):
            return Retrying(why=f"{error}; asked again without them", tried=1, wait_seconds=0.0), backoff
        wait = backoff.wait_after(error)
        if wait is not None:
            return Retrying(why=str(error), tried=backoff.tried, wait_seconds=wait), backoff
        if backoff.tried == 1:
            raise error
        raise ModelError(f"{error} (tried {backoff.tried} times)", code=error.code, details=error.details)

    async def _attempt(self, request: ModelRequest, assembly: Assembly) -> AsyncGenerator[ModelEvent, None]:
        """Send the request once. Whatever becomes of it, what it may have cost is booked."""
        asked = self._as_asked(request)
        await self._meter.open(self.name, self._estimate.most_tokens(asked), asked.max_tokens)
        served = True
        try:
            async with aclosing(self._connection.events(request_body(asked))) as events:
                async for event in events:
                    for news in assembly.feed(event):
                        yield news
                    if assembly.is_complete:
                        break
            if not assembly.is_complete:
                raise failure(BROKEN_OFF, "the answer ended before it was complete")
        except BrokenAnswerError as error:
            raise failure(BROKEN_OFF, str(error)) from None
        except ModelError as error:
            served = assembly.has_begun or kind_of(error) in (BROKEN_OFF, STALLED)
            raise
        finally:
            self._book(asked, assembly, served=served)

    def _book(self, asked: ModelRequest, assembly: Assembly, *, served: bool) -> None:
        """Write down what an answer cost; of one that broke off also what it may have been longer.

        One that broke off before its first word is left open: it counts as what was set aside for it.
        """
        if not served:
            self._meter.settle(self.name, {})
        elif assembly.has_begun:
            usage = assembly.usage
            unsaid = 0 if assembly.is_complete else asked.max_tokens - usage["output_tokens"]
            self._meter.settle(self.name, usage, max(0, unsaid))
            self._estimate.learn(asked, usage)

    def _forget_thoughts(self, request: ModelRequest) -> bool:
        """Send the thoughts in these messages no more; tell whether that changes anything."""
        before, self._forgotten = self._forgotten, len(request.messages)
        return self._forgotten > before

    def _as_asked(self, request: ModelRequest) -> ModelRequest:
        """Return the request for the model that is asked, without the thoughts that it would refuse."""
        if len(request.messages) < self._forgotten:  # another conversation has begun
            self._forgotten = 0
        early, late = request.messages[: self._forgotten], request.messages[self._forgotten :]
        messages = repair_pairing([*thoughtless(early), *late]) if early else request.messages
        return request.replace(model=self.name, messages=messages)


def _is_about_thoughts(error: ModelError) -> bool:
    """Whether earlier thoughts were refused: signed for another model, for instance before a restart."""
    return "thinking" in str(error) or "signature" in str(error)
