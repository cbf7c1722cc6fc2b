"""What an examination finds between the teams: halves of them, and rosters."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.errors import CorruptStateError
from swarm.settings import Settings
from swarm.storage import files
from swarm.storage.finding import Finding
from swarm.storage.health import examine_root, mend
from swarm.storage.listing import list_teams
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import open_team
from swarm.testing.clock import FakeClock
from tests.support.stores import SETTINGS, WAITING
from tests.unit.storage.plants import NOBODY, examine, sound_team, write


def look_around(root: Path) -> tuple[Finding, ...]:
    return examine_root(str(root), Settings(), FakeClock())


def test_a_root_without_teams_is_sound(tmp_path: Path) -> None:
    assert look_around(tmp_path) == look_around(tmp_path / "nosuch") == ()


def test_where_nothing_can_be_locked_that_is_said(tmp_path: Path) -> None:
    """Everything else is still looked at."""
    team = sound_team(tmp_path)

    def refuse(call: str, path: str, size: int) -> None:
        if call == "lock":
            raise OSError(95, "Operation not supported")

    with fault_hook(refuse):
        around, inside = look_around(tmp_path), examine(team)

    assert {finding.kind for finding in (*around, *inside)} == {"unreadable"}


def test_halves_of_teams_are_mended_without_loss(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    for folder in ("teams/.x", "tasks/.x"):
        for kind in ("new", "gone"):
            (tmp_path / f"{folder}.{NOBODY}.{kind}/below").mkdir(parents=True)
    (tmp_path / f"teams/.y.{os.getpid()}.new").mkdir()
    (tmp_path / "tasks/theirs").mkdir()
    (tmp_path / "tasks/unused").mkdir()
    files.write_draft(str(tmp_path / "tasks/unused/.journal.jsonl"), b"")
    tasks = {path.name: path.read_bytes() for path in Path(team.layout.tasks_dir).iterdir()}
    os.rename(team.layout.team_dir, tmp_path / "elsewhere")

    found = [finding.kind for finding in look_around(tmp_path)]
    outcomes = mend(lambda: look_around(tmp_path))

    assert found == ["leftover_folder"] * 4 + ["tasks_without_team"] * 2
    assert all(outcome.fixed for outcome in outcomes)
    (archived,) = (tmp_path / "teams/.archive").iterdir()
    assert {path.name: path.read_bytes() for path in (archived / "tasks").iterdir()} == tasks
    assert sorted(os.listdir(tmp_path / "tasks")) == ["theirs"]
    assert (tmp_path / f"teams/.y.{os.getpid()}.new").exists()


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("missing_roster", os.unlink),
        ("damaged_roster", lambda path: write(path, "{")),
        ("damaged_roster", lambda path: write(path, '{"name": "demo", "createdAt": "2"}')),
    ],
    ids=["missing", "no JSON", "no roster"],
)
def test_a_roster_that_cannot_be_read_is_made_anew(
    kind: str, damage: Callable[[str], object], tmp_path: Path
) -> None:
    """Everybody with a record or an inbox is in it, so that no task and no mail is out of reach.

    The leader has the mode of the last run, so that nobody gets a looser one in the next.
    """
    team = sound_team(tmp_path)
    for mode in ("acceptEdits", "plan"):
        team.events.emit("run_started", LEADER, run="k3v9qd7m", mode=mode)
    tasks, workspace = team.tasks("user").list_tasks(), team.roster.load().workspace
    write(team.layout.agent("w3"), "{")
    write(team.layout.inbox("no name!"), "[]")
    damage(team.layout.config)
    (listed,) = list_teams(str(tmp_path))
    assert listed.problem is not None
    with pytest.raises(CorruptStateError, match=r"config\.json"):
        open_team(str(tmp_path), "demo", SETTINGS, team.clock)

    (finding,) = look_around(tmp_path)
    assert (finding.kind, finding.path) == (kind, team.layout.config)
    mend(lambda: look_around(tmp_path))

    assert look_around(tmp_path) == ()
    again = open_team(str(tmp_path), "demo", SETTINGS, team.clock)
    roster = again.roster.load()
    assert set(roster.names()) == {LEADER, "w1", "w2", "w3"}
    assert roster.workspace == workspace
    assert roster.member(LEADER).permission_mode == "plan"
    assert again.tasks("user").list_tasks() == tasks
    assert tuple(m.text for m in again.inbox("w1").peek()) == WAITING
