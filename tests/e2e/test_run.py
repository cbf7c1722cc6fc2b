"""`swarm run`: what it does and tells, and how a run ends."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import REPOSITORY, Shell, processes_of_run

pytestmark = pytest.mark.timeout(60)


def test_file_names_are_utf8_whatever_the_locale_says(shell: Shell) -> None:
    """In an ASCII locale the interpreter could neither name such a file nor start such a command."""
    script = [
        {"calls": [{"Write": {"file_path": "größe.txt", "content": "ü\n"}}]},
        {"calls": [{"Read": {"file_path": "größe.txt"}}, {"Bash": {"command": "cat größe.txt > 日本.txt"}}]},
        {"say": "Fertig: größer."},
    ]
    tasks = [a_task("a", script, verify=["grep -q ü 日本.txt"], files=["größe.txt"])]
    team = write_team(shell, tasks, permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", team, "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert (ended.code, ended.json()["tasks"][0]["summary"]) == (0, "Fertig: größer.")
    assert (shell.cwd / "ws" / "日本.txt").read_text(encoding="utf-8") == "ü\n"


@pytest.mark.parametrize("example", ["pipeline", "retry"])
def test_each_example_ends_well(shell: Shell, example: str) -> None:
    """What ships as an example works as it is."""
    shutil.copytree(REPOSITORY / "teams_examples" / example, shell.cwd / example)

    ended = shell.swarm("run", f"{example}/team.yaml", "--json", SWARM_TIME_SCALE="0.2")

    assert ended.code == 0, ended.err
    assert {task["status"] for task in ended.json()["tasks"]} == {"completed"}
    assert processes_of_run(ended.json()["run"]) == []


def test_the_retry_example_shows_failure_and_retry(shell: Shell) -> None:
    """The example is about mending: a check that failed first, and an attempt that failed."""
    shutil.copytree(REPOSITORY / "teams_examples" / "retry", shell.cwd / "retry")

    ended = shell.swarm("run", "retry/team.yaml", "--json", SWARM_TIME_SCALE="0.2")

    events = (shell.root / "teams" / ended.json()["team"] / "events.jsonl").read_text(encoding="utf-8")
    assert '"event":"verify_failed"' in events.replace(" ", "")
    assert any(task["attempts"] > 0 for task in ended.json()["tasks"])


def test_a_failed_verify_fails_the_task_and_keeps_what_depends_on_it_blocked(shell: Shell) -> None:
    """Done means checked: text at the end of a turn is not enough."""
    file = write_team(shell, [a_task("a", verify=["false"]), a_task("b", blocked_by=["a"])])

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 6
    first, second = ended.json()["tasks"]
    assert (first["status"], second["status"]) == ("failed", "pending")
    assert first["reason"].startswith("parked")
    assert "waits for" in second["reason"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([{"calls": [{"Read": {"file_path": "nothing.txt"}}]}, {"say": "Done."}], "unexpected error"),
        ([{"say": "Done."}, {"say": "More."}], "unused steps"),
        ([{"say": " "}], "an empty answer"),
        (
            [
                {"calls": [{"Glob": {"pattern": "*"}}], "expect": "error"},
                {"say": "Done."},
            ],
            "no error",
        ),
        ([{"calls": [{"Glob": {"pattern": "*"}}]}], "no final answer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_task_is_not_completed_by(shell: Shell, script: list[dict[str, Any]], why: str) -> None:
    """Each of these ends the attempt with a reason, never the task as done."""
    file = write_team(shell, [a_task("a", script)])

    ended = shell.swarm("run", file, "--json")

    (task,) = ended.json()["tasks"] if ended.out else ({"status": "refused"},)
    assert ended.code in (2, 6), why
    assert task["status"] in ("failed", "refused")


def test_a_time_limit_ends_in_124(shell: Shell) -> None:
    """What was in hand is given back, and nothing goes on in the background."""
    script = [{"calls": [{"Bash": {"command": "sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", file, "--json", "--timeout", "1")

    assert ended.code == 124, ended.err
    assert status_of(shell, "1")["status"] == "pending"
    assert processes_of_run(ended.json()["run"]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order(shell: Shell, number: signal.Signals) -> None:
    """Exit 130, the task is free again, no tool of ours lives on."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    process = shell.start("run", file, "--json")
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)

    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert status_of(shell, "1")["status"] == "pending"
    assert processes_of_run(json.loads(out)["run"]) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_long_before_the_first_teammate_is_an_interrupt_too(
    shell: Shell, number: signal.Signals
) -> None:
    """The program is still being loaded; nothing is made yet."""
    process = shell.start("run", write_team(shell, [a_task("a")]))
    wait_until(lambda: hears(process.pid, number), timeout=20)

    process.send_signal(number)
    _, err = process.communicate(timeout=30)

    assert err.splitlines()[-1].startswith("error: interrupted")
    # Where it came inside of code that is compiled while modules are loaded, Python ends itself by SIGINT,
    # for which a shell has the same 130.
    assert process.returncode in (130, -signal.SIGINT)
    assert not (shell.root / "teams" / "t1").exists()


