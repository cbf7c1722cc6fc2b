"""Glob finds files by name, as a person would expect the pattern to work, and keeps its list short."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.tools import SETTINGS, ToolBench, fake_ripgrep, make_team
from worker.tools import glob, ripgrep
from worker.tools.glob_patterns import compile_glob, split_absolute, wants_hidden


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not_fit"),
    [
        ("*.py", "a.py src/a.py", "a.pyc .py/x"),
        ("src/*.py", "src/a.py", "src/x/a.py a.py x/src/a.py"),
        ("./src/*.py", "src/a.py", "x/src/a.py"),
        ("**/*.py", "a.py x/y/a.py", "a.txt"),
        ("src/**/t_?.py", "src/t_1.py src/x/y/t_2.py", "src/t_12.py t_1.py"),
        ("src/**", "src/a src/x/b", "src srcs/a"),
        ("src/", "src/a src/x/b", "xsrc/a"),
        ("*.{ts,tsx}", "a.ts x/b.tsx", "a.tsxx a.t"),
        ("{a,b{1,2}}/c", "a/c b1/c b2/c", "b/c"),
        ("[ab]*.c", "a.c bx.c", "c.c"),
        ("[!ab].c", "c.c", "a.c"),
        ("[^ab].c", "c.c", "a.c"),
        ("x[!a]y", "xby", "x/y xay"),
        ("[[]a]", "[a]", "a"),
        ("[a-c]", "b", "d -"),
        (r"\*.c", "*.c", "a.c"),
        ("a{b", "a{b", "ab"),
        ("a}b{", "a}b{", "ab"),
        ("a,b", "a,b", "a b"),
        ("a+(b).txt", "a+(b).txt", "aab.txt"),
    ],
)
def test_patterns(pattern: str, fits: str, does_not_fit: str) -> None:
    expression = compile_glob(pattern)

    assert [name for name in fits.split() if not expression.fullmatch(name)] == []
    assert [name for name in does_not_fit.split() if expression.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("pattern", "hidden"),
    [(".env", True), ("a/.b/*", True), ("{.a,b}", True), ("./a", False), ("a.b", False), ("../a", False)],
)
def test_hidden_files_are_asked_for_by_their_dot(pattern: str, *, hidden: bool) -> None:
    assert wants_hidden(pattern) is hidden


@pytest.mark.parametrize(
    ("pattern", "folder", "below"),
    [
        ("/srv/app/**/*.py", "/srv/app", "**/*.py"),
        ("/srv/*.py", "/srv", "./*.py"),
        ("/*.py", "/", "./*.py"),
        ("/srv/app/a.py", "/srv/app", "./a.py"),
        ("/srv/a[b/c", "/srv", "a[b/c"),
    ],
)
def test_absolute_patterns_name_their_folder(pattern: str, folder: str, below: str) -> None:
    assert split_absolute(pattern) == (folder, below)


def plant(workspace: Path, *names: str) -> None:
    """Make files, each newer than the one before."""
    for age, name in enumerate(names):
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, ns=(0, (age + 1) * 1_000_000_000))


async def test_the_last_changed_come_first(bench: ToolBench, workspace: Path) -> None:
    plant(workspace, "b.py", "src/c.py", "a.py", "a.txt")

    assert await bench.ok("Glob", pattern="*.py") == "a.py\nsrc/c.py\nb.py"


async def test_ignored_hidden_and_version_control_files_are_left_out(
    bench: ToolBench, workspace: Path
) -> None:
    plant(workspace, ".git/x.py", ".gitignore", "out/y.py", ".hidden/z.py", "a.py")
    (workspace / ".gitignore").write_text("out/\n")

    assert await bench.ok("Glob", pattern="*.py") == "a.py"
    assert await bench.ok("Glob", pattern=".hidden/*.py") == ".hidden/z.py"
    assert await bench.ok("Glob", pattern=".git/*") == "No files found"


async def test_a_pattern_does_not_uncover_what_is_ignored(bench: ToolBench, workspace: Path) -> None:
    """rg's own pattern option would: there a pattern that fits wins over .gitignore."""
    plant(workspace, ".git/HEAD", ".gitignore", "debug.log", "a.log.txt")
    (workspace / ".gitignore").write_text("*.log\n")

    assert await bench.ok("Glob", pattern="*.log") == "No files found"


