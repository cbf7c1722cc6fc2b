"""Whatever an agent asks for: what is shown is that and nothing else, and it never leaves its place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swarm.cli.exact_text import exact
from swarm.cli.question import question_lines
from swarm.core.breaking import width
from swarm.core.permission import PermissionRequest, request_digest

_TEXTS = st.text(max_size=300) | st.text(
    alphabet="ab \n\t\r\x1b\x07\u200b\u202e\u3164測é👍🏽\u0301│>$#\ud800", max_size=120
)


def a_request(command: str, rule: str | None) -> PermissionRequest:
    given_input = {"command": command}
    return PermissionRequest(
        id="perm-1",
        number=3,
        agent="w1",
        run_id="k3v9qd7m.w1.1",
        tool="Bash",
        tool_use_id="toolu_02",
        input=given_input,
        cwd="/srv/app",
        why="No rule allows it.",
        suggested_rule=rule,
        digest=request_digest("Bash", given_input, "/srv/app"),
        created_at="2026-11-30T12:32:19.393Z",
        deadline_at="2026-11-30T12:42:19.393Z",
    )


@given(command=_TEXTS, columns=st.integers(12, 200), unicode=st.booleans())
def test_a_command_is_shown_whole_and_exactly(command: str, columns: int, unicode: bool) -> None:
    lines = [line.plain for line in question_lines(a_request(command, None), columns, None, unicode=unicode)]
    bar = "  │ " if unicode else "  | "
    body = [line.removeprefix(bar) for line in lines if line.startswith(bar)]

    shown = "".join(line[2:] if line.startswith("  ") else "\n" + line[2:] for line in body)
    assert shown == "\n" + "\n".join(exact(line, unicode=unicode) for line in command.split("\n"))
    assert all(width(line) <= columns for line in lines)
    assert all(ch.isprintable() for line in lines for ch in line)
    assert unicode or all(line.isascii() for line in lines)


@given(
    command=_TEXTS,
    rule=st.none() | _TEXTS,
    columns=st.integers(12, 200),
    rows=st.integers(1, 40),
)
def test_it_fits_its_place_and_what_has_no_room_is_told_of(
    command: str, rule: str | None, columns: int, rows: int
) -> None:
    request = a_request(command, rule)
    whole = [line.plain for line in question_lines(request, columns, None)]
    lines = [line.plain for line in question_lines(request, columns, rows)]

    assert 1 <= len(lines) <= rows
    assert all(width(line) <= columns for line in lines)
    cut = [line for line in whole if line.startswith("  │ ") and line not in lines]
    assert not cut or rows == 1 or any(line.startswith("  …") for line in lines)
