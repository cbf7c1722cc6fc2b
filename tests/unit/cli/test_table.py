"""The table of verbs holds what the command line promises, and points to functions that exist."""

import pytest

from swarm.cli.entry import load
from swarm.cli.grammar import Verb
from swarm.cli.table import GROUPS, NOT_BUILT, VERBS, find_verb

FAST = {
    "swarm task list",
    "swarm task show",
    "swarm task claim",
    "swarm task complete",
    "swarm status",
    "swarm mail",
    "swarm send",
}
PROMISED = {
    ("init",): "--description --teammates --model --verify --yes",
    ("validate",): "--json",
    ("plan",): "--format --json",
    ("run",): (
        "--name --backend --model --teammates --permission-mode --timeout --budget --headless --json "
        "--allow-dirty --resume --allow --deny --ask --trust-workspace"
    ),
    ("resume",): "--backend --timeout --budget --trust-workspace --headless --json --allow --deny --ask",
    ("demo",): "--backend --json",
    ("team", "create"): "--description --workspace --json",
    ("team", "list"): "--json",
    ("team", "show"): "--json",
    ("team", "archive"): "--force --json",
    ("team", "prune"): "--force --json",
    ("team", "delete"): "--force --json",
    ("task", "add"): "--description --blocked-by --owner --verify --json",
    ("task", "list"): "--ready --blocked --status --json",
    ("task", "show"): "--json",
    ("task", "graph"): "--format",
    ("task", "edit"): (
        "--subject --description --owner --verify --add-blocked-by --remove-blocked-by --json"
    ),
    ("task", "claim"): "--as --json",
    ("task", "complete"): "--as --token --result --unverified --json",
    ("task", "fail"): "--as --token --reason --json",
    ("task", "release"): "--as --token --reason --json",
    ("task", "cancel"): "--reason --json",
    ("task", "retry"): "--json",
    ("task", "delete"): "--json",
    ("task", "wait"): "--timeout --json",
    ("send",): "--as --summary --id --json",
    ("mail",): "--unread --all --follow --json",
    ("permissions",): "--all --follow --json",
    ("approve",): "--always --note --json",
    ("deny",): "--note --json",
    ("spawn",): (
        "--backend --agent-type --model --permission-mode --allow --deny --ask --trust-workspace --prompt "
        "--json"
    ),
    ("restart",): "--backend --model --permission-mode --trust-workspace --timeout --force --json",
    ("stop",): "--all --timeout --force --json",
    ("pause",): "--all --json",
    ("continue",): "--all --json",
    ("attach",): "",
    ("undo",): "--dry-run --force --json",
    ("status",): "--watch --json",
    ("logs",): "--follow",
    ("events",): "--follow --task --agent --json",
    ("cost",): "--json",
    ("doctor",): "--fix --json",
    ("completion",): "",
}


def test_every_promised_verb_has_its_options() -> None:
    """Scripts rely on these; one that is taken away breaks them."""
    table = {verb.path: {option.label for option in verb.options} for verb in VERBS}

    assert table == {path: set(options.split()) for path, options in PROMISED.items()}


def test_the_fast_verbs_are_those_that_agents_call_all_the_time() -> None:
    assert {verb.label for verb in VERBS if verb.fast} == FAST


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.label)
def test_every_handler_can_be_called(verb: Verb) -> None:
    """A handler is named by text, so nothing but this test would notice a typing error in it."""
    assert callable(load(verb.handler))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.label)
def test_no_flag_and_no_name_is_used_twice(verb: Verb) -> None:
    """Arguments are handed over by name: a second of the same name would hide the first."""
    flags = [flag for option in verb.all_options for flag in option.flags]
    names = [place.name for place in verb.positionals] + [option.name for option in verb.all_options]

    assert len(set(flags)) == len(flags)
    assert len(set(names)) == len(names)
    assert not set(verb.not_built) & set(flags)


def test_a_verb_is_built_or_refused_by_name_never_both() -> None:
    assert not {verb.path for verb in VERBS} & set(NOT_BUILT)
    assert not {(word,) for word in GROUPS} & {verb.path for verb in VERBS}


def test_an_unknown_path_finds_no_verb() -> None:
    assert find_verb(("task", "nosuch")) is None
