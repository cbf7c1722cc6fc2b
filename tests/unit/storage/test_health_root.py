"""What an examination finds between the teams: halves of them, and rosters."""

from __future__ import annotations

import os
from pathlib import Path

from swarm.settings import Settings
from swarm.storage import files
from swarm.storage.finding import Finding
from swarm.storage.health import examine_root, mend
from swarm.storage.syscalls import fault_hook
from swarm.testing.clock import FakeClock
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


def test_a_damaged_roster_is_said(tmp_path: Path) -> None:
    team = sound_team(tmp_path)
    write(team.layout.config, "{")

    (finding,) = look_around(tmp_path)

    assert (finding.kind, finding.path, finding.mend) == ("damaged_roster", team.layout.config, None)
