"""Every call to the system may fail: the disk is full, the device is gone."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from swarm.errors import StorageIOError
from swarm.storage.syscalls import fault_hook
from tests.support.faults import FailAt
from tests.support.stores import (
    OPERATIONS,
    check_recovery,
    copied,
    points_of,
    prepare,
    state_of,
    states_around,
)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    prepare(tmp_path / "template").close()
    return tmp_path / "template"


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_failed_call_leaves_the_state_before_or_after(template: Path, name: str) -> None:
    """An error at any call is told as such, loses nothing, and the same process goes on."""
    before, after = states_around(template, name)
    step = 3 if name.endswith("by_hand") else 1  # these read every file, which can fail in one way only
    for number, point in enumerate(points_of(template, name)[::step]):
        team = copied(template, number)
        fault = FailAt(point, lasting=bool(number % 2))
        with fault_hook(fault), pytest.raises(StorageIOError) as caught:
            OPERATIONS[name](team)
        assert caught.value.code == "io_error"
        assert caught.value.details["errno"] == errno.ENOSPC
        assert caught.value.details["path"]
        check_recovery(team, name, before, after)
        team.close()


def test_claim_whose_answer_was_lost_is_answered_by_the_next_call(template: Path) -> None:
    """Without this an agent would be busy with a task that it never got."""
    lost = 0
    for number, point in enumerate(points_of(template, "claim")):
        team = copied(template, number)
        with fault_hook(FailAt(point, code=errno.EIO)), pytest.raises(StorageIOError):
            OPERATIONS["claim"](team)
        lost += bool(team.tasks("user").table().in_progress_of("w1"))
        claimed = OPERATIONS["claim"](team)
        assert state_of(team)["tasks"][0] == claimed
        team.close()
    assert lost
