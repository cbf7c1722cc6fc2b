"""One line of a task journal: a compact JSON object that ends in a checksum of the bytes before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from swarm.core.jsontext import compact, parse_object

_KEY = b',"c":"'
_TAIL = len(_KEY) + 8 + len(b'"}')


def render_line(body: Mapping[str, Any]) -> bytes:
    """Return the line for `body`, with its checksum and line end."""
    start = compact(body)[:-1]
    return b'%s%s%08x"}\n' % (start, _KEY, crc32(start))


def parse_line(raw: bytes) -> dict[str, Any]:
    """Return the body of a line, without its checksum; a damaged or torn line is a ValueError."""
    line = raw.removesuffix(b"\n")
    start, tail = line[:-_TAIL], line[-_TAIL:]
    if not (tail.startswith(_KEY) and tail.endswith(b'"}')):
        raise ValueError("a journal line without a checksum")
    if tail[len(_KEY) : -2] != b"%08x" % crc32(start):
        raise ValueError("a journal line whose checksum is wrong")
    return dict(parse_object((start + b"}").decode()))