def hears(pid: int, number: signal.Signals) -> bool:
    """Whether this process catches that signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_a_terminal_that_is_closed_ends_the_run_in_order(shell: Shell) -> None:
    """Whoever watched the live view is gone; that is an interrupt, not a bug."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(shell.cwd)
        os.execvpe(
            sys.executable,
            [sys.executable, "-m", "swarm", "run", file],
            {**shell.environ(), "TERM": "xterm-256color"},
        )
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)
    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert status_of(shell, "1")["status"] == "pending"


def test_what_a_command_left_in_the_background_ends_with_the_run(shell: Shell) -> None:
    """The call itself does not wait for it, and the run does not leave it behind; setsid is no way out."""
    script = [
        {"calls": [{"Bash": {"command": "sleep 600 & setsid sleep 600 & echo $! > pid"}}]},
        {"say": "Done."},
    ]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.err
    assert (shell.cwd / "ws" / "pid").read_text().strip().isdigit()
    assert processes_of_run(ended.json()["run"]) == []


def test_a_reader_that_goes_away_does_not_end_the_run(shell: Shell) -> None:
    """`swarm run … 2>&1 | head -1` shows one line; the work goes on to its end all the same."""
    file = write_team(shell, [a_task("a"), a_task("b", blocked_by=["a"])])
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "swarm", "run", file],
        cwd=shell.cwd,
        env=shell.environ(),
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)

    assert process.wait(30) == 0
    assert status_of(shell, "2")["status"] == "completed"
    assert (shell.root / "teams" / "t1" / "report.md").exists()


def test_a_hang_up_is_ignored_where_it_was_ignored_before(shell: Shell) -> None:
    """`nohup swarm run` goes on when the terminal is closed."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 1"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "swarm", "run", file],
        cwd=shell.cwd,
        env=shell.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)
    process.send_signal(signal.SIGHUP)

    assert process.wait(30) == 0


def test_the_reason_of_the_first_attempt_is_told(shell: Shell) -> None:
    """What fails in a second attempt may only follow from the first."""
    script = [{"calls": [{"Bash": {"command": "mkdir made"}}]}, {"say": "Done."}]
    file = write_team(
        shell,
        [a_task("a", script, verify=["test -e never"])],
        permissions={"mode": "acceptEdits", "allow": ["Bash(mkdir:*)"]},
    )

    (task,) = shell.swarm("run", file, "--json").json()["tasks"]

    assert task["reason"].startswith("parked: the check `test -e never` failed")
    assert "attempt 2: step 1 (Bash) failed" in task["reason"]


def test_plain_lines_tell_the_story_where_there_is_no_terminal(shell: Shell) -> None:
    """Stdout holds the result; what happens on the way goes to stderr, a line each."""
    file = write_team(shell, [a_task("a"), a_task("b", blocked_by=["a"])])

    ended = shell.swarm("run", file)

    assert ended.code == 0
    assert "w1" in ended.err
    assert "\x1b" not in ended.err + ended.out
    assert ended.err.index("Task a") < ended.err.index("Task b")
    assert "report.md" in ended.out


def test_a_workspace_without_git_works_without_commits(shell: Shell) -> None:
    """Git is used where it is there, not demanded."""
    script = [{"calls": [{"Write": {"file_path": "a.txt", "content": "x\n"}}]}, {"say": "Written."}]
    file = write_team(shell, [a_task("a", script)])

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.out + ended.err
    (task,) = ended.json()["tasks"]
    assert task["files"] == ["a.txt"]
    assert "commit" not in task
    assert (shell.cwd / "ws" / "a.txt").read_text() == "x\n"
