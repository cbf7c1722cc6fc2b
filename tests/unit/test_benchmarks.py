"""Benchmarks run: what they measure is looked at by people, never by a test."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTS = 4 if shutil.which("tmux") else 2
ROW = re.compile(r"\S.*  +\d+\.\d{3}  +\S.*  +\d+\.\d{3}  +\d+\.\d\d")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "rows"), [("claims", 15), ("growth", 3), ("permissions", 1), ("starting", STARTS)]
)
def test_each_row_compares_two_things(name: str, rows: int) -> None:
    """Whoever changes what a benchmark calls sees here that it still runs."""
    command = [sys.executable, "-m", "benchmarks", name, "--quick"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    head, *body = ended.stdout.splitlines()
    assert head.split() == ["what", "median", "ms", "against", "median", "ms", "ratio"]
    assert [line for line in body if not ROW.fullmatch(line)] == []
    assert len(body) == rows
