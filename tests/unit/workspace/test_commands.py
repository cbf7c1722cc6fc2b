"""Shell commands: when they are over, what comes back, and that nothing of an ended one is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

import pytest

from swarm.testing.wait import wait_until
from swarm.workspace import commands
from swarm.workspace.commands import MARK, run_shell
from swarm.workspace.processes import is_running, start_ticks

LIMIT = 100_000


def environ(**more):
    return {"PATH": os.environ["PATH"], **more}


async def shell(command, cwd="/", timeout=10.0, limit=LIMIT, on_start=None, **more):
    return await run_shell(command, str(cwd), environ(**more), timeout, limit, on_start, kill_wait=2.0)


def pids_in(path):
    """The pids that a command wrote down, one a line."""
    with contextlib.suppress(FileNotFoundError):
        return [int(line) for line in path.read_text().split()]
    return []


def gone(pid):
    return start_ticks(pid) is None


@pytest.fixture
def pid_file(tmp_path):
    """Where a command writes the pids of its children; whatever is left of those is killed at the end."""
    path = tmp_path / "pids"
    yield path
    for pid in pids_in(path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def open_stdin():
    """Our own input is a pipe that never ends: what a child would wait on if it got it."""
    kept = os.dup(0)
    read_end, write_end = os.pipe()
    os.dup2(read_end, 0)
    yield
    os.dup2(kept, 0)
    for descriptor in (kept, read_end, write_end):
        os.close(descriptor)


async def test_output_and_exit_code_come_back_in_order():
    """Errors and output are one text, as on a terminal."""
    result = await shell("echo out; echo err >&2; echo again; exit 3")

    assert result.output == "out\nerr\nagain\n"
    assert result.exit_code == 3
    assert not result.timed_out
    assert result.error is None
    assert result.left_running == ()


async def test_a_command_runs_in_its_folder_with_exactly_the_given_environment(tmp_path):
    """What the environment does not name does not reach the child."""
    result = await shell('pwd; echo "$WORD"; env | cut -d= -f1 | sort', cwd=tmp_path, WORD="given")

    folder, word, *names = result.output.split("\n")
    assert (folder, word) == (str(tmp_path), "given")
    assert set(names) - {"PWD", "OLDPWD", "SHLVL", "_", ""} == {"PATH", "WORD", MARK}


async def test_error_messages_speak_of_bash_not_of_our_start():
    """The way a command is started is not to be seen in what it prints."""
    result = await shell("nosuchprogram; echo $0 $#; ls /proc/self/fd | wc -l")

    assert result.output == "bash: line 1: nosuchprogram: command not found\nbash 0\n4\n"


@pytest.mark.parametrize(
    "command",
    [
        "cat",
        "read x",
        "python3 -c 'input()'",
        "head -c 1",
        "bash",
        "read x < /dev/tty",
    ],
)
async def test_a_command_that_reads_gets_end_of_file(command, open_stdin):
    """Nobody types: waiting for input would last until the time limit."""
    result = await shell(command)

    assert not result.timed_out
    assert result.elapsed < 5


async def test_a_background_child_is_neither_waited_for_nor_killed(pid_file):
    """A server started for later use keeps the output open; the command is over all the same."""
    started = time.monotonic()
    result = await shell(f"sleep 300 & echo $! > {pid_file}; echo hi")

    assert result.output == "hi\n"
    assert time.monotonic() - started < 3
    assert list(result.left_running) == pids_in(pid_file)
    assert not gone(result.left_running[0])


async def test_a_silent_background_child_in_a_session_of_its_own_is_listed(pid_file):
    """`setsid` hides a child from the process group, but not from us."""
    result = await shell(f"setsid sleep 300 >/dev/null 2>&1 & sleep 0.2; pgrep -P $$ > {pid_file}; echo hi")

    assert result.output == "hi\n"
    assert set(pids_in(pid_file)) & set(result.left_running)


async def test_a_helper_that_is_just_ending_is_not_listed():
    """`> >(tee …)` ends a moment after bash; its last output still counts."""
    result = await shell("echo late > >(sleep 0.02; cat)")

    assert result.output == "late\n"
    assert result.left_running == ()


TREES = {
    "busy loops": "for x in 1 2; do (while :; do :; done) & echo $! >> $PIDS; done; sleep 60",
    "own session": "setsid bash -c 'echo $$ >> $PIDS; exec sleep 300' & sleep 60",
    "own session, orphaned": "(setsid bash -c 'echo $$ >> $PIDS; exec sleep 300' &) ; sleep 60",
    "own session, no marks": "setsid env -i PIDS=$PIDS bash -c 'echo $$ >> $PIDS; exec sleep 300' & sleep 60",
    "own groups": "set -m; sleep 300 & echo $! >> $PIDS; sleep 301 & echo $! >> $PIDS; wait",
    "deaf": "trap '' TERM INT HUP; (echo $BASHPID >> $PIDS; while :; do sleep 0.1; done) & wait",
    "forking": "f() { echo $BASHPID >> $PIDS; (sleep 0.05; f) & wait; }; f",
    "stopped": "sleep 300 & echo $! >> $PIDS; kill -STOP $!; sleep 60",
    "exec": "echo $$ >> $PIDS; exec sleep 300",
}


@pytest.mark.parametrize("tree", TREES)
async def test_time_out_ends_the_whole_tree(tree, pid_file):
    """What runs on after the result would load the machine and change files behind everybody's back."""
    result = await shell(TREES[tree], timeout=0.7, PIDS=str(pid_file))

    assert result.timed_out
    assert result.exit_code == 124
    assert "timed out after 0.7 s" in str(result.error)
    assert result.elapsed < 4
    assert pids_in(pid_file)
    assert all(gone(pid) for pid in pids_in(pid_file))


