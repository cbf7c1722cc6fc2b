"""An inbox against the simplest model of one, with calls that fail at random."""

from __future__ import annotations

import errno
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from swarm.errors import StateError, StorageIOError
from swarm.storage.syscalls import fault_hook
from tests.support.faults import FailAt, Point
from tests.support.stores import SETTINGS, a_message, make_team

faults = st.none() | st.builds(Point, st.integers(0, 30), st.just(""), st.none() | st.integers(1, 60))


class OneInbox(RuleBasedStateMachine):
    """Messages that wait, in order, and messages that were acknowledged. An error is answered by a retry."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        limits = SETTINGS.replace(inbox_max_messages=3, inbox_max_bytes=1500, inbox_overflow_max_bytes=6000)
        self.team = make_team(self.folder.name, settings=limits)
        self.inbox = self.team.inbox("w1")
        self.waiting: list[str] = []
        self.acknowledged: list[str] = []
        self.count = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(size=st.integers(0, 600), fault=faults)
    def deliver(self, size: int, fault: Point | None) -> None:
        self.count += 1
        message = a_message(f"m{self.count}").replace(text="x" * size)
        try:
            try:
                if fault is None:
                    self.inbox.deliver(message)
                else:
                    with fault_hook(FailAt(fault, code=errno.EIO)):
                        self.inbox.deliver(message)
            except StorageIOError:
                self.inbox.deliver(message, retry=True)
        except StateError as error:
            assert error.code == "inbox_full"  # noqa: PT017 - one of two outcomes
        else:
            self.waiting.append(message.msg_id)

    @rule(which=st.sets(st.integers(0, 12)), fault=faults)
    def acknowledge(self, which: set[int], fault: Point | None) -> None:
        ids = [msg_id for place, msg_id in enumerate(self.waiting) if place in which]
        try:
            if fault is None:
                self.inbox.acknowledge(ids)
            else:
                with fault_hook(FailAt(fault, code=errno.EIO)):
                    self.inbox.acknowledge(ids)
        except StorageIOError:
            self.inbox.acknowledge(ids)
        self.waiting = [msg_id for msg_id in self.waiting if msg_id not in ids]
        self.acknowledged += ids

    @invariant()
    def each_message_is_in_one_place(self) -> None:
        assert [message.msg_id for message in self.inbox.peek()] == self.waiting
        assert [message.msg_id for message in self.inbox.history()] == self.acknowledged


TestOneInbox = OneInbox.TestCase
TestOneInbox.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
