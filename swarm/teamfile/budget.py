"""What a team file says about money."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from swarm.core.price import parse_prices
from swarm.pricing import how_to_price, price_of
from swarm.teamfile.model import Budget, TeamFile
from swarm.teamfile.problems import Path, Problem


def with_budget(team: TeamFile, usd: float | None) -> TeamFile:
    """Return the team with this budget in place of the file's; None leaves it."""
    return team if usd is None else team.model_copy(update={"budget": Budget(usd=usd)})


def terms_of(team: TeamFile) -> dict[str, Any]:
    """Return what the costs of the team are to be judged by; see `swarm.core.costs.Terms`."""
    prices = {model: price.model_dump(exclude_none=True) for model, price in team.prices.items()}
    limit = {} if team.budget is None else {"budget_usd": team.budget.usd}
    return limit | ({"prices": prices} if prices else {})


def find_unpriced(team: TeamFile) -> Iterator[Problem]:
    """Models that some teammate has and nobody knows the price of: with them no budget can be kept."""
    if team.budget is None:
        return
    further = parse_prices(terms_of(team).get("prices", {}))
    given: list[tuple[Path, str]] = []
    if not team.teammates or any(mate.model is None for mate in team.teammates):
        given.append((("model",), team.model))
    given += [
        (("teammates", at, "model"), mate.model) for at, mate in enumerate(team.teammates) if mate.model
    ]
    if team.fallback_model is not None:
        given.append((("fallback_model",), team.fallback_model))
    for path, model in given:
        if price_of(model, further) is None:
            yield Problem(message=how_to_price(model), path=path, code="no_price", details={"value": model})
