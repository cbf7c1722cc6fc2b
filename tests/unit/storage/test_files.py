from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import CorruptStateError, StorageIOError
from swarm.storage import files, syscalls
from tests.support.faults import FailAt, Point


def test_file_is_indented_ends_in_one_line_end_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    files.write_json(str(path), {"name": "Zoë", "list": [], "n": 1})
    assert path.read_text(encoding="utf-8") == '{\n  "name": "Zoë",\n  "list": [],\n  "n": 1\n}\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    """Models write them; UTF-8 has no form for them, JSON has."""
    path = str(tmp_path / "x.json")
    files.write_json(path, {"text": "a\ud83d"})
    assert files.read_json(path) == {"text": "a\ud83d"}


def test_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    files.write_json(path, {"old": True})
    for number, call in enumerate(("create", "append", "rename")):
        fault = FailAt(Point(number, call))
        with syscalls.fault_hook(fault), pytest.raises(StorageIOError):
            files.write_json(path, {"old": False})
        assert files.read_json(path) == {"old": True}
        assert os.listdir(tmp_path) == ["x.json"]


def test_file_that_is_bad_for_a_moment_is_read_again(tmp_path: Path, monkeypatch) -> None:
    """Another client writes in place, so its file is short for a moment."""
    answers = iter([b'{"half": ', b'{"whole": 1}'])
    monkeypatch.setattr(files, "find_bytes", lambda _path: next(answers))
    assert files.find_json("x") == {"whole": 1}


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"null", b"[" * 100_000])
def test_damaged_file_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(CorruptStateError) as caught:
        files.find_json(str(path))
    assert caught.value.details == {"path": str(path)}
    assert path.read_bytes() == content


def test_missing_file_is_none_or_an_error_as_asked(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    assert files.find_json(path) is None
    with pytest.raises(StorageIOError) as caught:
        files.read_json(path)
    assert caught.value.details["errno"] == errno.ENOENT


def test_file_that_vanishes_between_two_looks_is_missing(tmp_path: Path, monkeypatch) -> None:
    answers = iter([b"{", None])
    monkeypatch.setattr(files, "find_bytes", lambda _path: next(answers))
    assert files.find_json("x") is None


def test_value_that_is_no_object_is_refused_where_one_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1]")
    with pytest.raises(CorruptStateError):
        files.find_object(str(path))
    path.write_text("{}")
    assert files.find_object(str(path)) == {}


@pytest.mark.parametrize("torn", [b"", b'{"half":', b"x" * 200_000])
def test_torn_tail_is_cut_before_the_next_line(tmp_path: Path, torn: bytes) -> None:
    """A killed writer's half line was promised to nobody; glued to the next line it would spoil that, too."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"1\n2\n" + torn)
    assert [line for _, line in files.read_lines(str(path))] == [b"1", b"2"]
    files.append_line(str(path), b"3\n")
    assert path.read_bytes() == b"1\n2\n3\n"


def test_file_of_nothing_but_a_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"half" * 50_000)
    files.append_line(str(path), b"1\n")
    assert path.read_bytes() == b"1\n"


def test_lines_are_read_from_an_offset_on(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"one\ntwo\nthree\n")
    (first, _), (second, _), _ = files.read_lines(str(path))
    assert (first, second) == (0, 4)
    assert list(files.read_lines(str(path), second)) == [(4, b"two"), (8, b"three")]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\n\n", b"a", b"one\n\ntwo\nthree\n", b"one\ntwo\nhalf", b"x" * 50 + b"\n"]
)
def test_lines_are_whole_wherever_the_chunks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, chunk: int
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    monkeypatch.setattr(files, "_CHUNK", chunk)
    whole = data.split(b"\n")[:-1]
    assert [line for _, line in files.read_lines(str(path))] == whole
    assert list(files.read_lines_backwards(str(path)))[::-1] == whole


@pytest.mark.parametrize("read", [files.read_lines, files.read_lines_backwards])
def test_a_line_of_many_chunks_takes_no_longer_than_its_size_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[str], Iterator[object]]
) -> None:
    """Put together anew at each chunk, it would be copied 60,000 times, 250 gigabytes in all."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"q" * 8_000_000 + b"\n")
    monkeypatch.setattr(files, "_CHUNK", 128)
    started = time.process_time()
    assert len(list(read(str(path)))) == 1
    assert time.process_time() - started < 5


def test_no_lines_in_a_missing_file(tmp_path: Path) -> None:
    path = str(tmp_path / "x.jsonl")
    assert list(files.read_lines(path)) == []
    assert list(files.read_lines_backwards(path)) == []
    files.sync_file(path)


def test_draft_is_hidden_and_beside_its_file() -> None:
    """So that the rename stays in one file system and no reader takes the draft for a record."""
    assert files.draft_name("/r/tasks/demo/7.json") == f"/r/tasks/demo/.7.{os.getpid()}.tmp"


def test_compact_and_indented_forms_hold_the_same() -> None:
    value: dict[str, Any] = {"a": [1, 2.5, True, None, "ü\n", [], {}, ()], "b": {"c": -1}}
    assert files.render_json(value) == json.dumps(value, indent=2, ensure_ascii=False)
