"""What a service sees in some of the cases of `tests/cases`: C027, C028, C029, C031, C038, C051."""

from __future__ import annotations

import html
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.e2e.steps import status_of
from tests.support.command import Shell, processes_of_run
from tests.support.live_runs import (
    BY_HAND,
    KEY,
    MODEL,
    access,
    idle_team,
    live_team,
    placed,
    told,
    work,
    write_live_team,
)
from tests.support.live_team import LiveTeam
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, hold, reply
from tests.support.private_tmux import needs_tmux, private_tmux

pytestmark = pytest.mark.timeout(150)

LIMIT_SECONDS = 15.0
SLOW_SHELL = "sleep 4; read -r -n 1 -p 'update your dot files? ' answer\n"
SHELL_CONF = """
set -g default-shell /bin/bash
set -g default-command "exec /bin/bash -i"
"""
ALL_ALLOWED = ("--permission-mode", "bypassPermissions")
ON_TERMINAL = 'exec "$@" <>"$0" >&0 2>&0'


@pytest.fixture(params=BY_HAND)
def by_hand(request: pytest.FixtureRequest, isolated_home: Path) -> Iterator[dict[str, Any]]:
    with placed(str(request.param)) as place:
        yield place


def done(_: Exchange) -> Reply:
    return reply("All done.")


def spawn(shell: Shell, name: str, *words: str, **environ: Any) -> None:
    ended = shell.swarm("spawn", name, "--model", MODEL, *ALL_ALLOWED, *words, **environ)
    assert ended.code == 0, ended.err


def pid_of(team: LiveTeam, name: str) -> int:
    record = team.team.agents.load(name)
    assert record is not None
    assert record.pid is not None
    return record.pid


@needs_tmux[0]
@needs_tmux[1]
def test_c027_each_pane_asks_in_time_whatever_the_shell_does(isolated_home: Path) -> None:
    """Four in tmux, whose shells would take seconds and then wait for a key."""
    for name in (".bashrc", ".bash_profile", ".zshrc", ".profile"):
        (isolated_home / name).write_text(SLOW_SHELL)
    names = ["w1", "w2", "w3", "w4"]
    team = live_team(
        isolated_home, *(work(name, owner=name) for name in names), teammates=[{"name": one} for one in names]
    )
    shell = Shell(isolated_home, team.workspace)
    with private_tmux(SHELL_CONF) as tmux, MessagesApi(done) as api:
        place = {"SWARM_BACKEND": "tmux", "TMUX_TMPDIR": tmux.folder, **access(api)}
        try:
            for name in names:
                began = time.time()
                spawn(shell, name, **place)
                wait_until(
                    lambda name=name: any(one.agent == name for one in api.exchanges),  # type: ignore[misc]
                    timeout=40,
                    what=f"{name} asks",
                )
                (first, *_) = [one for one in api.exchanges if one.agent == name]
                assert first.received - began < 20
                argv = Path(f"/proc/{pid_of(team, name)}/cmdline").read_bytes().split(b"\0")
                assert b"worker" in argv
        finally:
            shell.swarm("stop", "--all", "--force", **place)
    assert api.refused == []


