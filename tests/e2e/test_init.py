"""`swarm init` as a person meets it: on a terminal, and then the run of what it wrote."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import Shell
from tests.support.live_team import git, make_repository

ON_TERMINAL = 'tty=$1; shift; exec "$@" <"$tty" >"$tty" 2>&1'
"""The first terminal that a process with a session of its own opens becomes that session's."""
SECONDS = 20


class Session:
    """The command on a terminal of its own; what is typed comes only after what it waits for was read."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self._mine, its = pty.openpty()
        self.shown = ""
        self._passed = 0
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", ON_TERMINAL, "sh", os.ttyname(its), sys.executable, "-m", "swarm", *words],
            cwd=shell.cwd,
            env=shell.environ(TERM="xterm"),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._its = its

    def until(self, text: str) -> None:
        """Read until this was shown, after what was waited for before."""
        while (found := self.shown.find(text, self._passed)) < 0:
            assert self._read(), self.shown
        self._passed = found + len(text)

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def end(self) -> int:
        """Read to the end and return the exit code."""
        code = self._process.wait(timeout=SECONDS)
        os.close(self._its)
        with suppress(OSError):  # how Linux says that the other side has closed
            while self._read():
                pass
        os.close(self._mine)
        return code

    def _read(self) -> bool:
        readable, _, _ = select.select([self._mine], [], [], SECONDS)
        came = os.read(self._mine, 4096) if readable else b""
        self.shown += came.decode(errors="replace")
        return bool(came)


@pytest.fixture
def project(shell: Shell) -> Path:
    """A repository with a test of its own."""
    make_repository(shell.cwd, {"Makefile": "test:\n\ttest -e Makefile\n"})
    return shell.cwd


def test_what_it_asks_and_writes_can_be_run(shell: Shell, project: Path) -> None:
    session = Session(shell, "init")
    for prompt, answer in (
        ("do?", "Mend the shop"),
        ("model?", "builder 2, reviewer with scripted"),
        ("is done?", ""),
    ):
        session.until(prompt)
        session.type(f"{answer}\n")
    assert session.end() == 0, session.shown
    assert "[make test]" in session.shown

    assert shell.swarm("validate", "team.yaml").code == 0
    ended = shell.swarm("run", "team.yaml", "--json")
    assert ended.code == 0, ended.err
    assert [(task["key"], task["verified"]) for task in ended.json()["tasks"]] == [
        ("work", True),
        ("review", True),
    ]
    assert "Nothing was done: the scripted model plays only" in shell.swarm("resume").err
    report = Path(ended.json()["report"]).read_text(encoding="utf-8")
    assert "not committed" not in report
    assert git(project, "status", "--porcelain").split() == ["??", "team.schema.json", "??", "team.yaml"]


@pytest.mark.parametrize(("typed", "code"), [("\x03", 130), ("\x04", 130)], ids=["Ctrl-C", "Ctrl-D"])
def test_who_leaves_it_leaves_nothing(shell: Shell, project: Path, typed: str, code: int) -> None:
    session = Session(shell, "init", "new")
    session.until("do?")
    session.type("Mend the shop\n")
    session.until("model?")
    session.until("] ")
    session.type(typed)

    assert session.end() == code, session.shown
    assert sorted(os.listdir(project)) == [".git", "Makefile"]


def test_a_pipe_is_asked_nothing(shell: Shell, project: Path) -> None:
    ended = shell.swarm("init")

    assert (ended.code, ended.out) == (0, "team.yaml\n")
    assert "write a greeting" in (project / "team.yaml").read_text().lower()
