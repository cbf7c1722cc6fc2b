"""Ending what had ended already failed, so that a run could never be closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("way", [(), ("--force",)], ids=["asked", "forced"])
def test_stop_of_one_that_is_gone_is_no_failure(isolated_home: Path, way: tuple[str, ...]) -> None:
    quick = {"key": "a", "subject": "Quick", "script": [{"say": "Done."}]}
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}], tasks=[quick])
    shell = Shell(isolated_home, team.workspace)
    with OwnProcess(team, "w1") as w1:
        w1.until_idle()
        w1.kill()
        for _ in range(2):
            ended = shell.swarm("stop", "w1", *way)
            assert (ended.code, ended.out, ended.err) == (0, "w1 already ended\n", "")
    unknown = shell.swarm("stop", "w9", *way, "--json")

    error = json.loads(unknown.err)["error"]
    assert (unknown.code, error["code"]) == (3, "no_such_agent")
    assert error["details"] == {"value": "w9", "valid": ["team-lead", "w1"]}
