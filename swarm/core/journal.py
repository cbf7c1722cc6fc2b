"""One line of a task journal: a compact JSON object that ends in a checksum of the bytes before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from swarm.core.jsontext import compact

_KEY = b',"c":"'
_TAIL = len(_KEY) + 8 + len(b'"}')
_decode = json.JSONDecoder().raw_decode


def render_line(body: Mapping[str, Any]) -> bytes:
    """Return the line for `body`, with its checksum and line end."""
    start = compact(body)[:-1]
    return b'%s%s%08x"}\n' % (start, _KEY, crc32(start))


def parse_line(raw: bytes) -> dict[str, Any]:
    """Return the body of a line, without its checksum; a damaged or torn line is a ValueError.

    Every process does this with each line that another one writes.
    """
    end = len(raw) - _TAIL - raw.endswith(b"\n")
    start, tail = raw[:end], raw[end : end + _TAIL]
    if tail != b'%s%08x"}' % (_KEY, crc32(start)):
        raise ValueError(_fault(tail))
    text = start.decode() + "}"
    body, stop = _decode(text)
    if stop != len(text) or not isinstance(body, dict):
        raise ValueError("a journal line that is no JSON object")
    return body


def _fault(tail: bytes) -> str:
    if tail.startswith(_KEY) and tail.endswith(b'"}'):
        return "a journal line whose checksum is wrong"
    return "a journal line without a checksum"