async def test_output_until_the_time_out_is_kept():
    """It tells where the command hung."""
    result = await shell("echo step one; sleep 60", timeout=0.5)

    assert result.output == "step one\n"


@pytest.mark.parametrize("tree", ["busy loops", "own session"])
async def test_cancelling_ends_the_whole_tree(tree, pid_file):
    """A stopped teammate leaves nothing behind; the caller's cancellation goes on."""
    count = 2 if tree == "busy loops" else 1
    task = asyncio.ensure_future(shell(TREES[tree], timeout=60, PIDS=str(pid_file)))
    while len(pids_in(pid_file)) < count:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert all(gone(pid) for pid in pids_in(pid_file))


async def test_cancelled_while_starting_nothing_runs(tmp_path):
    """Between the start of bash and our knowledge of it lies a moment; it must not lose a process."""
    for steps in range(6):
        task = asyncio.ensure_future(shell(f"echo ran >> {tmp_path}/ran; sleep 300", timeout=60))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not [entry for entry in os.listdir("/proc") if entry.isdigit() and holds(entry, str(tmp_path))]


def holds(pid, text):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
        return text in file.read()
    return False


async def test_no_zombie_is_left(pid_file):
    """A long run starts thousands of commands."""
    seen = []
    await shell("true", on_start=lambda pid, _: seen.append(pid))
    await shell("sleep 60", timeout=0.3, on_start=lambda pid, _: seen.append(pid))

    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in seen))


async def test_endless_output_is_stopped_and_shortened(monkeypatch):
    """`yes` fills a disk in minutes."""
    monkeypatch.setattr(commands, "OUTPUT_HARD_CAP", 1_000_000)
    result = await shell("yes", limit=1000)

    assert result.exit_code == 137
    assert "wrote more than" in str(result.error)
    assert not result.timed_out
    assert result.truncated
    assert len(result.output) < 1100
    assert result.elapsed < 5


async def test_too_much_output_fails_a_command_that_ended_before_anybody_looked(monkeypatch):
    """Else the same command would fail or not, as the machine is busy or not."""
    monkeypatch.setattr(commands, "OUTPUT_HARD_CAP", 1_000_000)
    monkeypatch.setattr(commands, "_POLL_SECONDS", 60.0)
    result = await shell("head -c 1000001 /dev/zero", limit=1000, timeout=60)

    assert (result.exit_code, result.timed_out) == (137, False)
    assert "wrote more than" in str(result.error)
    assert (await shell("head -c 1000000 /dev/zero", limit=1000, timeout=60)).exit_code == 0


async def test_long_output_keeps_its_beginning_and_its_end():
    """The first error and the summary are what a reader wants; whole lines, and said how much is missing."""
    result = await shell("seq 1 100000", limit=1000)

    lines = result.output.split("\n")
    assert result.truncated
    assert lines[:3] == ["1", "2", "3"]
    assert lines[-2:] == ["100000", ""]
    (note,) = [line for line in lines if "left out" in line]
    left_out = int(note.split()[0].strip("["))
    assert left_out + len(result.output.replace(f"{note}\n", "")) == len(
        "".join(f"{n}\n" for n in range(1, 100001))
    )


async def test_one_endless_line_is_cut_as_well():
    """Without line ends there is nowhere better to cut."""
    result = await shell("head -c 5000 /dev/zero | tr '\\0' x", limit=1000)

    assert result.output == "x" * 500 + "\n[4000 bytes left out]\n" + "x" * 500


