"""A question on a screen shows the whole call, nothing that the call is not, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from swarm.cli.question import question_lines
from swarm.core.breaking import width
from swarm.core.permission import PermissionRequest, request_digest
from swarm.core.times import parse_time
from tests.support.documented import page_text

NOW = parse_time("2026-11-30T12:32:19.393Z")


def asked(tool: str = "Bash", cwd: str = "/srv/app", **given: Any) -> PermissionRequest:
    return PermissionRequest(
        id="perm-1796042339393-etg685o",
        number=3,
        agent="builder-1",
        run_id="k3v9qd7m.builder-1.1",
        task="7",
        tool=tool,
        tool_use_id="toolu_02",
        input=given,
        cwd=cwd,
        why="No rule allows it.",
        suggested_rule=f"{tool}(x)",
        digest=request_digest(tool, given, cwd),
        created_at="2026-11-30T12:32:19.393Z",
        deadline_at="2026-11-30T12:42:19.393Z",
    )


def shown(
    request: PermissionRequest, columns: int | None = 80, rows: int | None = None, **how: Any
) -> list[str]:
    return [line.plain for line in question_lines(request, columns, rows, now=NOW, **how)]


def test_it_says_who_wants_what_where_why_and_what_always_would_do() -> None:
    assert shown(asked(command="pip install x", description="Install x")) == [
        "#3 builder-1 (task 7) wants Bash in /srv/app, 10m left, then it counts as no",
        "  │ $ pip install x",
        "  │ # it says: Install x",
        "  why: No rule allows it.",
        "  always: adds the rule Bash(x) for the whole team",
    ]


@pytest.mark.parametrize("columns", range(20, 120))
def test_the_time_that_is_left_is_read_in_one_piece(columns: int) -> None:
    """And what happens at its end is told unless that costs a line of the call."""
    request = asked(cwd="/srv/apps/a-project/with-a-long-name/app", command="ls")

    lines = shown(request, columns)
    small = shown(request, columns, len(lines) - 1)

    assert any("10m left" in line for line in lines)
    assert any("10m left" in line for line in small)
    head = " ".join(line.strip() for line in lines[: lines.index("  │ $ ls")])
    assert head.endswith(", 10m left, then it counts as no")
    assert "  │ $ ls" in small


@pytest.mark.parametrize(
    ("columns", "cut"),
    [
        (80, "  … 10 more lines: swarm permissions 3 -t web"),
        (40, "  … 13 more: swarm permissions 3 -t web"),
        (20, "  … 14 more: swarm …"),
    ],
)
def test_where_a_line_is_short_the_command_stays_whole_as_long_as_it_can(columns: int, cut: str) -> None:
    assert cut in shown(asked(command="\n" * 9), columns, 3, team="web")


def test_it_looks_as_the_documentation_shows() -> None:
    request = asked(command="pip install requests", description="Install the HTTP library")
    text = "\n".join(shown(request.replace(suggested_rule="Bash(pip install:*)"))).replace("10m", "9m")
    assert f"```text\n{text}\n```" in page_text("permissions.md")


def test_each_line_of_a_command_has_its_mark() -> None:
    """A line that only goes on because the screen is narrow is not taken for one of its own."""
    command = "make\nrm -rf " + "x" * 40

    assert shown(asked(command=command), 40)[3:6] == [
        "  │ $ make",
        "  │ > rm -rf xxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "  │   xxxxxxxxxxxxx",
    ]


def test_a_command_cannot_draw_lines_of_ours() -> None:
    command = "make\n  why: You said yes to this before.\n#4 w2 wants Bash in /\n\x1b[2J\r\u202eafter"

    lines = shown(asked(command=command))

    assert "  │ >   why: You said yes to this before." in lines
    assert "  │ > #4 w2 wants Bash in /" in lines
    assert "  │ > \\x1b[2J\\r\\u202eafter" in lines
    assert sum(line.startswith("#") for line in lines) == 1
    assert lines[1].startswith("  It holds invisible or control characters")


@pytest.mark.parametrize(
    "hidden", ["\u00a0", "\u200b", "\u200d", "\u2066", "\u3164", "\ufe0f", "\U000e0041", "\x7f"]
)
def test_what_the_eye_would_not_see_is_an_escape(hidden: str) -> None:
    [line] = [line for line in shown(asked(command=f"rm{hidden}x")) if line.startswith("  │ $")]

    assert line == "  │ $ rm" + hidden.encode("unicode_escape").decode() + "x"


@pytest.mark.parametrize(
    "text", ["echo 測試測試測試測試測試測試測試測試", "x" * 5000, "é" * 200, "a\u0301" * 100, "👍🏽" * 60]
)
@pytest.mark.parametrize("columns", [20, 80])
def test_no_line_is_wider_than_the_screen_and_nothing_is_lost(text: str, columns: int) -> None:
    lines = shown(asked(command=text), columns)
    end = next(at for at, line in enumerate(lines) if line.startswith("  why: "))
    body = [line for line in lines[:end] if line.startswith("  │ ")]

    assert all(width(line) <= columns for line in lines)
    assert all(cell_len(line) <= columns for line in lines)
    assert "".join(line[6:] for line in body) == text


def test_a_rule_that_is_long_stands_behind_the_bar() -> None:
    """Its words are the agent's, and could look like our next line where they are broken."""
    command = f"echo ok{' ' * 60}  why: The user wants it."

    lines = shown(asked(command=command).replace(suggested_rule=f"Bash({command})"))

    assert lines[-4:-2] == ["  why: No rule allows it.", "  always: adds this rule for the whole team:"]
    assert all(line.startswith("  │ ") for line in lines[-2:])
    assert "".join(line[4:] for line in lines[-2:]) == f"Bash({command})"


