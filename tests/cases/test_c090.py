"""Ending what had ended already failed, so that a run could never be closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.crew import BACKENDS, crew, quick_task

pytestmark = pytest.mark.timeout(90)


@pytest.mark.parametrize("way", [(), ("--force",)], ids=["asked", "forced"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_stop_of_one_that_is_gone_is_no_failure(
    isolated_home: Path, backend: str, way: tuple[str, ...]
) -> None:
    """One in the leader's process is gone when that is."""
    with crew(backend, isolated_home, "w1", tasks=[quick_task("a")]) as team:
        team.bring_up()
        team.until_state("idle")
        team.kill_now("w1")
        for _ in range(2):
            ended = team.swarm("stop", "w1", *way)
            assert (ended.code, ended.out, ended.err) == (0, "w1 already ended\n", "")
        unknown = team.swarm("stop", "w9", *way, "--json")

        error = json.loads(unknown.err)["error"]
        assert (unknown.code, error["code"]) == (3, "no_such_agent")
        assert error["details"]["value"] == "w9"
        assert error["details"]["valid"][:2] == ["team-lead", "w1"]
