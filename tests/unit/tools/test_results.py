"""Large results go to files: nothing is lost, and the same call gives the same text again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.settings import Settings
from tests.support.tools import ToolBench
from worker.tools.results import encodable, limit_of, persist, preview_of, without_blank

SETTINGS = Settings(preview_bytes=100, result_fallback_max_chars=200)


def kept(text: str, folder: Path, call_id: str = "toolu_1") -> tuple[str, str | None]:
    result = persist(text, call_id, str(folder), SETTINGS)
    return result.text, result.persisted


def test_the_file_holds_all_and_the_text_names_it(tmp_path: Path) -> None:
    text = "line\n" * 100

    shown, name = kept(text, tmp_path / "new")

    assert name == "toolu_1.txt"
    path = tmp_path / "new" / name
    assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600
    lines = shown.splitlines()
    assert (lines[0], lines[-1]) == ("<persisted-output>", "</persisted-output>")
    assert str(path) in lines
    assert "0.5 KB" in shown
    assert lines[-2] == "…"


def test_the_same_again_is_the_same(tmp_path: Path) -> None:
    """A replay must send the same bytes."""
    assert kept("x" * 300, tmp_path) == kept("x" * 300, tmp_path)
    assert os.listdir(tmp_path) == ["toolu_1.txt"]


def test_another_text_under_the_same_id_gets_its_own_file(tmp_path: Path) -> None:
    """Scripted models number their calls alike in every session."""
    kept("x" * 300, tmp_path)
    shown, name = kept("y" * 300, tmp_path)

    assert name is not None
    assert (tmp_path / name).read_text() == "y" * 300
    assert (tmp_path / "toolu_1.txt").read_text() == "x" * 300
    assert name in shown
    (tmp_path / name).write_text("z")
    assert kept("y" * 300, tmp_path)[1] is None


@pytest.mark.parametrize("call_id", ["../../x", "a/b", "", "a" * 300, "a\0b"])
def test_an_id_is_never_a_path(tmp_path: Path, call_id: str) -> None:
    folder = tmp_path / "results"
    _, name = kept("x" * 300, folder, call_id)

    assert name is not None
    assert os.listdir(folder) == [name]
    assert os.listdir(tmp_path) == ["results"]


def test_without_a_file_the_text_itself_is_cut(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    shown, name = kept("x" * 300, tmp_path / "file" / "below")

    assert name is None
    assert shown.startswith("x" * 200 + "\n[Left out: 100 more characters")
    assert kept("x" * 200, tmp_path / "file" / "below") == ("x" * 200, None)


def test_half_written_files_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later attempt would take them for the result."""

    def full(descriptor: int, mode: str) -> None:
        os.close(descriptor)
        raise OSError("disk full")

    monkeypatch.setattr(os, "fdopen", full)

    assert kept("x" * 300, tmp_path)[1] is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"short", "short"),
        (b"a" * 60 + b"\n" + b"b" * 100, "a" * 60),
        (b"a" * 40 + b"\n" + b"b" * 100, "a" * 40 + "\n" + "b" * 59),
        (b"a" * 60 + b"\n" + b"b" * 20 + b"\n" + b"c" * 100, "a" * 60 + "\n" + "b" * 20),
        (b"a" * 99 + "é".encode() * 5, "a" * 99),
    ],
)
def test_preview_ends_at_a_line_in_its_second_half(data: bytes, expected: str) -> None:
    assert preview_of(data, 100) == expected


@given(st.text(max_size=300), st.integers(4, 200))
def test_preview_is_a_start_of_the_text(text: str, limit: int) -> None:
    preview = preview_of(text.encode(), limit)

    assert text.startswith(preview)
    assert len(preview.encode()) <= limit
    assert (
        preview or not text or len(text[0].encode()) > limit or text.startswith("\n") or "\n" in text[:limit]
    )


def test_thresholds() -> None:
    """A tool may ask for less than the common limit, never for more; None means never."""
    settings = Settings()

    assert limit_of(30_000, settings) == 30_000
    assert limit_of(90_000, settings) == 50_000
    assert limit_of(None, settings) is None


def test_blank_and_unsendable_texts() -> None:
    assert without_blank(" \n", "Bash") == "(Bash completed with no output)"
    assert without_blank("x", "Bash") == "x"
    assert encodable("a\udce9b") == "a?b"


async def test_a_result_above_its_tool_s_limit_is_told_with_its_file(bench: ToolBench) -> None:
    text = await bench.ok("Bash", command="printf 'x%.0s' $(seq 1 30001)")

    assert text.startswith("<persisted-output>")
    ((_, _, persisted),) = bench.heard
    assert persisted is not None
    assert (Path(bench.context.results_dir) / persisted).read_text() == "x" * 30_001


async def test_a_result_at_its_limit_is_passed_on(bench: ToolBench) -> None:
    assert await bench.ok("Bash", command="printf 'x%.0s' $(seq 1 30000)") == "x" * 30_000
