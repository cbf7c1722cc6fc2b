"""What every test gets: a home of its own, and an environment that says nothing about the caller's."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.leftovers import end_all_below
from tests.support.live_runs import BACKENDS, placed

TEST_TIME_SCALE = "0.2"
"""Factor on every duration of the product, unless the caller sets SWARM_TIME_SCALE (`make soak` sets 1)."""

# GIT_*: a git hook that runs the tests exports the caller's repository, and every scratch one would be that.
FOREIGN_PREFIXES = ("ANTHROPIC_", "CLAUDE_", "GIT_", "SWARM_", "TMUX", "XDG_")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="also run tests that cost money")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--live"):
        return
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason="costs money; needs --live"))


@pytest.fixture(scope="session", autouse=True)
def _signals_end_children() -> None:
    """What is started in the background of a script, or by nohup, ignores these, and so would our children.

    A handler that does nothing is as good as that for ourselves, and is not handed on.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session")
def _tmux_folder() -> Iterator[str]:
    """Where a tmux server that swarm starts has its socket: its path must be short. None is left behind."""
    folder = tempfile.mkdtemp(prefix="swtmux-", dir="/tmp")
    yield folder
    left = [str(path) for path in Path(folder).rglob("*") if path.is_socket()]
    for socket in left:
        subprocess.run(["tmux", "-S", socket, "kill-server"], check=False, capture_output=True, timeout=15)
    shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def _no_process_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the tests of a module have started ends with them; each process names the folder of its test."""
    yield
    left = end_all_below(tmp_path_factory.getbasetemp())
    assert not left, f"left running: {left}"


@pytest.fixture(autouse=True)
def isolated_home(_homes: Path, _tmux_folder: str) -> Iterator[Path]:
    """An empty HOME, which also holds the teams: CLAUDE_CONFIG_DIR is `.claude` in it."""
    home = Path(tempfile.mkdtemp(dir=_homes))  # mktemp would list all earlier homes first
    with pytest.MonkeyPatch.context() as patch:
        scale = os.environ.get("SWARM_TIME_SCALE", TEST_TIME_SCALE)
        for name in [name for name in os.environ if name.startswith(FOREIGN_PREFIXES)]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
        patch.setenv("SWARM_TIME_SCALE", scale)
        patch.setenv("TMUX_TMPDIR", _tmux_folder)
        yield home


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Where teammates of a run are started, one after the other: the environment that brings them there."""
    with placed(str(request.param)) as place:
        yield place
