"""What stands before the messages of every request of a session, worked out once at its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.values import Value
from worker.context.environment import environment_text
from worker.context.instructions import read_instructions, reminder
from worker.context.system import system_prompt
from worker.workbench import Workbench


class Prompt(Value):
    """The system prompt, the reminder before the first message, and the day that the model knows of."""

    system: tuple[str, ...]
    reminder: str
    date: str


def make_prompt(bench: Workbench, today: str) -> Prompt:
    """Return the prompt for a session that begins today."""
    agent = bench.agent
    environment = environment_text(
        bench.workspace, in_repository=bench.in_repository, environ=bench.environ, model=agent.model
    )
    return Prompt(
        system=system_prompt(agent, bench.team.roster.load().names(), environment),
        reminder=reminder(read_instructions(bench.team.root, bench.workspace), today),
        date=today,
    )


def render_prompt(prompt: Prompt) -> dict[str, Any]:
    """Return the prompt as the first line of a session holds it."""
    return {"system": list(prompt.system), "reminder": prompt.reminder, "date": prompt.date}


def parse_prompt(obj: Mapping[str, Any] | None) -> Prompt | None:
    """Return the prompt that a line tells; None when there is none, or it makes no sense."""
    if obj is None:
        return None
    system, said, date = obj.get("system"), obj.get("reminder"), obj.get("date")
    if not isinstance(system, list) or not all(isinstance(text, str) for text in system):
        return None
    if not isinstance(said, str) or not isinstance(date, str):
        return None
    return Prompt(system=tuple(system), reminder=said, date=date)
