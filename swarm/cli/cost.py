"""`swarm cost`: what the calls of a team have cost, from `costs.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from swarm.cli.columns import table as columns
from swarm.cli.render import count, printable
from swarm.cli.session import Io, the_team
from swarm.core.costs import CostTable, Tally
from swarm.core.fields import present
from swarm.core.money import shown_usd, usd_of
from swarm.core.price import COUNTERS
from swarm.core.task import Task
from swarm.storage.team import Team

_HEAD = ("", "", "calls", "in", "cached", "out", "cost")


def cost(args: Mapping[str, Any], io: Io) -> int:
    """Print the sums of a team: of each teammate, of each task, of all."""
    team = the_team(args, io)
    table = team.costs.table()
    if io.json:
        io.print_json(_as_json(team, table))
        return 0
    for line in (*_summary(table), *_details(team, table, io)):
        io.print(line)
    return 0


def _summary(table: CostTable) -> Iterator[str]:
    spent, calls = shown_usd(table.total.micros), count(table.total.calls, "call")
    yield (
        f"{spent} for {calls}" if table.limit is None else f"{spent} of {shown_usd(table.limit)} for {calls}"
    )
    if table.reserved:
        yield f"{shown_usd(table.reserved)} set aside for calls under way, or whose end nobody saw"
    if table.limit is not None:
        yield f"{shown_usd(max(0, table.limit - table.spent))} left"
    if table.total.unpriced:
        yield f"{count(table.total.unpriced, 'call')} of models whose price is not known: not in these sums"


def _details(team: Team, table: CostTable, io: Io) -> Iterator[str]:
    subjects = {task.id: task.subject for task in _tasks(team)}
    rows: list[tuple[str, ...]] = [("teammate", *_HEAD[1:])]
    rows += [_row(agent, "", tally) for agent, tally in sorted(table.agents.items())]
    rows.append(("task", *[""] * (len(_HEAD) - 1)))
    rows += [_row(task or "none", subjects.get(task or "", ""), tally) for task, tally in _by_task(table)]
    if table.total.calls:
        yield ""
        yield from columns(rows, limit=io.columns, flexible=1)


def _row(name: str, subject: str, tally: Tally) -> tuple[str, ...]:
    usage, share = tally.usage, tally.cache_read_share
    cached = "" if share is None else f"{share:.0%}"
    counts = f"{usage.prompt_tokens:,}", cached, f"{usage.output_tokens:,}"
    return name, printable(subject), str(tally.calls), *counts, shown_usd(tally.micros)


def _by_task(table: CostTable) -> list[tuple[str | None, Tally]]:
    """Return the tasks by number, and last what was for none."""
    return sorted(table.tasks.items(), key=lambda one: (one[0] is None, len(one[0] or ""), one[0] or ""))


def _tasks(team: Team) -> tuple[Task, ...]:
    return team.tasks("user").table().tasks()


def _as_json(team: Team, table: CostTable) -> dict[str, Any]:
    reserved = table.reserved_by_agent()
    agents = {name: table.agents.get(name, Tally()) for name in sorted({*table.agents, *reserved})}
    return present(
        team=team.name,
        budget_usd=None if table.limit is None else usd_of(table.limit),
        **_sums(table.total),
        reserved_usd=usd_of(table.reserved),
        agents=[
            {"name": name, **_sums(tally), "reserved_usd": usd_of(reserved.get(name, 0))}
            for name, tally in agents.items()
        ],
        tasks=[present(id=task, **_sums(tally)) for task, tally in _by_task(table)],
    )


def _sums(tally: Tally) -> dict[str, Any]:
    share = tally.cache_read_share
    return present(
        calls=tally.calls,
        unpriced_calls=tally.unpriced,
        **{counter: getattr(tally.usage, counter) for counter in COUNTERS},
        cache_read_share=None if share is None else round(share, 4),
        usd=usd_of(tally.micros),
    )
