"""`costs.jsonl` on disk: every change under `.locks/costs`, after a look at what others have added."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from swarm.core.costs import (
    Cost,
    CostTable,
    Entry,
    Refusal,
    Reserve,
    Terms,
    parse_entry_line,
    render_entry_line,
)
from swarm.core.money import shown_usd, usd_of
from swarm.core.ports import Clock
from swarm.core.price import Price, cost_of, usage_of, worst_case
from swarm.core.times import format_time
from swarm.errors import StateError
from swarm.pricing import no_price, price_of
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock


class Costs:
    """The costs of one team, and the budget that they stay within. Not shared between threads.

    A look reads what was added since the last one. Lines that do not parse are passed over.
    """

    def __init__(self, layout: TeamLayout, settings: Settings, clock: Clock) -> None:
        self._layout = layout
        self._path = layout.costs
        self._settings = settings
        self._clock = clock
        self._lock = FileLock(layout.lock("costs"), settings, clock, f"costs@{layout.team}")
        self._table = CostTable()
        self._offset = 0
        self._file: tuple[int, int] | None = None

    def set_terms(self, terms: Mapping[str, Any]) -> None:
        """Let these terms hold from now on: see `Terms`. Nothing is written where they hold already."""
        entry = Terms(time=self._now(), terms=dict(terms))
        with self._locked() as table:
            if (table.limit, table.prices) != (entry.budget, entry.prices):
                self._append(entry)

    def price_of(self, model: str) -> Price | None:
        """Return what a model costs in this team; None when nobody knows."""
        return price_of(model, self.table().prices)

    def check_price(self, model: str) -> None:
        """Refuse a model without a known price where there is a budget (no_price)."""
        if self.table().limit is not None and self.price_of(model) is None:
            raise no_price(model)

    def reserve(
        self,
        run_id: str,
        model: str,
        prompt_tokens: int,
        max_tokens: int,
        *,
        long_cache: bool = False,
        patient: bool = False,
    ) -> None:
        """Set aside what a call of this life may cost at most; to be called right before each request.

        `prompt_tokens` is no less than what will be counted. What was set aside for the agent's call before,
        and not settled by `record`, counts as spent from now on.

        Raises:
            StateError: The budget does not allow the call (budget_spent), which is written down. Who is
                `patient` hears `busy` instead as long as what others have set aside may leave enough.
            ConfigError: There is a budget, and no price of this model is known (no_price).

        """
        with self._locked() as table:
            price = price_of(model, table.prices)
            if price is None:
                if table.limit is not None:
                    raise no_price(model)
                return
            worst = worst_case(prompt_tokens, max_tokens, price, long_cache=long_cache)
            if not table.allows(worst):
                if patient and table.may_allow(worst):
                    raise self._others(table, worst)
                self._append(Refusal(time=self._now(), run_id=run_id, micros=worst))
                raise self._spent(table, worst)
            self._append(Reserve(time=self._now(), run_id=run_id, micros=worst))
        if self._settings.durability != "none" and table.limit is not None:
            files.sync_file(self._path)

    def record(
        self,
        *,
        agent: str,
        run_id: str,
        task: str | None,
        model: str,
        usage: Mapping[str, Any],
        unsaid_tokens: int = 0,
    ) -> int | None:
        """Write what a call cost, and settle what was reserved for it; return micro-dollars, if known.

        `usage` is what the service said, or empty for a call that it refused. An answer that broke off may
        have been `unsaid_tokens` longer than it said: they count as spent. A call of which nothing at all is
        known is not recorded, and stays reserved.
        """
        with self._locked() as table:
            counted = usage_of(usage)
            price = price_of(model, table.prices)
            micros = None if price is None else cost_of(counted, price)
            longer = counted.replace(output_tokens=counted.output_tokens + unsaid_tokens)
            most = 0 if price is None else cost_of(longer, price)
            entry = Cost(
                time=self._now(),
                agent=agent,
                run_id=run_id,
                task=task,
                model=model,
                usage=counted.replace(cache_creation_1h=0),
                micros=micros,
                more=most - (micros or 0),
            )
            self._append(entry)
        return micros

    def table(self) -> CostTable:
        """Return the sums as the file has them now; needs no lock, and where nothing is new one `stat`."""
        state = syscalls.find_stat(self._path)
        found = None if state is None else (state.st_ino, state.st_dev)
        if state is None or found != self._file or state.st_size < self._offset:
            self._table, self._offset, self._file = CostTable(), 0, found
        if state is not None and state.st_size > self._offset:
            for position, line in files.read_lines(self._path, self._offset):
                self._take(line)
                self._offset = position + len(line) + 1
        return self._table

    @contextmanager
    def _locked(self) -> Iterator[CostTable]:
        """Hold the lock, with the sums up to date; a network mount tells a file's size when it is opened."""
        with self._lock:
            fd = syscalls.find_file(self._path, os.O_RDONLY)
            if fd is not None:
                syscalls.close(fd)
            yield self.table()

    def _append(self, entry: Entry) -> None:
        """Write a line; only under the lock, after a look. The sums take it in at the next look."""
        files.append_line(self._path, render_entry_line(entry))

    def _take(self, line: bytes) -> None:
        try:
            self._table.apply(parse_entry_line(line))
        except (ValueError, RecursionError):
            return

    def _others(self, table: CostTable, worst: int) -> StateError:
        return StateError(
            f"{shown_usd(table.reserved)} of the budget of team {self._layout.team} are set aside for calls "
            f"under way, and the next one may cost {shown_usd(worst)}; try again",
            code="busy",
            details={"lock": self._path, "needed_usd": usd_of(worst)},
        )

    def _spent(self, table: CostTable, worst: int) -> StateError:
        limit = table.limit or 0
        details = {"budget_usd": limit, "spent_usd": table.spent, "needed_usd": worst}
        return StateError(
            f"the budget of team {self._layout.team} is spent: {shown_usd(table.spent)} of "
            f"{shown_usd(limit)} are used or set aside, and the next call may cost {shown_usd(worst)}; "
            f"swarm resume {self._layout.team} --budget USD goes on with more",
            code="budget_spent",
            details={key: usd_of(micros) for key, micros in details.items()},
        )

    def _now(self) -> str:
        return format_time(self._clock.now())
