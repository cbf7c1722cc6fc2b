"""The budget of a run: given, kept with the team, and changed when the run is taken up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.steps import a_task, write_team
from tests.support.command import Shell

BUDGET: dict[str, Any] = {"budget": {"usd": 5}, "prices": {"own": {"input": 1, "output": 2}}}


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def terms(shell: Shell) -> list[dict[str, Any]]:
    path = shell.root / "teams/t1/costs.jsonl"
    return [json.loads(line)["terms"] for line in path.read_text().splitlines()] if path.exists() else []


def test_a_budget_is_kept_by_resume_and_changed_by_its_option(shell: Shell) -> None:
    file = write_team(shell, [a_task("a")], **BUDGET)
    ended = shell.swarm("run", file, "--budget", "2.50", "--json")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert (result["usd"], result["tasks"][0]["usd"]) == (0.0, 0.0)
    assert terms(shell) == [{"budget_usd": 2.5, "prices": {"own": {"input": 1.0, "output": 2.0}}}]

    assert shell.swarm("resume", "t1").code == 0
    assert len(terms(shell)) == 1

    assert shell.swarm("resume", "t1", "--budget", "7").code == 0
    assert [one["budget_usd"] for one in terms(shell)] == [2.5, 7.0]
    assert shell.swarm("resume", "t1").code == 0
    assert shell.swarm("run", file, "--resume").code == 0
    assert [one["budget_usd"] for one in terms(shell)] == [2.5, 7.0]

    cost = json.loads(shell.swarm("cost", "--json").out)
    assert (cost["budget_usd"], cost["usd"], cost["calls"]) == (7.0, 0.0, 0)


def test_a_budget_is_refused_where_a_teammate_has_a_model_without_a_price(shell: Shell) -> None:
    """It was started beside the file, when there was no budget yet."""
    assert shell.swarm("run", write_team(shell, [a_task("a")])).code == 0
    roster = shell.root / "teams/t1/config.json"
    roster.write_text(roster.read_text().replace('"model": "scripted"', '"model": "own"'))

    refused = shell.swarm("resume", "t1", "--budget", "5", "--json")

    assert refused.code == 2
    error = json.loads(refused.err)["error"]
    assert (error["code"], error["details"]["value"]) == ("no_price", "own")
    assert "prices: {own: {input: 2, output: 10}}" in error["message"]
    assert terms(shell) == []


def test_without_a_budget_nothing_is_said_of_money(shell: Shell) -> None:
    ended = shell.swarm("run", write_team(shell, [a_task("a")]))

    assert ended.code == 0, ended.err
    assert terms(shell) == []
    assert "$" not in ended.out
