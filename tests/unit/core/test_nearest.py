"""Sentences that say what there is stay sentences, however much there is."""

from __future__ import annotations

from swarm.core.nearest import some_of

MANY = [f"team-{number}" for number in range(200)]


def test_a_few_are_all_said_in_their_order() -> None:
    assert some_of(["b", "a"], "a") == "b, a"
    assert some_of([]) == ""


def test_of_many_the_nearest_come_first_and_the_rest_is_counted() -> None:
    assert some_of([*MANY, "Checkout"], "chekcout").startswith("Checkout, ")
    assert some_of(MANY, "team-1777").startswith("team-177, ")
    assert some_of(MANY) == "team-0, team-1, team-2, team-3, team-4 and 195 more"
