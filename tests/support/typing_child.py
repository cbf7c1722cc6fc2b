"""A program with a line input on its standard streams, and a shell that runs it as a job; see the tests.

`program`: prints `line <text>` for each line and `text <text>` when it changes, until somebody types `quit`.
`shell`: a session of its own on the terminal; does what it is told on the pipe and tells there what it sees.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from typing import Any

from swarm.cli.line_input import LineInput

_PAUSE_SECONDS = 0.01


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def program() -> None:
    """Poll until `quit` is typed; `raise` ends it by an error."""
    with LineInput(sys.stdin) as keys:
        _tell("begun")
        told = ""
        while True:
            for line in keys.poll():
                _tell(f"line {line}")
                if line == "raise":
                    raise RuntimeError(line)
                if line == "quit":
                    return
            if keys.text != told:
                told = keys.text
                _tell(f"text {told}")
            time.sleep(_PAUSE_SECONDS)


def shell(orders: int, answers: int) -> None:
    """Run the program as a job and obey: `fg`, `bg`, `kill N`, `modes`, `state`, `end`."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = subprocess.Popen([sys.executable, __file__, "program"], process_group=0)
    os.tcsetpgrp(0, job.pid)
    with os.fdopen(orders) as lines:
        for line in lines:
            word, *rest = line.split()
            if word == "end":
                job.kill()
                return
            os.write(answers, (json.dumps(_obey(word, rest, job.pid)) + "\n").encode())


def _obey(word: str, rest: list[str], job: int) -> Any:
    if word == "fg":
        os.tcsetpgrp(0, job)
        os.kill(job, signal.SIGCONT)
    elif word == "bg":
        os.tcsetpgrp(0, os.getpgrp())
        os.kill(job, signal.SIGCONT)
    elif word == "kill":
        os.kill(job, int(rest[0]))
    elif word == "modes":
        flags = termios.tcgetattr(0)[3]
        return bool(flags & termios.ICANON and flags & termios.ECHO)
    elif word == "state":
        return _state(job)
    return None


def _state(job: int) -> str:
    """Return `running`, `stopped`, or how it has ended."""
    pid, status = os.waitpid(job, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
    if pid and os.WIFSTOPPED(status):
        os.tcsetpgrp(0, os.getpgrp())
        return "stopped"
    if pid and os.WIFSIGNALED(status):
        return f"killed {os.WTERMSIG(status)}"
    if pid and os.WIFEXITED(status):
        return f"exited {os.WEXITSTATUS(status)}"
    return "running"


if __name__ == "__main__":
    if sys.argv[1] == "shell":
        shell(int(sys.argv[2]), int(sys.argv[3]))
    else:
        program()
