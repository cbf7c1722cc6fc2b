"""The JSON Schema of the team file, for editors that complete and check while one types."""

from __future__ import annotations

import json
from typing import Any

from swarm.teamfile.model import TeamFile

SCHEMA_FILE_NAME = "team.schema.json"


def team_file_schema() -> dict[str, Any]:
    """Schema of what a team file may hold; names and links between tasks only `swarm validate` can check."""
    schema = TeamFile.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Team file of swarm"}
    return head | {key: value for key, value in schema.items() if key != "title"}


def schema_text() -> str:
    """The schema as the text of a file."""
    return json.dumps(team_file_schema(), indent=2, ensure_ascii=False) + "\n"
