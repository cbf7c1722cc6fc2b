"""Runs verbs inside this process, with streams that can be read afterwards."""

from __future__ import annotations

import io as text_io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.entry import execute
from swarm.cli.session import Io
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, open_team
from swarm.values import Value


class Ran(Value):
    """What one command returned and wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.err == ""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def error(self) -> Any:
        """The error object of `--json`: alone on stderr, with nothing on stdout."""
        assert self.out == ""
        assert self.err.count("\n") == 1
        return json.loads(self.err)["error"]

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Swarm = Callable[..., Ran]


@pytest.fixture
def swarm(isolated_home: Path) -> Swarm:
    """Call `swarm("task", "list")`; keywords are environment variables, `stdin` is what it may read."""

    def run(*words: str, stdin: str = "", **environ: str) -> Ran:
        out, err = text_io.StringIO(), text_io.StringIO()
        own = {"SWARM_TIME_SCALE": "0.02", "CLAUDE_CONFIG_DIR": os.environ["CLAUDE_CONFIG_DIR"]}
        code = execute(words, Io(out, err, text_io.StringIO(stdin), own | environ))
        return Ran(code=code, out=out.getvalue(), err=err.getvalue())

    return run


@pytest.fixture
def demo(swarm: Swarm, tmp_path: Path) -> Swarm:
    """The same, with a team named demo whose workspace is the test's folder."""
    made = swarm("team", "create", "demo", "--workspace", str(tmp_path))
    assert made.code == 0, made.err
    return swarm


@pytest.fixture
def team(demo: Swarm) -> Team:
    """The files of that team, with two teammates on its roster."""
    from tests.unit.cli.steps import with_members

    with_members(
        demo, {"name": "w1", "model": "scripted", "swarm": {"permission_mode": "default"}}, {"name": "w2"}
    )
    return open_team(os.environ["CLAUDE_CONFIG_DIR"], "demo", Settings(), SystemClock())