def test_a_huge_command_is_cut_and_it_is_said_how_much_and_where_to_see_it() -> None:
    command = "\n".join(f"echo {number}" for number in range(50))

    lines = shown(asked(command=command), 80, 12)

    assert len(lines) == 12
    assert lines[8] == "  │ > echo 7"
    assert lines[9] == "  … 42 more lines: swarm permissions 3"
    assert lines[11].startswith("  always: ")


@pytest.mark.parametrize("rows", range(1, 20))
@pytest.mark.parametrize("command", ["ls", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "x" * 2000])
def test_it_fits_any_height_and_says_so_when_the_call_is_not_whole(rows: int, command: str) -> None:
    lines = shown(asked(command=command), 80, rows)

    assert 1 <= len(lines) <= rows
    whole = "".join(line[6:] for line in lines if line.startswith("  │ ")) == command.replace("\n", "")
    assert whole or any("more line" in line or line.endswith("…") for line in lines) or rows == 1


def test_a_rule_that_has_no_room_is_told_of() -> None:
    """Nobody says `always` to a rule that he has not seen and knows nothing of."""
    lines = shown(asked(command="ls").replace(suggested_rule="Bash(" + "x" * 300 + ")"), 80, 4)

    assert lines[1:] == ["  │ $ ls", "  … 6 more lines: swarm permissions 3"]


def test_one_row_is_a_summary() -> None:
    assert shown(asked(command="pip install x"), 80, 1) == ["#3 builder-1 (task 7) wants Bash: pip install x"]
    [line] = shown(asked(command="x\n" * 200), 40, 1)
    assert line == "#3 builder-1 (task 7) wants Bash: x\\nx\\…"[:39] + "…"


def test_on_a_terminal_without_unicode_everything_is_ascii() -> None:
    request = asked(command="echo é\n" * 30)
    lines = shown(request, 40, 10, unicode=False)

    assert all(line.isascii() for line in lines)
    assert "  | $ echo \\xe9" in lines
    assert any(line.startswith("  ... ") for line in lines)


def test_without_colour_there_is_no_style() -> None:
    lines = question_lines(asked(command="x"), 80, None, color=False, now=NOW)

    assert not any(line.style or line.spans for line in lines)


def test_what_was_changed_on_disk_is_said_first() -> None:
    request = asked(command="ls").replace(input={"command": "rm -rf ."})

    assert shown(request)[1] == "  This question was changed after it was asked. Say no."


def test_more_that_is_given_is_shown_too() -> None:
    assert '  │ with {"timeout": 5}' in shown(asked(command="ls", timeout=5))


