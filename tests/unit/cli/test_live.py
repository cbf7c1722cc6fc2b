"""The live view: fits its terminal and shows who does what."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from swarm.cli.live import LiveView
from swarm.core.agent import AgentRecord
from swarm.core.roster import Member
from swarm.core.task import NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, create_team


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Forty tasks: one done, one in hand, one ready, the rest behind it."""
    team = create_team(
        str(tmp_path / "R"),
        "t1",
        description="A long description that goes on and on and on and on and on and on and on and on",
        workspace=str(tmp_path),
        settings=Settings(durability="none"),
        clock=SystemClock(),
    )
    team.roster.add_member(
        Member(agent_id="w1@t1", name="w1", joined_at=0, cwd=str(tmp_path), color="purple")
    )
    store = team.tasks("w1")
    store.create(*(NewTask(subject=f"Subject {number} \x1b[31m 測試") for number in range(3)))
    store.create(*(NewTask(subject="Behind", blocked_by=("3",)) for _ in range(37)))
    done = store.claim("w1", None, "abcdefgh.w1.1")
    assert isinstance(done, Task)
    assert done.claim is not None
    store.complete(done.id, done.claim.token, TaskResult(summary="Done."))
    store.claim("w1", None, "abcdefgh.w1.1")
    team.agents.save(
        AgentRecord(
            name="w1", run_id="abcdefgh.w1.1", backend="in-process", state="working", since="", task="2"
        )
    )
    return team


def drawn(team: Team, columns: int, rows: int, encoding: str = "utf-8") -> list[str]:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=out, width=columns, height=rows, force_terminal=True, color_system=None)
    with LiveView(team, console) as view:
        view.look()
    out.flush()
    text = out.buffer.getvalue().decode(encoding)
    return text.split("\x1b[?25l")[-1].split("\x1b[?25h")[0].splitlines()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (200, 50)])
def test_it_fits_the_terminal(team: Team, columns: int, rows: int) -> None:
    """A long list is cut with a word about it, never scrolled."""
    lines = drawn(team, columns, rows)
    frame = lines[-rows:]
    assert any("1/40 done" in line for line in lines) or columns < 80
    assert any("more" in line for line in frame) == (rows < 50)


def test_of_many_teammates_those_at_work_are_shown(team: Team) -> None:
    """The lines that do not fit would be cropped, whoever stands in them."""
    for number in range(2, 30):
        name = f"w{number}"
        team.roster.add_member(Member(agent_id=f"{name}@t1", name=name, joined_at=0, cwd="/"))
        state = "working" if number > 27 else "idle"
        run_id = f"abcdefgh.{name}.1"
        team.agents.save(AgentRecord(name=name, run_id=run_id, backend="process", state=state, since=""))
    text = "\n".join(drawn(team, 80, 24)).rpartition(" swarm ")[2]
    frame = text.splitlines()

    assert "1/40 done" in text
    assert len(frame) < 24
    assert all(f" {name} " in text for name in ("w1", "w28", "w29"))
    shown = sum(re.match(r" w\d+ ", line) is not None for line in frame)
    assert f"and {29 - shown} more" in frame[-1]
    assert shown >= 10


def test_it_shows_states_owner_and_blockers(team: Team) -> None:
    """Who is on what, and what waits for what."""
    text = "\n".join(drawn(team, 100, 50))
    assert "●  2" in text
    assert "✔  1" in text
    assert "○  3" in text
    assert "waits for 3" in text
    assert "w1" in text
    assert "task 2" in text


def test_foreign_text_cannot_act_on_the_terminal(team: Team) -> None:
    """An escape sequence in a subject is shown, not obeyed."""
    text = "\n".join(drawn(team, 100, 50))
    assert "\x1b[31m" not in text
    assert "\\x1b[31m" in text


def test_without_unicode_it_draws_in_ascii(team: Team) -> None:
    """A terminal in an old locale gets signs that it can write."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    console = Console(file=out, width=80, height=24, force_terminal=True, color_system=None)
    with LiveView(team, console):
        pass
    out.flush()
    assert " *  2" in out.buffer.getvalue().decode("ascii")
