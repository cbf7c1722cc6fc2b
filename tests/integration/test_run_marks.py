"""The end of a dead agent is the end of all that carries its run id, on the whole machine, so that teams of
two tests that run at the same time must not share one.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.live_team import LiveTeam
from tests.support.tools import ToolBench, make_team
from tests.support.worker_process import WorkerProcess, make_quick_team


def run_ids(home: Path) -> list[str]:
    """Return the ids under which w1 starts commands in each kind of team that tests have."""
    for name in ("live", "bench", "quick"):
        (home / name).mkdir(parents=True)
    task = {"key": "a", "subject": "Nothing", "script": [{"say": "Done."}]}
    live = LiveTeam(home / "live", teammates=[{"name": "w1"}], tasks=[task])
    bench = ToolBench(make_team(home / "bench", home / "work"), home / "work", "w1")
    with WorkerProcess(make_quick_team(home / "quick", "w1"), "w1") as worker:
        return [live.run_id("w1"), bench.run_id, worker.run_id]


def test_no_two_teams_share_a_mark(tmp_path: Path) -> None:
    found = run_ids(tmp_path / "one") + run_ids(tmp_path / "two")
    assert len(set(found)) == len(found)