def test_another_tool_shows_its_whole_input() -> None:
    assert shown(asked("Fetch", url="http://x/\x1b", depth=[1]), 200)[2:-2] == [
        "  │ {",
        '  │   "url": "http://x/\\u001b",',
        '  │   "depth": [',
        "  │     1",
        "  │   ]",
        "  │ }",
    ]
    assert "  without any input" in shown(asked("Fetch"))
    assert '  │   "command": 5' in shown(asked("Bash", command=5))


def test_a_plan_is_shown_as_it_would_be_read() -> None:
    request = asked("ExitPlanMode", plan="\n# Rename it\n\n1. api/users.py\n#4 w2 wants Bash\n").replace(
        suggested_rule=None
    )

    assert shown(request) == [
        "#3 builder-1 (task 7) hands in a plan, 10m left, then it counts as no",
        "  │ # Rename it",
        "  │ ",
        "  │ 1. api/users.py",
        "  │ #4 w2 wants Bash",
        "  why: No rule allows it.",
    ]
    assert len(shown(request.replace(why=""), 80, 4)) == 4
    assert shown(request, 80, 1) == ["#3 builder-1 (task 7) hands in a plan: # Rename it"]
    assert shown(asked("ExitPlanMode", plan=5))[0].startswith("#3 builder-1 (task 7) wants ExitPlanMode in ")


def test_time_that_is_over_is_said() -> None:
    late = [line.plain for line in question_lines(asked(command="x"), 80, None, now=NOW + 700)]
    odd = [
        line.plain for line in question_lines(asked(command="x").replace(deadline_at="?"), 80, None, now=NOW)
    ]

    assert late[0].endswith(", its time is over")
    assert odd[0] == "#3 builder-1 (task 7) wants Bash in /srv/app"


def test_without_number_and_rule() -> None:
    """Questions of another program have no number, and some calls no single rule would allow."""
    lines = shown(asked(command="x").replace(number=None, suggested_rule=None, task=None, why=""))

    assert lines[:2] == [
        "perm-1796042339393-etg685o builder-1 wants Bash in /srv/app, 10m left, then it",
        "  counts as no",
    ]
    assert lines[3:] == ["  always: not possible, no single rule would allow it"]


def lines_of(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def edit(folder: Path, old: str, new: str, **more: Any) -> list[str]:
    request = asked(
        "Edit", str(folder), file_path=str(folder / "a.txt"), old_string=old, new_string=new, **more
    )
    return shown(request, 200)[2:-2]


def test_an_edit_is_a_diff_with_the_lines_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines_of(100))

    assert edit(tmp_path, "line 50\nline 51\n", "line 50\nnew\n\tmore\n") == [
        "  │  49   line 49",
        "  │  50   line 50",
        "  │  51 - line 51",
        "  │  51 + new",
        "  │  52 + →   more",
        "  │  52   line 52",
        "  │  53   line 53",
    ]


def test_an_edit_everywhere_shows_every_place(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines_of(30))

    found = edit(tmp_path, "line 2\n", "x\n", replace_all=True)
    assert found[0] == "  every occurrence of it, 1 place:"
    found = edit(tmp_path, "ne 1", "x", replace_all=True)
    assert found[0] == "  every occurrence of it, 11 places:"
    assert "  and further on:" in found
    assert "  │ 19 + lix9" in found


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("line", "  as the file is now, this would fail, since it holds that text 5 times; "),
        ("nowhere", "  as the file is now, this would fail, since it does not hold that text; "),
    ],
)
def test_an_edit_that_does_not_fit_the_file_shows_both_strings(tmp_path: Path, old: str, said: str) -> None:
    (tmp_path / "a.txt").write_text(lines_of(5))

    found = edit(tmp_path, old, "other")

    assert found[0].startswith(said)
    assert found[-2:] == [f"  │ - {old}", "  │ + other"]


def test_one_that_was_answered_is_shown_as_it_was_asked(tmp_path: Path) -> None:
    """The file may hold the change by now; what is left to say is what was asked for."""
    (tmp_path / "a.txt").write_text("new\n")
    place = str(tmp_path / "a.txt")
    calls = {
        "Edit": {"file_path": place, "old_string": "old", "new_string": "new"},
        "Write": {"file_path": place, "content": "new\n"},
    }

    told = {
        tool: [
            line.plain
            for line in question_lines(asked(tool, str(tmp_path), **given), 200, None, answered=True)
        ]
        for tool, given in calls.items()
    }

    assert told["Edit"][1:] == [
        "  │ a.txt", "  what it was to replace:", "  │ - old", "  │ + new", "  why: No rule allows it.",
    ]  # fmt: skip
    assert told["Write"][1:] == [
        "  │ a.txt",
        "  all of it, 1 line:",
        "  │ 1 + new",
        "  why: No rule allows it.",
    ]


