"""TaskCreate: further work for the team."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from swarm.core.task import NewTask
from swarm.core.untrusted import plain_line
from swarm.settings import Settings
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.task_text import TaskId, fault_of_metadata, hashed, task_table


class TaskCreateInput(ToolInput):
    """What a model may say of a new task."""

    subject: str = Field(min_length=1, max_length=500, description="What is to be done, as one short line.")
    description: str = Field(
        "", max_length=50_000, description="All that somebody who knows nothing of it needs to do it well."
    )
    active_form: str | None = Field(
        None,
        alias="activeForm",
        max_length=200,
        description='The subject while it is being done, such as "Fixing the parser".',
    )
    blocked_by: list[TaskId] = Field(
        default_factory=list, alias="blockedBy", description="Ids of tasks that must be completed first."
    )
    metadata: dict[str, Any] | None = Field(None, description="Further facts about the task, by key.")


class TaskCreate(Tool[TaskCreateInput]):
    """Adds a task. Who may do it, what it may write and how it is verified only people can say."""

    name = "TaskCreate"
    Input = TaskCreateInput
    team_tool = True

    def describe(self, settings: Settings) -> str:
        return (
            "Adds a task to the team's list and returns its id. The runtime hands it to a teammate that "
            "is free.\n"
            "- For work that your own task does not cover: a fault you found, a step that somebody else "
            "should take. Look into TaskList first, so that nothing is listed twice.\n"
            "- Not for the steps of your own task, and not for what one message settles (SendMessage).\n"
            "- Whoever gets it has not seen your conversation: write what is wanted, where, why, and how "
            "one can tell that it is done.\n"
            "- `blockedBy` holds ids of existing tasks; until all of them are completed nobody starts it."
        )

    async def check(self, given: TaskCreateInput, context: ToolContext) -> str | None:
        if not given.subject.strip():
            return "The subject is blank; say in a few words what is to be done."
        table = task_table(context)
        unknown = [task_id for task_id in given.blocked_by if table.find(task_id) is None]
        if unknown:
            return f"There is no task {hashed(unknown)} to wait for; TaskList shows the ids."
        return fault_of_metadata(given.metadata)

    async def run(self, given: TaskCreateInput, context: ToolContext) -> ToolOutput:
        (task,) = context.team.tasks(context.agent.name).create(
            NewTask(
                subject=plain_line(given.subject),
                description=given.description,
                active_form=given.active_form,
                blocked_by=tuple(given.blocked_by),
                metadata=given.metadata or {},
            )
        )
        waits = f" It waits for {hashed(task.blocked_by)}." if task.blocked_by else ""
        return ToolOutput(text=f"Created task #{task.id}: {task.subject}.{waits}")
