"""`costs.jsonl`: what the calls of a team cost, what is set aside for those under way, and the budget.

An agent has one life, and a life one call at a time: a sum is reserved before it, and its cost is written
after it, which settles the reservation. One that is never settled, because its agent was killed, counts as
spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import EMPTY, an_object, integer, mapping, optional_text, present, rest, text
from swarm.core.identity import agent_of_run
from swarm.core.jsontext import json_line, parse_object
from swarm.core.money import amount, optional_amount, usd_of
from swarm.core.price import COUNTERS, Price, Usage, parse_prices
from swarm.values import Value

_COST_KEYS = frozenset({"time", "agent", "run_id", "task", "model", *COUNTERS, "usd", "more_usd"})


class Cost(Value):
    """One call that has ended; `micros` is None when its model has no known price.

    `more` is what one that broke off may have cost beyond that, unseen: it counts as spent, too.
    """

    time: str
    agent: str
    run_id: str
    model: str
    usage: Usage
    micros: int | None
    task: str | None = None
    more: int = 0
    extra: Mapping[str, Any] = EMPTY


class Reserve(Value):
    """What a call may cost that is about to begin."""

    time: str
    run_id: str
    micros: int
    extra: Mapping[str, Any] = EMPTY


class Refusal(Value):
    """A call that was not made, because it could have cost more than there was."""

    time: str
    run_id: str
    micros: int
    extra: Mapping[str, Any] = EMPTY


class Terms(Value):
    """What holds from here on, in place of all earlier terms; `terms` is kept as it was given.

    Without `budget_usd` in it there is no limit; `prices` are those of models that the program does not know,
    or has another price for.
    """

    time: str
    terms: Mapping[str, Any]
    extra: Mapping[str, Any] = EMPTY

    @property
    def budget(self) -> int | None:
        return optional_amount(self.terms, "budget_usd")

    @property
    def prices(self) -> dict[str, Price]:
        return parse_prices(mapping(self.terms, "prices"))


Entry = Cost | Reserve | Refusal | Terms


def parse_entry(obj: Mapping[str, Any]) -> Entry:
    if "terms" in obj:
        return _parse_terms(obj)
    for kind, key in _SUMS.items():
        if key in obj:
            run_id = text(obj, "run_id")
            agent_of_run(run_id)  # a ValueError where it is none
            extra = rest(obj, frozenset({"time", "run_id", key}))
            return kind(time=text(obj, "time"), run_id=run_id, micros=amount(obj, key), extra=extra)
    return Cost(
        time=text(obj, "time"),
        agent=text(obj, "agent"),
        run_id=text(obj, "run_id"),
        task=optional_text(obj, "task"),
        model=text(obj, "model"),
        usage=Usage(**{counter: _tokens(obj, counter) for counter in COUNTERS}),
        micros=optional_amount(obj, "usd"),
        more=optional_amount(obj, "more_usd") or 0,
        extra=rest(obj, _COST_KEYS),
    )


def _parse_terms(obj: Mapping[str, Any]) -> Terms:
    given, extra = an_object(obj["terms"], "terms"), rest(obj, frozenset({"time", "terms"}))
    terms = Terms(time=text(obj, "time"), terms=given, extra=extra)
    _ = terms.budget, terms.prices  # a ValueError where they make no sense
    return terms


def _tokens(obj: Mapping[str, Any], key: str) -> int:
    count = integer(obj, key, 0)
    if count < 0:
        raise ValueError(f"{key} should not be negative")
    return count


def render_entry(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Terms):
        return {"time": entry.time, "terms": dict(entry.terms), **entry.extra}
    if isinstance(entry, Reserve | Refusal):
        sums = {_SUMS[type(entry)]: usd_of(entry.micros)}
        return {"time": entry.time, "run_id": entry.run_id, **sums, **entry.extra}
    known = present(
        time=entry.time,
        agent=entry.agent,
        run_id=entry.run_id,
        task=entry.task,
        model=entry.model,
        **{counter: getattr(entry.usage, counter) for counter in COUNTERS},
        usd=None if entry.micros is None else usd_of(entry.micros),
        more_usd=usd_of(entry.more) if entry.more else None,
    )
    return {**known, **entry.extra}


def parse_entry_line(raw: bytes) -> Entry:
    return parse_entry(parse_object(raw))


def render_entry_line(entry: Entry) -> bytes:
    return json_line(render_entry(entry))


_SUMS: dict[type[Reserve | Refusal], str] = {Reserve: "reserve_usd", Refusal: "refused_usd"}


class Tally(Value):
    """Sums over calls. `unpriced` is how many of them are in no sum of money."""

    calls: int = 0
    unpriced: int = 0
    usage: Usage = Usage()
    micros: int = 0

    def plus(self, cost: Cost) -> Tally:
        summed = {c: getattr(self.usage, c) + getattr(cost.usage, c) for c in COUNTERS}
        return Tally(
            calls=self.calls + 1,
            unpriced=self.unpriced + (cost.micros is None),
            usage=Usage(**summed),
            micros=self.micros + (cost.micros or 0),
        )

    @property
    def cache_read_share(self) -> float | None:
        """How much of all prompts was read from the cache; None before the first."""
        prompt = self.usage.prompt_tokens
        return self.usage.cache_read_input_tokens / prompt if prompt else None


class CostTable:
    """The lines so far, added up. Its size depends on agents, tasks and lives, not on calls."""

    def __init__(self) -> None:
        self.total = Tally()
        self.agents: dict[str, Tally] = {}
        self.tasks: dict[str | None, Tally] = {}
        self.limit: int | None = None
        self.prices: Mapping[str, Price] = EMPTY
        self._open: dict[str, int] = {}
        self._lost: dict[str, int] = {}
        self._refused: dict[str, int] = {}

    def apply(self, entry: Entry) -> None:
        if isinstance(entry, Terms):
            self.limit, self.prices = entry.budget, entry.prices
        elif isinstance(entry, Refusal):
            self._refused[entry.run_id] = entry.micros
        elif isinstance(entry, Reserve):
            self._refused.pop(entry.run_id, None)
            self._lose_open(agent_of_run(entry.run_id))
            self._open[entry.run_id] = entry.micros
        else:
            self._open.pop(entry.run_id, None)
            self._lose(entry.run_id, entry.more)
            self.total = self.total.plus(entry)
            self.agents[entry.agent] = self.agents.get(entry.agent, Tally()).plus(entry)
            self.tasks[entry.task] = self.tasks.get(entry.task, Tally()).plus(entry)

    def _lose_open(self, agent: str) -> None:
        """Give up what is open of an agent that begins a call: how the one before ended nobody saw."""
        for run_id in [run_id for run_id in self._open if agent_of_run(run_id) == agent]:
            self._lose(run_id, self._open.pop(run_id))

    def _lose(self, run_id: str, micros: int) -> None:
        if micros:
            self._lost[run_id] = self._lost.get(run_id, 0) + micros

    @property
    def reserved(self) -> int:
        """What is set aside for calls under way, and for those whose end nobody saw."""
        return sum(self._open.values()) + sum(self._lost.values())

    def reserved_by_agent(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for run_id, micros in (*self._open.items(), *self._lost.items()):
            agent = agent_of_run(run_id)
            found[agent] = found.get(agent, 0) + micros
        return found

    @property
    def spent(self) -> int:
        """What may not be spent again: all costs, and all that is reserved."""
        return self.total.micros + self.reserved

    def allows(self, micros: int) -> bool:
        """Tell whether a call may begin that can cost this much."""
        return self.limit is None or self.spent + micros <= self.limit

    def may_allow(self, micros: int) -> bool:
        """Tell whether a call could begin that can cost this much, if those under way cost nothing."""
        under_way = sum(self._open.values())
        return self.limit is None or self.spent - under_way + micros <= self.limit

    def is_short(self, run_id: str) -> bool:
        """Tell whether this life was refused its last call, and would be so again."""
        return run_id in self._refused and not self.allows(self._refused[run_id])
