"""Whole runs in which workers and leaders are killed, and what must hold of each of them afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from swarm.core.transcript import is_interrupted
from swarm.errors import EXIT_CODES
from swarm.testing.wait import wait_until
from tests.support.command import Ended, Shell, processes_of_run
from tests.support.live_team import git, make_repository
from tests.support.private_tmux import PrivateTmux, private_tmux
from worker.messages import final_text, tool_uses

TEAMMATES = ("w1", "w2", "w3")
TASKS = 12
STEPS = 3
RESTARTS = 3
CRASHES = 5


def the_team(tasks: int, *, owned: bool) -> dict[str, Any]:
    """A team whose commands note their start; some tasks are ended by a call, some are checked at the end.

    What is cut off goes on with the same teammate where all tasks are `owned`, else mostly with another.
    """
    return {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": name} for name in TEAMMATES],
        "tasks": [_a_task(number, owned=owned) for number in range(tasks)],
    }


def _a_task(number: int, *, owned: bool) -> dict[str, Any]:
    script: list[dict[str, Any]] = [{"calls": [_noted(f"t{number}.{step}")]} for step in range(STEPS)]
    script[1]["calls"].append(_noted(f"t{number}.beside"))
    script[2]["calls"].append({"Write": {"file_path": f"t{number}.txt", "content": "written\n"}})
    end = {"TaskUpdate": {"taskId": str(number + 1), "status": "completed"}}
    script.append({"say": "Done.", "calls": [end]} if number % 3 == 0 else {"say": "Done."})
    task: dict[str, Any] = {"key": f"t{number}", "subject": f"Task {number}", "script": script}
    if number % 2:
        task["verify"] = [f"sleep 0.1; test -s t{number}.txt"]
    if owned:
        task["owner"] = TEAMMATES[number % len(TEAMMATES)]
    if number >= 3:
        task["blocked_by"] = [f"t{number - 3}"]
    return task


def _noted(what: str) -> dict[str, Any]:
    """A command that says in one write who begins it, and leaves a child in a session of its own."""
    return {"Bash": {"command": f'echo "$SWARM_RUN_ID {what}" >> starts; setsid sleep 0.2 & sleep 0.2; wait'}}


class KilledRun:
    """One team in an empty home, run by one backend."""

    def __init__(
        self, folder: Path, backend: str, tmux: PrivateTmux | None, tasks: int, *, owned: bool, commits: bool
    ) -> None:
        home, cwd = folder / "home", folder / "cwd"
        home.mkdir()
        (cwd / "ws").mkdir(parents=True)
        (cwd / "team.yaml").write_text(yaml.safe_dump(the_team(tasks, owned=owned)), encoding="utf-8")
        if commits:
            make_repository(cwd / "ws", {"README": "here\n"})
            hook = cwd / "ws/.git/hooks/pre-commit"
            hook.parent.mkdir(exist_ok=True)
            hook.write_text("#!/bin/sh\nsleep 0.3\n")
            hook.chmod(0o755)
        self._commits = commits
        self.shell = Shell(home, cwd)
        self.kills = 0
        """How many were killed, and of these:"""
        self.leaders = 0
        self._deaths: Counter[str] = Counter()
        self._tasks = tasks
        self._backend = backend
        self._tmux = tmux
        self._more = {"SWARM_BACKEND": backend} | ({} if tmux is None else {"TMUX_TMPDIR": tmux.folder})

    # What is done to it

    def begin(self, **more: str) -> subprocess.Popen[str]:
        """Start the run, or take it up if there is one; `more` is for its environment."""
        exists = (self.shell.root / "teams/t1").exists()
        words = ("resume", "t1") if exists else ("run", "team.yaml")
        return self.shell.start(*words, "--json", **self._more, **more)

    def kill_a_worker(self, chance: random.Random) -> bool:
        """Kill one that is up, or that comes up anew, as `kill -9` does; whether there was one.

        None is killed more often than it is given a new life.
        """
        names = [name for name in TEAMMATES if self._deaths[name] < RESTARTS]
        found = [record for record in map(self.record, names) if record is not None]
        alive = [record for record in found if record.get("pid") is not None and _is_up(record)]
        if not alive:
            return False
        victim = chance.choice(alive)
        with suppress(ProcessLookupError):
            os.kill(victim["pid"], signal.SIGKILL)
            self.kills += 1
            self._deaths[victim["name"]] += 1
            return True
        return False

    def let_begin(self, commands: int, going: subprocess.Popen[str]) -> None:
        """Wait until so many more commands have begun, or until the run is over."""
        wanted = len(self._starts()) + commands
        wait_until(lambda: len(self._starts()) >= wanted or going.poll() is not None, timeout=60)

    def kill_leader(self, process: subprocess.Popen[str]) -> None:
        """Kill who leads. It may have come to its end by then, or have lost a teammate that just came up."""
        process.kill()
        _, err = process.communicate()
        self.kills += process.returncode == -signal.SIGKILL
        self.leaders += process.returncode == -signal.SIGKILL
        if process.returncode == EXIT_CODES["not_started"]:
            assert json.loads(err)["error"]["code"] == "not_started", err
        else:
            assert process.returncode in (0, -signal.SIGKILL), err

    def end(self, process: subprocess.Popen[str], timeout: float = 240.0) -> Ended:
        """Wait for the end that it comes to by itself."""
        out, err = process.communicate(timeout=timeout)
        return Ended(process.returncode, out, err)

    def clear(self) -> None:
        """Leave nothing running, whatever the test did."""
        for process in self.shell.started:
            process.kill()
            process.wait()
        leader = self.record("team-lead")
        for pid in processes_of_run(leader["run_id"].partition(".")[0]) if leader else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # What is on disk

    def _starts(self) -> list[str]:
        with suppress(FileNotFoundError):
            return (self.shell.cwd / "ws/starts").read_text(encoding="utf-8").splitlines()
        return []

    def states(self) -> dict[str, str | None]:
        """Return the reason of each teammate that has stopped, and the state of the others."""
        found = {name: record for name in TEAMMATES if (record := self.record(name))}
        return {
            name: record.get("reason") if record["state"] == "stopped" else record["state"]
            for name, record in found.items()
        }

    def tasks(self) -> list[dict[str, Any]]:
        return [self._task(str(number)) for number in range(1, self._tasks + 1)]

    def record(self, name: str) -> dict[str, Any] | None:
        with suppress(FileNotFoundError):
            text = (self.shell.root / f"teams/t1/agents/{name}.json").read_text(encoding="utf-8")
            found: dict[str, Any] = json.loads(text)
            return found
        return None

    def _lines(self, path: str) -> Iterator[dict[str, Any]]:
        with suppress(FileNotFoundError):
            for line in (self.shell.root / path).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # torn by a kill
                    yield json.loads(line)

    # What must hold

    def check(self, ended: Ended) -> None:
        """Hold that nothing was lost, done twice or left behind, and that the outcome is the truth."""
        assert ended.code in (0, 6), ended.err
        result = ended.json()
        assert len(result["tasks"]) == self._tasks
        if ended.code == 6:
            self._check_given_up(result)
        self._check_tasks(result)
        self._check_nothing_left(result["run"])
        if self._commits:
            self._check_commits(result)
        calls = [call for name in TEAMMATES for call in _calls(list(self._lines(_transcript(name))))]
        self._check_starts(calls)
        check_repeats(calls)

    def _check_given_up(self, result: dict[str, Any]) -> None:
        """Only a task during which as many died as the settings allow for may keep a run from its end."""
        parked = [task for task in result["tasks"] if task["status"] == "failed"]
        assert parked, result
        for task in parked:
            assert task["reason"].startswith("parked: "), task
            assert self._task(task["id"])["metadata"]["swarm"]["crashes"] >= CRASHES

    def _task(self, number: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.shell.root / f"tasks/t1/{number}.json").read_text())
        return found

    def _check_tasks(self, result: dict[str, Any]) -> None:
        """One end in the journal for each task that has one, and no failed attempt: kills are none."""
        lines = list(self._lines("tasks/t1/.journal.jsonl"))
        ends = Counter(line["id"] for line in lines if line.get("op") == "done")
        for task in result["tasks"]:
            assert ends[task["id"]] == (task["status"] in ("completed", "failed")), task
            assert task["status"] == "completed" or task["reason"]
            assert not self._task(task["id"])["metadata"]["swarm"].get("attempts"), task

    def _check_nothing_left(self, run: str) -> None:
        assert processes_of_run(run) == []
        assert os.listdir(self.shell.root / "teams/t1/.spawn") == []
        for name in (*TEAMMATES, "team-lead"):
            record = self.record(name)
            assert record is None or record["state"] == "stopped", record
        if self._tmux is not None:
            panes = {socket: self._tmux.panes(socket) for socket in self._tmux.sockets()}
            assert not any(panes.values()), panes
            assert [one for one in panes if self._tmux.answers(one)] == []

    def _check_commits(self, result: dict[str, Any]) -> None:
        """Each task that is done has its one commit, and the repository is open to everybody."""
        workspace = self.shell.cwd / "ws"
        logged = git(workspace, "log", "--format=%(trailers:key=Task,valueonly,separator=%x20)")
        commits = Counter(line.split()[0] for line in logged.splitlines() if line)
        done = [task["id"] for task in result["tasks"] if task["status"] == "completed"]
        assert {number: commits[number] for number in done} == dict.fromkeys(done, 1)
        assert all(self._task(number)["metadata"]["swarm"]["result"].get("commit") for number in done)
        assert list((workspace / ".git").rglob("*.lock")) == []

    def _check_starts(self, calls: Sequence[Call]) -> None:
        """What the commands say of themselves: each began as often as the transcripts say, or was cut off."""
        starts = Counter(self._starts())
        made = Counter(call.noted for call in calls)
        ended = Counter(call.noted for call in calls if not call.cut_off)
        assert starts.keys() <= made.keys()
        for noted, count in made.items():
            assert ended[noted] <= starts[noted] <= count, noted


def _is_up(record: dict[str, Any]) -> bool:
    again = record["state"] == "starting" and not record["run_id"].endswith(".1")
    return again or record["state"] in ("idle", "working", "waiting")


def _transcript(name: str) -> str:
    return f"teams/t1/transcripts/{name}.jsonl"


class Call(NamedTuple):
    """One command that an agent made, by its transcript."""

    at: str
    agent: str
    session: str
    what: str
    noted: str
    """The line that it writes when it begins."""
    cut_off: bool
    """Nobody saw its end: the mark in the transcript."""
    chain: dict[str, str]
    """Its session and those that this one goes on from, with the time of their start."""
    told: dict[str, str]
    """What each of these was told first."""

    def is_told_of(self, earlier: Call) -> bool:
        """Whether what was said after the earlier call says that there was somebody before, or who."""
        since = [self.told[session] for session, began in self.chain.items() if began > earlier.at]
        somebody = any("# Earlier attempts" in text for text in since)
        named = any("Since then" in text and earlier.agent in text for text in since)
        return somebody or (named and earlier.agent != self.agent)


def _calls(lines: list[dict[str, Any]]) -> Iterator[Call]:
    results = {line["block"]["tool_use_id"]: line["block"] for line in lines if line["type"] == "result"}
    parents = {line["session"]: line.get("parent") for line in lines if line["type"] == "start"}
    began = {line["session"]: line["time"] for line in lines if line["type"] == "start"}
    told: dict[str, str] = {}
    for line in lines:
        if line["type"] == "user":
            told.setdefault(line["session"], final_text(line["message"]))
    for line in lines:
        for call in tool_uses(line["message"]) if line["type"] == "assistant" else ():
            if call["name"] == "Bash":
                result = results.get(call["id"])
                what = call["input"]["command"].partition('"')[2].split()[1].rstrip('"')
                yield Call(
                    at=line["time"],
                    agent=line["run_id"].split(".")[1],
                    session=line["session"],
                    what=what,
                    noted=f"{line['run_id']} {what}",
                    cut_off=result is None or is_interrupted(result),
                    chain={one: began[one] for one in _chain(line["session"], parents)},
                    told={one: told.get(one, "") for one in _chain(line["session"], parents)},
                )


def _chain(session: str | None, parents: dict[str, str | None]) -> Iterator[str]:
    while session is not None:
        yield session
        session = parents.get(session)


def check_repeats(calls: Sequence[Call]) -> None:
    """A command that is made again follows a mark, or comes from one who was told of somebody before."""
    for call in calls:
        for earlier in calls:
            if earlier.what == call.what and earlier.at < call.at and not earlier.cut_off:
                assert call.is_told_of(earlier), (earlier, call)


@contextmanager
def a_killed_run(
    folder: Path, backend: str, tasks: int = TASKS, *, owned: bool = False, commits: bool = False
) -> Iterator[KilledRun]:
    """A run that nothing is left of when the block ends."""
    with ExitStack() as stack:
        tmux = stack.enter_context(private_tmux()) if backend == "tmux" else None
        run = KilledRun(folder, backend, tmux, tasks, owned=owned, commits=commits)
        try:
            yield run
        finally:
            run.clear()


def kill_workers(run: KilledRun, chance: random.Random, kills: int) -> Ended:
    """Begin a run, kill this many of its workers at random moments, and let it come to its end."""
    going = run.begin()
    while run.kills < kills and going.poll() is None:
        time.sleep(chance.uniform(0.05, 0.6))
        run.kill_a_worker(chance)
    return run.end(going)


def kill_leaders(run: KilledRun, chance: random.Random, kills: int, *, workers: bool) -> Ended:
    """Kill this many leaders one after another, soon or late, and let the last one come to the end."""
    for _ in range(kills):
        going = run.begin()
        for _ in range(chance.randint(0, 2) if workers else 0):
            run.let_begin(chance.randint(1, 3), going)
            run.kill_a_worker(chance)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0.1, 1.0))  # while it starts its teammates, or has just done so
        else:
            run.let_begin(chance.randint(1, 6), going)
            time.sleep(chance.uniform(0.0, 0.3))
        run.kill_leader(going)
    return run.end(run.begin())
