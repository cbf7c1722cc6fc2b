"""One agent's inbox: a JSON array on disk, readable with `cat` at every instant.

Every change holds the inbox lock, and every write replaces the array by rename. Past the array's limits
mail waits in the overflow file, until the owner has drained it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from swarm.core.event import Event
from swarm.core.jsontext import json_line
from swarm.core.message import Message, order_for_peek, render_message
from swarm.core.ports import Clock
from swarm.core.times import format_time, parse_time
from swarm.errors import CorruptStateError, StateError
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.events import EventLog
from swarm.storage.inbox_files import DAMAGED, InboxFiles, render_line, split_array
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock


class Inbox:
    """Messages waiting for one agent, oldest first. Anyone may send; only the owner acknowledges."""

    def __init__(self, layout: TeamLayout, name: str, settings: Settings, clock: Clock) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._files = InboxFiles(layout, name)
        self._lock = FileLock(layout.lock(f"inbox-{name}"), settings, clock, f"mail-to-{name}@{layout.team}")
        self._events = EventLog(layout, settings, clock)

    def deliver(self, message: Message, *, retry: bool = False) -> None:
        """Put a message in; when this returns it survives the sender, and with durability the machine.

        After an error it may or may not be there: deliver the same `msg_id` again with `retry`, and it
        is there once. `inbox_full` when too much is unread.
        """
        read = self._files.search_history(message.msg_id) if retry else 0  # long: before the lock
        if read is None:
            return
        with self._lock:
            if retry and self._is_known(message.msg_id, read):
                return
            path = self._put(message)
        if self._settings.durability != "none":
            files.sync_file(path)

    def peek(self) -> tuple[Message, ...]:
        """Return the waiting messages, urgent ones first, and leave them where they are.

        Never waits for mail. What has expired is not shown; the next acknowledgement removes it. A crash
        after this call delivers the same messages again; the transcript's ids tell what the model has seen.
        """
        return self._shown(self._load())

    def look(self) -> tuple[Message, ...]:
        """Return what `peek` would, for others than the owner: writes nothing, takes no lock.

        CorruptStateError where the owner's next look, or the next sender, sets a damaged array aside.
        """
        overflow = self._files.load_overflow()  # first, as in `_load`
        return self._shown(split_array(self._files.load_array())[0] + overflow)

    def unread_count(self) -> int:
        """Return how many messages there are to `look` at."""
        return len(self.look())

    def left_out(self) -> tuple[int, tuple[str, ...]]:
        """Return what no look shows: how many items of the array are no messages, and arrays set aside."""
        return len(split_array(self._files.load_array())[1]), self._files.set_aside()

    def acknowledge(self, msg_ids: Iterable[str]) -> None:
        """Move these messages to the history, and fill the array from the overflow.

        To be called once the transcript holds them. Repeating it changes nothing; unknown ids do no harm.
        """
        with self._lock:
            moved = self._move(frozenset(msg_ids))
        self._events.append_all([_event_of(message, self._name) for message in moved])

    def history(self) -> tuple[Message, ...]:
        """Return what was acknowledged or has expired, in that order."""
        return tuple(self._files.load_history())

    def _shown(self, waiting: Iterable[Message]) -> tuple[Message, ...]:
        now = self._clock.now()
        return order_for_peek(m for m in _once(waiting) if not m.read and not _is_expired(m, now))

    def _put(self, message: Message) -> str:
        """Write a message where there is room and return the path of that file."""
        rendered = render_message(message)
        line = json_line(rendered)
        if not self._files.has_overflow():
            array = [*self._load_array(), rendered]
            data = files.json_bytes(array)
            if self._fits(len(array), len(data)):
                self._files.write_array(data)
                return self._files.array_path
        if self._files.waiting_bytes() + len(line) > self._settings.inbox_overflow_max_bytes:
            raise StateError(
                f"{self._name} has {self._settings.inbox_overflow_max_bytes >> 20} MiB of unread mail; "
                "wait until it has read some",
                code="inbox_full",
                details={"to": self._name},
            )
        self._files.append_overflow(line)
        return self._files.overflow_path

    def _fits(self, count: int, size: int) -> bool:
        return count <= self._settings.inbox_max_messages and size <= self._settings.inbox_max_bytes

    def _is_known(self, msg_id: str, read: int) -> bool:
        """Tell, under the lock, whether a message is here; of the history that much was read already."""
        self._load_array()
        return self._files.is_waiting(msg_id) or self._files.search_history(msg_id, read) is None

    def _load(self) -> list[Message]:
        """Return all that waits, in order; takes the lock only to set a damaged array aside.

        The overflow is read first. What is sent between the two looks is then either not seen yet or seen in
        the array; the other way round a later message could be seen beside the array and an earlier one not.
        """
        overflow = self._files.load_overflow()
        try:
            array = self._files.load_array()
        except CorruptStateError:
            with self._lock:
                array = self._load_array()
        return split_array(array)[0] + overflow

    def _load_array(self) -> list[Any]:
        """Return the array, under the lock; a damaged file is set aside and a new one started."""
        try:
            return self._files.load_array()
        except CorruptStateError:
            self._set_aside()
            return []

    def _set_aside(self) -> None:
        stamp = format_time(self._clock.now()).replace(":", "")
        aside = f"{self._files.array_path}{DAMAGED}{stamp}"
        number = 1
        while syscalls.find_stat(aside) is not None:
            number += 1
            aside = f"{self._files.array_path}{DAMAGED}{stamp}-{number}"
        syscalls.rename(self._files.array_path, aside)
        self._events.emit("inbox_set_aside", self._name, path=aside)

    def _move(self, ids: frozenset[str]) -> list[Message]:
        """Do the acknowledgement: history first, then the array, then the overflow."""
        self._files.remove_drafts()
        in_array, strays = split_array(self._load_array())
        overflow = self._files.load_overflow()
        waiting = _once(in_array + overflow)
        finished = self._finish_last(waiting, strays, had_overflow=bool(overflow))
        if finished:
            gone = {m.msg_id for m in finished}
            waiting, strays = [m for m in waiting if m.msg_id not in gone], []
        now = self._clock.now()
        done = [m for m in waiting if m.msg_id in ids or m.read or _is_expired(m, now)]
        if not (done or strays or overflow):
            return finished
        moved = [_acked(m, ids, now) for m in done]
        self._files.append_history([*map(render_line, moved), *map(json_line, strays)])
        gone = {m.msg_id for m in done}
        self._refill([m for m in waiting if m.msg_id not in gone], had_overflow=bool(overflow))
        return finished + moved

    def _finish_last(
        self, waiting: Sequence[Message], strays: Sequence[Any], *, had_overflow: bool
    ) -> list[Message]:
        """Take out of array and overflow what a killed acknowledgement left there, and return it.

        The last batch of the history tells what that is. It has to be gone before a newer batch hides it.
        """
        batch, recorded_strays = self._files.last_batch()
        here = {m.msg_id for m in waiting}
        left_over = [m for m in batch if m.msg_id in here]
        if left_over:
            lines = [line for line in map(json_line, strays) if line not in recorded_strays]
            self._files.append_history(lines)
            gone = {m.msg_id for m in left_over}
            self._refill([m for m in waiting if m.msg_id not in gone], had_overflow=had_overflow)
        return left_over

    def _refill(self, waiting: Sequence[Message], *, had_overflow: bool) -> None:
        count, size = 0, len("[\n]\n")
        rendered: list[dict[str, Any]] = []
        for message in waiting:
            item = render_message(message)
            size += len(files.json_bytes([item]))  # a little more than it adds
            if not self._fits(count + 1, size):
                break
            rendered.append(item)
            count += 1
        self._files.write_array(files.json_bytes(rendered))
        if had_overflow or count < len(waiting):
            self._files.write_overflow(waiting[count:])


def _once(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without repeats: a killed acknowledgement leaves some in array and overflow."""
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message.msg_id, message)
    return list(first.values())


def _is_expired(message: Message, now: float) -> bool:
    if message.expires_at is None:
        return False
    try:
        return parse_time(message.expires_at) <= now
    except ValueError:
        return False


def _acked(message: Message, ids: frozenset[str], now: float) -> Message:
    """Return the history's form: what was neither asked for nor read before has expired."""
    expired = None if message.msg_id in ids or message.read else True
    return message.replace(acked_at=format_time(now), expired=expired)


def _event_of(message: Message, owner: str) -> Event:
    return Event(
        time=message.acked_at or "",
        event="mail_expired" if message.expired else "mail_acknowledged",
        agent=owner,
        data={"msg_id": message.msg_id, "from": message.sender},
    )
