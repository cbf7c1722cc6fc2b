"""From the question of a worker to the answer in its hands, against the same four steps on bare files.

Asked and answered in one process: how soon the other side wakes up is measured by `waking`.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.measuring import FULL, Effort, Row, interleaved
from swarm.core.identity import LEADER
from swarm.core.permission import PermissionRequest, Resolution, request_digest
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.permissions import PermissionStore
from swarm.storage.team import create_team

_AT = "2026-11-30T12:00:00.000Z"
_INPUT: dict[str, Any] = {"command": "pip install requests"}


def rows(effort: Effort = FULL) -> list[Row]:
    """One question and its answer."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pending").mkdir()
        (Path(folder) / "resolved").mkdir()
        numbers = count()
        things = {
            "ours": partial(_ask_and_answer, _store(Path(folder)), numbers),
            "bare": partial(_bare, Path(folder), numbers),
        }
        taken = interleaved(effort.rounds * effort.times, things)
    return [Row("permission asked and answered", taken["ours"], "four bare files", taken["bare"])]


def _store(folder: Path) -> PermissionStore:
    team = create_team(
        str(folder / "R"),
        "bench",
        workspace=str(folder),
        settings=Settings(durability="none"),
        clock=SystemClock(),
    )
    return team.permissions


def _ask_and_answer(store: PermissionStore, numbers: count[int]) -> None:
    """What worker, leader and worker call, one after the other."""
    digest = request_digest("Bash", _INPUT, "/srv/app")
    request = PermissionRequest(
        id=f"perm-{next(numbers)}",
        agent="w1",
        run_id="benchrun.w1.1",
        tool="Bash",
        tool_use_id="toolu_01",
        input=_INPUT,
        cwd="/srv/app",
        why="no rule allows it",
        digest=digest,
        created_at=_AT,
        deadline_at=_AT,
    )
    store.request(request)
    (asked,) = store.pending()
    resolution = Resolution(
        id=asked.id, digest=asked.digest, outcome="allow", via="leader", by=LEADER, at=_AT
    )
    assert store.resolve(resolution)
    answer = store.resolution(request.id)
    assert answer is not None
    assert answer.digest == digest


def _bare(folder: Path, numbers: count[int]) -> None:
    name = f"{next(numbers)}.json"
    _replace(folder / "pending" / name, {"id": name, "input": _INPUT})
    (found,) = os.listdir(folder / "pending")
    json.loads((folder / "pending" / found).read_text())
    _replace(folder / "resolved" / name, {"id": name, "outcome": "allow"})
    (folder / "pending" / name).unlink()
    json.loads((folder / "resolved" / name).read_text())


def _replace(path: Path, content: dict[str, Any]) -> None:
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(content))
    draft.rename(path)
