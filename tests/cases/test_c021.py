"""Launch printed a table of started agents although every start had failed and no session existed."""

from __future__ import annotations

import json
import shutil
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
    assert said == "the backend 'tmux' needs tmux, which is not installed; use --backend in-process"
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
