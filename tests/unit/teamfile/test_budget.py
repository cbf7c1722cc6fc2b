"""Budget and prices in a team file: what cannot be counted is refused before anything starts."""

from __future__ import annotations

import pytest

from swarm.core.costs import Terms
from swarm.teamfile.budget import find_unpriced, terms_of
from swarm.teamfile.reader import dump_for_team, parse_team_file

PRICED = "prices: {own: {input: 1, output: 2.5, cache_read: 0.1}}"


def with_lines(good, *lines):
    return "\n".join((good, *lines, ""))


def test_a_budget_and_prices_are_kept_with_the_team(load, good) -> None:
    loaded = load(with_lines(good, "budget: {usd: 0.5}", PRICED))

    assert terms_of(loaded.team) == {
        "budget_usd": 0.5,
        "prices": {"own": {"input": 1.0, "output": 2.5, "cache_read": 0.1}},
    }
    stored = parse_team_file(dump_for_team(loaded), loaded.path).team
    assert terms_of(stored) == terms_of(loaded.team)
    terms = Terms(time="", terms=terms_of(stored))
    assert terms.budget == 500_000
    assert terms.prices["own"].rates.cache_write_1h == 2_000_000


def test_without_them_there_are_no_terms(load, good) -> None:
    assert terms_of(load(good).team) == {}


def test_an_option_takes_the_place_of_the_budget_and_is_stored(load, good) -> None:
    loaded = load(with_lines(good, "budget: {usd: 5}"), budget=7.0)
    assert terms_of(loaded.team) == {"budget_usd": 7.0}
    assert "usd: 7.0" in dump_for_team(loaded)

    assert terms_of(load(good, budget=2.0).team) == {"budget_usd": 2.0}
    assert terms_of(load(with_lines(good, "budget: {usd: 5}"), budget=None).team) == {"budget_usd": 5.0}


@pytest.mark.parametrize(
    ("model", "lines", "unpriced"),
    [
        ("scripted", ["budget: {usd: 5}"], []),
        ("claude-sonnet-5-5", ["budget: {usd: 5}"], []),
        ("own", [], []),
        ("own", ["budget: {usd: 5}"], ["own"]),
        ("own", ["budget: {usd: 5}", PRICED], []),
        ("own-20261001", ["budget: {usd: 5}", PRICED], []),
    ],
)
def test_a_model_without_a_price_is_found_where_there_is_a_budget(load, good, model, lines, unpriced) -> None:
    team = load(with_lines(good, *lines)).team.model_copy(update={"model": model})

    found = list(find_unpriced(team))

    assert [problem.details["value"] for problem in found] == unpriced
    assert all((p.code, p.path) == ("no_price", ("model",)) for p in found)
    assert all("prices: {own: {input: 2, output: 10}}" in p.message for p in found)


def test_models_of_teammates_are_looked_at_and_unused_ones_are_not(load, good) -> None:
    team = load(with_lines(good, "budget: {usd: 5}")).team
    mates = tuple(mate.model_copy(update={"model": "scripted"}) for mate in team.teammates)
    unused = team.model_copy(update={"model": "own", "teammates": mates})
    assert not list(find_unpriced(unused))

    other = (mates[0], mates[1].model_copy(update={"model": "other"}))
    (found,) = find_unpriced(team.model_copy(update={"teammates": other}))
    assert found.path == ("teammates", 1, "model")
