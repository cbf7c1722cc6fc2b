"""The prompt cache, by the rules that its documentation states.

- An entry is written only at a mark: the exact prefix that ends there. Nothing before it becomes an entry.
- A mark reads the longest entry that ends at it or at one of the 19 positions before it.
- A prefix below the model's minimum is neither written nor an error.
- An entry lives 5 minutes, or 1 hour when asked, from the start of the request that wrote or last read it.
- It can be read as soon as the answer to the request that writes it begins.

The documentation lets a row of neighbouring `tool_use` blocks, and one of `tool_result` blocks, count as one
position; that is `runs_count_once`. Without it each block counts, as it did before: who hits then, hits also
with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from swarm.values import Value
from tests.support.messages_api.render import Body, Piece, prefix_hashes, render

TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}
LOOKBACK = 20
MINIMUM_TOKENS = 1024


class Writing(Value):
    """An entry to come: `ttl` of a mark, and where it ends."""

    key: bytes
    ttl: str


class CacheUse(Value):
    """What a request reads and writes, in tokens; `refreshed` and `written` hold until `commit`."""

    started: float
    read: int
    written_5m: int
    written_1h: int
    rest: int
    refreshed: tuple[bytes, ...]
    written: tuple[Writing, ...]

    def counters(self) -> dict[str, int]:
        return {
            "input_tokens": self.rest,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
        }


class _Entry:
    def __init__(self, ttl: str, used: float) -> None:
        self.ttl = ttl
        self.used = used

    def lives(self, now: float) -> bool:
        return now < self.used + TTL_SECONDS[self.ttl]


class PromptCache:
    """All entries of one account. `minimum` is one number, or one for each model (else 1024)."""

    def __init__(
        self,
        *,
        minimum: int | Mapping[str, int] = MINIMUM_TOKENS,
        runs_count_once: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._minimum = minimum
        self._runs_count_once = runs_count_once
        self._clock = clock
        self._entries: dict[bytes, _Entry] = {}
        self._lock = threading.Lock()

    def look_up(self, body: Body) -> CacheUse:
        """Return what this request, begun now, will read and write; nothing is changed."""
        now = self._clock()
        pieces = render(body)
        keys = prefix_hashes(body, pieces)
        sizes = _sums(pieces)
        marks = [n for n, piece in enumerate(pieces) if piece.ttl]
        with self._lock:
            found = {mark: self._found_from(mark, pieces, keys, now) for mark in marks}
            live = {key for key in keys if self._lives(key, now)}
        hits = [at for at in found.values() if at is not None]
        read = sizes[max(hits)] if hits else 0
        writes = [m for m in marks if keys[m] not in live and sizes[m] >= self._minimum_of(body)]
        written_1h = max(0, max((sizes[m] for m in writes if pieces[m].ttl == "1h"), default=0) - read)
        written = max(0, max((sizes[m] for m in writes), default=0) - read)
        return CacheUse(
            started=now,
            read=read,
            written_5m=written - written_1h,
            written_1h=written_1h,
            rest=(sizes[-1] if sizes else 0) - read - written,
            refreshed=tuple(keys[at] for at in hits),
            written=tuple(Writing(key=keys[m], ttl=str(pieces[m].ttl)) for m in writes),
        )

    def commit(self, use: CacheUse) -> None:
        """Write and refresh, as the answer begins."""
        with self._lock:
            for key in use.refreshed:
                entry = self._entries[key]
                entry.used = max(entry.used, use.started)
            for writing in use.written:
                self._entries[writing.key] = _Entry(writing.ttl, use.started)

    def _lives(self, key: bytes, now: float) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.lives(now)

    def _found_from(
        self, mark: int, pieces: Sequence[Piece], keys: Sequence[bytes], now: float
    ) -> int | None:
        """Return where the longest entry ends that the mark at this piece can see."""
        positions = 0
        for at in range(mark, -1, -1):
            positions += not self._continues_run(at, mark, pieces)
            if positions > LOOKBACK:
                return None
            if self._lives(keys[at], now):
                return at
        return None

    def _continues_run(self, at: int, mark: int, pieces: Sequence[Piece]) -> bool:
        if not self._runs_count_once or at == mark:
            return False
        kind = pieces[at].kind
        return kind in {"tool_use", "tool_result"} and pieces[at + 1].kind == kind

    def _minimum_of(self, body: Body) -> int:
        if isinstance(self._minimum, int):
            return self._minimum
        return self._minimum.get(body["model"], MINIMUM_TOKENS)


def _sums(pieces: Sequence[Piece]) -> list[int]:
    """Return for each piece the size of everything up to its end."""
    sums: list[int] = []
    for piece in pieces:
        sums.append(piece.tokens + (sums[-1] if sums else 0))
    return sums
