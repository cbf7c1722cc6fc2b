"""The first message of a task: all that an agent that knows nothing needs to begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarm.core.tags import TASK_REPORT, TASK_TEXT, TRUST_NONE, letter, one_line, tool_text, trust_of
from swarm.core.task import Task, worded_by
from swarm.core.untrusted import plain_line
from worker.context.agent import AgentContext
from worker.messages import Message, user_message
from worker.prompts import load_prompt


def opening(agent: AgentContext, task: Task, blockers: Sequence[Task]) -> Message:
    """Return the message that hands `task` to this agent; `blockers` are the tasks it had to wait for.

    What people and agents wrote stands in tags that tell whose word it is.
    """
    blocks = [_the_task(agent, task), *map(_input_of, blockers)]
    if earlier := _earlier_attempts(task):
        blocks.append(earlier)
    blocks.append(load_prompt("task").replace("{id}", task.id))
    return user_message(*blocks)


def _the_task(agent: AgentContext, task: Task) -> str:
    whom = f"{agent.name}, {one_line(agent.role)}" if agent.role else agent.name
    lines = [f"# Your task: {task.id}", "", f"For {whom} in team {agent.team}."]
    author = worded_by(task)
    subject, said = task.subject.strip(), task.description.strip()
    origin = {"task": task.id, "subject": subject if said else "", "from_": author, "trust": trust_of(author)}
    files = f"\n\nFiles that it may write: {', '.join(map(plain_line, task.files))}" if task.files else ""
    lines += ["", letter(TASK_TEXT, f"{said or subject}{files}", **origin)]
    if task.verify:
        lines += [
            "",
            "It is done when these commands succeed:",
            *(f"    {tool_text(command)}" for command in task.verify),
        ]
    return "\n".join(lines)


def _input_of(blocker: Task) -> str:
    return "\n".join(_input_lines(blocker))


def _input_lines(blocker: Task) -> Iterator[str]:
    by = f", done by {one_line(blocker.owner)}" if blocker.owner else ""
    yield f"# Result of task {blocker.id}{by}"
    yield ""
    origin = {"task": blocker.id, "subject": blocker.subject, "from_": blocker.owner, "trust": TRUST_NONE}
    result = blocker.result
    if result is None:
        yield letter(TASK_REPORT, "(no result was recorded)", **origin)
        return
    told = {"Kept outside git": result.artifacts, "Not checked": result.not_checked}
    facts = [f"{title}: {plain_line(', '.join(values))}" for title, values in told.items() if values]
    yield letter(TASK_REPORT, "\n".join([result.summary.strip() or "(no summary)", *facts]), **origin)
    if result.files:
        yield f"Files: {one_line(', '.join(result.files))}"
    if result.commit:
        yield f"Commit: {one_line(result.commit)}"


def _earlier_attempts(task: Task) -> str | None:
    if not (task.attempts or task.crashes or task.reason):
        return None
    counts = [f"{task.attempts} failed"] if task.attempts else []
    counts += [f"{task.crashes} ended by the death of the worker"] if task.crashes else []
    told = f"Attempts at this task so far: {', '.join(counts)}." if counts else "This task was begun before."
    lines = ["# Earlier attempts", "", told]
    if task.reason:
        why = letter(TASK_REPORT, task.reason, task=task.id, trust=TRUST_NONE)
        lines += ["The last one ended because:", why]
    return "\n".join([*lines, "Their changes may still be in the workspace: look first."])
