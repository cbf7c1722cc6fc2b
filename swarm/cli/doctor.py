"""`swarm doctor`: is the installation sound, and what is on disk? With `--fix` it mends what it can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from swarm.cli.installation import Check, check_installation
from swarm.cli.left_panes import examine_panes
from swarm.cli.render import count, paint, printable
from swarm.cli.session import Io, the_team
from swarm.errors import EXIT_CODES, SwarmError
from swarm.storage.finding import Held
from swarm.storage.health import Outcome, examine_root, examine_team, mend, record_mending
from swarm.storage.listing import list_teams
from swarm.storage.team import Team, open_team
from swarm.values import Value
from swarm.workspace.leftovers import end_leftovers

if TYPE_CHECKING:
    from swarm.core.agent import AgentRecord
    from swarm.storage.finding import Finding


class Part(Value):
    """The outcomes of one examination; `team` is None for what belongs to no team."""

    team: str | None
    outcomes: tuple[Outcome, ...]


_FOUND_CELLS = 14


def doctor(args: Mapping[str, Any], io: Io) -> int:
    """Examine the installation and all teams of ours, or with `-t` only one; exit 4 if faults remain."""
    checks = check_installation(io.root)
    installed = tuple(Outcome(finding=check.finding) for check in checks if check.finding)
    parts = (Part(team=None, outcomes=installed), *_parts(args, io))
    outcomes = [outcome for part in parts for outcome in part.outcomes]
    left = [outcome for outcome in outcomes if not (outcome.fixed or outcome.finding.warning)]
    code = EXIT_CODES["corrupt_state"] if left else 0
    if io.json:
        state = "corrupt_state" if left else "mended" if any(o.fixed for o in outcomes) else "healthy"
        io.print_json({"outcome": state, "exit_code": code} | _object(checks, parts))
        return code
    for line in (*_check_lines(checks, io), *_part_lines(parts, io)):
        io.print(line)
    _say_the_end(left, io, fix=args["fix"])
    return code


def _parts(args: Mapping[str, Any], io: Io) -> Iterator[Part]:
    held: Held = {}  # for all looks: mending looks again and again
    if args["team"] is None:
        look = partial(examine_root, io.root, io.settings, io.clock, held)
        yield Part(team=None, outcomes=_outcomes(look, args))
    for team in _teams(args, io):
        outcomes = _outcomes(partial(_examine, team, io, held), args)
        if args["fix"]:
            record_mending(team, outcomes)
        yield Part(team=team.name, outcomes=outcomes)


def _examine(team: Team, io: Io, held: Held) -> tuple[Finding, ...]:
    found = examine_team(team, partial(_end_leftovers, team), held)
    with suppress(SwarmError):  # what cannot be read has been found already
        found = (*found, *examine_panes(team, io.environ))
    return found


def _outcomes(examine: partial[tuple[Finding, ...]], args: Mapping[str, Any]) -> tuple[Outcome, ...]:
    if args["fix"]:
        return mend(examine)
    return tuple(Outcome(finding=finding) for finding in examine())


def _teams(args: Mapping[str, Any], io: Io) -> Iterator[Team]:
    if args["team"] is not None:
        yield the_team(args, io)
        return
    for listing in list_teams(io.root):
        if listing.native:
            yield open_team(io.root, listing.name, io.settings, io.clock)


def _end_leftovers(team: Team, life: AgentRecord) -> None:
    end_leftovers(life, wait=team.settings.bash_kill_wait_seconds)


def _object(checks: Sequence[Check], parts: Sequence[Part]) -> dict[str, Any]:
    return {
        "installation": [{"check": c.name, "found": c.found, "ok": c.is_good} for c in checks],
        "teams": [part.team for part in parts if part.team],
        "findings": [_finding(part.team, outcome) for part in parts for outcome in part.outcomes],
    }


def _finding(team: str | None, outcome: Outcome) -> dict[str, Any]:
    found = outcome.finding
    known = {
        "kind": found.kind,
        "level": "warning" if found.warning else "fault",
        "team": team,
        "path": found.path,
        "what": found.what,
        "fix": found.remedy or None,
        "fixed": outcome.fixed,
        "error": outcome.error or None,
    }
    return {key: value for key, value in known.items() if value is not None}


def _check_lines(checks: Sequence[Check], io: Io) -> Iterator[str]:
    for check in checks:
        bad = check.finding is not None and not check.finding.warning
        sign, style = ("ok", "green") if check.is_good else ("bad", "red") if bad else ("note", "yellow")
        text = f"{sign:<5} {check.name:<7} {printable(check.found)}"
        yield from io.rows(text, style, label=sign, indent=_FOUND_CELLS)


def _part_lines(parts: Sequence[Part], io: Io) -> Iterator[str]:
    for part in parts:
        if part.team:
            yield ""
            yield f"{paint(f'team {part.team}', 'bold', enabled=io.color)}{'' if part.outcomes else ': well'}"
        for outcome in part.outcomes:
            yield from _outcome_lines(outcome, io)


def _outcome_lines(outcome: Outcome, io: Io) -> Iterator[str]:
    found = outcome.finding
    style = "green" if outcome.fixed else "yellow" if found.warning else "red"
    yield from io.rows(f"  {found.kind}  {printable(found.path)}", style, label=found.kind, indent=6)
    said = [printable(found.what)]
    if outcome.fixed:
        said.append(f"fixed: {found.remedy or 'as another fault was'}")
    elif outcome.error:
        said.append(f"not fixed: {printable(outcome.error)}")
    elif found.remedy:
        said.append(f"with --fix: {found.remedy}")
    for text in said:
        yield from io.rows(f"    {text}", indent=6)


def _say_the_end(left: Sequence[Outcome], io: Io, *, fix: bool) -> None:
    if not left:
        io.note("nothing is wrong")
        return
    can = sum(bool(outcome.finding.mend) for outcome in left)
    which = f"{can} of them" if can < len(left) else "it" if can == 1 else "them"
    hint = f"; swarm doctor --fix mends {which}" if can and not fix else ""
    io.note(f"{count(len(left), 'fault')} {'left' if fix else 'found'}{hint}")
