"""What a model is told of the tools: the same in every process, short, and true."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from swarm.settings import Settings
from tests.support.tools import SETTINGS, ToolBench
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.registry import built_in_tools, schemas

TOOLS = {tool.name: tool for tool in built_in_tools(SETTINGS)}


def test_names_in_code_point_order() -> None:
    assert list(TOOLS) == [
        "Bash", "Edit", "Glob", "Grep", "Read", "SendMessage",
        "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "Write",
    ]  # fmt: skip


def test_definitions_are_the_same_in_every_process() -> None:
    """A hash seed or a locale that leaked in would cost every teammate its prompt cache."""
    program = (
        "import json; from swarm.settings import Settings; from worker.tools.registry import *;"
        "print(json.dumps(schemas(built_in_tools(Settings()))))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert shown == {json.dumps(schemas(built_in_tools(Settings())))}


@pytest.mark.parametrize("name", TOOLS)
def test_schema_is_strict_and_plain(name: str) -> None:
    (definition,) = schemas([TOOLS[name]])
    schema = definition["input_schema"]

    assert set(definition) == {"name", "description", "input_schema"}
    assert schema["additionalProperties"] is False
    assert "$defs" not in json.dumps(schema)
    for parameter in schema["properties"].values():
        assert parameter["description"].endswith(".")
        assert "type" in parameter or "enum" in parameter
        assert not {"title", "anyOf"} & set(parameter)
        assert parameter.get("default", 0) is not None


@pytest.mark.parametrize(
    ("name", "required", "parameters"),
    [
        ("Bash", ["command"], {"command", "timeout", "description"}),
        ("Read", ["file_path"], {"file_path", "offset", "limit"}),
        ("Write", ["file_path", "content"], {"file_path", "content"}),
        ("Edit", ["file_path", "old_string", "new_string"],
         {"file_path", "old_string", "new_string", "replace_all"}),
        ("Glob", ["pattern"], {"pattern", "path"}),
        ("Grep", ["pattern"], {"pattern", "path", "glob", "type", "output_mode", "-A", "-B", "-C", "-n", "-i",
                               "multiline", "head_limit", "offset"}),
        ("TaskCreate", ["subject"], {"subject", "description", "activeForm", "blockedBy", "metadata"}),
        ("TaskGet", ["taskId"], {"taskId"}),
        ("TaskList", [], set()),
        ("TaskUpdate", ["taskId"], {"taskId", "status", "reason", "subject", "description", "activeForm",
                                    "owner", "addBlocks", "addBlockedBy", "metadata"}),
        ("SendMessage", ["to", "message"], {"to", "message", "summary"}),
    ],
)  # fmt: skip
def test_parameters(name: str, required: list[str], parameters: set[str]) -> None:
    schema = schemas([TOOLS[name]])[0]["input_schema"]

    assert schema.get("required", []) == required
    assert set(schema["properties"]) == parameters


def test_ranges_and_choices_are_in_the_schema() -> None:
    grep = schemas([TOOLS["Grep"]])[0]["input_schema"]["properties"]

    assert grep["output_mode"]["enum"] == ["content", "files_with_matches", "count"]
    assert grep["-A"] == {"type": "integer", "minimum": 0, "description": grep["-A"]["description"]}
    assert (grep["-n"]["default"], grep["-i"]["default"]) == (True, False)
    assert schemas([TOOLS["Read"]])[0]["input_schema"]["properties"]["offset"]["minimum"] == 1


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Bash", "Glob Grep Read Edit Write"),
        ("Read", "Bash Glob Grep Edit Write"),
        ("Write", "Read Edit Bash"),
        ("Edit", "Read Write Bash"),
        ("Glob", "Grep Bash"),
        ("Grep", "Glob Bash"),
        ("TaskCreate", "TaskList SendMessage"),
        ("TaskGet", "TaskList"),
        ("TaskList", "TaskCreate TaskGet"),
        ("TaskUpdate", "TaskCreate SendMessage TaskGet"),
        ("SendMessage", "TaskUpdate TaskCreate"),
    ],
)
def test_descriptions_name_the_better_tool(name: str, others: str) -> None:
    """Where a tool is the wrong one, its text says which is right, and that one says so too."""
    assert [other for other in others.split() if other not in TOOLS[name].description] == []


@pytest.mark.parametrize("absent", ["run_in_background", "PDF", "image", "sandbox", "notebook", "sub-agent"])
def test_descriptions_promise_nothing_that_is_not_there(absent: str) -> None:
    assert absent.lower() not in json.dumps(schemas(list(TOOLS.values()))).lower()


def test_descriptions_are_short() -> None:
    """All definitions together cost about 4,000 tokens in each request of each teammate."""
    sizes = {name: len(tool.description) for name, tool in TOOLS.items()}

    assert max(size for name, size in sizes.items() if name != "Bash") < 1_300
    assert len(json.dumps(schemas(list(TOOLS.values())))) < 18_000


def test_descriptions_tell_the_real_limits() -> None:
    changed = {tool.name: tool for tool in built_in_tools(SETTINGS.replace(read_lines_default=77))}

    assert "first 77 lines" in changed["Read"].description


class Bare(Tool[ToolInput]):
    name = "Bare"
    Input = ToolInput

    def describe(self, settings: Settings) -> str:
        return "Nothing more is said."

    async def run(self, given: ToolInput, context: ToolContext) -> ToolOutput:
        return ToolOutput(text="ran")


def test_a_tool_that_says_nothing_is_taken_for_the_worst() -> None:
    """It writes, and it runs alone."""
    bare = Bare(SETTINGS)

    assert not bare.read_only(ToolInput())
    assert not bare.concurrency_safe(ToolInput())
    assert not bare.edits
    assert not bare.team_tool
    assert bare.max_result_chars == SETTINGS.result_max_chars


@pytest.mark.parametrize("name", TOOLS)
def test_what_changes_things_is_marked(name: str) -> None:
    looks = {"Read", "Glob", "Grep", "TaskGet", "TaskList"}
    tool = TOOLS[name]
    given = tool.Input.model_construct()

    assert tool.read_only(given) == tool.concurrency_safe(given) == (name in looks)
    assert tool.edits == (name in {"Edit", "Write"})
    assert tool.team_tool == name.startswith(("Task", "Send"))


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("Read", {}, "the required parameter `file_path` is missing"),
        ("Read", {"file_path": 7}, "`file_path` should be a text; received the number 7"),
        ("Read", {"file_path": "a", "offset": 0},
         "`offset` should be a number of at least 1; received the number 0"),
        ("Read", {"file_path": "a", "offset": "x"},
         '`offset` should be a whole number; received the text "x"'),
        ("Read", {"file_path": "a", "offset": 1.5}, "`offset` should be a whole number"),
        ("Read", {"file_path": "a", "line": 3},
         "`line` is no parameter of it; its parameters are file_path, offset"),
        ("Read", {"file_path": "\ud800"}, "`file_path` should be a text of valid characters"),
        ("Edit", {"file_path": "a", "old_string": "a", "new_string": "b", "replace_all": "maybe"},
         "`replace_all` should be true or false"),
        ("Grep", {"pattern": "x", "output_mode": "lines"},
         "`output_mode` should be one of 'content', 'files_with_matches' or 'count'"),
        ("Grep", {"pattern": "x", "after": 3}, "`after` is no parameter of it"),
        ("Grep", {"pattern": ""}, "`pattern` should be a text of at least 1 characters"),
        ("Bash", {"command": "x", "timeout": 0}, "`timeout` should be a number above 0"),
        ("Bash", {"command": ["ls"]}, '`command` should be a text; received the array ["ls"]'),
        ("TaskCreate", {"subject": "x", "blockedBy": "3"},
         '`blockedBy` should be an array; received the text "3"'),
        ("TaskCreate", {"subject": "x", "blockedBy": [[]]},
         "`blockedBy.0` should be a text; received the array []"),
        ("TaskCreate", {"subject": "x", "metadata": "y"}, "`metadata` should be an object"),
        ("TaskCreate", {"subject": None}, "`subject` should be a text; received null"),
        ("TaskCreate", {"subject": "x" * 501}, 'at most 500 characters; received the text "xxx'),
        ("SendMessage", {"to": "a", "message": {"type": "shutdown_request"}},
         "`message` should be a text; received the object"),
    ],
)  # fmt: skip
async def test_wrong_input_is_explained(
    bench: ToolBench, tool: str, given: dict[str, object], told: str
) -> None:
    """Which parameter, what was expected, what came: enough to call again rightly."""
    text = await bench.error(tool, **given)

    assert text.startswith(f"{tool} was called wrongly: ")
    assert told in text
