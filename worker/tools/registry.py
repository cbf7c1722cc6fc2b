"""Every tool there is. No other place adds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swarm.settings import Settings
from worker.tools.bash import Bash
from worker.tools.contract import Tool
from worker.tools.edit import Edit
from worker.tools.exit_plan_mode import ExitPlanMode
from worker.tools.glob import Glob
from worker.tools.grep import Grep
from worker.tools.read import Read
from worker.tools.schema import input_schema
from worker.tools.send_message import SendMessage
from worker.tools.task_create import TaskCreate
from worker.tools.task_get import TaskGet
from worker.tools.task_list import TaskList
from worker.tools.task_update import TaskUpdate
from worker.tools.write import Write

_ALL: tuple[type[Tool[Any]], ...] = (
    Bash,
    Edit,
    Glob,
    Grep,
    Read,
    SendMessage,
    TaskCreate,
    TaskGet,
    TaskList,
    TaskUpdate,
    Write,
)


def built_in_tools(settings: Settings, *, plans: bool = False) -> tuple[Tool[Any], ...]:
    """Return the tools sorted by name: one order in every process, so that all share a prompt cache.

    Whoever `plans`, because of plan mode, also has the tool that hands in a plan.
    """
    kinds: tuple[type[Tool[Any]], ...] = (*_ALL, ExitPlanMode) if plans else _ALL
    return tuple(sorted((kind(settings) for kind in kinds), key=lambda tool: tool.name))


def schemas(tools: Sequence[Tool[Any]]) -> list[dict[str, Any]]:
    """Return the definitions for the model, in this order. Make them once for a session and keep them."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": input_schema(tool)}
        for tool in tools
    ]
