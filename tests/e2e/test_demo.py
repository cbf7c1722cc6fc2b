"""`swarm demo` as a stranger meets it: no key, no tmux, an empty home."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import REPOSITORY, Shell, processes_of_run
from tests.support.private_tmux import private_tmux

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH with python, git and a shell, and without tmux."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    for name in ("git", "bash", "sh", "env", "cat", "ls"):
        (folder / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    return str(folder)


@pytest.fixture(params=["auto", "process"])
def demo(request: pytest.FixtureRequest, shell: Shell, bare_path: str) -> tuple[Shell, dict[str, Any]]:
    """A finished demo, with each backend that needs nothing but Python."""
    plain = Shell(shell.home, shell.cwd, bare_path)
    ended = plain.swarm("demo", "--json", "--backend", request.param)
    assert ended.code == 0, ended.err
    return plain, ended.json()


def scratch_repository(shell: Shell) -> Path:
    (scratch,) = shell.cwd.glob("swarm-demo-*")
    return scratch / "package"


def test_the_refactored_package_passes_its_tests(demo: tuple[Shell, dict[str, Any]]) -> None:
    """The work is real: the tests of the package run against what the teammates wrote."""
    shell, _ = demo

    tests = subprocess.run(
        ["python3", "-m", "unittest", "-q"],
        cwd=scratch_repository(shell),
        capture_output=True,
        text=True,
        check=False,
    )

    assert tests.returncode == 0, tests.stderr
    assert re.search(r"Ran [1-9]\d* tests", tests.stderr)


def test_the_log_names_task_and_agent(demo: tuple[Shell, dict[str, Any]]) -> None:
    """Who did what is in `git log`, for every task that changed a file."""
    shell, result = demo

    log = subprocess.run(
        [
            "git",
            "log",
            f"--format=%h {trailer('Task')}|{trailer('Agent')}",
        ],
        cwd=scratch_repository(shell),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    committed = [task for task in result["tasks"] if task.get("commit")]
    assert len(committed) >= 2
    assert len({task["owner"] for task in committed}) >= 2
    for task in committed:
        line = next(line for line in log if line.startswith(task["commit"]))
        assert f" {task['id']} {task['key']}|{task['owner']}@{result['team']}" in line
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=scratch_repository(shell), capture_output=True, check=True
    )
    assert status.stdout == b""


def test_every_task_file_is_completed_with_a_result(demo: tuple[Shell, dict[str, Any]]) -> None:
    """The files say the same as the command."""
    shell, result = demo

    files = sorted((shell.root / "tasks" / result["team"]).glob("[0-9]*.json"))
    tasks = [json.loads(file.read_text(encoding="utf-8")) for file in files]

    assert len(tasks) == len(result["tasks"]) >= 4
    for task in tasks:
        assert task["status"] == "completed"
        assert task["metadata"]["swarm"]["result"]["summary"].strip()


def test_nothing_of_ours_is_left_running(demo: tuple[Shell, dict[str, Any]]) -> None:
    """Found by run id, not by name."""
    _, result = demo

    assert processes_of_run(result["run"]) == []


def test_a_second_demo_works_beside_the_first(demo: tuple[Shell, dict[str, Any]]) -> None:
    """A fresh team name each time: what the first one left is no obstacle."""
    shell, first = demo

    second = shell.swarm("demo", "--json")

    assert second.code == 0, second.err
    assert second.json()["team"] != first["team"]


def test_each_message_reached_its_reader_once(demo: tuple[Shell, dict[str, Any]]) -> None:
    """What one teammate told another stands in exactly one user message of the other's transcript."""
    shell, result = demo
    team = shell.root / "teams" / result["team"]

    shown: list[str] = []
    for transcript in (team / "transcripts").glob("*.jsonl"):
        for line in transcript.read_text(encoding="utf-8").splitlines():
            shown += json.loads(line).get("msg_ids", [])

    assert shown
    assert len(shown) == len(set(shown))


def trailer(key: str) -> str:
    return f"%(trailers:key={key},valueonly,separator=%x20)"


def readme_files() -> list[re.Pattern[str]]:
    """The paths of README's table "What is on disk", as patterns."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    table = text.partition("## What is on disk")[2].partition("\n## ")[0]
    paths = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(paths) > 10
    return [_pattern(path) for path in paths]


def _pattern(path: str) -> re.Pattern[str]:
    pattern = re.sub(r"<[a-z]+>", "[^/]+", re.escape(path))
    return re.compile(pattern + ("[^/]+" if path.endswith("/") else ""))


def test_every_file_on_disk_is_in_the_readme(demo: tuple[Shell, dict[str, Any]]) -> None:
    """A person finds each file of a finished run in README's table, and nothing else lies around."""
    shell, _ = demo
    known = readme_files()

    left = [
        f"R/{path.relative_to(shell.root)}"
        for path in shell.root.rglob("*")
        if path.is_symlink() or path.is_file()
    ]

    assert len(left) > 20
    assert [path for path in left if not any(pattern.fullmatch(path) for pattern in known)] == []


def test_folders_and_files_are_private(demo: tuple[Shell, dict[str, Any]]) -> None:
    """Other users of the machine read nothing of a team."""
    shell, result = demo

    for top in (shell.root / "teams" / result["team"], shell.root / "tasks" / result["team"]):
        for path in [top, *top.rglob("*")]:
            if not path.is_symlink():
                assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.tmux
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_demo_in_tmux_leaves_nothing_behind(shell: Shell) -> None:
    """The same work, each teammate in a pane; afterwards no pane, no server, no socket, no process."""
    with private_tmux() as tmux:
        ended = shell.swarm("demo", "--backend", "tmux", TMUX_TMPDIR=tmux.folder)

        assert ended.code == 0, ended.err
        assert "The panes are on a server of their own: tmux -S " in ended.err
        assert tmux.sockets() == []
    (team,) = (shell.root / "teams").glob("demo-*")
    assert list((team / ".spawn").iterdir()) == []
    record = json.loads((team / "agents" / "researcher.json").read_text())
    assert (record["backend"], record["state"], record["reason"]) == ("tmux", "stopped", "asked")
    assert processes_of_run(record["run_id"].partition(".")[0]) == []
