"""Many runs one after the other: nothing grows and nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Shell, processes_of_run

pytestmark = pytest.mark.soak

RUNS = 20


def test_twenty_demos_leave_nothing_running_and_do_not_disturb_each_other(tmp_path: Path) -> None:
    """What shows only after a while: leftover processes, temporary files in the team folders, taken names."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    shell = Shell(home, cwd)

    files_per_team = set()
    for _ in range(RUNS):
        ended = shell.swarm("demo", "--json", timeout=300)
        assert ended.code == 0, ended.err
        assert processes_of_run(ended.json()["run"]) == []
        team = shell.root / "teams" / ended.json()["team"]
        files_per_team.add(tuple(sorted(path.suffix for path in team.rglob("*.tmp"))))

    assert files_per_team == {()}
    assert len(list((shell.root / "tasks").iterdir())) == RUNS
