"""Bash returns what a command printed and how it ended, bounded in time and output."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from swarm.testing.wait import eventually, wait_until
from tests.support.tools import ToolBench
from worker.tools.shell_words import meaning_of_one, refused_program, split_segments
from worker.tools.terminal_text import screen_text


async def test_output_and_errors_come_in_order(bench: ToolBench) -> None:
    assert await bench.ok("Bash", command="echo one; echo two >&2; echo three") == "one\ntwo\nthree"


async def test_a_failing_command_is_an_error_with_its_code(bench: ToolBench) -> None:
    assert await bench.error("Bash", command="echo no; exit 3") == "no\n[exit code 3]"


async def test_silent_success_has_a_placeholder(bench: ToolBench) -> None:
    """Some models take an empty result for the end of their turn."""
    assert await bench.ok("Bash", command="true") == "(Bash completed with no output)"


async def test_no_match_is_no_error(bench: ToolBench) -> None:
    assert await bench.ok("Bash", command="echo a | grep b") == "[exit code 1: nothing matched]"


async def test_each_command_starts_anew_in_the_working_directory(bench: ToolBench, workspace: Path) -> None:
    await bench.ok("Bash", command="cd /; X=1; export X")

    assert await bench.ok("Bash", command="pwd; echo [$X]") == f"{os.path.realpath(workspace)}\n[]"


async def test_children_see_the_given_environment_only(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_THING", "hidden")

    assert "SECRET_THING" not in await bench.ok("Bash", command="env")


async def test_time_out_says_so_and_shows_what_was_printed(bench: ToolBench) -> None:
    text = await bench.error("Bash", command="echo early; sleep 60", timeout=300)

    assert "timed out after 0.3 s" in text
    assert text.endswith("What it printed until then:\nearly")


async def test_the_time_limit_cannot_be_raised_above_the_maximum(bench: ToolBench) -> None:
    bench.context.settings = bench.context.settings.replace(bash_timeout_max_seconds=0.3)

    text = await bench.error("Bash", command="sleep 60", timeout=500_000)
    assert "timed out after 0.3 s" in text
    assert "printed nothing" in text


async def test_output_is_readable_text(bench: ToolBench) -> None:
    """What a model reads, and what people see in their terminal later, must not steer either of them."""
    command = r"printf '\033[31mred\033[0m \377 a\342\200\213b\n10%%\r100%%\n\033]0;title\007end'"

    assert await bench.ok("Bash", command=command) == "red \ufffd ab\n100%\nend"


async def test_long_output_goes_to_a_file_with_a_preview(bench: ToolBench) -> None:
    text = await bench.ok("Bash", command="seq 1 20000")

    assert text.startswith("<persisted-output>")
    path = next(line for line in text.splitlines() if line.startswith("/"))
    assert Path(path).read_text().splitlines()[-1] == "20000"
    assert (await bench.ok("Read", file_path=path, limit=1)).startswith("1\t1\n")


async def test_what_runs_is_recorded_before_it_starts(bench: ToolBench) -> None:
    """Whoever finds this agent dead must know what to end."""
    call = bench.use("Bash", command="cat go; rm go; sleep 60")
    (bench.workspace / "go").write_text("x")
    turn = asyncio.ensure_future(bench.turn(call))
    await eventually(lambda: not (bench.workspace / "go").exists())

    record = bench.team.agents.load("builder-1")
    assert record is not None
    (process,) = record.tools
    assert (process.tool_use_id, process.name) == (call["id"], "Bash")
    assert process.pgid is not None
    os.killpg(process.pgid, 0)  # it is a group, and it lives

    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    record = bench.team.agents.load("builder-1")
    assert record is not None
    assert record.tools == ()


async def test_a_command_that_cannot_be_recorded_does_not_run(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise OSError("disk gone")

    monkeypatch.setattr(bench.context.track, "started", fail)

    assert "disk gone" in await bench.error("Bash", command="touch ran")
    assert not (bench.workspace / "ran").exists()


async def test_cancelling_ends_the_whole_tree(bench: ToolBench, workspace: Path) -> None:
    call = asyncio.ensure_future(bench.call("Bash", command="(sleep 60 & echo $! > child; wait); true"))
    noted = workspace / "child"
    await eventually(lambda: noted.exists() and noted.read_text())
    child = noted.read_text()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    wait_until(lambda: not _is_running(int(child)))


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.parametrize("command", ["vim a.py", "git diff | less", "cd /x && sudo top", "EDITOR=x nano f"])
async def test_full_screen_programs_are_refused(bench: ToolBench, command: str) -> None:
    assert "needs a terminal" in await bench.error("Bash", command=command)


@pytest.mark.parametrize("command", ["", "  ", "echo \0"])
async def test_commands_that_are_none(bench: ToolBench, command: str) -> None:
    assert (await bench.error("Bash", command=command)).endswith(".")


async def test_background_work_is_not_offered(bench: ToolBench) -> None:
    """A parameter that would be ignored is worse than none."""
    text = await bench.error("Bash", command="true", run_in_background=True)

    assert "`run_in_background` is no parameter" in text


@pytest.mark.parametrize(
    "command",
    [
        "echo vim",
        "grep -r less .",
        "top -b -n 1",
        "vim --version",
        "nvim --headless +q",
        "echo 'a | less'",
        'echo "x && vim"',
        "cat > less.txt",
        "",
        "echo 'unclosed",
    ],
)
def test_harmless_words_are_not_refused(command: str) -> None:
    assert refused_program(command) is None


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("grep a b", "", "nothing matched"),
        ("/usr/bin/grep a b", "", "nothing matched"),
        ("echo x | rg a", "", "nothing matched"),
        ("make; grep a b", "", "nothing matched"),
        ("make || grep a b", "", "nothing matched"),
        ("LC_ALL=C grep a b", "", "nothing matched"),
        ("diff a b", "1c1", "they differ"),
        ("test -f x", "", "the condition is false"),
        ("[ -f x ]", "", "the condition is false"),
        ("cd src && grep a b", "", "nothing matched"),
        ("cd nowhere && grep a b", "cd: no such folder", None),
        ("pytest -q && grep a b", "", None),
        ("pytest -q && cat x | grep a", "", None),
        ("set -e; pytest; grep a b", "", None),
        ("grep a b | sort", "", None),
        ("pytest -q", "", None),
        ("echo 'grep'", "", None),
        ("for f in *; do grep a $f; done", "", None),
        ("", "", None),
    ],
)
def test_what_exit_code_one_means(command: str, output: str, expected: str | None) -> None:
    """After `&&` the code may be that of the tests before it: then it stays an error."""
    assert meaning_of_one(command, output) == expected


def test_segments_know_their_operators() -> None:
    assert split_segments("a 2>&1 | b && c 'x;y' & d\ne |& f || g; \\; h &> i") == [
        ("", "a 2>&1"),
        ("|", "b"),
        ("&&", "c 'x;y'"),
        ("&", "d"),
        ("\n", "e"),
        ("|&", "f"),
        ("||", "g"),
        (";", "\\; h &> i"),
    ]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[1;31mb\x1b[0mc", "abc"),
        ("\x9b31mred", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("done\r", "done"),
        ("N\x08NA\x08A", "NA"),
        ("a\u202eb\ufeffc\x00d", "abcd"),
        ("日本 é 🎉\t.", "日本 é 🎉\t."),
    ],
)
def test_what_a_screen_would_show(raw: str, shown: str) -> None:
    assert screen_text(raw) == shown


def test_a_long_line_costs_no_more_than_its_length() -> None:
    """Commands print megabytes on one line: minified files, dumps, dots of a test run."""
    assert len(screen_text("x" * 2_000_000)) == 2_000_000
