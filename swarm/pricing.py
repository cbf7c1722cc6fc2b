"""The prices that come with the program: `prices.json`, with the date at which they were looked up."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache

from swarm.core.price import FREE, Price, find_price, parse_prices
from swarm.errors import ConfigError
from swarm.settings import SCRIPTED_MODEL

_TABLE = f"{os.path.dirname(__file__)}/prices.json"


@cache
def known_prices() -> Mapping[str, Price]:
    """Return the price of each model that has one here; the scripted model is free."""
    with open(_TABLE, encoding="utf-8") as file:
        return {SCRIPTED_MODEL: FREE, **parse_prices(json.load(file)["prices"])}


def price_of(model: str, further: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, first from these prices of the team; None when nobody knows it."""
    return find_price(further, model) or find_price(known_prices(), model)


def how_to_price(model: str) -> str:
    """Say what to do about a model without a price, where there is a budget."""
    return (
        f"no price of {model} is known, so a budget cannot be kept; give its price in the team file, as in "
        f"prices: {{{model}: {{input: 2, output: 10}}}}, in US dollars for a million tokens"
    )


def no_price(model: str) -> ConfigError:
    return ConfigError(how_to_price(model), code="no_price", details={"value": model})
