"""TaskList: all tasks, one line each."""

from __future__ import annotations

from swarm.settings import Settings
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.task_text import summary_line, task_table


class TaskListInput(ToolInput):
    """Nothing: the list is always whole."""


class TaskList(Tool[TaskListInput]):
    """Shows where the team stands."""

    name = "TaskList"
    Input = TaskListInput
    team_tool = True

    def describe(self, settings: Settings) -> str:
        return (
            "Lists all tasks of the team, one line each: `#2 [in_progress] Subject (owner) [blocked by #4]`. "
            "Only blockers that are not completed are named.\n"
            "- Use it before TaskCreate, and to see who works on what. For one task in full use TaskGet.\n"
            "- You need not look for your next task here: the runtime hands it to you."
        )

    def read_only(self, given: TaskListInput) -> bool:
        return True

    def concurrency_safe(self, given: TaskListInput) -> bool:
        return True

    async def run(self, given: TaskListInput, context: ToolContext) -> ToolOutput:
        table = task_table(context)
        lines = [summary_line(table, task) for task in table.tasks()]
        return ToolOutput(text="\n".join(lines) or "There are no tasks.", tagged=True)
