"""What a teammate in a process of its own is told: kept from others, and read once."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from swarm.core.spawn import RuleSet, TeammateSpec
from swarm.errors import ConfigError, CorruptStateError
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.spawn_file import read_spawn_file, remove_spawn_file, write_spawn_file


@pytest.fixture
def layout(tmp_path: Path) -> TeamLayout:
    (tmp_path / "teams/demo").mkdir(parents=True)
    return Layout(root=str(tmp_path)).team("demo")


def a_spec(**changes) -> TeammateSpec:
    facts = {
        "root": "/r",
        "team": "demo",
        "name": "w1",
        "run_id": "k3v9qd7m.w1.1",
        "workspace": "/srv/größe",
        "model": "scripted",
        "backend": "process",
        "rules": (
            RuleSet(source="command line", deny=("Bash(rm:*)",), ask=("Write",)),
            RuleSet(source="team file", allow=("Bash(pytest:*)",)),
        ),
        "environ": {"PATH": "/bin", "ANTHROPIC_API_KEY": "secret"},
    }
    return TeammateSpec(**facts | changes)


def test_a_spec_is_read_as_it_was_written_and_the_file_is_gone(layout):
    """All of it: a worker in a process of its own knows what one in the leader's process knows."""
    spec = a_spec(role="builder", leader_run_id="k3v9qd7m.team-lead.1", color="blue", pace_seconds=0.5)

    path = write_spawn_file(layout, spec)

    assert read_spawn_file(path) == spec
    assert not Path(path).exists()


def test_nobody_else_can_read_it(layout):
    """It holds keys."""
    path = Path(write_spawn_file(layout, a_spec()))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_reader_is_told_what_to_do(layout):
    """Whoever starts a worker by hand gets a sentence, not a traceback."""
    path = write_spawn_file(layout, a_spec())
    read_spawn_file(path)

    with pytest.raises(ConfigError, match="swarm spawn") as caught:
        read_spawn_file(path)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"team": None},
        {"rules": "Bash"},
        {"rules": [{"allow": []}]},
        {"environ": {"A": 1}},
        {"time_scale": "1"},
        {"name": 7},
    ],
)
def test_a_file_of_another_shape_is_refused_and_removed(layout, changes):
    """Its keys don't stay, even if nobody can use it."""
    path = Path(write_spawn_file(layout, a_spec()))
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    with pytest.raises(ConfigError, match="start the agent anew"):
        read_spawn_file(str(path))
    assert not path.exists()


def test_a_torn_file_is_removed_too(layout):
    path = Path(write_spawn_file(layout, a_spec()))
    path.write_text('{"root": "/r", ')

    with pytest.raises(CorruptStateError):
        read_spawn_file(str(path))
    assert not path.exists()


def test_what_nobody_read_can_be_removed_by_name(layout):
    write_spawn_file(layout, a_spec())

    assert remove_spawn_file(layout, "w1") is True
    assert remove_spawn_file(layout, "w1") is False
