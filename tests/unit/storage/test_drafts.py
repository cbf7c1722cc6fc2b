"""Drafts of killed writers go with the next writer that holds the lock, or with the doctor."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.storage.health import examine_root, examine_team, mend
from swarm.storage.pruning import dead_drafts
from swarm.storage.team import Team
from tests.support.stores import a_message

NOBODY = 2**22 + 1
SOMEBODY = os.getppid()
"""A process that lives: another writer of that pid was killed, and its number given out again."""

RECORD = AgentRecord(
    name="w1", run_id="k3v9qd7m.w1.1", backend="process", state="starting", since="2026-11-30T12:31:02.410Z"
)
WRITERS: dict[str, Callable[[Team], object]] = {
    "inboxes/.w1": lambda team: team.inbox("w1").acknowledge(["m1"]),
    "inboxes/.w1.overflow.jsonl": lambda team: team.inbox("w1").acknowledge(["m1"]),
    "agents/.w1": lambda team: team.agents.save(RECORD),
    ".config": lambda team: team.roster.update_member("w1", color="green"),
}


def plant(team: Team, name: str) -> Path:
    path = Path(team.layout.team_dir, name)
    path.write_text("half")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("pid", [NOBODY, SOMEBODY])
@pytest.mark.parametrize("start", WRITERS)
def test_next_writer_removes_the_drafts_of_its_file_alone(team: Team, start: str, pid: int) -> None:
    """Under the lock no other writer is at work, so that its pid need not be asked for."""
    team.inbox("w1").deliver(a_message("m1"))
    gone = plant(team, f"{start}.{pid}.tmp")
    folder = os.path.dirname(start)
    others = [
        plant(team, os.path.join(folder, name)) for name in (f".w10.{pid}.tmp", ".w1.mine.tmp", "w1.tmp")
    ]
    WRITERS[start](team)

    assert not gone.exists()
    assert all(path.exists() for path in others)


@pytest.mark.parametrize(
    "name",
    [
        *(f"{start}.{NOBODY}.tmp" for start in WRITERS),
        f"permissions/pending/.perm-5-e.{NOBODY}.tmp",
        f"permissions/resolved/.perm-5-e.{NOBODY}.k3v9qd7m.tmp",
        f"permissions/resolved/.perm-5-e.{NOBODY}.12345678.tmp",
        f"permissions/.rules.{NOBODY}.tmp",
        f"history/.w1.jsonl.{NOBODY}.tmp",
        f".report.md.{NOBODY}.tmp",
        f"tasks/.1.{NOBODY}.tmp",
        f"tasks/..highwatermark.{NOBODY}.tmp",
    ],
)
def test_doctor_removes_what_a_dead_writer_left_in_any_folder(team: Team, name: str) -> None:
    path = plant(team, name)
    (outcome,) = mend(lambda: examine_team(team, lambda life: None))

    assert (outcome.finding.kind, outcome.fixed) == ("orphan_draft", True)
    assert not path.exists()


@pytest.mark.parametrize("end", ["tmp", "12345678.tmp", "k3v9qd7m.tmp"])
def test_doctor_leaves_the_draft_of_a_living_writer(team: Team, end: str) -> None:
    plant(team, f"permissions/resolved/.perm-5-e.{SOMEBODY}.{end}")
    assert list(dead_drafts(team.layout.resolved_dir)) == []
    assert examine_team(team, lambda life: None) == ()


def test_mail_of_a_killed_sender_is_no_mail(team: Team) -> None:
    plant(team, f"inboxes/.{LEADER}.{NOBODY}.tmp")
    assert team.inbox(LEADER).peek() == ()


def test_doctor_removes_the_drafts_of_our_plans_alone(team: Team) -> None:
    """Other clients keep their plans in the same folder."""
    folder = Path(team.root, "plans")
    folder.mkdir()
    ours = folder / f".plan_approval-1796042339393@w1@demo.md.{NOBODY}.tmp"
    theirs = folder / f".crimson-otter.md.{NOBODY}.tmp"
    for path in (ours, theirs):
        path.write_text("half")
    (outcome,) = mend(lambda: examine_root(team.root, team.settings, team.clock))

    assert (outcome.finding.kind, outcome.finding.path, outcome.fixed) == ("orphan_draft", str(ours), True)
    assert list(folder.iterdir()) == [theirs]
