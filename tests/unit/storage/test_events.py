from __future__ import annotations

from pathlib import Path

from swarm.storage.team import Team


def test_events_are_read_in_order_with_their_offsets(team: Team) -> None:
    team.events.emit("run_started", "runtime", workspace="/srv/app", nothing=None)
    team.events.emit("agent_ready", "w1", run_id="k3v9qd7m.w1.1")
    (_, created), (offset, started), (_, ready) = team.events.read()
    assert created.event == "team_created"
    assert started.data == {"workspace": "/srv/app"}
    assert ready.run_id == "k3v9qd7m.w1.1"
    assert [event.event for _, event in team.events.read(offset)] == ["run_started", "agent_ready"]
    assert Path(team.layout.events).read_bytes()[offset:].startswith(b'{"time"')


def test_torn_line_is_cut_and_a_foreign_line_skipped(team: Team) -> None:
    path = Path(team.layout.events)
    with path.open("ab") as file:
        file.write(b'not json\n[1]\n{"time": "x"}\n{"time": "2026')
    team.events.emit("run_started", "runtime")
    assert [event.event for _, event in team.events.read()] == ["team_created", "run_started"]
    assert path.read_bytes().count(b"2026-11-30") == path.read_bytes().count(b"\n") - 3


def test_newest_task_event_is_found_behind_others(team: Team) -> None:
    assert team.events.last_task_seq() == 0
    team.events.emit("task_created", "user", task="1", seq=1)
    team.events.emit("task_claimed", "w1", task="1", seq=2)
    for _ in range(3):
        team.events.emit("mail_sent", "w1", to="w2")
    assert team.events.last_task_seq() == 2


def test_nothing_to_append_touches_no_file(team: Team) -> None:
    Path(team.layout.events).unlink()
    team.events.append_all([])
    assert not Path(team.layout.events).exists()
    assert list(team.events.read()) == []


def test_a_log_that_was_moved_away_is_not_written_any_more(team: Team) -> None:
    """The file stays open between two events; the path decides which one the next is for."""
    path = Path(team.layout.events)
    team.events.emit("run_started", "runtime")
    path.rename(path.with_name("old"))
    team.events.emit("run_ended", "runtime")
    assert [event.event for _, event in team.events.read()] == ["run_ended"]
    path.unlink()
    team.events.emit("run_started", "runtime")
    assert [event.event for _, event in team.events.read()] == ["run_started"]
