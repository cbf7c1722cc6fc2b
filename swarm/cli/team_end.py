"""`swarm team archive|prune|delete`: what becomes of a team that has done its work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from swarm.cli.dead_claims import end_commands_of_the_dead
from swarm.cli.render import count, printable
from swarm.cli.session import Io, only_for_people
from swarm.cli.team import listed, team_object
from swarm.storage.archive import archive_team
from swarm.storage.layout import Layout
from swarm.storage.listing import is_plain
from swarm.storage.pruning import Freed, prune_team
from swarm.storage.team import Team, delete_team, list_teams, open_team

_UNIT = 1024
_UNITS = ("bytes", "KiB", "MiB", "GiB")
_NOUNS = {
    "temporary_files": "temporary file",
    "spawn_files": "spawn file",
    "tool_results": "tool result",
    "read_mail": "read message",
    "lock_files": "lock file",
}


def delete(args: Mapping[str, Any], io: Io) -> int:
    """Delete one team; with `--json` its last state is printed."""
    only_for_people(io, "delete a team")
    name = args["name"]
    last = _last_state(name, io)
    _end_commands(name, io)
    with _panes_closed(name, io):
        delete_team(io.root, name, force=args["force"], settings=io.settings, clock=io.clock)
    if io.json:
        io.print_json(last)
    else:
        io.print(f"team {printable(name)} is deleted")
    return 0


def archive(args: Mapping[str, Any], io: Io) -> int:
    """Put one team away; with `--json` its last state is printed, and where it is now."""
    only_for_people(io, "put a team away")
    name = args["name"]
    last = _last_state(name, io)
    _end_commands(name, io)
    with _panes_closed(name, io):
        place = archive_team(
            Team(Layout(root=io.root).team(name), io.settings, io.clock), force=args["force"]
        )
    if io.json:
        io.print_json(last | {"archive": place})
    else:
        io.print(f"team {printable(name)} is archived in {printable(place)}")
    return 0


def prune(args: Mapping[str, Any], io: Io) -> int:
    """Remove what a resting team needs no more, and say how much that was."""
    only_for_people(io, "prune a team")
    team = open_team(io.root, args["name"], io.settings, io.clock)
    _end_commands(team.name, io)
    freed = prune_team(team, force=args["force"])
    if io.json:
        groups = [{"what": group.what, "items": group.items, "bytes": group.size} for group in freed]
        total = sum(group.size for group in freed)
        io.print_json(team_object(team, team.roster.load()) | {"freed": groups, "freed_bytes": total})
    else:
        _print_freed(team.name, freed, io)
    return 0


def _last_state(name: str, io: Io) -> dict[str, Any]:
    listing = next((found for found in list_teams(io.root) if found.name == name), None)
    return listed(listing, io) if listing else {"name": name, "native": False}


def _end_commands(name: str, io: Io) -> None:
    if is_plain(name):
        end_commands_of_the_dead(Team(Layout(root=io.root).team(name), io.settings, io.clock))


@contextmanager
def _panes_closed(name: str, io: Io) -> Iterator[None]:
    """Close what a team that goes has left on terminals; nothing if it has to stay."""
    if not is_plain(name):
        yield
        return
    from swarm.backends.leftovers import Leftovers

    left = Leftovers(Team(Layout(root=io.root).team(name), io.settings, io.clock), io.environ)
    yield
    left.close()


def _print_freed(name: str, freed: tuple[Freed, ...], io: Io) -> None:
    groups = [group for group in freed if group.items]
    if not groups:
        io.print(f"team {name} holds nothing that it does not need")
        return
    io.print(f"team {name} is pruned, {_size(sum(group.size for group in groups))} are free again:")
    for group in groups:
        io.print(f"  {count(group.items, _NOUNS[group.what])}, {_size(group.size)}")


def _size(number: int) -> str:
    """Return a size for people: `812 bytes`, `1.5 MiB`."""
    value, unit = float(number), 0
    while value >= _UNIT and unit < len(_UNITS) - 1:
        value, unit = value / _UNIT, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{number} {_UNITS[0]}"
