"""Launch printed a table of started agents although every start had failed and no session existed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Shell, processes_of_run
from tests.support.private_tmux import needs_tmux, private_tmux, wrap_tmux
from tests.support.tmux_bed import SLOW, agents

pytestmark = [*needs_tmux, SLOW]

TEAM = """
name: t1
workspace: .
model: scripted
teammates: [{name: w1}, {name: w2}, {name: w3}]
tasks: [{key: a, subject: Do it, script: [{say: Done.}]}]
"""
FAILS_ON_SERVERS = '[ "$1" = -V ] && exec $REAL -V\necho "no libevent today" >&2; exit 1'
NO_WORKERS = """#!/bin/bash
for word; do [ "$word" = worker ] && {{ echo "no module of that name" >&2; exit 3; }}; done
exec -a "$0" {python} "$@"
"""
OTHER_PYTHON = f"""
told=(); for word; do [ "$word" = {sys.executable} ] && word=OTHER; told+=("$word"); done
exec $REAL "${{told[@]}}"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    (cwd / "team.yaml").write_text(TEAM)
    return Shell(home, cwd)


@pytest.fixture
def no_tmux(tmp_path: Path) -> str:
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("git", "bash", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return str(folder)


def test_without_tmux_nothing_is_begun(shell: Shell, no_tmux: str) -> None:
    """Panes that were asked for by name are refused before anything is written."""
    ended = shell.swarm("run", "team.yaml", "--backend", "tmux", "--json", PATH=no_tmux)

    assert ended.code == 2
    said = json.loads(ended.err)["error"]["message"]
    needs = "the backend 'tmux' needs tmux, which is not installed"
    assert said == f"{needs}; use --backend in-process"
    assert not (shell.root / "teams").exists()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "fails: exit code 1"),
        (FAILS_ON_SERVERS, "w1 was not started: tmux list-windows on "),
        (OTHER_PYTHON.replace("OTHER", "/bin/false"), "w1 did not start: it ended with exit code 1"),
        (OTHER_PYTHON.replace("OTHER", "/no/python"), "it ended with exit code 127: /usr/bin/env: "),
    ],
    ids=["no tmux works", "no server works", "python ends at once", "no python"],
)
def test_a_start_that_failed_is_said_and_undone(shell: Shell, tmp_path: Path, script: str, why: str) -> None:
    """No member is left as running, no pane, no server, no file with keys."""
    with private_tmux() as tmux:
        path, words = wrap_tmux(tmp_path / "bin", script), ("run", "team.yaml", "--backend", "tmux", "--json")
        ended = shell.swarm(*words, PATH=path, TMUX_TMPDIR=tmux.folder)

        assert ended.code not in {0, 1}, "neither well done nor a bug of swarm"
        assert why in json.loads(ended.err)["error"]["message"]
        assert ended.out == ""
        assert tmux.sockets() == []
    if (shell.root / "teams").exists():
        records = agents(shell)
        assert {record.state for record in records.values()} == {"stopped"}
        assert {record.reason for record in records.values()} <= {"failed", "asked"}
        assert list((shell.root / "teams/t1/.spawn").iterdir()) == []
        run = next(iter(records.values())).run_id.partition(".")[0]
        assert processes_of_run(run) == []


@pytest.fixture
def bad_python(tmp_path: Path) -> str:
    """A python that runs all but workers; it is the one of an environment that holds what ours does."""
    made = tmp_path / "env" / "bin" / "python"
    made.parent.mkdir(parents=True)
    made.write_text(NO_WORKERS.format(python=sys.executable))
    made.chmod(0o755)
    if (Path(sys.prefix) / "pyvenv.cfg").exists():
        (tmp_path / "env" / "lib").symlink_to(Path(sys.prefix) / "lib")
        shutil.copy(Path(sys.prefix) / "pyvenv.cfg", tmp_path / "env")
    return str(made)


@pytest.mark.parametrize("backend", ["process", "tmux"])
def test_each_start_that_failed_is_named(shell: Shell, bad_python: str, backend: str) -> None:
    """All views agree: nobody is left as running, and nobody is on the roster who never was one."""
    with private_tmux() as tmux:

        def swarm(*words: str) -> subprocess.CompletedProcess[str]:
            line, environ = [bad_python, "-m", "swarm", *words], shell.environ(TMUX_TMPDIR=tmux.folder)
            return subprocess.run(
                line, cwd=shell.cwd, env=environ, capture_output=True, text=True, timeout=60, check=False
            )

        ended = swarm("run", "team.yaml", "--backend", backend, "--json")
        assert (ended.returncode, ended.stdout) == (4, "")
        error = json.loads(ended.stderr)["error"]
        assert error["code"] == "not_started"
        for name in ("w1", "w2", "w3"):
            assert f"{name} did not start: it ended with exit code 3" in error["message"]
        check_nobody_is_there(shell)

        spawned = swarm("spawn", "w9", "--backend", backend)
        assert spawned.returncode == 4
        assert "w9 did not start: it ended with exit code 3" in spawned.stderr
        check_nobody_is_there(shell)
        assert tmux.sockets() == []


def check_nobody_is_there(shell: Shell) -> None:
    records = agents(shell).values()
    assert {(record.state, record.reason) for record in records} == {("stopped", "failed")}
    assert shell.swarm("status", "--json").json()["agents"] == []
    assert list((shell.root / "teams/t1/.spawn").iterdir()) == []
    assert [pid for record in records for pid in processes_of_run(record.run_id.partition(".")[0])] == []


def test_more_than_fit_into_one_process_are_refused_before_any_is_started(shell: Shell) -> None:
    """The only start that can fail there: a teammate is no program of its own."""
    text = TEAM.replace("[{name: w1}, {name: w2}, {name: w3}]", "[{name: w, count: 9}]")
    (shell.cwd / "team.yaml").write_text(text)
    ended = shell.swarm("run", "team.yaml", "--backend", "in-process", "--json")

    assert (ended.code, ended.out) == (2, "")
    assert "t1 has 9 teammates, but at most 8 fit into one process" in ended.err
    assert not (shell.root / "teams/t1").exists()
