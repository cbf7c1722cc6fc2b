"""Grep searches with ripgrep: every parameter does what its text says, and every list is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ToolBench, fake_ripgrep
from worker.tools import grep

FILES = {
    "a.py": "def one():\n    return 1\n\ndef two():\n    return 2\n",
    "src/b.py": "import a\nONE = a.one()\n",
    "src/c.js": "one()\n",
    "notes.txt": "-x is a flag\ncurly {} here\r\nlast ONE\r\n",
    ".hidden/d.py": "one\n",
    ".git/e.py": "one\n",
    "ignored.py": "one\n",
    ".gitignore": "ignored.py\n",
}


@pytest.fixture(autouse=True)
def files(workspace: Path, bench: ToolBench) -> None:
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"pattern": "one"}, ".hidden/d.py\na.py\nsrc/b.py\nsrc/c.js"),
        ({"pattern": "one", "path": "src"}, "src/b.py\nsrc/c.js"),
        ({"pattern": "one", "path": "."}, ".hidden/d.py\na.py\nsrc/b.py\nsrc/c.js"),
        ({"pattern": "one", "path": "a.py", "output_mode": "content"}, "a.py:1:def one():"),
        ({"pattern": "one", "glob": "*.js"}, "src/c.js"),
        ({"pattern": "one", "type": "js"}, "src/c.js"),
        ({"pattern": "def", "output_mode": "count"}, "a.py:2"),
        ({"pattern": "ONE", "path": "src", "output_mode": "content"}, "src/b.py:2:ONE = a.one()"),
        ({"pattern": "ONE", "path": "src", "i": True}, "src/b.py\nsrc/c.js"),
        ({"pattern": "two", "output_mode": "content", "n": False}, "a.py:def two():"),
        ({"pattern": "two", "output_mode": "content", "A": 1}, "a.py:4:def two():\na.py-5-    return 2"),
        ({"pattern": "two", "output_mode": "content", "B": 1}, "a.py-3-\na.py:4:def two():"),
        (
            {"pattern": "two", "output_mode": "content", "C": 1},
            "a.py-3-\na.py:4:def two():\na.py-5-    return 2",
        ),
        ({"pattern": "two", "A": 1}, "a.py"),
        ({"pattern": r"one\(\):.*return 1", "multiline": True}, "a.py"),
        ({"pattern": r"one\(\):.*return 1"}, "No matches found"),
        ({"pattern": "-x", "output_mode": "content"}, "notes.txt:1:-x is a flag"),
        ({"pattern": "--files"}, "No matches found"),
        ({"pattern": r"\{\}", "output_mode": "content"}, "notes.txt:2:curly {} here"),
        ({"pattern": "ONE$", "output_mode": "content"}, "notes.txt:3:last ONE"),
        ({"pattern": "one", "path": ".git"}, ".git/e.py"),
    ],
)  # fmt: skip
async def test_parameters(bench: ToolBench, given: dict[str, Any], shown: str) -> None:
    """Version control is left out unless it is named; a carriage return belongs to the line end."""
    assert await bench.ok("Grep", **given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            {"head_limit": 2},
            "f:1:0\nf:2:1\n[Entries 1 to 2 of 300; go on with offset 2, or narrow the search.]",
        ),
        ({"head_limit": 2, "offset": 298}, "f:299:298\nf:300:299"),
        ({"offset": 300}, "[There are only 300 entries; none at offset 300.]"),
    ],
)
async def test_paging(bench: ToolBench, workspace: Path, given: dict[str, Any], shown: str) -> None:
    (workspace / "f").write_text("".join(f"{n}\n" for n in range(300)))

    assert await bench.ok("Grep", pattern=r"\d", path="f", output_mode="content", **given) == shown


async def test_default_and_unlimited_length(bench: ToolBench, workspace: Path) -> None:
    (workspace / "f").write_text("".join(f"{n}\n" for n in range(300)))

    default = await bench.ok("Grep", pattern=r"\d", path="f", output_mode="content")
    everything = await bench.ok("Grep", pattern=r"\d", path="f", output_mode="content", head_limit=0)

    assert len(default.splitlines()) == 251
    assert len(everything.splitlines()) == 300


async def test_results_above_the_limit_go_to_a_file(bench: ToolBench, workspace: Path) -> None:
    (workspace / "f").write_text(("x" * 100 + "\n") * 240)

    assert (await bench.ok("Grep", pattern="x", path="f", output_mode="content")).startswith(
        "<persisted-output>"
    )


async def test_long_lines_are_cut(bench: ToolBench, workspace: Path) -> None:
    (workspace / "f").write_text("x" * 5_000)

    assert len(await bench.ok("Grep", pattern="x", path="f", output_mode="content")) < 700


async def test_paths_outside_are_shown_in_full(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("one\n")

    assert await bench.ok("Grep", pattern="one", path=str(tmp_path / "out.txt")) == str(tmp_path / "out.txt")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pattern": "("}, "unclosed group"),
        ({"pattern": "x", "type": "nonsense"}, "unrecognized file type"),
        ({"pattern": "x", "path": "nowhere"}, "does not exist"),
        ({"pattern": "x\0"}, "NUL"),
        ({"pattern": "x", "path": ""}, "empty"),
    ],
)
async def test_what_cannot_be_searched(bench: ToolBench, given: dict[str, str], told: str) -> None:
    assert told in await bench.error("Grep", **given)


async def test_nobody_s_configuration_changes_the_search(bench: ToolBench, workspace: Path) -> None:
    """A person's settings of rg would change what the model was told to expect."""
    (workspace / "rgrc").write_text("--invert-match\n")
    bench.context.environ["RIPGREP_CONFIG_PATH"] = str(workspace / "rgrc")

    assert await bench.ok("Grep", pattern="two") == "a.py"


