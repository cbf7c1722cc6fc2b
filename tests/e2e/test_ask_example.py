"""The example that asks three questions, answered as a person answers them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY, Shell
from tests.support.live_team import git, make_repository

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def run(shell: Shell) -> Iterator[subprocess.Popen[str]]:
    shutil.copytree(REPOSITORY / "teams_examples" / "ask", shell.cwd / "ask")
    started = shell.start("run", "ask/team.yaml", "--json")
    yield started
    started.kill()
    started.communicate()


def ended(run: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = run.communicate(timeout=60)
    result: dict[str, Any] = json.loads(out)
    assert run.returncode == result["exit_code"], err
    return result


def questions(shell: Shell, *agents: str) -> dict[str, str]:
    """Return the numbers of the open questions by who asks, once all of these do."""

    def asked() -> dict[str, str]:
        shown = shell.swarm("permissions", "--json")
        pending = shown.json()["pending"] if shown.code == 0 else []
        found = {one["agent"]: str(one["number"]) for one in pending}
        return found if set(agents) <= set(found) else {}

    return wait_until(asked, timeout=60, what=f"{agents} ask")


def test_three_times_yes_gets_all_done(shell: Shell, run: subprocess.Popen[str]) -> None:
    shop = shell.cwd / "ask/shop"
    first = questions(shell, "fixer", "sweeper")
    assert "TAX_PERCENT = 16" in (shop / "shop/prices.py").read_text()
    assert (shop / "leftovers").exists()
    assert shell.swarm("approve", *first.values()).code == 0
    assert shell.swarm("approve", questions(shell, "planner")["planner"]).code == 0

    result = ended(run)

    assert result["outcome"] == "completed"
    assert "TAX_PERCENT = 19" in (shop / "shop/prices.py").read_text()
    assert not (shop / "leftovers").exists()
    assert "19 percent" in (shop / "CHANGELOG.md").read_text()


def test_all_that_it_does_is_committed_and_can_be_undone(shell: Shell) -> None:
    shop = shell.cwd / "ask/shop"
    shutil.copytree(REPOSITORY / "teams_examples" / "ask", shell.cwd / "ask")
    make_repository(shop, {})
    started = shell.start("run", "ask/team.yaml")
    shell.swarm("approve", *questions(shell, "fixer", "sweeper").values())
    shell.swarm("approve", questions(shell, "planner")["planner"])
    out, err = started.communicate(timeout=60)

    assert started.returncode == 0, err
    assert "not committed" not in out
    assert git(shop, "status", "--short") == ""
    assert len(git(shop, "log", "--format=%h", "refs/swarm/three-questions/start..HEAD").split()) == 3
    assert shell.swarm("undo").code == 0
    assert (shop / "leftovers").is_dir()
    assert git(shop, "status", "--short") == ""


def test_where_nobody_is_there_the_end_names_a_command_that_gets_it_done(shell: Shell) -> None:
    """As it stands: a shell runs it, and both tasks get done by it."""
    shutil.copytree(REPOSITORY / "teams_examples" / "ask", shell.cwd / "ask")
    ended = shell.swarm("run", "ask/team.yaml", "--name", "r7", "--headless")
    assert ended.code == 5
    (said,) = [line for line in ended.out.splitlines() if line.startswith("go on ")]
    command = said.removeprefix("go on").partition("     (")[0].strip()
    for rule in (
        "Edit(/shop/prices.py)",
        "Bash(rm -r leftovers)",
    ):  # in the order in which they were asked for
        assert f" --allow '{rule}'" in command
    report = (shell.root / "teams/r7/report.md").read_text()
    assert "swarm -t r7 task retry 1 2 && swarm resume r7 --allow '" in report

    again = subprocess.run(
        ["sh", "-c", f"{command} --headless"],
        cwd=shell.cwd,
        env=shell.environ(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert again.returncode == 5, again.stderr
    assert (again.stdout.count(" completed "), again.stdout.count(" failed ")) == (2, 1)
    (rest,) = [line for line in again.stdout.splitlines() if line.startswith("denied to ")]
    assert "ExitPlanMode" in rest
    assert "task retry 3 && " in again.stdout
    assert "resume r7 --allow ExitPlanMode" in again.stdout


def test_a_no_is_a_no_and_is_asked_once(shell: Shell, run: subprocess.Popen[str]) -> None:
    """What depends on it stays undone, and the other task is not disturbed."""
    asked = questions(shell, "fixer", "sweeper")
    shell.swarm("deny", asked["sweeper"], "--note", "we still need them")
    shell.swarm("approve", asked["fixer"])

    result = ended(run)

    assert (result["outcome"], result["exit_code"]) == ("denied", 5)
    assert [task["status"] for task in result["tasks"]] == ["completed", "failed", "pending"]
    assert (shell.cwd / "ask/shop/leftovers").exists()
    assert len(result["denied"]) == 1
    report = (shell.root / "teams" / result["team"] / "report.md").read_text()
    assert "we still need them" in report
