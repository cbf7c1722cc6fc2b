"""Calls of a terminal's own command: each waits for its answer, until somebody is in a hurry."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Event

_LOOK_SECONDS = 0.05


def call(
    argv: Sequence[str], environ: Mapping[str, str], *, timeout: float, hurry: Event
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end and return what it said.

    `TimeoutExpired` after `timeout` seconds, and as soon as `hurry` is set; the command is killed then.
    """
    deadline = time.monotonic() + timeout
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd=os.sep,
        start_new_session=True,  # Ctrl-C in the leader's terminal is not meant for it, nor for what it starts
    ) as started:
        while True:
            try:
                out, err = started.communicate(timeout=_LOOK_SECONDS)
            except subprocess.TimeoutExpired as waited:
                if hurry.is_set() or time.monotonic() >= deadline:
                    with suppress(ProcessLookupError):
                        os.killpg(started.pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(argv, timeout) from waited
            except BaseException:
                started.kill()
                raise
            else:
                return subprocess.CompletedProcess(argv, started.returncode, out, err)
