"""The live view of a real run in a terminal: watched, answered by hand, resized, stopped and taken up."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.e2e.steps import a_task, write_team
from tests.support.command import Shell
from tests.support.terminal import Terminal

pytestmark = pytest.mark.timeout(120)

SWARM = [sys.executable, "-m", "swarm"]
CLIENT = '"""Talk to the service."""\n\nimport requests\n'
EDIT = {"file_path": "client.py", "old_string": "import requests\n", "new_string": "import httpx\n"}
ASKING = [
    {"say": "Looking around.", "calls": [{"Bash": {"command": "touch first.txt"}}]},
    {"say": "Now the client.", "calls": [{"Read": {"file_path": "client.py"}}]},
    {"calls": [{"Edit": EDIT}]},
    {"say": "And the notes.", "calls": [{"Write": {"file_path": "notes.md", "content": "# New\n"}}]},
    {"say": "All done."},
]
LONG = [{"calls": [{"Bash": {"command": "sleep 600"}}]}, {"say": "Done."}]


def terminal(shell: Shell, *words: str, columns: int = 80, rows: int = 24, **environ: str) -> Terminal:
    return Terminal(
        [*SWARM, *words],
        shell.environ(TERM="xterm-256color", **environ),
        str(shell.cwd),
        columns=columns,
        rows=rows,
    )


def asking(shell: Shell) -> str:
    file = write_team(shell, [a_task("a", ASKING)], permissions={"mode": "default"})
    (shell.cwd / "ws" / "client.py").write_text(CLIENT)
    return file


def running(shell: Shell) -> str:
    return write_team(shell, [a_task("a", LONG)], permissions={"mode": "bypassPermissions"})


def in_ws(shell: Shell, name: str) -> Path:
    return shell.cwd / "ws" / name


def test_three_questions_are_answered_while_it_redraws(shell: Shell) -> None:
    """What was typed stands in the frame, does what it says, and what became of it is said."""
    with terminal(shell, "run", asking(shell)) as seen:
        text = seen.wait_for("#1 w1 (task 1) wants Bash")
        assert "asks #1, task 1" in text
        assert "$ touch first.txt" in text
        assert seen.written.count(b"\a") == 1
        assert not in_ws(shell, "first.txt").exists()

        seen.press("y 1 use a p")
        seen.wait_for("> y 1 use a p ")
        clock = re.findall(r"00:\d\d", seen.lines[0])
        seen.wait_for(lambda text: re.findall(r"00:\d\d", text.splitlines()[0]) != clock)
        assert "> y 1 use a p " in seen.text
        seen.press("in\r")
        text = seen.wait_for("#2 w1 (task 1) wants Edit")
        assert "#1 allowed" in text
        assert "- import requests" in text
        assert "+ import httpx" in text
        assert in_ws(shell, "first.txt").exists()
        assert in_ws(shell, "client.py").read_text() == CLIENT

        seen.press("perhaps\r")
        seen.wait_for("not understood")
        seen.press("y 2\r")
        seen.wait_for("#3 w1 (task 1) wants Write")
        seen.press("a 3\r")
        assert seen.wait_for_end() == 0
        assert "All tasks are completed" in seen.text

    assert in_ws(shell, "client.py").read_text() == CLIENT.replace("requests", "httpx")
    assert in_ws(shell, "notes.md").read_text() == "# New\n"


def test_an_answer_given_elsewhere_takes_the_question_away(shell: Shell) -> None:
    with terminal(shell, "run", asking(shell)) as seen:
        seen.wait_for("#1 w1 (task 1) wants Bash")
        assert shell.swarm("approve", "1", "-t", "t1").code == 0
        text = seen.wait_for("#2 w1 (task 1) wants Edit")
        assert "#1 w1" not in text


def test_what_is_typed_where_no_answers_are_taken_is_no_command_for_the_shell(shell: Shell) -> None:
    script = [{"calls": [{"Bash": {"command": "touch first.txt"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "default"})
    environ = shell.environ(TERM="xterm-256color", PS1="shell> ")
    bash = ["bash", "--norc", "--noprofile", "-i"]
    with Terminal(bash, environ, str(shell.cwd), columns=160, rows=40) as seen:
        seen.wait_for("shell>")
        seen.press(f"{' '.join(SWARM)} run {file} 2>&1 | cat\r")
        text = seen.wait_for("no: ")
        assert "yes, in another terminal: swarm approve 1 -t t1, or with --always" in text
        seen.press("y 1 > typed.txt\r")
        seen.wait_for("y 1 > typed.txt")
        assert not in_ws(shell, "first.txt").exists()
        assert shell.swarm("approve", "1", "-t", "t1").code == 0
        seen.wait_for("All tasks are completed")
        seen.wait_for(lambda text: text.rstrip().splitlines()[-1] == "shell>")
        seen.press("echo $((40 + 2))\r")
        seen.wait_for("\n42")
        assert not (shell.cwd / "typed.txt").exists()


@pytest.mark.parametrize(("columns", "rows"), [(40, 12), (120, 40), (60, 16)])
def test_another_size_leaves_nothing_of_the_one_before(shell: Shell, columns: int, rows: int) -> None:
    with terminal(shell, "run", asking(shell)) as seen:
        seen.wait_for("#1 w1 (task 1) wants Bash")
        seen.press("y 1 ne")
        seen.wait_for("> y 1 ne")
        before = len(seen.written)
        seen.resize(columns, rows)
        text = seen.wait_for(lambda text: b"\x1b[2J" in seen.written[before:] and "> y 1 ne" in text)

        assert text.count(" swarm  t1") == 1
        assert text.count("> y 1 ne") == 1
        assert text.count("wants Bash") == 1
        assert seen.lines[0].startswith(" swarm  t1")
        assert seen.lines[rows - 1].startswith("> y 1 ne")


def test_without_colours_and_unicode_it_is_plain_ascii(shell: Shell) -> None:
    with terminal(
        shell, "run", asking(shell), NO_COLOR="1", LANG="en_US.ISO-8859-1", PYTHONIOENCODING="latin-1"
    ) as seen:
        seen.wait_for("#1 w1 (task 1) wants Bash")
        drawn = seen.written
    assert drawn.isascii()
    assert re.search(rb"\x1b\[[0-9;]*m", drawn) is None


def test_ctrl_c_ends_the_run_and_gives_the_terminal_back(shell: Shell) -> None:
    with terminal(shell, "run", running(shell)) as seen:
        seen.wait_for("Bash sleep 600")
        seen.press("\x03")
        assert seen.wait_for_end() == 130
        assert "Interrupted" in seen.text
        assert " swarm  t1" not in seen.text
        assert seen.written.count(b"\x1b[?1049h") == seen.written.count(b"\x1b[?1049l") == 1
        assert seen.echoes()


def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_again(shell: Shell) -> None:
    file = running(shell)
    environ = shell.environ(TERM="xterm-256color", PS1="prompt> ")
    with Terminal(["bash", "--norc", "--noprofile", "-i"], environ, str(shell.cwd)) as seen:
        seen.wait_for("prompt>")
        seen.press(f"{sys.executable} -m swarm run {file}\r")
        seen.wait_for("Bash sleep 600")
        seen.press("\x1a")
        text = seen.wait_for("Stopped")
        assert " swarm  t1" not in text
        seen.look(0.3)
        stopped = len(seen.written)
        seen.press("echo h''ere\r")
        seen.wait_for("here")
        seen.press("fg\r")
        seen.wait_for(lambda text: "Bash sleep 600" in text and b"\x1b[?1049h" in seen.written[stopped:])
        seen.press("\x03")
        seen.wait_for(lambda text: "Interrupted" in text and text.rstrip().endswith("prompt>"))


def test_the_status_is_redrawn_until_it_is_left(shell: Shell) -> None:
    assert shell.swarm("team", "create", "t1").code == 0
    with terminal(shell, "status", "--watch") as seen:
        seen.wait_for("no tasks yet")
        assert shell.swarm("task", "add", "first").code == 0
        seen.wait_for("1 task: ○ 1 ready")
        before = len(seen.written)
        seen.resize(40, 12)
        seen.wait_for(lambda text: b"\x1b[2J" in seen.written[before:] and "Ctrl-C" in text)
        assert seen.text.count("1 task: ") == 1
        seen.press("\x03")
        assert seen.wait_for_end() == 130
        assert seen.written.endswith(b"\x1b[?1049l")
        assert seen.echoes()


@pytest.mark.parametrize("how", ["q", "delete"])
def test_the_status_is_left_with_q_or_with_the_team(shell: Shell, how: str) -> None:
    assert shell.swarm("team", "create", "t1").code == 0
    with terminal(shell, "status", "-w") as seen:
        seen.wait_for("no tasks yet")
        if how == "q":
            seen.press("q")
        else:
            assert shell.swarm("team", "delete", "t1", "--force").code == 0
        assert seen.wait_for_end() == 0
        assert ("team t1 is gone" in seen.text) == (how == "delete")


def test_a_pipe_gets_plain_lines_with_each_question_in_full(shell: Shell) -> None:
    """Answered from another shell, with the command that the lines name."""
    process = shell.start("run", asking(shell))
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line.rstrip())
        found = re.fullmatch(r"  yes: swarm (approve \d+ -t t1)(, or with --always)?\n", line)
        if found:
            assert shell.swarm(*found[1].split()).code == 0
    process.communicate(timeout=60)

    text = "\n".join(told)
    assert process.returncode == 0
    assert "$ touch first.txt" in text
    assert "- import requests" in text
    assert all(f"w1 was allowed #{number} by user" in text for number in (1, 2, 3))
    assert "\x1b" not in text


def test_what_is_said_at_the_end_is_broken_at_words_on_a_terminal(shell: Shell) -> None:
    """And the command to go on with still is one, as the shell takes it."""
    command = f"touch {' '.join(f'a-rather-long-name-{number}.txt' for number in range(4))}"
    script = [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "default"})
    with terminal(shell, "run", file, "--headless") as seen:
        assert seen.wait_for_end() == 5
        lines = [line for line in seen.lines if line]
    start = next(at for at, line in enumerate(lines) if line.startswith("go on "))
    assert lines[start].endswith(" \\")
    words = set(" ".join(lines).split())
    assert {"denied", "default,", "nobody", "asked;", "a-rather-long-name-0.txt", "--allow"} <= words
