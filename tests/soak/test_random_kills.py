"""A hundred workers killed at random moments of twenty runs: no task is lost, and none is done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import Shell, processes_of_run

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

RUNS = 20
KILLS = 5
TEAMMATES = ("w1", "w2", "w3")
TASKS = 9


def write_team(folder: Path) -> None:
    tasks: list[dict[str, Any]] = []
    for number in range(TASKS):
        script = [{"calls": [{"Bash": {"command": f"sleep 0.3; echo {number} >> done"}}]}, {"say": "Done."}]
        blocked_by = {"blocked_by": [f"t{number - 3}"]} if number >= 3 else {}
        tasks.append({"key": f"t{number}", "subject": f"Task {number}", "script": script, **blocked_by})
    team = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": name} for name in TEAMMATES],
        "tasks": tasks,
    }
    (folder / "ws").mkdir()
    (folder / "team.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")


def kill_one(shell: Shell, chance: random.Random) -> bool:
    """Kill a worker that is ready, as `kill -9` does; whether there was one."""
    records = []
    for name in TEAMMATES:
        with suppress(FileNotFoundError):
            path = shell.root / f"teams/t1/agents/{name}.json"
            records.append(json.loads(path.read_text(encoding="utf-8")))
    alive = [one["pid"] for one in records if one["state"] in ("idle", "working") and "pid" in one]
    if not alive:
        return False
    with suppress(ProcessLookupError):
        os.kill(chance.choice(alive), signal.SIGKILL)
        return True
    return False


@pytest.mark.parametrize("seed", range(RUNS))
def test_killed_workers_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    """Every task ends as one line of the journal, or is there with the reason why it did not."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    shell = Shell(home, cwd)
    write_team(cwd)
    chance = random.Random(seed)
    going = shell.start("run", "team.yaml", "--backend", "process", "--json")
    kills = 0
    while kills < KILLS and going.poll() is None:
        time.sleep(chance.uniform(0.05, 0.8))
        kills += kill_one(shell, chance)
    out, err = going.communicate(timeout=300)

    assert going.returncode in (0, 6), err
    result = json.loads(out)
    assert processes_of_run(result["run"]) == []
    assert os.listdir(shell.root / "teams/t1/.spawn") == []
    lines = (shell.root / "tasks/t1/.journal.jsonl").read_text(encoding="utf-8").splitlines()
    ends = Counter(line["id"] for line in map(json.loads, lines) if line.get("op") == "done")
    assert len(result["tasks"]) == TASKS
    for task in result["tasks"]:
        assert task["status"] in ("completed", "failed", "pending")
        assert ends[task["id"]] == (task["status"] != "pending")
        assert task["status"] == "completed" or task["reason"]
