"""Shell commands of a teammate: bounded in time and output, and killed with all their children.

A command is over when its own process is: a child that it left in the background runs on, is not waited
for and is reported. Output goes to an unnamed file, because a pipe would stay open for such a child.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping

from swarm.values import Value
from swarm.workspace.processes import Leader, Seen, is_running, kill_tree, members, start_ticks

MARK = "SWARM_TOOL_ID"
"""Variable that marks every process of one command."""

OUTPUT_HARD_CAP = 64 * 1024 * 1024
"""Bytes of output at which a command is ended, whatever part of it would be shown."""

KILL_WAIT_SECONDS = 2.0
_POLL_SECONDS = 0.1
_SETTLE_SECONDS = 0.05
_TIMED_OUT, _CANNOT_START, _NO_BASH, _KILLED = 124, 126, 127, 137

# Bash waits for one line, so that it is recorded before the command starts; if the caller dies, it ends.
_GATE = 'read -r -u {fd} || exit 125; exec {fd}<&-; exec "$0" -c "$1" bash'

OnStart = Callable[[int, int], object]


class CommandResult(Value):
    """What came of a command. `error` is set when it was not run, or was ended before its time."""

    exit_code: int
    """As a shell counts: 128 + signal, 124 timed out, 126 not started, 127 no bash."""
    output: str
    """Standard output and error as they came; of more than the limit, the first and last part."""
    timed_out: bool = False
    elapsed: float = 0.0
    truncated: bool = False
    error: str | None = None
    left_running: tuple[int, ...] = ()
    """Pids of children that a command which ended by itself left in the background."""


async def run_shell(
    command: str,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    output_limit: int,
    on_start: OnStart | None = None,
    *,
    kill_wait: float = KILL_WAIT_SECONDS,
) -> CommandResult:
    """Run `command` with bash in its own session, without input, for at most `timeout` seconds.

    `on_start(pid, start_ticks)` is called before the first instruction of the command; the pid is that of
    its process group as well. On time-out, on too much output and when the calling task is cancelled,
    the whole tree is killed. Whatever the command does is a result; only a failing `on_start` raises.
    """
    bash = shutil.which("bash", path=env.get("PATH")) or shutil.which("bash", path=os.defpath)
    if bash is None:
        return _not_run("bash was not found; install it to run commands", _NO_BASH)
    if not os.path.isdir(cwd):
        return _not_run(f"the working directory {cwd} does not exist; use one that does")
    with tempfile.TemporaryFile(buffering=0) as file:
        # Appending, so that every writer follows when the file is cut back.
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
        run = _Run(file.fileno(), env, kill_wait)
        try:
            return await run.play((bash, command), cwd, timeout, output_limit, on_start)
        except BaseException:
            await run.kill()
            raise


class _Run:
    """One command from its start to its end."""

    def __init__(self, output: int, env: Mapping[str, str], kill_wait: float) -> None:
        mark = secrets.token_hex(12)
        self.output = output
        self.env = {**env, MARK: mark}
        self.mark = f"{MARK}={mark}"
        self.kill_wait = kill_wait
        self.leader: Leader | None = None
        self.process: asyncio.subprocess.Process | None = None

    async def play(
        self, what: tuple[str, str], cwd: str, timeout: float, output_limit: int, on_start: OnStart | None
    ) -> CommandResult:
        started = time.monotonic()
        try:
            process = await self._start(what, cwd, on_start)
        except _CannotStartError as error:
            return _not_run(f"the command could not be started: {error}")
        exit_code, ended_because = await self._wait(process, started + timeout, timeout)
        left: tuple[Seen, ...] = ()
        if ended_because is None:
            left = await self._find_left_running()
        else:
            survivors = await self.kill()
            ended_because += f"; still there after SIGKILL: {survivors}" if survivors else ""
        text, truncated = _read_output(self.output, output_limit)
        return CommandResult(
            exit_code=exit_code,
            output=text,
            timed_out=exit_code == _TIMED_OUT and ended_because is not None,
            elapsed=time.monotonic() - started,
            truncated=truncated,
            error=ended_because,
            left_running=tuple(seen.pid for seen in left),
        )

    async def kill(self) -> tuple[int, ...]:
        """End the whole tree, take its exit status, and return the pids that could not be killed."""
        killing = asyncio.to_thread(kill_tree, self.leader, self.mark, self.kill_wait)
        survivors = await asyncio.shield(asyncio.ensure_future(killing))
        if self.process is not None:
            await asyncio.wait({asyncio.ensure_future(self.process.wait())}, timeout=self.kill_wait)
        return survivors

    async def _start(
        self, what: tuple[str, str], cwd: str, on_start: OnStart | None
    ) -> asyncio.subprocess.Process:
        """Start bash before the gate, tell its identity, and open the gate."""
        gate, opener = os.pipe()
        try:
            process = self.process = await self._spawn(what, cwd, gate)
            self.leader = Leader(process.pid, start_ticks(process.pid) or 0)
            if on_start is not None:
                on_start(*self.leader)
            with contextlib.suppress(BrokenPipeError):
                os.write(opener, b"\n")
        finally:
            os.close(gate)
            os.close(opener)
        return process

    async def _spawn(self, what: tuple[str, str], cwd: str, gate: int) -> asyncio.subprocess.Process:
        bash, command = what
        spawning = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *(bash, "-c", _GATE.format(fd=gate), bash, command),
                cwd=cwd,
                env=self.env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self.output,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(gate,),
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(spawning)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):
                self.process = await spawning  # else nobody would wait for it
            raise
        except OSError as error:  # the folder went away, or the command is too long for the system
            raise _CannotStartError(error.strerror) from error
        except ValueError as error:  # a NUL, or text that no byte string stands for
            raise _CannotStartError(error) from error

    async def _wait(
        self, process: asyncio.subprocess.Process, deadline: float, timeout: float
    ) -> tuple[int, str | None]:
        """Wait for the end of bash itself; return its exit code and, if it is to be ended, why."""
        waiter = asyncio.ensure_future(process.wait())
        try:
            while True:
                pause = min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))
                done, _ = await asyncio.wait({waiter}, timeout=pause)
                # Also when it has just ended: whether it was caught before must make no difference.
                if os.fstat(self.output).st_size > OUTPUT_HARD_CAP:
                    return _KILLED, f"ended because it wrote more than {OUTPUT_HARD_CAP >> 20} MiB"
                if done:
                    code = waiter.result()
                    return (128 - code if code < 0 else code), None
                if time.monotonic() >= deadline:
                    return _TIMED_OUT, f"timed out after {timeout:g} s and was ended with all its children"
        finally:
            waiter.cancel()

    async def _find_left_running(self) -> tuple[Seen, ...]:
        """Return what the command left in the background; a helper that is just ending does not count."""
        left = await asyncio.to_thread(members, self.leader, self.mark)
        if left:
            await asyncio.sleep(_SETTLE_SECONDS)
            left = await asyncio.to_thread(members, self.leader, self.mark)
        if left:
            watch = asyncio.ensure_future(_keep_small(os.dup(self.output), left))
            _watches.add(watch)
            watch.add_done_callback(_watches.discard)
        return left


class _CannotStartError(Exception):
    pass


_watches: set[asyncio.Future[None]] = set()


async def _keep_small(output: int, left: tuple[Seen, ...]) -> None:
    """Cut the file back while background children write to it: it has no name, so nobody else can."""
    try:
        while any(is_running(seen.pid, seen.start_ticks) for seen in left):
            if os.fstat(output).st_size > OUTPUT_HARD_CAP:
                os.ftruncate(output, 0)
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        os.close(output)


def _not_run(why: str, exit_code: int = _CANNOT_START) -> CommandResult:
    return CommandResult(exit_code=exit_code, output="", error=why)


def _read_output(output: int, limit: int) -> tuple[str, bool]:
    """Return the text of the file and whether a part in the middle was left out."""
    size = os.fstat(output).st_size
    if size <= limit:
        return os.pread(output, size, 0).decode(errors="replace"), False
    half = limit // 2
    head = _until_last_line_end(os.pread(output, half, 0))
    tail = _from_first_line_start(os.pread(output, half, size - half))
    note = f"\n[{size - len(head) - len(tail)} bytes left out]\n"
    return head.decode(errors="replace").rstrip("\n") + note + tail.decode(errors="replace"), True


def _until_last_line_end(part: bytes) -> bytes:
    return part[: part.rfind(b"\n") + 1] or part


def _from_first_line_start(part: bytes) -> bytes:
    return part[part.find(b"\n") + 1 :] or part
