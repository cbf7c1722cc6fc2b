"""`swarm logs NAME`: what a teammate said and did, for people; made from its transcript."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from swarm.cli.session import Io, the_team
from swarm.core.page import TranscriptPage
from swarm.core.shown import printable
from swarm.storage.files import read_lines
from swarm.storage.team import Team


def logs(args: Mapping[str, Any], io: Io) -> int:
    """Print the transcript, or the output of a teammate that has none; with `--follow` go on."""
    team = the_team(args, io)
    name = team.roster.load().member(args["name"]).name
    print_new = _printer(team, name, io)
    if args["follow"]:
        from swarm.cli.follow import follow

        return follow(team, io, [team.layout.transcript(name), team.layout.log(name)], print_new)
    if not print_new():
        io.note(f"{name} has said nothing yet")
    return 0


def _printer(team: Team, name: str, io: Io) -> Callable[[], bool]:
    """Return a function that prints what came since its last call and tells whether there was anything."""
    positions: dict[str, int] = {}
    page = TranscriptPage(color=io.color, columns=lambda: io.columns)

    def print_new() -> bool:
        transcript = team.layout.transcript(name)
        path = transcript if os.path.exists(transcript) else team.layout.log(name)
        start = positions.get(path, 0)
        for offset, raw in read_lines(path, start):
            positions[path] = offset + len(raw) + 1
            if path == transcript:
                for line in page.shown(raw):
                    io.print(line)
            else:
                io.print_line(printable(raw.decode(errors="replace")))
        return positions.get(path, 0) > start

    return print_new
