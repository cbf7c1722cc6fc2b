"""The command that starts a worker: nothing secret in it, and our own code wherever it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swarm.backends.start import prepare_start
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.spawn_file import read_spawn_file

KEY = "sk-ant-very-secret"


@pytest.fixture
def layout(tmp_path: Path) -> TeamLayout:
    (tmp_path / "teams/demo").mkdir(parents=True)
    return Layout(root=str(tmp_path)).team("demo")


def a_spec(root: str, **environ: str) -> TeammateSpec:
    return TeammateSpec(
        root=root,
        team="demo",
        name="w1",
        run_id="k3v9qd7m.w1.1",
        workspace="/w",
        model="scripted",
        backend="process",
        environ={**os.environ, **environ},
    )


def test_keys_go_by_file_alone(layout):
    """Arguments are seen by everybody on the machine, and panes inherit an environment."""
    start = prepare_start(layout, a_spec(layout.root, ANTHROPIC_API_KEY=KEY, GITHUB_TOKEN=KEY))

    assert KEY not in repr(start)
    told = read_spawn_file(start.spawn_file).environ
    assert told["ANTHROPIC_API_KEY"] == KEY
    assert "GITHUB_TOKEN" not in told


def test_what_belongs_to_the_life_is_marked(layout):
    """By the run id everything that it starts is found."""
    environ = prepare_start(layout, a_spec(layout.root, SWARM_RUN_ID="other", SWARM_TASK="3")).environ

    assert environ["SWARM_RUN_ID"] == "k3v9qd7m.w1.1"
    assert (environ["SWARM_TEAM"], environ["SWARM_AGENT"]) == ("demo", "w1")
    assert environ["CLAUDE_CONFIG_DIR"] == layout.root
    assert "SWARM_TASK" not in environ


def test_a_worker_of_the_workspace_is_not_ours(layout, tmp_path):
    """A repository may hold a `worker` folder and a `json.py`: they are its own."""
    for name in ("worker/__init__.py", "worker/__main__.py", "json.py", "swarm.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise SystemExit(77)")
    start = prepare_start(layout, a_spec(layout.root, PYTHONPATH=str(tmp_path / "work")))

    done = subprocess.run(
        [*start.argv[:-1], "/no/such/file"],
        cwd=tmp_path / "work",
        env=start.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no spawn file /no/such/file")


def test_a_python_that_does_not_know_itself_starts_nothing(layout, monkeypatch):
    """And leaves no keys behind."""
    monkeypatch.setattr(sys, "executable", "")

    with pytest.raises(BackendError, match="w1"):
        prepare_start(layout, a_spec(layout.root))
    assert not os.path.exists(layout.spawn_file("w1"))
