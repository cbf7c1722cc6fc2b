"""A command that reads standard input or asks a person ends at once, with a text that says what happened."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.support.tools import ToolBench, make_team


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    work = tmp_path / "work"
    return ToolBench(make_team(tmp_path / "root", work), work)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cat", "(Bash completed with no output)"),
        ("read x", "[exit code 1]"),
        ("python3 -c 'input()'", "EOFError"),
        ("sudo -S true", None),
        ("cat > copy; echo after", "after"),
        ("ssh-keygen -t ed25519 < /dev/tty", "/dev/tty"),
        ("bash -i", None),
    ],
)
async def test_input_is_at_its_end_from_the_start(bench: ToolBench, command: str, told: str | None) -> None:
    started = time.monotonic()
    block = await bench.call("Bash", command=command)

    assert time.monotonic() - started < 5
    assert "timed out" not in block["content"]
    assert told is None or told in block["content"]


async def test_no_editor_opens_for_a_commit(bench: ToolBench, workspace_repository: Path) -> None:
    """Without a message on the command line git would open the user's editor."""
    started = time.monotonic()
    text = await bench.error("Bash", command="echo x > a && git add a && git commit")

    assert time.monotonic() - started < 5
    assert "empty commit message" in text


@pytest.fixture
def workspace_repository(bench: ToolBench) -> Path:
    for arguments in (["init", "-q"], ["config", "user.name", "x"], ["config", "user.email", "x@x.invalid"],
                      ["config", "core.editor", "vi"]):  # fmt: skip
        subprocess.run(["git", "-C", str(bench.workspace), *arguments], check=True)
    return bench.workspace
