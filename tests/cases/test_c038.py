"""Agents were registered and tasks were there, but nothing ever ran them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.crew import BACKENDS, crew, long_task, quick_task

pytestmark = pytest.mark.timeout(90)

LIMIT_SECONDS = 10.0
MEETS = "touch {mine}; while [ ! -e {other} ]; do sleep 0.05; done"


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_is_there_begins_by_itself(isolated_home: Path, backend: str) -> None:
    """Tasks and two teammates, and nothing else: no message and no second command.

    The first two tasks end only when both are worked on at once.
    """
    tasks = [
        long_task("a", MEETS.format(mine="a", other="b")),
        long_task("b", MEETS.format(mine="b", other="a")),
        quick_task("c", blocked_by=["a", "b"]),
    ]
    with crew(backend, isolated_home, "w1", "w2", tasks=tasks) as team:
        team.bring_up()
        began = time.monotonic()
        team.until_task("a", "b", "c")

        assert time.monotonic() - began < LIMIT_SECONDS
        done = [team.task(key) for key in ("a", "b", "c")]
        assert [task.status for task in done] == ["completed"] * 3
        assert {task.owner for task in done} == {"w1", "w2"}
        assert all(team.sessions(name) for name in ("w1", "w2"))
