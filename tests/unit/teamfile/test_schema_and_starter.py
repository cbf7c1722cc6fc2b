"""What `swarm init` writes: a schema for editors and a file that runs as it is."""

from __future__ import annotations

import json
import re

import pytest

from swarm.teamfile.model import KNOWN_TOOLS, TaskSpec, TeamFile, TeammateSpec
from swarm.teamfile.schema import schema_text, team_file_schema
from swarm.teamfile.starter import starter_text


def test_schema_refuses_unknown_keys_everywhere() -> None:
    """That is what makes an editor underline a slip."""
    schema = team_file_schema()

    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())


def test_schema_has_a_text_for_every_key() -> None:
    """Editors show it while one types."""
    schema = team_file_schema()
    for model in (TeamFile, TaskSpec, TeammateSpec):
        part = schema if model is TeamFile else schema["$defs"][model.__name__]
        untold = [key for key, told in part["properties"].items() if not told.get("description")]
        assert untold == []


def test_schema_knows_the_tools() -> None:
    """A call is completed by name."""
    call = team_file_schema()["$defs"]["ScriptTurn"]["properties"]["calls"]["items"]

    assert set(call["properties"]) == KNOWN_TOOLS
    assert (call["minProperties"], call["maxProperties"]) == (1, 1)


def test_schema_text_is_json() -> None:
    """It is written to a file as it is."""
    assert json.loads(schema_text()) == team_file_schema()


@pytest.mark.parametrize("name", ["my-team", "007", "true", "null", "a_b"])
def test_starter_is_a_valid_team_file_under_any_name(load, name) -> None:
    """Folders are called all sorts of things."""
    assert load(starter_text(name)).team.name == name


def test_starter_names_its_schema_on_the_first_line() -> None:
    """Where language servers look for it."""
    first = starter_text(schema="../x.json").splitlines()[0]

    assert first == "# yaml-language-server: $schema=../x.json"


def test_starter_explains_itself() -> None:
    """It is the first thing that a new user reads."""
    text = starter_text()

    assert "swarm run team.yaml" in text
    assert len(re.findall(r"#", text)) > 10
    assert all(len(line) <= 110 for line in text.splitlines())
