"""The first message of a task: all that an agent that knows nothing needs to begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarm.core.task import Task
from swarm.core.untrusted import clean
from worker.context.agent import AgentContext
from worker.messages import Message, user_message
from worker.prompts import load_prompt


def opening(agent: AgentContext, task: Task, blockers: Sequence[Task]) -> Message:
    """Return the message that hands `task` to this agent; `blockers` are the tasks it had to wait for.

    What other agents reported stands in it as quoted text: it is their word, not an instruction.
    """
    blocks = [_the_task(agent, task), *map(_input_of, blockers)]
    if earlier := _earlier_attempts(task):
        blocks.append(earlier)
    blocks.append(load_prompt("task").replace("{id}", task.id))
    return user_message(*blocks)


def _the_task(agent: AgentContext, task: Task) -> str:
    whom = f"{agent.name}, {agent.role}" if agent.role else agent.name
    lines = [f"# Your task: {task.id} · {_one_line(task.subject)}", "", f"For {whom} in team {agent.team}."]
    if task.description.strip():
        lines += ["", clean(task.description).strip()]
    if task.files:
        lines += ["", f"Files that it may write: {', '.join(task.files)}"]
    if task.verify:
        lines += [
            "",
            "It is done when these commands succeed:",
            *(f"    {command}" for command in task.verify),
        ]
    return "\n".join(lines)


def _input_of(blocker: Task) -> str:
    return "\n".join(_input_lines(blocker))


def _input_lines(blocker: Task) -> Iterator[str]:
    by = f", done by {blocker.owner}" if blocker.owner else ""
    yield f"# Result of task {blocker.id} · {_one_line(blocker.subject)}{by}"
    yield ""
    if blocker.result is None:
        yield "(no result was recorded)"
        return
    yield from (
        f"> {line}" for line in clean(blocker.result.summary).strip().splitlines() or ["(no summary)"]
    )
    facts = (
        ("Files", blocker.result.files),
        ("Kept outside git", blocker.result.artifacts),
        ("Not checked", blocker.result.not_checked),
    )
    for title, values in facts:
        if values:
            yield f"{title}: {_one_line(', '.join(values))}"
    if blocker.result.commit:
        yield f"Commit: {blocker.result.commit}"


def _earlier_attempts(task: Task) -> str | None:
    if not (task.attempts or task.crashes or task.reason):
        return None
    counts = [f"{task.attempts} failed"] if task.attempts else []
    counts += [f"{task.crashes} ended by the death of the worker"] if task.crashes else []
    told = f"Attempts at this task so far: {', '.join(counts)}." if counts else "This task was begun before."
    why = f" The last one ended because: {_one_line(task.reason)}" if task.reason else ""
    return f"# Earlier attempts\n\n{told}{why}\nTheir changes may still be in the workspace: look first."


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
