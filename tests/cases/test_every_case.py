"""Each case of `ids.txt` has a test here, or waits in `not_yet.txt`, which may only shrink.

A case is something that went wrong in a system like this one. The test of C015 is `test_c015.py`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
NOT_YET = FOLDER / "not_yet.txt"


def listed(text: str) -> list[str]:
    return text.split()


def known() -> list[str]:
    return listed((FOLDER / "ids.txt").read_text())


def waiting() -> list[str]:
    return listed(NOT_YET.read_text())


def cases_with_a_test() -> set[str]:
    return {path.stem.removeprefix("test_").upper() for path in FOLDER.glob("test_c[0-9]*.py")}


def waiting_at(revision: str) -> list[str] | None:
    """Return the waiting list of a commit, None when there is no such commit or no list in it."""
    command = ["git", "-C", str(FOLDER), "show", f"{revision}:./{NOT_YET.name}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    return listed(shown.stdout) if shown.returncode == 0 else None


def test_every_case_is_tested_or_waits() -> None:
    assert set(known()) - cases_with_a_test() - set(waiting()) == set()


def test_no_case_is_tested_and_waits() -> None:
    assert cases_with_a_test() & set(waiting()) == set()


def test_only_known_cases_are_tested_or_wait() -> None:
    assert (cases_with_a_test() | set(waiting())) - set(known()) == set()


@pytest.mark.parametrize("ids", [known(), waiting()], ids=["ids.txt", "not_yet.txt"])
def test_the_lists_are_sorted_and_name_no_case_twice(ids: list[str]) -> None:
    assert ids == sorted(set(ids))


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_waiting_list_only_shrinks() -> None:
    """Compared with the last commit; in that commit's own check, with the one before it."""
    before = waiting_at("HEAD")
    if before == waiting():
        before = waiting_at("HEAD~1")
    if before is None:
        pytest.skip("git has no earlier commit of this folder here")

    assert set(waiting()) - set(before) == set()
