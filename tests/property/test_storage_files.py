"""What is written can be read back, whatever it is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swarm.storage import files

texts = st.text(st.characters(codec=None), max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
line_lists = st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=12)


@contextmanager
def a_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, "x")


@given(values)
def test_indented_json_is_what_the_standard_library_writes(value: Any) -> None:
    assert files.render_json(value) == json.dumps(value, indent=2, ensure_ascii=False)


@given(st.dictionaries(texts, values, max_size=4))
def test_json_file_holds_what_was_written(value: dict[str, Any]) -> None:
    with a_path() as path:
        files.write_json(str(path), value)
        assert files.read_json(str(path)) == value


@given(line_lists, st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), st.integers(1, 7))
def test_whole_lines_are_read_in_both_directions_and_torn_ones_cut(
    lines: list[bytes], torn: bytes, chunk: int
) -> None:
    """In chunks of any size: a line may begin in one and end in another."""
    usual, files._CHUNK = files._CHUNK, chunk
    try:
        with a_path() as path:
            path.write_bytes(b"".join(line + b"\n" for line in lines) + torn)
            assert [line for _, line in files.read_lines(str(path))] == lines
            assert list(files.read_lines_backwards(str(path))) == lines[::-1]
            for offset, line in files.read_lines(str(path)):
                assert next(files.read_lines(str(path), offset)) == (offset, line)
            files.append_line(str(path), b"last\n")
            assert path.read_bytes() == b"".join(line + b"\n" for line in [*lines, b"last"])
    finally:
        files._CHUNK = usual