async def test_folder_and_absolute_pattern(bench: ToolBench, workspace: Path, tmp_path: Path) -> None:
    plant(workspace, "src/a.py", "b.py")
    plant(tmp_path, "other/c.py")

    assert await bench.ok("Glob", pattern="*.py", path="src") == "src/a.py"
    assert await bench.ok("Glob", pattern=f"{workspace}/src/*.py") == "src/a.py"
    assert await bench.ok("Glob", pattern="*.py", path=str(tmp_path / "other")) == str(
        tmp_path / "other/c.py"
    )


async def test_long_lists_are_cut_with_a_note(tmp_path: Path) -> None:
    work = tmp_path / "work"
    bench = ToolBench(make_team(tmp_path / "root", work, SETTINGS.replace(glob_results_max=2)), work)
    plant(work, "a", "b", "c")

    text = await bench.ok("Glob", pattern="*")
    assert text == "c\nb\n[The 2 newest of 3 files; narrow the pattern or the path to see others.]"


async def test_names_with_odd_bytes(bench: ToolBench, workspace: Path) -> None:
    plant(workspace, "with space.py", "new\nline.py")
    (Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.py"))).write_text("x")

    text = await bench.ok("Glob", pattern="*.py")

    assert text.count(".py") == 3
    assert "caf\ufffd.py" in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pattern": "../*.py"}, "cannot lead upwards"),
        ({"pattern": "[z-a]"}, "no pattern for file names"),
        ({"pattern": "*", "path": "nowhere"}, "not a folder that exists"),
        ({"pattern": "~/x"}, "absolute path"),
    ],
)
async def test_what_cannot_be_searched(bench: ToolBench, given: dict[str, str], told: str) -> None:
    assert told in await bench.error("Glob", **given)


@pytest.mark.parametrize("tool", ["Glob", "Grep"])
async def test_without_ripgrep_the_model_is_told(
    bench: ToolBench, tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "ripgrep (rg) is not installed" in await bench.error(tool, pattern="x")


async def test_a_search_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found until then is shown, and the program is gone."""
    work = tmp_path / "work"
    bench = ToolBench(make_team(tmp_path / "root", work, SETTINGS.replace(grep_timeout_seconds=0.3)), work)
    slow = fake_ripgrep(tmp_path, f'echo $$ > "{tmp_path}/pid"; printf "a.py\\0"; exec sleep 60')
    monkeypatch.setattr(glob, "find_ripgrep", lambda: slow)

    text = await bench.ok("Glob", pattern="*.py")

    assert text == "a.py\n[the search was ended after 0.3 s; there may be more files.]"
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


async def test_endless_output_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = fake_ripgrep(tmp_path, "exec yes")
    monkeypatch.setattr(ripgrep, "MAX_OUTPUT_BYTES", 100_000)

    found = await ripgrep.run_ripgrep(endless, [], str(tmp_path), {"PATH": os.environ["PATH"]}, 10.0)

    assert found.cut == "more than 100,000 bytes were found"
    assert len(found.output) < 300_000


async def test_errors_of_the_program_are_shown(
    bench: ToolBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = fake_ripgrep(tmp_path, "echo 'rg: it broke' >&2; exit 2")
    monkeypatch.setattr(glob, "find_ripgrep", lambda: broken)

    assert await bench.error("Glob", pattern="*") == "rg: it broke"


async def test_files_that_may_not_be_read_are_not_listed(bench: ToolBench, workspace: Path) -> None:
    plant(workspace, "a.py", "secret.py")
    bench.may_read = lambda path: path != str(workspace / "secret.py")

    assert await bench.ok("Glob", pattern="*.py") == "a.py"
