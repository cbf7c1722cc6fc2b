"""Killing an agent did not reach what its commands had started in groups of their own; it piled up."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from tests.support.crew import BACKENDS, Crew, crew, long_task

pytestmark = pytest.mark.timeout(90)

LIMIT_SECONDS = 10.0
DAEMON = (
    "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);"
    "open('daemon.new', 'w').write(f'{os.getpid()}\\n'); os.rename('daemon.new', 'daemon'); time.sleep(9999)"
)
STARTED = {
    "session": "setsid sleep 9999 & echo $! > session",
    "server": "setsid python3 -m http.server 0 --bind 127.0.0.1 >/dev/null 2>&1 & echo $! > server",
    "deaf": "(trap '' TERM INT HUP; exec sleep 9998) & echo $! > deaf",
    "daemon": f'python3 -c "{DAEMON}"',
    "bare": "env -i sleep 9997 & echo $! > bare",
    "hidden": "(env -i setsid sleep 9996 & echo $! > hidden)",
}
"""Shell text for each; the file of its name gets its pid."""
FOUND_BY_MARK = {"session", "server", "deaf", "daemon"}
FOUND_BY_TREE = {"bare"}
"""It has no mark: while the command runs that started it, it is in that one's session."""
HIDDEN = {"hidden"}
"""No mark, another session, another parent: nothing leads to it, as the protocol says."""


@pytest.mark.parametrize(
    ("busy", "way"), [(True, ()), (False, ("--force",))], ids=["asked in a command", "forced when idle"]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_agent_started_ends_with_it(
    isolated_home: Path, backend: str, busy: bool, way: tuple[str, ...]
) -> None:
    command = "\n".join([*STARTED.values(), "sleep 600" if busy else "true"])
    with crew(backend, isolated_home, "w1", tasks=[long_task("a", command)]) as team:
        team.bring_up()
        pids = {name: team.number_in(name) for name in STARTED}
        try:
            team.until_state("working" if busy else "idle")
            assert all(map(start_ticks, pids.values()))
            started = time.monotonic()
            assert team.swarm("stop", "w1", *way).code == 0

            left = {name for name, pid in pids.items() if start_ticks(pid) is not None}
            assert left == HIDDEN | (set() if busy else FOUND_BY_TREE)
            assert is_gone(team)
            assert time.monotonic() - started < LIMIT_SECONDS
        finally:
            for name in HIDDEN | FOUND_BY_TREE:
                with suppress(ProcessLookupError):
                    os.kill(pids[name], signal.SIGKILL)


def is_gone(team: Crew) -> bool:
    """Whether the agent itself is over, and its process if it had one of its own."""
    over = team.record("w1").state == "stopped"
    return over and (team.led or start_ticks(team.pid("w1")) is None)
