"""What a tool is, and what it is given to work with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from swarm.storage.team import Team
from swarm.values import Value
from worker.context.agent import AgentContext
from worker.tools.plan_mode import PlanMode
from worker.tools.read_state import ReadState
from worker.tools.tracking import ProcessTracker


class ToolInput(BaseModel):
    """Base of every tool's input. Unknown parameters are errors, so that a slip never passes unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_alias=True, validate_by_name=False)


InputT = TypeVar("InputT", bound=ToolInput)


class ToolOutput(Value):
    """What came of a call. `touched` are the real paths of files it wrote.

    The text is taken for foreign, and made inert before the model reads it. One that is `tagged` holds tags
    of ours around text that is inert already.
    """

    text: str
    tagged: bool = False
    is_error: bool = False
    touched: tuple[str, ...] = ()


class Ending(Value):
    """How the agent itself ended its task. `text` is its summary, or why the task failed."""

    status: Literal["completed", "failed"]
    text: str


MayRead = Callable[[str], bool]
"""Tells of an absolute path whether no rule denies reading it."""


class ToolContext:
    """What the calls of one session share. Mutable: calls note here what later calls must know."""

    def __init__(  # noqa: PLR0913 - one for each thing that calls share
        self,
        *,
        agent: AgentContext,
        cwd: str,
        workspace: str,
        team: Team,
        task_id: str | None,
        token: str | None,
        settings: Settings,
        environ: Mapping[str, str],
        results_dir: str,
        track: ProcessTracker,
        read_state: ReadState | None = None,
        denied_reads: Callable[[], MayRead | None] | None = None,
        plan: PlanMode | None = None,
    ) -> None:
        self.agent = agent
        self.cwd = cwd
        self.workspace = workspace
        self.team = team
        self.task_id = task_id
        self.token = token
        self.settings = settings
        self.environ = dict(environ)
        self.results_dir = results_dir
        self.track = track
        self.read_state = ReadState() if read_state is None else read_state
        self.plan = plan
        self._denied_reads = denied_reads
        self.touched: set[str] = set()
        self.refused: set[str] = set()
        """Ids of the calls that were not permitted, and would not be when they are made again."""
        self.ending: Ending | None = None

    def may_read(self) -> MayRead | None:
        """Return what tells which files a search may show, by the rules of this moment; None: all."""
        return None if self._denied_reads is None else self._denied_reads()


class Tool(ABC, Generic[InputT]):
    """One tool. What a subclass leaves out has the more careful answer: it writes, and it runs alone.

    `max_result_chars` None means that a result is never moved to a file: such a tool limits itself.
    `edits` marks the tools that change files in the workspace; `team_tool` those that only touch the team's.
    `asks_person` marks those that a person has to allow each time, whatever the mode.
    """

    name: ClassVar[str]
    description: str
    Input: type[InputT]
    max_result_chars: int | None
    edits: ClassVar[bool] = False
    team_tool: ClassVar[bool] = False
    asks_person: ClassVar[bool] = False

    def __init__(self, settings: Settings) -> None:
        self.max_result_chars = settings.result_max_chars
        self.description = self.describe(settings)

    @abstractmethod
    def describe(self, settings: Settings) -> str:
        """Return the text by which a model knows this tool; the same for a whole session."""

    def meant(self, given: Mapping[str, Any], context: ToolContext) -> Mapping[str, Any]:
        """Return the input as the model means it, before it is checked and anybody is asked about it.

        What a model copies from a file is that file's text as `swarm.core.tags.tool_text` shows it.
        """
        return given

    def read_only(self, given: InputT) -> bool:
        return False

    def concurrency_safe(self, given: InputT) -> bool:
        return False

    def path_uses(self, given: InputT, context: ToolContext) -> tuple[PathUse, ...]:
        """Return every path that the call will use, for the permission check to look at."""
        return ()

    async def check(self, given: InputT, context: ToolContext) -> str | None:
        """Return what is wrong with the call beyond its form, as a sentence for the model, or None.

        Runs before anybody is asked for permission; changes nothing.
        """
        return None

    @abstractmethod
    async def run(self, given: InputT, context: ToolContext) -> ToolOutput:
        """Do it. A failure that the model can act on is an output with `is_error`; any other may raise."""
