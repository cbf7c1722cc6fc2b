"""A rule that denies reading a file holds for Grep and Glob over its folder, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.permissions.calls import Policy
from swarm.permissions.rules import parse_rules
from swarm.storage.team import Team
from tests.support.tools import ToolBench
from worker.permission import PermissionGate


@pytest.fixture(autouse=True)
def files(bench: ToolBench, workspace: Path) -> None:
    (workspace / "src").mkdir()
    for name in (".env", "src/key.pem", "src/a.py"):
        (workspace / name).write_text("secret = 1\n")


def under(bench: ToolBench, team: Team, *deny: str) -> PermissionGate:
    """Put the bench under these deny rules and return its gate."""
    policy = Policy(
        mode="default",
        rules=parse_rules(deny, "deny", "team file"),
        workspace=str(bench.workspace),
        control_roots=(),
        home="/nowhere",
    )
    gate = PermissionGate(team, bench.context.agent, policy, None)
    bench.may_read = gate.denied_reads()
    bench.gate = gate
    return gate


async def test_denied_files_do_not_turn_up_in_searches(bench: ToolBench, team: Team) -> None:
    under(bench, team, "Read(.env)", "Read(**/*.pem)")

    assert await bench.ok("Grep", pattern="secret") == "src/a.py"
    assert await bench.ok("Glob", pattern="src/*") == "src/a.py"
    assert "forbids this call" in await bench.error("Read", file_path=".env")


async def test_without_such_a_rule_nothing_is_looked_up(bench: ToolBench, team: Team) -> None:
    assert under(bench, team, "Bash(rm:*)", "Edit(src/**)").denied_reads() is None


async def test_reading_denied_as_a_whole_leaves_nothing_to_show(bench: ToolBench, team: Team) -> None:
    under(bench, team, "Read")

    assert await bench.ok("Grep", pattern="secret") == "No matches found"