async def test_a_background_child_cannot_fill_the_disk(monkeypatch, pid_file):
    """Its file has no name any more, so nobody else could find out or stop it."""
    monkeypatch.setattr(commands, "OUTPUT_HARD_CAP", 200_000)
    result = await shell(
        f"(while :; do head -c 50000 /dev/zero; sleep 0.01; done) & echo $! > {pid_file}; echo hi", timeout=30
    )
    (pid,) = pids_in(pid_file)
    assert pid in result.left_running

    async def cut_back():
        size, seen_large = 0, False
        for _ in range(500):
            before, size = size, os.stat(f"/proc/{pid}/fd/1").st_size
            seen_large |= size > 100_000
            if seen_large and size < before:
                return True
            await asyncio.sleep(0.01)
        return False

    assert await cut_back()


async def test_output_that_is_no_text_is_shown_as_far_as_it_goes():
    """A tool result is text, whatever a command prints."""
    result = await shell(r"printf 'a\xffb\0c'")

    assert result.output == "a\ufffdb\0c"


async def test_the_process_is_known_before_the_command_starts(tmp_path):
    """Its record is what ends it when we are killed; a command that is not recorded must not have begun."""
    seen = []

    def on_start(pid, ticks):
        time.sleep(0.2)  # were the command running already, it would have written by now
        seen.append((pid, ticks, os.getpgid(pid), is_running(pid, ticks), (tmp_path / "ran").exists()))

    result = await shell(f"touch {tmp_path}/ran; echo $$", on_start=on_start)

    ((pid, _, group, running, ran),) = seen
    assert group == pid == int(result.output)
    assert running
    assert not ran


async def test_a_failing_record_stops_the_command(tmp_path):
    """Better no command than one that nobody can find."""

    def on_start(pid, ticks):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await shell(f"touch {tmp_path}/ran", on_start=on_start)

    assert not (tmp_path / "ran").exists()


async def test_without_us_a_command_that_was_not_released_ends(tmp_path):
    """Killed between start and record, we leave a bash that reads end of file and goes."""
    read_end, write_end = os.pipe()
    script = commands._GATE.format(fd=read_end)
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, "bash", f"touch {tmp_path}/ran", pass_fds=(read_end,)
    )
    os.close(read_end)
    os.close(write_end)

    assert await asyncio.wait_for(process.wait(), 5) == 125
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [("a\0b", "null byte"), ("echo " + "x" * 3_000_000, "too long"), ("echo \ud800", "could not be started")],
    ids=["nul", "too long", "no text"],
)
async def test_a_command_that_cannot_start_is_a_result(command, said):
    """A model may send anything; the session goes on."""
    result = await shell(command)

    assert result.exit_code == 126
    assert said in str(result.error)


async def test_a_missing_folder_is_a_result(tmp_path):
    """Another teammate may have removed it."""
    result = await shell("echo hi", cwd=tmp_path / "gone")

    assert result.exit_code == 126
    assert f"{tmp_path}/gone does not exist" in str(result.error)


async def test_a_missing_bash_is_a_result(monkeypatch, tmp_path):
    """Small containers have none."""
    monkeypatch.setattr(os, "defpath", str(tmp_path))
    result = await run_shell("echo hi", "/", {"PATH": str(tmp_path)}, 5, LIMIT)

    assert result.exit_code == 127
    assert "bash was not found" in str(result.error)


async def test_bash_is_found_where_the_environment_has_no_path():
    """A child environment without PATH still runs the system's bash."""
    result = await run_shell("echo hi", "/", {}, 5, LIMIT)

    assert result.output == "hi\n"


async def test_a_signal_counts_as_in_a_shell():
    result = await shell("kill -9 $$")

    assert result.exit_code == 137
    assert result.error is None


async def test_several_commands_run_side_by_side():
    """Teammates of one process do not wait for each other's commands."""
    started = time.monotonic()
    results = await asyncio.gather(*(shell(f"sleep 0.5; echo {number}") for number in range(6)))

    assert [result.output for result in results] == [f"{number}\n" for number in range(6)]
    assert time.monotonic() - started < 2.5


async def test_a_time_out_ends_only_its_own_command(pid_file):
    """The mark is the command's, not the teammate's."""
    slow, quick = await asyncio.gather(shell("sleep 1.2; echo done"), shell("sleep 60", timeout=0.3))

    assert slow.output == "done\n"
    assert quick.timed_out
