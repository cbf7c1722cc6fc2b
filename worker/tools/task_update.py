"""TaskUpdate: ending the own task; wording, owner and links of tasks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from swarm.core.identity import LEADER
from swarm.core.task import Task
from swarm.core.untrusted import plain_line
from swarm.errors import SwarmError
from swarm.settings import Settings
from swarm.storage.tasks import TaskStore
from worker.tools.contract import Ending, Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.task_text import TaskId, fault_of_metadata, task_table

_NOT_OFFERED = {
    "pending": (
        "a task is not handed back by its status: end yours with completed, or with failed and a reason, "
        "and the runtime decides who goes on"
    ),
    "deleted": "tasks are deleted by people only; end yours with failed and say why",
    "cancelled": "tasks are cancelled by people only; end yours with failed and say why",
}


class TaskUpdateInput(ToolInput):
    """A task and what is to change of it."""

    task_id: TaskId = Field(alias="taskId", description="Id of the task to change.")
    status: Literal["in_progress", "completed", "failed"] | None = Field(
        None, description="New status of your own task: completed or failed ends it."
    )
    reason: str | None = Field(
        None, max_length=2_000, description="One sentence: why the task failed. Required with failed."
    )
    subject: str | None = Field(None, min_length=1, max_length=500, description="New subject.")
    description: str | None = Field(None, max_length=50_000, description="New description.")
    active_form: str | None = Field(
        None, alias="activeForm", max_length=200, description="The subject while it is being done."
    )
    owner: str | None = Field(
        None, description="Teammate who is to do the task; only while nobody works on it."
    )
    add_blocks: list[TaskId] = Field(
        default_factory=list, alias="addBlocks", description="Ids of tasks that must wait for this one."
    )
    add_blocked_by: list[TaskId] = Field(
        default_factory=list, alias="addBlockedBy", description="Ids of tasks that this one must wait for."
    )
    metadata: dict[str, Any] | None = Field(
        None, description="Facts to set by key; null removes a key, other keys stay."
    )

    @field_validator("status", mode="before")
    @classmethod
    def _explain_what_is_not_offered(cls, value: object) -> object:
        if isinstance(value, str) and value in _NOT_OFFERED:
            raise ValueError(_NOT_OFFERED[value])
        return value

    def changes(self) -> dict[str, Any]:
        """Return the fields of the task's file that the call sets."""
        subject = None if self.subject is None else plain_line(self.subject)
        given: dict[str, Any] = {"subject": subject, "description": self.description}
        given |= {"activeForm": self.active_form, "owner": self.owner, "metadata": self.metadata}
        return {name: value for name, value in given.items() if value is not None}

    def is_empty(self) -> bool:
        return not (self.changes() or self.status or self.add_blocks or self.add_blocked_by)


class TaskUpdate(Tool[TaskUpdateInput]):
    """Notes how the agent ended its task; the runtime writes that. All else is written at once."""

    name = "TaskUpdate"
    Input = TaskUpdateInput
    team_tool = True

    def describe(self, settings: Settings) -> str:
        return (
            "Changes a task: ends your own, or corrects wording, owner and dependencies.\n"
            "- `status` completed ends your task and runs its checks; say it only when all of it is done "
            "and checked, because other tasks start from your word. If a test fails or a part is missing, "
            "keep working. A final message without tool calls does the same.\n"
            "- `status` failed with a `reason` ends it for good when it cannot be done: tasks that wait "
            "for it stay blocked. If something is in the way that somebody else can clear, use TaskCreate or "
            "SendMessage first.\n"
            "- Only your own task's status can be set, once: the runtime hands out tasks, so nobody "
            "claims or returns them here.\n"
            "- `owner` gives a task that nobody works on to a teammate by name.\n"
            "- `addBlocks` and `addBlockedBy` add dependencies; one that closes a cycle is refused.\n"
            "- To make a new task use TaskCreate, to look at one use TaskGet."
        )

    async def check(self, given: TaskUpdateInput, context: ToolContext) -> str | None:
        task = task_table(context).get(given.task_id)
        if given.is_empty():
            return "The call changes nothing; give a status, a field to change or a dependency to add."
        return (
            fault_of_metadata(given.metadata)
            or _fault_of_status(given, task, context)
            or _fault_of_owner(given, task, context)
            or _fault_of_wording(given, task, context)
        )

    async def run(self, given: TaskUpdateInput, context: ToolContext) -> ToolOutput:
        done: list[str] = []
        try:
            _write(given, context.team.tasks(context.agent.name), done)
        except SwarmError as error:
            so_far = f" Before that it changed: {', '.join(done)}." if done else " Nothing was changed."
            return ToolOutput(text=f"TaskUpdate failed: {error}.{so_far}", is_error=True)
        if given.status in ("completed", "failed"):
            context.ending = Ending(status=given.status, text=(given.reason or "").strip())
            return ToolOutput(text=_farewell(given))
        return ToolOutput(
            text=f"Updated task #{given.task_id}: {', '.join(done) or 'it is in progress as before'}."
        )


def _write(given: TaskUpdateInput, store: TaskStore, done: list[str]) -> None:
    """Write what the call changes at once, noting in `done` what was written."""
    changes = given.changes()
    if changes:
        store.edit(given.task_id, changes)
        done += changes
    for other in given.add_blocks:
        store.link(given.task_id, other)
        done.append(f"#{other} waits for it")
    for other in given.add_blocked_by:
        store.link(other, given.task_id)
        done.append(f"it waits for #{other}")


def _farewell(given: TaskUpdateInput) -> str:
    if given.status == "failed":
        return f"Task #{given.task_id} ends as failed."
    return f"Task #{given.task_id} is handed in as completed; its checks run now."


def _fault_of_status(given: TaskUpdateInput, task: Task, context: ToolContext) -> str | None:
    if given.status is None:
        return None
    if task.id != context.task_id:
        whose = f"{task.owner} works on it" if task.status == "in_progress" else f"it is {task.status}"
        own = f"yours is #{context.task_id}" if context.task_id else "you have none now"
        return (
            f"The status of task #{task.id} is not yours to set (not_owner): {whose}, and {own}. "
            "The runtime hands out tasks; tell its owner or the leader with SendMessage what you know."
        )
    if task.claim is None or task.claim.token != context.token:
        return f"Task #{task.id} is not yours any more (stale_token): it was taken back. End here without it."
    if context.ending is not None and given.status != "in_progress":
        return f"Task #{task.id} was ended as {context.ending.status} in this session; that stands."
    if given.status == "failed" and not (given.reason or "").strip():
        return "A failed task needs a reason: give in one sentence what is missing or why it cannot be done."
    return None


def _fault_of_owner(given: TaskUpdateInput, task: Task, context: ToolContext) -> str | None:
    if given.owner is None:
        return None
    if task.status != "pending":
        return (
            f"The owner of task #{task.id} cannot be changed: it is {task.status} ({task.owner or 'nobody'})."
        )
    names = [name for name in context.team.roster.load().names() if name != LEADER]
    if given.owner not in names:
        return f"{given.owner!r} is no teammate who takes tasks; these do: {', '.join(names)}."
    return None


def _fault_of_wording(given: TaskUpdateInput, task: Task, context: ToolContext) -> str | None:
    if not given.changes() or task.id == context.task_id:
        return None
    if task.finished:
        return f"Task #{task.id} is {task.status}; add a new one with TaskCreate instead of changing it."
    if task.status == "in_progress":
        return (
            f"{task.owner} works on task #{task.id} (not_owner), so its text stays; "
            "write what you know with SendMessage."
        )
    return None
