from __future__ import annotations

from zlib import crc32

import pytest

from swarm.core.journal import parse_line, render_line

LINE = render_line({"seq": 1, "op": "edge", "a": "1", "b": "2"})


def test_a_line_ends_in_the_checksum_of_all_before_it() -> None:
    start, _, tail = LINE.partition(b',"c"')

    assert tail == b':"%08x"}\n' % crc32(start)


def test_a_line_may_lack_its_line_end_when_it_is_parsed() -> None:
    assert parse_line(LINE[:-1]) == parse_line(LINE)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "without a checksum"),
        (b"\0" * 40, "without a checksum"),
        (LINE[:-5], "without a checksum"),
        (LINE[:-3] + b"'}\n", "without a checksum"),
        (b'{"seq":1}\n', "without a checksum"),
        (LINE.replace(b'"1"', b'"9"'), "wrong"),
        (b"[1" + b',"c":"%08x"}' % crc32(b"[1"), "Expecting"),
    ],
)
def test_a_damaged_line_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_line(raw)
