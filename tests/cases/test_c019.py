"""A turn that ended in an error left the pane idle, and was booked as a finished task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarm.core.message import parse_control
from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, Crew, crew, quick_task

pytestmark = pytest.mark.timeout(90)

TASKS: list[dict[str, Any]] = [
    quick_task("result", {"calls": [{"Bash": {"command": "echo no such host >&2; exit 3"}}]}),
    quick_task("early", {"say": "That is all."}, {"calls": [{"Bash": {"command": "true"}}]}),
    {"key": "cut", "subject": "Task cut", "script": [{"calls": [{"Bash": {"command": "true"}}]}]},
    quick_task("next", blocked_by=["result", "early", "cut"]),
]
REASONS = {
    "result": "step 1 (Bash) failed: no such host",
    "early": "the work ended, but 2 of the script's 3 steps were not played",
    "cut": "the work is not done, but the one step of its script has been played",
}
"""How the scripted model can end in an error; those of a real service are in `tests/integration/live`."""


def reports(team: Crew, key: str) -> list[dict[str, Any]]:
    told = [parse_control(mail.text) for mail in team.mail() if mail.sender == "w1"]
    found = [one for one in told if one is not None and one["type"] == "swarm.task_report"]
    return [one for one in found if one["taskId"] == team.ids[key]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_turn_that_ends_in_an_error_completes_nothing(isolated_home: Path, backend: str) -> None:
    """It is failed after its attempts, and the lead is told that once; what waits for it waits."""
    with crew(backend, isolated_home, "w1", tasks=TASKS) as team:
        team.bring_up()
        team.until_task(*REASONS)
        wait_until(
            lambda: all(len(reports(team, key)) == 3 for key in REASONS), timeout=15, what="the lead is told"
        )
        team.until_state("idle")

        for key, reason in REASONS.items():
            task = team.task(key)
            assert (task.status, task.result) == ("failed", None)
            assert reason in str(task.reason)
            told = reports(team, key)
            assert [report["status"] for report in told] == ["released", "released", "failed"]
            assert all(reason in report["reason"] for report in told)
        assert (team.task("next").status, team.task("next").claim) == ("pending", None)
        assert team.verb("task", "list", "--blocked", "--json").json()["tasks"][0]["id"] == team.ids["next"]
        assert team.events("task_completed") == []
