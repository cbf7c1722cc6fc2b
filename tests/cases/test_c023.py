"""Teammates came up and never read their first prompt or their mail; or ran elsewhere than was said."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.testing.wait import wait_until
from tests.support.backends import Bed
from tests.support.command import Shell
from tests.support.live_runs import BY_HAND, MODEL, access, idle_team, live_team, told
from tests.support.live_team import LiveTeam
from tests.support.messages_api import MessagesApi, reply
from tests.support.private_tmux import PrivateTmux, private_tmux

pytestmark = pytest.mark.timeout(120)

SOON = 5.0
"""Seconds until what was said is in a request, beside what a new process needs to load its model."""
PROMPT = "Say who you are: \"w1\" or 'w2'?"
LATER = "And now the second question."


def has(api: MessagesApi, text: str) -> bool:
    return any(text in unescape(told(exchange.body)) for exchange in api.exchanges)


def within(api: MessagesApi, text: str) -> float:
    """Return how long it took until this text was in a request."""
    began = time.monotonic()
    wait_until(lambda: has(api, text), timeout=30, what=f"{text!r} is read")
    return time.monotonic() - began


def seconds_to_load() -> float:
    """Return how long a process takes here, now, until it could ask."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import anthropic"], check=True)
    return time.monotonic() - began


def record(team: LiveTeam, name: str = "w1") -> AgentRecord:
    found = team.team.agents.load(name)
    assert found is not None
    return found


@pytest.fixture
def tmux(isolated_home: Path) -> Iterator[PrivateTmux]:
    with private_tmux() as made:
        yield made


def pane_of(team: LiveTeam, tmux: PrivateTmux) -> str | None:
    """Return the process of the teammate's pane, as tmux tells it; None when it has none."""
    handle = record(team).handle
    if "pane" not in handle:
        return None
    where = ("-t", str(handle["pane"]), "#{pane_pid}")
    return tmux.run("display-message", "-p", *where, socket=str(handle["socket"]))


@pytest.mark.parametrize("backend", BY_HAND)
def test_an_idle_teammate_reads_its_prompt_and_its_mail(
    isolated_home: Path, tmux: PrivateTmux, backend: str
) -> None:
    team = idle_team(isolated_home)
    shell = Shell(isolated_home, team.workspace)
    place: dict[str, Any] = {"TMUX_TMPDIR": tmux.folder}
    loading = seconds_to_load()

    with MessagesApi(lambda _: reply("Noted.")) as api:
        try:
            words = ("--backend", backend, "--model", MODEL, "--prompt", PROMPT, "--json")
            spawned = shell.swarm("spawn", "w1", *words, **place, **access(api))
            assert spawned.code == 0, spawned.err
            assert within(api, PROMPT) < SOON + loading
            assert shell.swarm("send", "w1", LATER, **place).code == 0
            assert within(api, LATER) < SOON
            wait_until(lambda: record(team).state == "idle", timeout=20, what="it is idle again")

            config = team.team.roster.load().member("w1").backend_type
            assert config == record(team).backend == spawned.json()["backend"] == backend
            pane = pane_of(team, tmux)
            assert pane == (str(record(team).pid) if backend == "tmux" else None)
            assert record(team).pid != os.getpid()
        finally:
            shell.swarm("stop", "--all", "--force", **place)

    assert api.refused == []
    assert len(api.exchanges) == 2
    assert not team.team.inbox("w1").peek()


async def test_so_does_one_in_the_process_of_its_leader(isolated_home: Path) -> None:
    bed = Bed("in-process", isolated_home)
    with MessagesApi(lambda _: reply("Noted.")) as api:
        try:
            bed.live.send("w2", PROMPT)
            await bed.spawn("w2", model=MODEL, environ={**bed.live.environ, **access(api)})
            began = time.monotonic()
            await bed.until_ready("w2")
            await bed.live.until(lambda: has(api, PROMPT), "the prompt is read")
            bed.live.send("w2", LATER)
            await bed.live.until(lambda: has(api, LATER), "the mail is read")

            assert time.monotonic() - began < 2 * SOON
            found = bed.record("w2")
            assert (found.backend, found.pid, dict(found.handle)) == ("in-process", os.getpid(), {})
        finally:
            with suppress(ProcessLookupError):
                await bed.end()

    assert api.refused == []


def test_who_has_a_task_reads_the_prompt_with_it(isolated_home: Path) -> None:
    """No session of its own for the prompt: it is in the first request about the task."""
    task = {"key": "a", "subject": "Do a", "script": [{"say": "x"}]}
    team = live_team(isolated_home, task)
    shell = Shell(isolated_home, team.workspace)

    with MessagesApi(lambda _: reply("All done.")) as api:
        try:
            words = ("--backend", "process", "--model", MODEL, "--prompt", PROMPT)
            assert shell.swarm("spawn", "w1", *words, **access(api)).code == 0
            wait_until(lambda: team.task("a").finished, timeout=30, what="the task is done")
        finally:
            shell.swarm("stop", "--all", "--force")

    first, *others = api.exchanges
    assert first.task == team.ids["a"]
    assert PROMPT in unescape(told(first.body))
    assert others == []
