"""`status` on a terminal: one screen, however many teammates there are and however narrow it is."""

from __future__ import annotations

import re

import pytest

from swarm.core.breaking import width
from swarm.storage.team import Team
from tests.support.questions import ask
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed, on_a_terminal, with_members

GONE_PID = 2**22 + 1


def screen(columns: int, rows: int, *words: str) -> list[str]:
    """Return the lines of `swarm status` on a terminal of this size, without colours."""
    return on_a_terminal((columns, rows), "status", *words)


@pytest.fixture
def crowd(demo: Swarm, team: Team) -> tuple[str, ...]:
    """Seventeen teammates in all states, with long and wide subjects."""
    for subject in ("Write the parser with full error recovery, and more " * 2, "日本語の長い件名" * 9):
        add(demo, subject)
    names = tuple(f"builder-{number}" for number in range(3, 18))
    with_members(demo, *({"name": name, "agentType": "builder"} for name in names))
    states: tuple[dict[str, object], ...] = (
        {"task": "1"},
        {"task": "2"},
        {"state": "waiting", "reason": "permission", "task": "1"},
        {"state": "idle", "reason": "waiting_for_task", "on": "1"},
        {"state": "paused"},
        {"state": "paused", "task": "2"},
        {"silent": 95.0, "task": "1"},
        {"pid": GONE_PID, "task": "2"},
        {"state": "stopped", "reason": "failed"},
        {"state": "stopped", "reason": "asked"},
        {"state": "stopped", "reason": "asked"},
        {"state": "idle", "reason": "no_task"},
        {"state": "idle", "reason": "no_task"},
        {"state": "starting"},
    )
    for name, facts in zip(names, states, strict=False):
        team.agents.save(a_record(name, **facts))  # type: ignore[arg-type]
    late = a_record("builder-17", "starting").replace(pid=None, since="2026-01-01T00:00:00.000Z")
    team.agents.save(late)
    return names


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 24), (50, 20), (40, 24), (200, 24), (80, 60)])
def test_it_fits_with_a_prompt_below_it(crowd: tuple[str, ...], columns: int, rows: int) -> None:
    lines = screen(columns, rows, "-t", "demo")

    assert len(lines) <= rows - 1
    assert max(map(width, lines)) <= columns


def test_on_a_narrow_terminal_no_line_is_left_to_it(team: Team, demo: Swarm) -> None:
    add(demo, "one")
    claimed(demo, add(demo, "two"))
    ask(team)

    lines = screen(34, 40, "-t", "demo")

    assert max(map(width, lines)) <= 34
    assert "swarm approve 1 -t demo says yes" in " ".join(map(str.strip, lines))


def test_what_needs_a_hand_is_shown_and_the_rest_is_counted(crowd: tuple[str, ...]) -> None:
    lines = screen(80, 24)
    shown = {match[1]: line for line in lines if (match := re.match(r"  (w\d|builder-\d+) ", line))}

    for name in ("builder-5", "builder-9", "builder-10", "builder-11", "builder-17"):
        assert name in shown
    assert "no sign of life for 1m: task 1" in shown["builder-9"]
    assert "its process is gone: task 2" in shown["builder-10"]
    (rest,) = (line for line in lines if line.startswith("  and "))
    assert re.fullmatch(r"  and \d more: .*2 stopped.*", rest)
    assert len(shown) + int(rest.split()[1]) == 17
    assert lines[-3:] == [
        "swarm restart builder-10 starts it anew",
        "swarm spawn builder-17 starts it",
        "swarm logs builder-9 shows what it did last",
    ]


@pytest.mark.parametrize("reason", ["permission", "plan"])
def test_who_waits_for_a_person_is_shown_where_there_is_room_for_few(
    crowd: tuple[str, ...], team: Team, reason: str
) -> None:
    asked = ask(team, agent="builder-15")
    team.agents.save(a_record("builder-15", "waiting", reason=reason, on=asked.id, task="1"))

    (line,) = (line for line in screen(80, 20) if line.startswith("  builder-15 "))
    assert " asks #1: task 1 Write the" in line


def test_who_asks_is_shown_with_the_number_of_the_question(team: Team) -> None:
    asked = ask(team)
    team.agents.update("w1", reason="permission", on=asked.id)
    (line,) = [line for line in screen(160, 24) if line.startswith("  w1 ")]
    assert " asks #1" in line
    assert asked.id not in line


def test_who_ended_as_its_model_could_not_be_asked_says_why(team: Team, demo: Swarm) -> None:
    add(demo, "one")
    why = "no access: the key is not valid; check ANTHROPIC_API_KEY"
    team.agents.save(a_record("w1", "stopped", reason="failed", why=why))
    lines = screen(160, 24)

    (row,) = (line for line in lines if line.startswith("  w1 "))
    assert f"failed: {why}" in row
    assert lines[-1] == "swarm restart w1 starts it anew once its model answers"
    assert demo("status", "--json").json()["agents"][0]["why"] == why


def test_a_column_that_says_nothing_of_anybody_is_not_there(team: Team) -> None:
    team.agents.save(a_record("w1", "stopped", reason="asked"))

    (heading,) = (line for line in screen(160, 24) if line.startswith("  agent"))
    assert "heard" not in heading


def test_advice_that_does_not_fit_is_all_there(team: Team, demo: Swarm) -> None:
    add(demo, "one")
    team.agents.save(a_record("team-lead", pid=GONE_PID))
    team.agents.save(a_record("w1"))

    assert screen(60, 24)[-2:] == [
        "swarm resume demo takes the run up again; its teammates",
        "  wait 60 s for that, and then end",
    ]


def test_where_there_is_room_nothing_is_left_out(crowd: tuple[str, ...]) -> None:
    lines = screen(160, 60)

    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in ("w1", "w2", *crowd))
    assert not any(line.startswith("  and ") for line in lines)
    assert re.search(r"since +where +heard", "\n".join(lines))


def test_a_narrow_screen_keeps_why_rather_than_where(crowd: tuple[str, ...]) -> None:
    heading = next(line for line in screen(80, 60) if line.startswith("  agent"))
    assert heading.split() == ["agent", "state", "does", "since"]


def test_in_a_pipe_all_is_there(demo: Swarm, crowd: tuple[str, ...]) -> None:
    out = demo("status").out

    assert all(f"  {name} " in out for name in crowd)
    assert "in-process" in out
    assert "Write the parser with full error recovery, and more " * 2 in out


def test_the_commands_that_help_name_the_team_if_that_had_to_be_named(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1", "paused"))
    team.agents.save(a_record("w2", "paused"))

    assert demo("status").lines[-1] == "swarm continue w1 w2 lets them go on"
    assert demo("status", "-t", "demo").lines[-1] == "swarm continue w1 w2 -t demo lets them go on"