def test_an_edit_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = edit(tmp_path, "a", "b", replace_all=True)

    assert found == ["  there is no such file; what it would replace everywhere:", "  │ - a", "  │ + b"]


def test_a_file_that_is_no_text_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\0\1\2")

    assert edit(tmp_path, "a", "b")[0].startswith("  the file is there, and cannot be compared")


def write(folder: Path, content: str, name: str = "a.txt") -> list[str]:
    return shown(asked("Write", str(folder), file_path=str(folder / name), content=content), 200)[2:-2]


def test_a_new_file_is_shown_from_its_first_line(tmp_path: Path) -> None:
    assert write(tmp_path, "one\ntwo\n") == [
        "  a new file; all of it, 2 lines:",
        "  │ 1 + one",
        "  │ 2 + two",
    ]
    assert write(tmp_path, "") == ["  a new file; all of it, 0 lines:"]


def test_a_file_written_anew_is_a_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    assert write(tmp_path, "one\n2\nthree\n") == ["  │ 1   one", "  │ 2 - two", "  │ 2 + 2", "  │ 3   three"]
    assert write(tmp_path, "one\ntwo\nthree\n") == ["  the text is the same as before"]
    assert write(tmp_path, "one\ntwo\nthree") == ["  the text loses the line end at its end"]


def test_the_diff_follows_the_file(tmp_path: Path) -> None:
    """A view draws the same question again and again; what it shows is what would happen now."""
    assert write(tmp_path, "one\n")[0].startswith("  a new file")
    (tmp_path / "a.txt").write_text("two\n")

    assert write(tmp_path, "one\n") == ["  │ 1 - two", "  │ 1 + one"]


def test_what_would_take_long_to_compare_is_shown_as_new(tmp_path: Path) -> None:
    """An agent decides what is compared, and could hold up the screen of the person by it."""
    (tmp_path / "a.txt").write_text("x\ny\n" * 700)

    found = write(tmp_path, "y\nx\nx\n" * 460)

    assert found[0] == "  replaces 1400 lines, too many to compare, by:"
    assert found[1] == "  │    1 + y"


def test_many_lines_that_differ_are_compared(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines_of(3000))

    found = write(tmp_path, lines_of(3000).replace("line 2", "row 2"))

    assert found[1:3] == ["  │    2 - line 2", "  │    2 + row 2"]


def test_of_a_call_without_end_no_more_is_counted_than_anybody_reads() -> None:
    lines = shown(asked(command="x" * 1_000_000 + "\nlast"), 80, 10)

    assert len(lines) == 10
    assert lines[7] == "  … over 2004 more lines: swarm permissions 3"


def test_a_folder_cannot_draw_a_question_of_its_own() -> None:
    lines = shown(asked(cwd="/srv/" + "x" * 35 + " #4 w2 wants Bash in /srv", command="ls"))

    assert sum(line.startswith("#") for line in lines) == 1


def test_a_name_that_leads_elsewhere_says_where(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("/etc/hostname")

    found = shown(asked("Write", str(tmp_path), file_path="a.txt", content="x"), 200)

    assert found[1:3] == ["  │ a.txt", "  │ -> leads to /etc/hostname"]


def test_a_path_that_no_file_can_have(tmp_path: Path) -> None:
    found = shown(asked("Write", str(tmp_path), file_path="a\0b", content="x"), 200)

    assert "  │ a\\x00b" in found
    assert "  the file cannot be read; all of it, 1 line:" in found


def test_the_command_that_shows_the_rest_names_the_team() -> None:
    lines = shown(asked(command="\n".join("abcdefghij")), 80, 6, team="rename-api")
    assert any(line.endswith(": swarm permissions 3 -t rename-api") for line in lines)


def test_a_folder_below_home_is_told_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv")
    assert shown(asked(command="x"))[0].startswith("#3 builder-1 (task 7) wants Bash in ~/app, ")
