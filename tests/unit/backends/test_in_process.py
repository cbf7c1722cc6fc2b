"""Teammates as tasks of one loop: start, stop, failure, isolation."""

from __future__ import annotations

import asyncio
import gc
from contextvars import ContextVar

import pytest

from swarm.backends.in_process import InProcessBackend
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError

who: ContextVar[str] = ContextVar("who", default="nobody")


def a_spec(name: str) -> TeammateSpec:
    return TeammateSpec(
        root="/r",
        team="t",
        name=name,
        run_id=f"abcdefgh.{name}.1",
        workspace="/w",
        model="scripted",
        backend="in-process",
    )


async def obedient(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
    await stop.wait()
    return "asked"


async def deaf(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
    await asyncio.Event().wait()
    return "never"


async def broken(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
    raise RuntimeError("boom")


async def test_stop_asks_first_and_names_nobody_who_obeys() -> None:
    """An orderly stop is the teammate's own."""
    backend = InProcessBackend(obedient, limit=2)
    await backend.spawn(a_spec("a"))
    await backend.spawn(a_spec("b"))
    assert backend.list_alive() == ("a", "b")

    late = await backend.stop(timeout=5)

    assert late == ()
    assert backend.list_alive() == ()


async def test_stop_cancels_and_names_who_does_not_hear() -> None:
    """A deadline is a deadline."""
    backend = InProcessBackend(deaf, limit=1)
    await backend.spawn(a_spec("a"))

    late = await backend.stop(timeout=0.05)

    assert late == ("a",)
    assert not backend.is_alive("a")


async def test_an_exception_is_kept_and_does_not_reach_the_others() -> None:
    """The leader learns why; the loop goes on."""
    backend = InProcessBackend(broken, limit=1)
    await backend.spawn(a_spec("a"))
    await backend.stop(timeout=1)

    assert backend.failure("a") == "RuntimeError('boom')"


async def test_an_exception_is_not_printed_by_anybody_else() -> None:
    """The leader tells of it, in one line, if it matters; asyncio would print a traceback."""
    printed: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, facts: printed.append(facts))
    backend = InProcessBackend(broken, limit=1)
    await backend.spawn(a_spec("a"))
    await backend.stop(timeout=1)
    del backend
    gc.collect()

    assert printed == []


async def test_a_running_name_and_a_full_process_are_refused() -> None:
    """Nothing is started twice, and the limit holds."""
    backend = InProcessBackend(obedient, limit=1)
    await backend.spawn(a_spec("a"))

    with pytest.raises(BackendError, match="running already"):
        await backend.spawn(a_spec("a"))
    with pytest.raises(BackendError, match="at most 1"):
        await backend.spawn(a_spec("b"))
    await backend.stop(timeout=1)


async def test_teammates_do_not_see_each_other_s_context() -> None:
    """Identity is a context variable: what one sets the others don't see."""
    seen: dict[str, str] = {}

    async def body(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        who.set(spec.name)
        await stop.wait()
        seen[spec.name] = who.get()
        return "asked"

    backend = InProcessBackend(body, limit=2)
    await backend.spawn(a_spec("a"))
    await backend.spawn(a_spec("b"))
    await backend.stop(timeout=1)

    assert seen == {"a": "a", "b": "b"}
    assert who.get() == "nobody"


async def test_a_hint_wakes_everybody() -> None:
    """A change of the files is news for all."""
    woken: list[str] = []

    async def body(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        await hint.wait()
        woken.append(spec.name)
        return "woken"

    backend = InProcessBackend(body, limit=2)
    await backend.spawn(a_spec("a"))
    await backend.spawn(a_spec("b"))
    backend.hint()
    await backend.stop(timeout=1)

    assert sorted(woken) == ["a", "b"]
