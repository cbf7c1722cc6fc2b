"""Steps that tests of the task verbs have in common."""

from __future__ import annotations

import fcntl
import io as text_io
import json
import os
import pty
import re
import struct
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from swarm.cli.entry import execute
from swarm.cli.session import Io
from swarm.core.agent import AgentRecord
from swarm.core.times import format_time
from swarm.storage import processes
from swarm.storage.clock import SystemClock
from tests.unit.cli.conftest import Swarm


def add(swarm: Swarm, *words: str) -> str:
    return str(swarm("task", "add", *words, "--json").json()["id"])


def shown(swarm: Swarm, task_id: str) -> Any:
    return swarm("task", "show", task_id, "--json").json()


def swarm_of(task: Any) -> Any:
    return task["metadata"]["swarm"]


def claimed(swarm: Swarm, task_id: str, name: str = "w1") -> str:
    return str(swarm("task", "claim", task_id, "--as", name, "--json").json()["token"])


def with_members(swarm: Swarm, *members: dict[str, Any]) -> None:
    """Put members on the roster, as a start of teammates does."""
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "teams/demo/config.json")
    roster = json.loads(path.read_text())
    roster["members"] += [
        {"agentId": f"{m['name']}@demo", "cwd": "/", "joinedAt": 1, "subscriptions": [], "tmuxPaneId": ""} | m
        for m in members
    ]
    path.write_text(json.dumps(roster))


def a_record(
    name: str, state: str = "working", *, pid: int | None = None, silent: float = 0.0, **more: Any
) -> AgentRecord:
    clock = SystemClock()
    return AgentRecord(
        name=name,
        run_id=f"k3v9qd7m.{name}.1",
        backend="in-process",
        state=state,
        since=format_time(clock.now() - 125),
        host=processes.host(),
        boot_id=processes.boot_id(),
        pid_ns=processes.pid_ns(),
        pid=pid or os.getpid(),
        start_ticks=processes.start_ticks(pid or os.getpid()) or 1,
        heartbeat=format_time(clock.now() - silent),
        **more,
    )


def on_a_terminal(size: tuple[int, int], *words: str) -> list[str]:
    """Return the lines that a verb prints on a terminal of so many columns and rows, without colours."""
    person, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environ = {"CLAUDE_CONFIG_DIR": os.environ["CLAUDE_CONFIG_DIR"], "TERM": "xterm"}
    with ThreadPoolExecutor(1) as reader, open(person, "rb", buffering=0) as shown_there:
        reading = reader.submit(_until_closed, shown_there)
        with open(program, "w", encoding="utf-8") as out:
            code = execute(words, Io(out, text_io.StringIO(), text_io.StringIO(), environ))
        text = reading.result(timeout=60).decode()
    assert code in {0, 3, 4}, text  # or there is something to complain of
    return re.sub(r"\x1b\[[0-9;]*m", "", text).split("\r\n")[:-1]


def _until_closed(shown_there: text_io.FileIO) -> bytes:
    """Read until nobody has the other end of a terminal open, which is an error to the reader."""
    parts = []
    with suppress(OSError):
        while part := shown_there.read(1 << 16):
            parts.append(part)
    return b"".join(parts)
