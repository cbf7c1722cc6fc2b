"""Servers, zombies and open files piled up round by round until nothing could be started any more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command import Shell

ROUNDS = 2
ROUNDS_LONG = 50
NAMES = ("w1", "w2", "w3", "w4")


def left(root: Path) -> tuple[int, set[str]]:
    """Count the processes that know of this root, dead or alive, and name the files that come and go."""
    mark = f"CLAUDE_CONFIG_DIR={root}".encode()
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found += mark in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
    zombies = sum(_is_zombie_of_ours(int(name)) for name in os.listdir("/proc") if name.isdigit())
    passing = {str(path) for path in (root / "teams/demo/.spawn").glob("*")}
    passing |= {str(path) for path in root.rglob("*.tmp")}
    return found + zombies, passing


def _is_zombie_of_ours(pid: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] == "Z" and int(fields[1]) == os.getpid()


def run_rounds(home: Path, cwd: Path, rounds: int) -> None:
    shell = Shell(home, cwd)
    assert shell.swarm("team", "create", "demo", "--workspace", str(cwd)).code == 0
    for _ in range(rounds):
        for name in NAMES:
            spawned = shell.swarm("spawn", name, "--backend", "process", "--model", "scripted")
            assert spawned.code == 0, spawned.err
        assert left(shell.root)[0] == len(NAMES)
        assert shell.swarm("stop", "--all").code == 0
        assert left(shell.root) == (0, set())
    files = {path.name for path in (shell.root / "teams/demo/agents").iterdir()}
    assert files == {f"{name}.json" for name in NAMES}


@pytest.mark.timeout(120)
def test_nothing_is_left_of_a_round(isolated_home: Path, tmp_path: Path) -> None:
    run_rounds(isolated_home, tmp_path, ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_nothing_is_left_of_fifty_rounds(isolated_home: Path, tmp_path: Path) -> None:
    run_rounds(isolated_home, tmp_path, ROUNDS_LONG)