async def test_time_limit(bench: ToolBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found until then is worth more than nothing."""
    bench.context.settings = bench.context.settings.replace(grep_timeout_seconds=0.3)
    slow = fake_ripgrep(tmp_path, 'printf "a.py\\0"; exec sleep 60')
    monkeypatch.setattr(grep, "find_ripgrep", lambda: slow)

    text = await bench.ok("Grep", pattern="x")

    assert text == "a.py\n[the search was ended after 0.3 s; there may be more matches.]"


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_files_that_may_not_be_read_are_not_shown(bench: ToolBench, mode: str) -> None:
    """A rule that denies reading a file must hold for searching in it, too."""
    secret = str(bench.workspace / "src" / "b.py")
    bench.may_read = lambda path: path != secret

    text = await bench.ok("Grep", pattern="one", output_mode=mode)

    assert "src/c.js" in text
    assert "b.py" not in text
    assert await bench.ok("Grep", pattern="one", path="src/b.py", output_mode=mode) == "No matches found"


async def test_lines_around_several_matches_are_kept_apart(bench: ToolBench, workspace: Path) -> None:
    (workspace / "f").write_text("1-a\nhit\n2:b\nx\nx\nhit\n")

    text = await bench.ok("Grep", pattern="hit", path="f", output_mode="content", B=1, n=False)

    assert text == "f-1-a\nf:hit\n--\nf-x\nf:hit"


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
async def test_a_name_of_two_lines_passes_for_no_other_file(
    bench: ToolBench, workspace: Path, mode: str
) -> None:
    """Else it could put lines under the name of any file, and show what a rule keeps from being read."""
    bench.may_read = lambda path: not path.startswith(str(workspace / "keys\nb"))
    (workspace / "keys\nb").mkdir()
    for name in ("a\nsrc.py", "keys\nb/x", "plain.txt"):
        (workspace / name).write_text("secret word\n")

    shown = await bench.ok("Grep", pattern="secret", output_mode=mode)

    assert "plain.txt" in shown
    assert not [line for line in shown.splitlines() if line.startswith(("src.py", "b/x"))]
    assert "line end" in await bench.error("Grep", pattern="secret", path="a\nsrc.py", output_mode=mode)
