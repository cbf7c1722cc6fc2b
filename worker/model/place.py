"""Where a script stands, worked out from the messages of an attempt alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swarm.values import Value
from worker.messages import Block, Message, is_interrupted, tool_results, tool_uses


class Place(Value):
    """The last step that was played, counted from 1 (0: none yet), and what came of it.

    A turn that makes again what was cut off in the turn before it belongs to the step of that one.
    """

    step: int = 0
    repeats: int = 0
    """How often calls of this step have been made again."""
    results: tuple[tuple[Block, Block], ...] = ()
    """Each call of the step that came to an end, with its result."""
    cut_off: tuple[Block, ...] = ()
    """The calls of the step that nobody saw the end of, in their order."""


def find_place(messages: Sequence[Message]) -> Place:
    """Return the place after these messages."""
    place = Place()
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        calls = tool_uses(message)
        if place.cut_off and _asked(calls) == _asked(place.cut_off):
            place = place.replace(repeats=place.repeats + 1)
        else:
            place = Place(step=place.step + 1)
        place = _after(place, calls, tool_results(messages[at + 1]) if at + 1 < len(messages) else ())
    return place


def _after(place: Place, calls: Sequence[Block], results: Sequence[Block]) -> Place:
    given = {result["tool_use_id"]: result for result in results if not is_interrupted(result)}
    ended = tuple((call, given[call["id"]]) for call in calls if call["id"] in given)
    return place.replace(
        results=(*place.results, *ended), cut_off=tuple(call for call in calls if call["id"] not in given)
    )


def _asked(calls: Sequence[Block]) -> list[tuple[Any, Any]]:
    return [(call["name"], call["input"]) for call in calls]
