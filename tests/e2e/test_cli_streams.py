"""Pipes, full disks, terminals, Ctrl-C: what is around a command does not break it."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import Shell


@pytest.fixture
def team(shell: Shell) -> Shell:
    assert shell.swarm("team", "create", "demo").code == 0
    assert shell.swarm("task", "add", "日本語 🙂 \x1b[31mred").code == 0
    return shell


def in_bash(shell: Shell, line: str, **more: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a shell line in which `swarm` is the command."""
    swarm = f'swarm() {{ {sys.executable} -m swarm "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{swarm}{line}"],
        cwd=shell.cwd,
        env=shell.environ(**more),
        capture_output=True,
        check=False,
        timeout=15,
    )


def on_a_terminal(shell: Shell, *words: str, **more: str) -> str:
    """Return what a command writes to a terminal."""
    mine, its = pty.openpty()
    environ = shell.environ(TERM="xterm", **more)
    process = subprocess.Popen(
        [sys.executable, "-m", "swarm", *words], cwd=shell.cwd, env=environ, stdin=its, stdout=its, stderr=its
    )
    os.close(its)
    written = b""
    try:
        while chunk := os.read(mine, 4096):
            written += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    finally:
        os.close(mine)
        process.wait(timeout=15)
    return written.decode()


def test_a_reader_that_stops_early_is_no_error(team: Shell) -> None:
    for number in range(3):
        team.swarm("task", "add", f"task {number}")
    ran = in_bash(team, "swarm events | head -1; swarm events --json | head -c 1; swarm -h | true")

    assert ran.stderr == b""
    assert ran.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(team: Shell) -> None:
    """A script that stores a list must not take an empty file for an empty list."""
    ran = in_bash(team, "swarm task list --json > /dev/full")

    assert ran.returncode == 4
    assert b'"code": "io_error"' in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_a_closed_stdout_is_no_traceback(team: Shell) -> None:
    ran = in_bash(team, "swarm task list >&-")

    assert b"Traceback" not in ran.stderr


def test_colours_on_a_terminal_only_and_not_against_the_readers_will(team: Shell) -> None:
    assert "\x1b[36m○ ready\x1b[0m" in on_a_terminal(team, "task", "list")
    assert "\x1b" not in on_a_terminal(team, "task", "list", NO_COLOR="1")
    assert "\x1b" not in team.swarm("task", "list").out
    assert "\x1b[31merror:\x1b[0m" in on_a_terminal(team, "task", "show", "9")


def test_what_others_wrote_does_not_reach_the_terminal_raw(team: Shell) -> None:
    for words in (["task", "list"], ["task", "show", "1"], ["events"], ["task", "graph"], ["status"]):
        assert "\x1b[31mred" not in on_a_terminal(team, *words)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.ISO-8859-1"])
def test_any_locale_will_do(team: Shell, locale: str) -> None:
    for words in (
        ["task", "list"],
        ["task", "show", "1"],
        ["task", "list", "--json"],
        ["status"],
        ["task", "graph"],
    ):
        ended = team.swarm(
            *words, LANG=locale, LC_ALL=locale, PYTHONIOENCODING="ascii" if locale == "C" else ""
        )
        assert (ended.code, ended.err) == (0, "")


def test_bytes_that_are_no_text_are_taken_without_a_traceback(team: Shell) -> None:
    ran = in_bash(team, "swarm task add $'bad \\xff byte' && swarm task list && swarm task list --json")

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.count(b"\n") == 4


def test_ctrl_c_ends_a_follower_quietly(team: Shell) -> None:
    process = team.start("events", "--follow", SWARM_TIME_SCALE="0.05")
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)

    assert "made the team" in first
    assert (process.returncode, err) == (130, "")


def test_a_follower_prints_what_comes(team: Shell) -> None:
    process = team.start("mail", "team-lead", "--follow", "--json", SWARM_TIME_SCALE="0.05")
    assert process.stdout is not None
    for text in ("one", "two"):
        team.swarm("send", "team-lead", text)
        assert f'"text": "{text}"' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_whatever_ends_a_check_ends_all_its_children(team: Shell, number: signal.Signals) -> None:
    """The task stays claimed; nothing of the check runs on."""
    team.swarm("task", "add", "checked", "--verify", "sleep 300 & echo $! > pid; wait")
    team.swarm("task", "claim", "2", "--as", "w1")
    process = team.start("task", "complete", "2", "--as", "w1")
    noted = team.cwd / "pid"
    wait_until(lambda: noted.exists() and noted.read_text().strip(), timeout=10)
    process.send_signal(number)
    _, err = process.communicate(timeout=15)

    assert process.returncode == 130
    assert "Traceback" not in err
    wait_until(lambda: not Path(f"/proc/{noted.read_text().strip()}").exists(), timeout=5)
    assert team.swarm("task", "show", "2", "--json").json()["status"] == "in_progress"
