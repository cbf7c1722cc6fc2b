"""A question that could not be told of is closed: nobody waits for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from swarm.core.permission import Resolution
from swarm.errors import StorageIOError
from swarm.permissions.calls import Call, Decision
from swarm.storage.syscalls import fault_hook
from tests.support.questions import W1
from tests.support.stores import make_team
from worker.asking import Asking

CALL = Call(tool="Bash", input={"command": "make"}, cwd="/srv/app")
UNDECIDED = Decision(behavior="ask", reason="No rule allows it.", why="no_rule")

WAYS: dict[str, tuple[Callable[[Asking], object], str]] = {
    "asked": (lambda asking: asyncio.run(asking.ask(CALL, UNDECIDED, lambda: UNDECIDED)), "expired"),
    "refused": (lambda asking: asking.refuse(CALL, UNDECIDED), "deny"),
}


@pytest.mark.parametrize("way", WAYS)
def test_question_that_could_not_be_told_of_is_closed(tmp_path: Path, way: str) -> None:
    """Somebody would allow it, and nothing would run."""
    team, (deed, outcome) = make_team(tmp_path), WAYS[way]
    refused: list[str] = []

    def fails_once(name: str, path: str, size: int) -> None:
        if path == team.layout.events and name == "append" and not refused:
            refused.append(path)
            raise OSError(5, "Input/output error")

    with fault_hook(fails_once), pytest.raises(StorageIOError):
        deed(Asking(team, W1, "7"))
    assert refused
    assert team.permissions.pending() == ()
    closed = team.permissions.find("1")
    assert isinstance(closed, Resolution)
    assert closed.outcome == outcome
