"""Completions that had said success were gone after the team was deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.support.stores import make_team
from tests.support.verbs import error_of, verb

RESULTS = ["parser written", "tests written", "docs written"]


def finished(root: Path) -> None:
    make_team(root)
    for number, result in enumerate(RESULTS, start=1):
        for words in (
            ["task", "add", f"task {number}"],
            ["task", "claim", str(number), "--as", "w1"],
            ["task", "complete", str(number), "--as", "w1", "--result", result],
        ):
            assert verb(root, *words).code == 0
    (root / "teams/demo/report.md").write_text("# What came out\n")


def results_in(folder: Path) -> list[str]:
    files = sorted(folder.glob("[0-9]*.json"))
    return [json.loads(path.read_text())["metadata"]["swarm"]["result"]["summary"] for path in files]


def test_deleting_results_needs_force(tmp_path: Path) -> None:
    finished(tmp_path)

    error = error_of(verb(tmp_path, "team", "delete", "demo", "--json"))

    assert error["code"] == "finished"
    assert error["details"]["finished"] == ["1", "2", "3"]
    assert results_in(tmp_path / "tasks/demo") == RESULTS
    assert verb(tmp_path, "team", "delete", "demo", "--force").code == 0


def test_an_archive_keeps_results_and_report(tmp_path: Path) -> None:
    finished(tmp_path)

    place = Path(verb(tmp_path, "team", "archive", "demo", "--json").json()["archive"])

    assert results_in(place / "tasks") == RESULTS
    assert (place / "report.md").read_text() == "# What came out\n"
    assert "task_completed" in (place / "events.jsonl").read_text()


def test_pruning_keeps_results_and_report(tmp_path: Path) -> None:
    finished(tmp_path)

    assert verb(tmp_path, "team", "prune", "demo", "--force").code == 0

    assert results_in(tmp_path / "tasks/demo") == RESULTS
    assert os.path.exists(tmp_path / "teams/demo/report.md")
    assert verb(tmp_path, "task", "list", "--json").json()["tasks"][2]["status"] == "completed"