@needs_tmux[0]
@needs_tmux[1]
def test_c028_the_key_and_address_are_the_leaders_and_not_the_tmux_servers(
    isolated_home: Path, tmp_path: Path
) -> None:
    shell = Shell(isolated_home, tmp_path)
    file = write_live_team(shell, [work("a")])
    shown: list[str] = []

    with private_tmux() as tmux:
        kept = dict(tmux.environ)
        (tmp_path / "other").mkdir()
        stray = {"ANTHROPIC_API_KEY": "sk-the-servers", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
        tmux.environ.update(stray, HOME=str(tmp_path / "other"))
        own = tmux.session("lead")
        tmux.environ.clear()
        tmux.environ.update(kept)
        inside = tmux.inside(own)

        def turn(_: Exchange) -> Reply:
            shown.extend(tmux.run("capture-pane", "-p", "-S", "-", "-t", pane) for pane in tmux.panes())
            listed = Path("/proc").glob("[0-9]*/cmdline")
            shown.extend(text for path in listed if KEY in (text := _read(path)))
            return reply("All done.")

        with MessagesApi(turn, api_keys={KEY}) as api:
            ended = shell.swarm(
                *("run", file, "--backend", "tmux", "--json"),
                TMUX=inside["TMUX"],
                TMUX_PANE=inside["TMUX_PANE"],
                TMUX_TMPDIR=tmux.folder,
                **access(api),
            )

    assert ended.code == 0, ended.err
    assert [exchange.outcome for exchange in api.exchanges] == ["answered"]  # no other key is good
    assert len(shown) >= 2
    assert KEY not in "".join(shown)
    assert (shell.root / "teams/t1/transcripts/w1.jsonl").exists()
    assert not (tmp_path / "other/.claude").exists()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def test_c029_all_are_gone_in_time_also_from_a_request_that_is_not_answered(
    isolated_home: Path, by_hand: dict[str, Any]
) -> None:
    """One is in a long command, one waits for an answer that never comes, one is stopped itself."""
    names = ["w1", "w2", "w3"]
    team = live_team(
        isolated_home, *(work(name, owner=name) for name in names), teammates=[{"name": one} for one in names]
    )
    shell = Shell(isolated_home, team.workspace)
    never = threading.Event()

    def turn(exchange: Exchange) -> Reply:
        if exchange.agent == "w2":
            return reply("Look", faults=(hold(never, after=2),))
        return reply(call("Bash", {"command": f"touch {exchange.agent}; sleep 600"}))

    with MessagesApi(turn) as api:
        try:
            for name in names:
                spawn(shell, name, **by_hand, **access(api))
            for name in ("w1", "w3"):
                wait_until((team.workspace / name).exists, timeout=40, what=f"{name} works")
            wait_until(lambda: len(api.exchanges) == 3, timeout=40, what="w2 asks")
            tools = [tool.pgid for one in team.team.agents.list_agents() for tool in one.tools]
            pids = [pid_of(team, name) for name in names]
            os.kill(pids[2], signal.SIGSTOP)
            assert shell.swarm("team", "delete", "demo", "--force").code == 4

            began = time.monotonic()
            shell.swarm("stop", "--all", "--timeout", "5", **by_hand)
            took = time.monotonic() - began
        finally:
            shell.swarm("stop", "--all", "--force", **by_hand)
        never.set()

    assert took < LIMIT_SECONDS
    assert len(tools) == 2
    assert all(start_ticks(pid or 0) is None for pid in [*tools, *pids])
    assert [task.status for task in team.tasks()] == ["pending"] * 3
    assert len(api.exchanges) == 3
    assert shell.swarm("team", "delete", "demo", "--force").code == 0


class Lead:
    """A run on a terminal of its own: w1 is in a command, w2 in a request that is not answered."""

    def __init__(self, shell: Shell, api: MessagesApi, place: dict[str, Any]) -> None:
        self.shell = shell
        file = write_live_team(
            shell,
            [work("w1", owner="w1"), work("w2", owner="w2")],
            teammates=[{"name": "w1"}, {"name": "w2"}],
        )
        self.terminal, theirs = pty.openpty()
        line = [sys.executable, "-m", "swarm", "run", file]
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", ON_TERMINAL, os.ttyname(theirs), *line],
            cwd=shell.cwd,
            env=shell.environ(SWARM_TIME_SCALE="0.1", TERM="dumb", **place, **access(api)),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        wait_until((shell.cwd / "ws/w1").exists, timeout=60, what="w1 works")
        wait_until(lambda: len(api.exchanges) == 2, timeout=60, what="w2 asks")
        record = json.loads((shell.root / "teams/t1/agents/team-lead.json").read_text())
        self.run = record["run_id"].partition(".")[0]

    def end_by(self, how: signal.Signals | None) -> None:
        if how is None:
            os.close(self.terminal)
            self.terminal = -1
        else:
            self.process.send_signal(how)

    def until_gone(self) -> None:
        wait_until(lambda: self.process.poll() is not None, timeout=LIMIT_SECONDS, what="the lead ends")
        wait_until(lambda: not processes_of_run(self.run), timeout=LIMIT_SECONDS, what="all have ended")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.terminal >= 0:
            os.close(self.terminal)
        self.shell.swarm("-t", "t1", "stop", "--all", "--force")


def busy(never: threading.Event) -> Callable[[Exchange], Reply]:
    def turn(exchange: Exchange) -> Reply:
        if exchange.agent == "w2":
            return reply("Look", faults=(hold(never, after=2, ping_every=0.2),))
        return reply(call("Bash", {"command": "touch w1; while [ ! -e go ]; do sleep 0.05; done"}))

    return turn


WAYS = [
    (signal.SIGINT, "in-process"),
    (signal.SIGTERM, "process"),
    (None, "in-process"),
    (signal.SIGKILL, "process"),
    pytest.param(signal.SIGHUP, "tmux", marks=needs_tmux),
    pytest.param(signal.SIGKILL, "tmux", marks=needs_tmux),
]


@pytest.mark.parametrize(("how", "backend"), WAYS)
def test_c031_without_a_lead_nothing_is_asked_any_more(
    isolated_home: Path, tmp_path: Path, how: signal.Signals | None, backend: str
) -> None:
    shell = Shell(isolated_home, tmp_path)
    never = threading.Event()

    with placed(backend) as place, MessagesApi(busy(never)) as api:
        lead = Lead(shell, api, place)
        try:
            lead.end_by(how)
            lead.process.wait(timeout=LIMIT_SECONDS)
            if how is signal.SIGKILL:
                logs = [shell.root / f"teams/t1/logs/{name}.log" for name in ("w1", "w2")]
                wait_until(
                    lambda: all("leader is gone" in log.read_text() for log in logs),
                    timeout=LIMIT_SECONDS,
                    what="it is missed",
                )
            (tmp_path / "ws/go").touch()
            lead.until_gone()
        finally:
            lead.close()
        never.set()

    assert len(api.exchanges) == 2
    assert [status_of(shell, task)["status"] for task in ("1", "2")] == ["pending", "pending"]


def test_c038_who_is_spawned_asks_without_a_nudge(isolated_home: Path, by_hand: dict[str, Any]) -> None:
    """Three tasks and two teammates, and nothing else: no message, no leader."""
    team = live_team(
        isolated_home, work("a"), work("b"), work("c"), teammates=[{"name": "w1"}, {"name": "w2"}]
    )
    shell = Shell(isolated_home, team.workspace)
    both = threading.Barrier(2, timeout=60)

    def turn(exchange: Exchange) -> Reply:
        if exchange.task in (team.ids["a"], team.ids["b"]):
            both.wait()  # neither is done before each teammate has asked
        return reply("All done.")

    with MessagesApi(turn) as api:
        try:
            began = time.time()
            for name in ("w1", "w2"):
                spawn(shell, name, **by_hand, **access(api))
            spawned = time.time()
            wait_until(lambda: all(one.finished for one in team.tasks()), timeout=60, what="all is done")
        finally:
            shell.swarm("stop", "--all", "--force", **by_hand)

    assert api.problems == []
    assert {exchange.agent for exchange in api.exchanges} == {"w1", "w2"}
    assert len(api.exchanges) == 3
    asked = max(min(e.received for e in api.exchanges if e.agent == name) for name in ("w1", "w2"))
    assert asked - spawned < 10, (asked - began, spawned - began)
    assert [task.status for task in team.tasks()] == ["completed"] * 3


@pytest.mark.parametrize(
    ("by", "backend"),
    [
        ("prompt", "process"),
        pytest.param("prompt", "tmux", marks=needs_tmux),
        ("task", "in-process"),
        ("task", "process"),
        pytest.param("task", "tmux", marks=needs_tmux),
    ],
)
def test_c051_a_long_prompt_arrives_byte_for_byte(
    isolated_home: Path, tmp_path: Path, backend: str, by: str
) -> None:
    prompt = "".join(f"line {number}: $HOME `x` \"q\" 'q' \\ ; ü☃\n" for number in range(900)).strip()
    assert len(prompt) > 30_000
    with placed(backend) as place, MessagesApi(done) as api:
        if by == "prompt":
            team = idle_team(isolated_home)
            shell = Shell(isolated_home, team.workspace)
            try:
                spawn(shell, "w1", "--prompt", prompt, **place, **access(api))
                wait_until(lambda: api.exchanges and api.exchanges[0].finished, timeout=40, what="it asks")
            finally:
                shell.swarm("stop", "--all", "--force", **place)
        else:
            shell = Shell(isolated_home, tmp_path / ("d" * 110) / ("ü #{x}" + "e" * 104))
            shell.cwd.mkdir(parents=True)
            name = "n" * 64
            file = write_live_team(shell, [work("a", description=prompt)], teammates=[{"name": name}])
            ended = shell.swarm("run", file, "--json", **place, **access(api))
            assert ended.code == 0, ended.err
            assert api.exchanges[0].agent == name

    assert prompt in html.unescape(told(api.exchanges[0].body))  # nothing but the tag around it is added
    assert api.refused == []
