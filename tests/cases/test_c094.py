"""Edits of one file in one turn are made in their order; edits by two workers never overwrite each other."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from swarm.storage.team import Team
from tests.support.tools import ToolBench, make_team

START = "".join(f"line {n}\n" for n in range(1, 6))


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return make_team(tmp_path / "root", tmp_path / "work")


@pytest.fixture
def file(tmp_path: Path, team: Team) -> Path:
    path = tmp_path / "work" / "file.txt"
    path.write_text(START)
    return path


@pytest.fixture
def bench(team: Team, file: Path) -> ToolBench:
    return ToolBench(team, file.parent)


@pytest.mark.parametrize("count", [2, 5])
async def test_each_edit_works_on_the_outcome_of_the_one_before(
    bench: ToolBench, file: Path, count: int
) -> None:
    """The first ones add lines, so that later ones meet a text that has moved."""
    await bench.ok("Read", file_path="file.txt")
    calls = [
        bench.use("Edit", file_path="file.txt", old_string=f"line {n}\n", new_string=f"line {n}\nmore {n}\n")
        for n in range(1, count + 1)
    ]

    results = await bench.turn(*calls)

    assert [block["tool_use_id"] for block in results] == [call["id"] for call in calls]
    assert [block["is_error"] for block in results] == [False] * count
    assert [f"more {n}" in block["content"] for n, block in enumerate(results, 1)] == [True] * count
    expected = "".join(f"line {n}\n" + (f"more {n}\n" if n <= count else "") for n in range(1, 6))
    assert file.read_text() == expected


async def test_an_edit_may_need_what_the_edit_before_wrote(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="file.txt")
    steps = ["line 1", "one", "eins", "uno", "un", "jedan"]

    results = await bench.turn(
        *(
            bench.use("Edit", file_path="file.txt", old_string=f"{old}\n", new_string=f"{new}\n")
            for old, new in pairwise(steps)
        )
    )

    assert [block["is_error"] for block in results] == [False] * 5
    assert file.read_text() == START.replace("line 1", "jedan")


async def test_an_edit_that_fails_does_not_disturb_the_others(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="file.txt")

    results = await bench.turn(
        bench.use("Edit", file_path="file.txt", old_string="line 1", new_string="a"),
        bench.use("Edit", file_path="file.txt", old_string="line 1", new_string="b"),
        bench.use("Edit", file_path="file.txt", old_string="line 2", new_string="c"),
    )

    assert [block["is_error"] for block in results] == [False, True, False]
    assert file.read_text() == START.replace("line 1", "a").replace("line 2", "c")


async def test_edit_and_write_in_one_turn(bench: ToolBench, file: Path) -> None:
    await bench.ok("Read", file_path="file.txt")

    results = await bench.turn(
        bench.use("Edit", file_path="file.txt", old_string="line 1", new_string="lost"),
        bench.use("Write", file_path="file.txt", content="all new\n"),
        bench.use("Edit", file_path="file.txt", old_string="all", new_string="quite"),
        bench.use("Write", file_path="new.txt", content="a\n"),
        bench.use("Edit", file_path="new.txt", old_string="a", new_string="b"),
    )

    assert [block["is_error"] for block in results] == [False] * 5
    assert file.read_text() == "quite new\n"
    assert (file.parent / "new.txt").read_text() == "b\n"


async def test_two_workers_at_once_lose_no_edit(bench: ToolBench, team: Team, file: Path) -> None:
    """Who comes second is told to read again; after that both edits stand."""
    benches = (bench, ToolBench(team, file.parent, "builder-2"))
    file.write_text("count 0 and 0\n" + START)

    async def add_lines(own: ToolBench, mark: str) -> int:
        refused = 0
        for n in range(20):
            await own.ok("Read", file_path="file.txt")
            await asyncio.sleep(0)
            new = {"old_string": "line 5\n", "new_string": f"line 5\n{mark} {n}\n"}
            while (block := await own.call("Edit", file_path="file.txt", **new))["is_error"]:
                assert "changed since you read it" in block["content"]
                refused += 1
                await own.ok("Read", file_path="file.txt")
        return refused

    refusals = await asyncio.gather(*(add_lines(own, mark) for own, mark in zip(benches, "xy", strict=True)))

    lines = file.read_text().splitlines()
    for mark in "xy":
        assert [line for line in lines if line.startswith(mark)] == [
            f"{mark} {n}" for n in reversed(range(20))
        ]
    assert sum(refusals) > 0  # they did meet


async def test_a_stale_worker_is_refused(bench: ToolBench, team: Team, file: Path) -> None:
    other = ToolBench(team, file.parent, "builder-2")
    await bench.ok("Read", file_path="file.txt")
    await other.ok("Read", file_path="file.txt")
    await other.ok("Edit", file_path="file.txt", old_string="line 1", new_string="theirs")

    text = await bench.error("Edit", file_path="file.txt", old_string="line 2", new_string="ours")

    assert "perhaps by a teammate" in text
    assert file.read_text() == START.replace("line 1", "theirs")
