"""TaskGet: one task in full."""

from __future__ import annotations

from pydantic import Field

from swarm.settings import Settings
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.task_text import TaskId, details, task_table


class TaskGetInput(ToolInput):
    """Which task."""

    task_id: TaskId = Field(alias="taskId", description="Id of the task.")


class TaskGet(Tool[TaskGetInput]):
    """Shows description, dependencies and result of a task."""

    name = "TaskGet"
    Input = TaskGetInput
    team_tool = True

    def describe(self, settings: Settings) -> str:
        return (
            "Shows one task in full: description, status, owner, what it waits for and what waits for it, "
            "and the result once it is completed.\n"
            "- To build on what another task found or changed, read its result here.\n"
            "- For an overview of all tasks use TaskList, which is shorter."
        )

    def read_only(self, given: TaskGetInput) -> bool:
        return True

    def concurrency_safe(self, given: TaskGetInput) -> bool:
        return True

    async def run(self, given: TaskGetInput, context: ToolContext) -> ToolOutput:
        table = task_table(context)
        return ToolOutput(text=details(table, table.get(given.task_id)), tagged=True)
