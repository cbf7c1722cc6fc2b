"""The life of one call: found, validated, checked, permitted, run. Whatever happens becomes one output."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from swarm.core.transcript import not_permitted
from swarm.errors import SwarmError, is_full
from swarm.permissions.calls import Call, Decision
from worker.messages import Block
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.current import current_call
from worker.tools.validation import InvalidInputError, parse_input

logger = logging.getLogger(__name__)

Gate = Callable[[Tool[Any], ToolInput, Call], Awaitable[Decision]]
"""Decides whether a call may run; may wait for somebody to be asked."""

_ERROR_CHARS = 2_000
_INSTEAD = "a person put in the place of its input"


class _RefusedError(Exception):
    """The call does not run; the text tells its model why."""


async def live(call: Block, tools: Mapping[str, Tool[Any]], context: ToolContext, gate: Gate) -> ToolOutput:
    """Run one call to its end. Raises only when this asyncio task is cancelled, or the process is to end.

    And where no room is left to write down what it does: no call can do anything about that.
    """
    name = str(call.get("name", ""))
    mark = current_call.set(str(call["id"]))
    try:
        return await _go_through(call, name, tools, context, gate)
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        return _failure(f"{name} failed: it was cancelled from inside")
    except (InvalidInputError, _RefusedError) as error:
        return _failure(str(error))
    except SwarmError as error:
        if is_full(error):
            raise
        return _failure(f"{name} failed: {error}")
    except Exception as error:
        logger.exception("tool call failed", extra={"swarm_tool": name})
        return _failure(f"{name} failed: {type(error).__name__}: {error}")
    finally:
        current_call.reset(mark)


async def _go_through(
    call: Block, name: str, tools: Mapping[str, Tool[Any]], context: ToolContext, gate: Gate
) -> ToolOutput:
    tool = tools.get(name)
    if tool is None:
        return _failure(f"There is no tool {name!r}; the tools are {', '.join(sorted(tools))}.")
    if isinstance(call.get("input"), dict):
        call = {**call, "input": tool.meant(call["input"], context)}
    given = await _permitted(call, tool, context, gate)
    output = await tool.run(given, context)
    if not isinstance(output, ToolOutput):
        raise TypeError(f"its output is a {type(output).__name__}")
    context.touched.update(output.touched)
    return output


async def _permitted(call: Block, tool: Tool[Any], context: ToolContext, gate: Gate) -> ToolInput:
    """Return the input that the call may run with: its own, or what a person has put in its place."""
    given = await _checked(tool, call.get("input"), context)
    asked = _as_call(tool, given, call["input"], context)
    decision = await _judged(gate, tool, given, asked, context)
    if decision.input is None:
        return given
    try:
        given = await _checked(tool, dict(decision.input), context)
    except (InvalidInputError, _RefusedError) as error:
        raise _RefusedError(f"{tool.name} was not run with what {_INSTEAD}: {error}") from error
    changed = _as_call(tool, given, decision.input, context).replace(approved=True)
    await _judged(gate, tool, given, changed, context)
    return given


async def _checked(tool: Tool[Any], raw: Any, context: ToolContext) -> ToolInput:
    given = parse_input(tool, raw)
    fault = await tool.check(given, context)
    if fault:
        raise _RefusedError(fault)
    return given


def _as_call(tool: Tool[Any], given: ToolInput, raw: Mapping[str, Any], context: ToolContext) -> Call:
    return Call(
        tool=tool.name,
        input=dict(raw),
        cwd=context.cwd,
        read_only=tool.read_only(given),
        team_tool=tool.team_tool,
        asks_person=tool.asks_person,
        edit=tool.edits,
        paths=tool.path_uses(given, context),
    )


async def _judged(
    gate: Gate, tool: Tool[Any], given: ToolInput, call: Call, context: ToolContext
) -> Decision:
    """Return the decision when the call may run. A gate that fails has not allowed it."""
    try:
        decision = await gate(tool, given, call)
    except Exception as error:
        if is_full(error):  # nobody was asked: the same call is judged when there is room again
            raise
        logger.exception("permission check failed", extra={"swarm_tool": tool.name})
        raise _RefusedError(
            f"{not_permitted(tool.name)}: the permission check itself failed ({error})."
        ) from error
    if decision.behavior == "allow":
        return decision
    rule = f" (rule {decision.rule})" if decision.rule and decision.rule not in decision.reason else ""
    then = "T"
    if decision.why != "expired":
        then = "The same call will be refused again; t"
        context.refused.add(current_call.get(""))
    raise _RefusedError(
        f"{not_permitted(tool.name)}: {decision.reason}{rule}\n"
        f"{then}ake another way, or report what is missing."
    )


def _failure(text: str) -> ToolOutput:
    return ToolOutput(text=text if len(text) <= _ERROR_CHARS else text[:_ERROR_CHARS] + "…", is_error=True)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
