"""A run told in lines: events, and questions in full with the commands that answer them."""

from __future__ import annotations

import io as text_io
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.plain_lines import PlainLines
from swarm.cli.session import Io
from swarm.core.permission import PermissionRequest, request_digest
from swarm.core.times import format_time
from swarm.leader.questions import answer
from swarm.storage.questions import tell
from swarm.storage.team import Team
from tests.unit.cli.steps import a_record


def lines_of(team: Team, *steps: Any) -> list[str]:
    """What is printed of these steps, which happen between two looks each, without times."""
    err = text_io.StringIO()
    plain = PlainLines(team, Io(text_io.StringIO(), err, text_io.StringIO(), {}))
    plain.look()
    err.truncate(0)
    err.seek(0)
    with plain:
        for step in steps:
            step()
            plain.look()
    return [line[21:] if line.startswith("20") else line for line in err.getvalue().splitlines()]


def asked(team: Team, command: str) -> PermissionRequest:
    team.agents.save(a_record("w1", "waiting", reason="permission"))
    now, call = team.clock.now(), {"command": command}
    request = team.permissions.request(
        PermissionRequest(
            id="perm-x", agent="w1", run_id="k3v9qd7m.w1.1", task="7", tool="Bash", tool_use_id="c1",
            input=call, cwd="/srv/app", why="No rule allows it.",
            digest=request_digest("Bash", call, "/srv/app"),
            created_at=format_time(now), deadline_at=format_time(now + 600), suggested_rule="Bash(make all)",
        )
    )  # fmt: skip
    tell(team, "permission_requested", request, tool="Bash", why=request.why)
    return request


def test_a_question_is_printed_with_the_exact_call_and_the_commands_that_answer_it(team: Team) -> None:
    lines = lines_of(
        team,
        lambda: asked(team, "make all\necho \x1b[31mdone"),
        lambda: answer(team, "1", "deny", note="not now"),
    )

    assert lines[0] == "w1 asks for permission #1, task 7: tool Bash; No rule allows it."
    assert lines[1].startswith("#1 w1 (task 7) wants Bash in /srv/app")
    text = "\n".join(lines)
    assert "$ make all\n" in text
    assert "echo \\x1b[31mdone" in text
    assert lines[-3] == "  yes: swarm approve 1 -t demo, or with --always"
    assert lines[-2] == "  no: swarm deny 1 -t demo --note WHY"
    assert lines[-1] == "w1 was denied #1 by user, task 7: tool Bash; note not now"


class Terminal(text_io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flags", "err", "told"),
    [
        ({"quiet": True}, text_io.StringIO, True),
        ({"quiet": True}, Terminal, True),
        ({"json": True}, Terminal, True),
        ({"json": True}, text_io.StringIO, False),
    ],
)
def test_a_run_that_says_no_more_than_it_must_still_says_what_waits_for_a_person(
    team: Team, flags: dict[str, bool], err: type[text_io.StringIO], told: bool
) -> None:
    """But for a program that reads our stderr: what it gets there is an error object, or nothing."""
    io = Io(text_io.StringIO(), err(), text_io.StringIO(), {})
    io.quiet, io.json = flags.get("quiet", False), flags.get("json", False)
    with PlainLines(team, io) as plain:
        asked(team, "make all")
        plain.look()
        answer(team, "1", "deny")

    said = "#1 w1 (task 7) wants Bash: make all   (swarm permissions 1 -t demo)\n" if told else ""
    assert isinstance(io.err, text_io.StringIO)
    assert io.err.getvalue() == said


def test_one_that_was_answered_before_anybody_could_is_but_told_of(team: Team) -> None:
    def both() -> None:
        asked(team, "make all")
        answer(team, "1", "allow")

    assert lines_of(team, both) == [
        "w1 asks for permission #1, task 7: tool Bash; No rule allows it.",
        "w1 was allowed #1 by user, task 7: tool Bash",
    ]


def test_each_event_is_printed_once_and_quiet_ones_never(team: Team) -> None:
    lines = lines_of(
        team,
        lambda: team.events.emit("agent_ready", "w1"),
        lambda: team.events.emit("agent_died", "w1", reason="killed"),
        lambda: None,
    )
    assert lines == ["w1 died: killed"]


def test_one_that_was_asked_before_is_printed_too(team: Team) -> None:
    """A question outlives its leader: whoever resumes the run is asked."""
    asked(team, "make all")
    err = text_io.StringIO()
    size = Path(team.layout.events).stat().st_size
    PlainLines(team, Io(text_io.StringIO(), err, text_io.StringIO(), {}), size).look()
    assert err.getvalue().startswith("#1 w1 (task 7) wants Bash in /srv/app")
