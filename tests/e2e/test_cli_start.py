"""A verb that agents call all the time must not pay for what it does not use."""

import subprocess
import sys

import pytest

from swarm.cli.table import VERBS
from tests.support.command import Shell

HEAVY = frozenset(
    "asyncio click dataclasses difflib inspect logging networkx psutil pydantic rich tempfile yaml".split()
)
WORDS = {
    "swarm task list": ["task", "list"],
    "swarm task show": ["task", "show", "1"],
    "swarm task claim": ["task", "claim", "1", "--as", "w1"],
    "swarm task complete": ["task", "complete", "2", "--as", "w2", "--result", "done"],
    "swarm status": ["status"],
    "swarm mail": ["mail", "team-lead"],
    "swarm send": ["send", "team-lead", "hi"],
}


@pytest.fixture
def team(shell: Shell) -> Shell:
    """A team in which every fast verb has something to do."""
    for words in (
        ["team", "create", "demo"],
        ["task", "add", "first"],
        ["task", "add", "日本"],
        ["task", "claim", "2", "--as", "w2"],
        ["send", "team-lead", "hello"],
    ):
        assert shell.swarm(*words).code == 0
    return shell


def imported(shell: Shell, *words: str) -> tuple[int, set[str]]:
    """Return the exit code of a command and the top-level modules that it imported."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "swarm", *words],
        cwd=shell.cwd,
        env={name: value for name, value in shell.environ().items() if not name.startswith("COVERAGE_")},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [
        line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")
    ]
    assert "swarm.cli.entry" in lines
    return ran.returncode, {line.partition(".")[0] for line in lines}


def test_every_fast_verb_is_looked_at() -> None:
    assert set(WORDS) == {verb.label for verb in VERBS if verb.fast}


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_fast_verb_imports_nothing_heavy(team: Shell, form: list[str]) -> None:
    for words in WORDS.values():
        code, modules = imported(team, *words, *form)
        assert (words, code, modules & HEAVY) == (words, 0, set())


def test_a_refusal_and_a_help_page_are_fast_too(team: Shell) -> None:
    """An agent that polls for work is refused most of the time."""
    for code, *words in (
        (4, "-t", "demo", "task", "claim", "2", "--as", "w1"),
        (3, "task", "show", "9", "--json"),
        (2, "task", "list", "--status", "bad"),
        (0, "task", "claim", "-h"),
    ):
        ended, modules = imported(team, *words)
        assert (words, ended, modules & HEAVY) == (words, code, set())


def test_the_measure_sees_what_it_should(team: Shell) -> None:
    """A verb that is not fast does import click."""
    assert "click" in imported(team, "team", "list")[1]
