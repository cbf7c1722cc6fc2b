"""The team file that `swarm init` writes: small, explained, and it runs as it is."""

from __future__ import annotations

from swarm.teamfile.schema import SCHEMA_FILE_NAME
from swarm.teamfile.yaml_text import plain_value

STARTER_FILE_NAME = "team.yaml"

_TEXT = """\
# yaml-language-server: $schema={schema}
#
# A team: who works, on which tasks, in which order.
#
#   swarm validate team.yaml     is it right?
#   swarm plan team.yaml         what waits for what?
#   swarm run team.yaml          do it

name: {name}
description: Two teammates write a greeting and check it
workspace: .                    # the folder they work in, relative to this file
model: scripted                 # plays the scripts below: no API key, no cost

permissions:
  mode: acceptEdits             # edits inside the workspace run; commands only by rule
  allow: ["Bash(cat:*)"]
  deny: ["Bash(git push:*)"]

teammates:
  - name: writer
  - name: reader

tasks:
  - key: write                  # keys are for this file; ids are given when the team is created
    subject: Write a greeting
    description: Put one line of greeting into hello-from-swarm.txt.
    owner: writer
    files: ["hello-from-swarm.txt"]                 # what the task may write
    verify: ["grep -q swarm hello-from-swarm.txt"]  # must succeed before the task counts as done
    script:                                         # one item is one turn; one without calls ends the work
      - say: I write the greeting.
        calls:
          - Write: {{file_path: hello-from-swarm.txt, content: "Hello from swarm!\\n"}}
      - say: The greeting is in hello-from-swarm.txt.

  - key: read
    subject: Read the greeting aloud
    owner: reader
    blocked_by: [write]                             # starts when these are completed
    verify: ["test -s hello-from-swarm.txt"]
    script:
      - calls:
          - Bash: {{command: cat hello-from-swarm.txt}}
      - say: It says hello, as it should.
"""


def starter_text(name: str = "my-team", *, schema: str = f"./{SCHEMA_FILE_NAME}") -> str:
    """Text of a new team file; `name` must be a valid team name, editors find the schema at `schema`."""
    return _TEXT.format(name=name if plain_value(name) == name else f'"{name}"', schema=schema)
