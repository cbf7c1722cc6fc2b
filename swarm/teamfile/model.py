"""What a team file may hold, as strict pydantic models; unknown keys and wrong types are refused.

What one value alone cannot tell (names that must exist, cycles, what is built) is in `checks` and `built`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from swarm.core.money import USD_MAX
from swarm.settings import DEFAULT_MODEL
from swarm.values import Value

COUNT_MAX = 64
"""Most members that one `count` may ask for."""

KNOWN_TOOLS = frozenset(
    (
        "Bash",
        "Edit",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "Read",
        "SendMessage",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskUpdate",
        "Write",
    )
)
"""Tools that a script may call, unless the caller knows of others."""

T = TypeVar("T")


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Items = Annotated[tuple[T, ...], BeforeValidator(_as_tuple)]
"""A list in the file, a tuple here: a loaded team file does not change."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ScriptCall(Value):
    """One tool call of a script; in the file `{Read: {file_path: api/users.py}}`."""

    tool: str
    input: Mapping[str, Any] = {}

    @classmethod
    def parse(cls, value: object) -> ScriptCall:
        """Take a mapping of one tool name to its input."""
        if isinstance(value, ScriptCall):
            return value
        if not isinstance(value, dict) or len(value) != 1:
            raise PydanticCustomError("call_shape", "expected one tool and its input")
        ((tool, given),) = value.items()
        if not isinstance(given, dict):
            raise PydanticCustomError("call_input", "expected the input of a tool")
        return cls(tool=tool, input=given)

    def render(self) -> dict[str, Any]:
        return {self.tool: dict(self.input)}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(cls.render)
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=serialization)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "title": "ScriptCall",
            "description": "One tool call: the tool's name, then its input.",
            "type": "object",
            "properties": {tool: {"type": "object"} for tool in sorted(KNOWN_TOOLS)},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }


class ScriptTurn(_Part):
    """One turn of the scripted model: text, calls or both. A turn without calls ends the work."""

    say: str | None = Field(None, description="What the teammate says in this turn.")
    calls: Items[ScriptCall] = Field((), description="Tool calls of this turn, run in this order.")
    expect: Literal["error"] | None = Field(None, description="This turn's calls must end in errors.")


class TaskSpec(_Part):
    """One task; `blocked_by` holds keys of this file."""

    key: str = Field(description="Name of the task in this file; ids are given when the team is created.")
    subject: str = Field(description="What is to be done, in one line.")
    description: str = Field("", description="All that whoever does it must know.")
    owner: str | None = Field(None, description="Teammate or role that does it; anyone when left out.")
    blocked_by: Items[str] = Field((), description="Keys of tasks that must be completed first.")
    files: Items[str] = Field((), description="Globs, relative to the workspace, of what it may write.")
    verify: Items[str] = Field((), description="Shell lines that must succeed before it counts as done.")
    script: Items[ScriptTurn] = Field((), description="Turns that the scripted model plays for this task.")


class TeammateSpec(_Part):
    """One teammate, or with `count` the teammates `name-1` … `name-count`, whose role is `name`."""

    name: str = Field(description="Name of the teammate; with `count`, name of the role.")
    count: int | None = Field(None, ge=1, le=COUNT_MAX, description="How many of them.")
    model: str | None = Field(None, description="Model of this teammate; the team's when left out.")
    permission_mode: str | None = Field(None, description="Permission mode of this teammate.")
    agent: str | None = Field(None, description="Agent type (not built yet).")


class Answer(_Part):
    """An answer to questions that are foreseen; the first one whose rule matches is given."""

    match: str = Field(description='A rule such as "Bash(pip install:*)": the calls that it is about.')
    answer: Literal["allow", "deny"] = Field(description="allow or deny.")
    note: str | None = Field(None, description="What the teammate is told with it.")


class Permissions(_Part):
    """What the teammates may do without a question."""

    mode: str | None = Field(
        None, description="plan, dontAsk, default, acceptEdits or bypassPermissions; default when left out."
    )
    allow: Items[str] = Field((), description='Rules such as "Bash(pytest:*)".')
    deny: Items[str] = Field((), description="Rules that win over every other.")
    ask: Items[str] = Field((), description="Rules for what a person decides, whatever allows it.")
    answers: Items[Answer] = Field((), description="Answers that the run gives to questions by itself.")


class Budget(_Part):
    """What the run may cost."""

    usd: float = Field(gt=0, le=USD_MAX, description="US dollars.")


class ModelPrice(_Part):
    """What a model costs, in US dollars for a million tokens."""

    input: float = Field(ge=0, le=USD_MAX, description="A million tokens of prompt.")
    output: float = Field(ge=0, le=USD_MAX, description="A million tokens of answer.")
    cache_write_5m: float | None = Field(
        None, ge=0, le=USD_MAX, description="Writing to the cache for 5 minutes; 1.25 times the input."
    )
    cache_write_1h: float | None = Field(
        None, ge=0, le=USD_MAX, description="Writing to the cache for an hour; twice the input."
    )
    cache_read: float | None = Field(
        None, ge=0, le=USD_MAX, description="Reading from the cache; as much as the input."
    )


class TeamFile(_Part):
    """The whole file. `model` is the default of every teammate."""

    name: str = Field(description="Name of the team.")
    description: str = Field("", description="What the team is for.")
    workspace: str = Field(".", description="Folder that the team works in, relative to this file.")
    isolation: Literal["shared", "worktree"] = Field("shared", description="shared: all work in one folder.")
    model: str = Field(DEFAULT_MODEL, description="Default model; `scripted` plays the tasks' scripts.")
    fallback_model: str | None = Field(None, description="Model that is asked when another stays overloaded.")
    permissions: Permissions = Field(default_factory=Permissions, description="What needs no question.")
    budget: Budget | None = Field(None, description="Limit of what the run may cost.")
    prices: dict[str, ModelPrice] = Field({}, description="Prices of models that swarm does not know.")
    teammates: Items[TeammateSpec] = Field((), description="Who works.")
    tasks: Items[TaskSpec] = Field(description="The task graph; at least one task.")
