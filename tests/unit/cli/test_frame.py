"""A frame of the live view: fits every size, shows what matters, says what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.cli.frame import Frame, Size, Typing, draw
from swarm.cli.sight import AgentRow, Sight, TaskRow
from swarm.core.breaking import width
from swarm.core.permission import PermissionRequest, request_digest
from swarm.core.times import format_time
from swarm.leader.activity import Activity

NOW = 1_800_000_000.0
SIZES = [(80, 24), (40, 12), (120, 40), (200, 60), (20, 6), (8, 3), (1, 1)]


def a_task(number: int, state: str, **facts: Any) -> TaskRow:
    return TaskRow(id=str(number), state=state, **{"subject": f"Subject {number}", **facts})


def a_question(number: int = 3, **facts: Any) -> PermissionRequest:
    made: dict[str, Any] = {
        "id": f"perm-{number}",
        "number": number,
        "agent": "builder-1",
        "run_id": "abcdefgh.builder-1.1",
        "tool": "Bash",
        "tool_use_id": "c1",
        "input": {"command": "pip install requests"},
        "cwd": "/srv/app",
        "why": "no rule allows it",
        "suggested_rule": "Bash(pip install:*)",
        "created_at": format_time(NOW - 5),
        "deadline_at": format_time(NOW + 595),
        **facts,
    }
    digest = request_digest(made["tool"], made["input"], made["cwd"])
    return PermissionRequest(digest=digest, task="7", **made)


SMALL = Sight(
    team="rename-api",
    description="Replace one function by another",
    elapsed=83.4,
    done=1,
    failed=1,
    total=5,
    spent=420_000,
    limit=5_000_000,
    read=1_234_567,
    written=9_400,
    tasks=(
        a_task(1, "completed", owner="builder-1"),
        a_task(2, "in_progress", owner="builder-2", attempt=2),
        a_task(3, "failed", owner="builder-1"),
        a_task(4, "blocked", waits=("2", "3")),
        a_task(5, "ready", owner="for reviewer"),
    ),
    agents=(
        AgentRow(
            name="builder-1",
            state="waiting",
            color="purple",
            why="permission",
            task="7",
            asks="#3",
            activity=Activity(said="I need requests.", tool="Bash", target="pip install requests"),
        ),
        AgentRow(
            name="builder-2",
            state="working",
            task="2",
            activity=Activity(
                said="Now the tests.", tool="Edit", target="tests/test_api.py", is_running=True
            ),
        ),
        AgentRow(name="reviewer", state="idle", why="needs task 2"),
        AgentRow(name="tester", state="stalled", why="silent 45s", task="9"),
    ),
    happened=(
        ("12:00:00  w1 completed task 1", "green"),
        ("12:00:01  w1 claimed task 2: 測試\x1b[2J" * 20, ""),
    ),
    colors={"builder-1": "purple"},
)
CROWD = SMALL.replace(
    total=1000,
    tasks=(
        *(a_task(number, "completed") for number in range(1, 500)),
        a_task(500, "in_progress", owner="w500"),
        a_task(501, "failed"),
        *(a_task(number, "blocked", waits=tuple(map(str, range(400, 420)))) for number in range(502, 1001)),
    ),
    agents=(
        *(AgentRow(name=f"w{number}", state="idle", why="no task") for number in range(1, 60)),
        AgentRow(name="w60", state="waiting", why="permission", asks="#3", task="500"),
        AgentRow(name="w61", state="dead", task="501"),
        AgentRow(name="w62", state="working", task="500"),
    ),
)
ASKED = SMALL.replace(questions=(a_question(3), a_question(4, tool="Write"), a_question(5), a_question(6)))
ODD = SMALL.replace(
    team="t\x1b[31m",
    description="測試" * 100,
    tasks=(a_task(1, "ready", subject="件名\x1b[2J\n" * 20, owner="構築者" * 9),) * 3,
    agents=(
        AgentRow(
            name="作業者" * 9,
            state="working",
            task="1",
            activity=Activity(tool="Bash", target="echo 測\x07" * 30, said="ﾃｽﾄ👍🏽" * 30),
        ),
    ),
    questions=(a_question(3, input={"command": "echo 測試 \x1b[31m\n" * 200}, agent="作業者"),),
)


def shown(
    sight: Sight, columns: int, rows: int, typing: Typing | None = None, *, unicode: bool = True
) -> Frame:
    size = Size(columns=columns, rows=rows, unicode=unicode)
    return draw(sight, size, typing or Typing(listens=True), NOW)


def text_of(frame: Frame) -> str:
    return "\n".join(line.plain for line in frame.lines)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("sight", [SMALL, CROWD, ASKED, ODD], ids=["small", "crowd", "asked", "odd"])
@pytest.mark.parametrize(
    "typing",
    [
        Typing(),
        Typing(listens=True, text="n 3 because 測試 " * 20, said="word " * 200, is_bad=True),
        Typing(listens=True, shows="perm-3"),
    ],
    ids=["looks on", "types", "wants to see one"],
)
def test_it_never_leaves_the_terminal(
    sight: Sight, columns: int, rows: int, unicode: bool, typing: Typing
) -> None:
    frame = shown(sight, columns, rows, typing, unicode=unicode)

    assert 1 <= len(frame.lines) <= rows
    assert max(width(line.plain) for line in frame.lines) <= columns
    assert all(line.plain.isprintable() for line in frame.lines)
    assert unicode or text_of(frame).isascii()
    if frame.cursor is not None:
        assert 0 <= frame.cursor[0] < len(frame.lines)
        assert 0 <= frame.cursor[1] < columns


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (200, 60)])
def test_where_there_is_room_all_is_there(columns: int, rows: int) -> None:
    text = text_of(shown(SMALL, columns, rows))

    for part in (
        " swarm  rename-api  1/5 done  1 failed  01:23  $0.42 of $5.00  1.2M in 9.4k out",
        "✔  1  Subject 1",
        "●  2  Subject 2",
        "builder-2  try 2",
        "✘  3  Subject 3",
        "waits for 2, 3",
        "for reviewer",
        "asks #3, task 7",
        "Bash pip install requests",
        "I need requests.",
        "task 2",
        "Edit tests/test_api.py",
        "Now the tests.",
        "idle: needs task 2",
        "stalled: silent 45s, task 9",
    ):
        assert part in text


def test_a_small_one_keeps_the_head_and_what_matters() -> None:
    lines = [line.plain for line in shown(CROWD, 40, 12).lines]

    assert lines[0].startswith(" swarm  rename-api  1/1000 done")
    assert any("500  Subject 500" in line and "w500" in line for line in lines)
    assert any("501  Subject 501" in line for line in lines)
    assert any(line.startswith(" w60") for line in lines)
    assert any(line.startswith(" w61") for line in lines)


@pytest.mark.parametrize("rows", range(9, 26))
@pytest.mark.parametrize("sight", [SMALL, CROWD, ASKED, ODD], ids=["small", "crowd", "asked", "odd"])
def test_the_head_stays_and_the_question_too(sight: Sight, rows: int) -> None:
    """Nothing but a terminal of a few rows costs the line that says how far the run is."""
    lines = [line.plain for line in shown(sight, 40, rows).lines]

    assert lines[0].startswith(" swarm ")
    assert not sight.questions or any(line.startswith("#3 ") for line in lines)
    assert sight is not ASKED or rows < 10 or any(line.startswith("  │ ") for line in lines)


def test_joined_pictures_stand_side_by_side_in_lists() -> None:
    """How wide they are together is for each terminal to say, and an escape says nothing to a person."""
    said = "👩\u200d👩\u200d👧 ❤\ufe0f"
    sight = SMALL.replace(tasks=(a_task(1, "ready", subject=said),), description=said)

    assert text_of(shown(sight, 120, 24)).count("👩👩👧 ❤") == 2
    assert "\\u200d" in text_of(
        shown(SMALL.replace(questions=(a_question(input={"command": said}),)), 80, 24)
    )


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12), (200, 60)])
def test_what_is_left_out_is_counted(columns: int, rows: int) -> None:
    lines = [line.plain for line in shown(CROWD, columns, rows).lines]
    tasks = sum("  Subject" in line for line in lines)
    agents = sum(line.startswith(" w") for line in lines)
    more = [line for line in lines if " more: " in line]

    assert more[0].startswith(f" … {1000 - tasks} more: ")
    assert more[1].startswith(f" … {62 - agents} more: ")
    assert "done" in more[0]
    assert "idle" in more[1]


def test_of_those_that_are_done_the_last_stay() -> None:
    sight = SMALL.replace(tasks=tuple(a_task(number, "completed") for number in range(1, 100)), agents=())
    text = text_of(shown(sight, 80, 24))

    assert "Subject 99" in text
    assert "Subject 1\n" not in text


def test_the_first_question_is_shown_in_full_and_the_others_in_a_line_each() -> None:
    lines = [line.plain for line in shown(ASKED, 80, 24).lines]
    text = "\n".join(lines)

    assert "4 questions" in lines[0]
    assert "#3 builder-1 (task 7) wants Bash in /srv/app" in text
    assert "pip install requests" in text
    assert "the rule Bash(pip install:*) for the whole team" in text
    for number in (4, 5, 6):
        assert sum(line.startswith(f"#{number} ") for line in lines) == 1
    assert lines[-1] == ">   y 3 = yes · n 3 WHY = no · a 3 = always · 4 = show it · ? = help"
    assert "task 2" in text


def test_questions_that_have_no_room_are_counted() -> None:
    sight = SMALL.replace(questions=tuple(a_question(number) for number in range(3, 20)))
    text = text_of(shown(sight, 80, 24))

    assert "… 14 more: swarm permissions" in text


def test_a_long_call_leaves_room_for_the_lists_and_the_answer() -> None:
    question = a_question(3, input={"command": "\n".join(f"echo {number}" for number in range(200))})
    lines = [line.plain for line in shown(SMALL.replace(questions=(question,)), 80, 24).lines]
    text = "\n".join(lines)

    assert "more lines: swarm permissions 3" in text
    assert "always: adds the rule" in text
    assert "asks #3" in text
    assert lines[-1].startswith("> ")


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 15), (40, 10)])
def test_for_a_question_that_somebody_wants_to_see_the_lists_make_room(columns: int, rows: int) -> None:
    wanted = a_question(4, input={"command": "\n".join("abcdefgh"[: rows // 3])})
    sight = ASKED.replace(questions=(wanted, a_question(3), a_question(5)))

    lines = [line.plain for line in shown(sight, columns, rows, Typing(listens=True, shows="perm-4")).lines]

    assert lines[0].startswith(" swarm  rename-api")
    assert sum(line.startswith("  │ ") for line in lines) >= rows // 3
    assert "Enter = back" in lines[-1]


def test_of_a_long_one_that_somebody_wants_to_see_more_is_shown() -> None:
    long = a_question(3, input={"command": "\n".join(f"echo {number}" for number in range(200))})
    sight = SMALL.replace(questions=(long,))

    usual, wanted = (
        text_of(shown(sight, 80, 24, Typing(listens=True, shows=wish))).count("> echo")
        for wish in ("", "perm-3")
    )

    assert wanted > usual


def test_what_was_typed_stands_at_the_bottom_with_the_cursor_behind_it() -> None:
    frame = shown(ASKED, 80, 24, Typing(listens=True, text="n 3 not", said="Type y 3.", is_bad=True))

    assert frame.lines[-1].plain.startswith("> n 3 not")
    assert frame.cursor == (len(frame.lines) - 1, len("> n 3 not"))
    assert frame.lines[-2].plain == "Type y 3."


def test_of_a_long_answer_the_end_is_seen() -> None:
    frame = shown(ASKED, 40, 12, Typing(listens=True, text="n 3 " + "word " * 30 + "end"))

    assert frame.lines[-1].plain.startswith("> …")
    assert frame.lines[-1].plain.endswith("word end")
    assert frame.cursor == (len(frame.lines) - 1, 39)


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (80, ">   y 3 = yes · n 3 WHY = no · a 3 = always · 4 = show it · ? = help"),
        (60, ">   y 3 = yes · n 3 WHY = no · 4 = show it · ? = help"),
        (40, ">   y 3 = yes · n 3 WHY = no · ? = help"),
        (20, ">   ? = help"),
        (8, ">"),
    ],
)
def test_of_what_can_be_typed_as_much_is_told_as_fits(columns: int, hint: str) -> None:
    assert shown(ASKED, columns, 24).lines[-1].plain.rstrip() == hint


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 15), (40, 10)])
def test_help_is_shown_whole_beside_the_question(columns: int, rows: int) -> None:
    told = [f"y {number} = does something" for number in range(5)]
    text = text_of(shown(ASKED, columns, rows, Typing(listens=True, said="\n".join(told))))

    assert all(line in text for line in told)
    assert "#3 builder-1 (task 7) wants Bash" in text


def test_of_what_has_no_room_beside_the_question_it_is_seen_that_it_goes_on() -> None:
    frame = shown(ASKED, 40, 10, Typing(listens=True, said="word " * 40, is_bad=True))

    said = [line.plain for line in frame.lines if "word" in line.plain]
    assert len(said) == 2
    assert said[1].endswith("…")
    assert "#3 builder-1 (task 7) wants Bash" in text_of(frame)


def test_always_is_not_offered_where_it_would_be_refused() -> None:
    sight = SMALL.replace(questions=(a_question(3, suggested_rule=None),))

    assert shown(sight, 80, 24).lines[-1].plain == ">   y 3 = yes · n 3 WHY = no · ? = help"


def test_who_cannot_type_here_is_told_how_to_answer() -> None:
    frame = shown(ASKED, 80, 24, Typing())

    assert frame.cursor is None
    assert frame.lines[-1].plain.startswith("swarm approve 3 -t rename-api | swarm deny 3 -t rename-api")


def test_without_a_question_there_is_nothing_to_type() -> None:
    frame = shown(SMALL, 80, 24)

    assert frame.cursor is None
    assert ">" not in text_of(frame)


def test_without_unicode_signs_are_ascii_and_foreign_text_is_escaped() -> None:
    text = text_of(shown(ODD.replace(description=""), 120, 40, unicode=False))

    assert " o  1  \\u4ef6" in text
    assert " * " not in text
    assert ">   y 3 = yes | n 3 WHY = no | a 3 = always" in text


def test_what_happened_last_is_shown_where_nothing_else_needs_the_room() -> None:
    for rows, lines in ((40, 2), (24, 2), (19, 0)):
        text = text_of(shown(SMALL, 80, rows))
        assert text.count("\n 12:00:0") == lines
        assert "stalled: silent 45s" in text
