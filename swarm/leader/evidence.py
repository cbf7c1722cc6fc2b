"""What a run left in the team's files: denied calls, who ended early, and tokens used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from swarm.core.price import usage_of
from swarm.errors import CorruptStateError
from swarm.leader.denied import refused
from swarm.storage.questions import was_left_open
from swarm.storage.team import Team


def denied_requests(team: Team) -> tuple[Mapping[str, Any], ...]:
    """Return the requests that were denied, by task; a call asked for twice is listed once.

    One that nobody answered counts as denied. One that was allowed when it was asked for again does not, nor
    one that was left open because its agent was stopped.
    """
    answers = refused(team.permissions.list_resolved())
    return tuple(one.request for one in answers if one.request is not None and not was_left_open(one))


def why_gone(team: Team) -> dict[str, str]:
    """Return the teammates whose models could not be asked any more, each with why."""
    found: dict[str, str] = {}
    for name in team.agents.names():
        with suppress(CorruptStateError):
            record = team.agents.load(name)
            if record is not None and record.state == "stopped" and record.why is not None:
                found[name] = record.why
    return found


def used_tokens(team: Team, run: str) -> tuple[int, int]:
    """Return input and output tokens of all model calls of this run, from the transcripts.

    Input is all that the models have read, from their caches or not.
    """
    read = written = 0
    for line in _transcript_lines(team):
        if line.get("type") == "assistant" and str(line.get("run_id", "")).startswith(f"{run}."):
            usage = line.get("usage")
            counted = usage_of(usage if isinstance(usage, dict) else {})
            read += counted.prompt_tokens
            written += counted.output_tokens
    return read, written


def _transcript_lines(team: Team) -> Iterator[dict[str, Any]]:
    folder = team.layout.transcripts_dir
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                for text in file:
                    try:
                        yield json.loads(text)
                    except ValueError:  # the torn last line of a killed writer
                        continue
