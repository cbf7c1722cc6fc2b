"""Help pages are made from the table, so that they cannot leave anything out."""

import pytest

from swarm.cli.grammar import Verb
from swarm.cli.help import WIDTH, render_group, render_main, render_verb
from swarm.cli.table import GROUPS, VERBS


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.label)
def test_a_verbs_page_names_everything_it_takes(verb: Verb) -> None:
    page = render_verb(verb)

    assert page.startswith(f"Usage: {verb.label}")
    for option in verb.all_options:
        assert all(flag in page for flag in option.flags)
    for place in verb.positionals:
        assert f"  {place.metavar} " in page


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.label)
def test_no_line_is_wider_than_a_terminal_of_100_columns(verb: Verb) -> None:
    assert max(map(len, render_verb(verb).split("\n"))) <= WIDTH


def test_the_first_page_lists_every_verb() -> None:
    page = render_main()

    assert all(f"  {' '.join(verb.path)} " in page for verb in VERBS)
    assert max(map(len, page.split("\n"))) <= WIDTH


@pytest.mark.parametrize("group", GROUPS)
def test_a_groups_page_lists_its_verbs(group: str) -> None:
    page = render_group(group)

    assert all(f"  {verb.path[1]} " in page for verb in VERBS if verb.path[0] == group)


def test_choices_stand_in_the_page() -> None:
    """Nobody should have to guess what a choice may be."""
    page = render_verb(next(verb for verb in VERBS if verb.path == ("task", "list")))

    assert "--status pending|in_progress|completed|failed|cancelled" in page
