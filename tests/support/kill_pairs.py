"""A program that kills the reader of an inbox twice, at every pair of places, and checks what its model saw.

    python -m tests.support.kill_pairs FOLDER MAIL STEP

A reader does what a teammate does: it reads its transcript, peeks, writes what is new to the transcript,
and acknowledges. MAIL names what waits for it. Between the two lives another message arrives. STEP is 1 for
all pairs; with N, one in N of the second places is tried after each first one, in turn.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from swarm.core.identity import LEADER
from swarm.core.message import Message, shutdown_request
from swarm.storage.layout import Layout
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.faults import Point, Recorder, die_at
from tests.support.stores import SETTINGS, a_message, make_team
from worker.session.mail import MailReader
from worker.session.transcript import Transcript, mail_given, read_transcript

Files = tuple[tuple[str, bytes], ...]
_AT = "2026-11-30T12:33:38.156Z"
_ORDER = shutdown_request(LEADER, "w1", _AT)
_MAILS: dict[str, tuple[Message, ...]] = {
    "few": tuple(a_message(text) for text in ("m1", "m2")),
    "with_overflow": tuple(a_message(text) for text in ("m1", "m2", "m3", "m4", "m5")),
    "with_an_order": (
        a_message("m1"),
        a_message("order", sender=LEADER).replace(text=_ORDER),
        a_message("m2"),
        a_message("m3"),
    ),
    "with_expired": (a_message("m1"), a_message("old", expires_at=_AT), a_message("m2"), a_message("m3")),
    "with_large": (a_message("m1"), a_message("m2", summary="x" * 9000), a_message("m3"), a_message("m4")),
}
MAILS = tuple(_MAILS)
_LATE = "late"


class Reader:
    """The team in one folder, whose mail files can be put back to how they were."""

    def __init__(self, folder: Path, mail: str) -> None:
        self.settings = SETTINGS.replace(inbox_max_messages=3)
        self.root = str(folder / "root")
        team = make_team(self.root, settings=self.settings)
        self.layout = team.layout
        self.mail = _MAILS[mail]
        for message in self.mail:
            team.inbox("w1").deliver(message)
        self.lives = 0
        team.events.emit("agent_ready", "w1")  # makes the lock's file: every reader then makes the same calls

    def begin_life(self) -> Team:
        """Return the team as a new process sees it, some time later."""
        self.lives += 1
        clock = FakeClock()
        clock.advance(60.0 * self.lives)
        return Team(Layout(root=self.root).team("demo"), self.settings, clock)

    def files(self) -> Files:
        return tuple((str(path), path.read_bytes()) for path in sorted(self._paths()))

    def put_back(self, files: Files) -> None:
        for path in self._paths():
            path.unlink()
        for name, content in files:
            Path(name).write_bytes(content)

    def points(self, files: Files) -> list[Point]:
        """Return every place at which a reader that finds these files can be killed."""
        self.put_back(files)
        recorder = Recorder()
        with fault_hook(recorder):
            take(self.begin_life())
        return recorder.points()

    def die_at(self, point: Point, files: Files) -> Files:
        """Let a reader that finds these files be killed there; return what it left."""
        self.put_back(files)
        team = self.begin_life()
        die_at(point, take, team)
        return self.files()

    def _paths(self) -> Iterator[Path]:
        for folder in (self.layout.inboxes_dir, self.layout.history_dir, self.layout.transcripts_dir):
            yield from Path(folder).iterdir()
        yield Path(self.layout.events)


def take(team: Team) -> None:
    """Read the mail as a session does that begins."""
    path = team.layout.transcript("w1")
    reader = MailReader(team.inbox("w1"), "w1", mail_given(read_transcript(path)))
    transcript = Transcript(path, team.clock, session="q7m2xk4d", run_id="k3v9qd7m.w1.1", task="1")
    transcript.start(cause="claim", model="scripted")
    reader.take(transcript)


def check(reader: Reader) -> None:
    """Check that each message reached the model once, and is in the history once; orders wait on."""
    team = reader.begin_life()
    kept = [m.msg_id for m in reader.mail if m.text == _ORDER]
    gone = [m.msg_id for m in reader.mail if m.expires_at]
    wanted = [m.msg_id for m in reader.mail if m.msg_id not in (*kept, *gone)] + [_LATE]
    lines = read_transcript(team.layout.transcript("w1"))
    assert [one for line in lines for one in line.get("msg_ids", ())] == wanted
    history = [(m.msg_id, bool(m.expired)) for m in team.inbox("w1").history()]
    assert sorted(history) == sorted([(one, False) for one in wanted] + [(one, True) for one in gone])
    waiting = [m.msg_id for m in team.inbox("w1").peek()]
    assert waiting == kept, waiting


def check_array(layout_inbox: str) -> None:
    """Check that whoever looks with `cat` sees a whole array."""
    if os.path.exists(layout_inbox):
        assert isinstance(json.loads(Path(layout_inbox).read_bytes()), list)


def shape(files: Files) -> tuple[tuple[str, int], ...]:
    """Return what tells two states apart: times and process numbers do not."""
    return tuple((re.sub(r"\.[0-9]+\.tmp$", ".tmp", name), len(content)) for name, content in files)


def main(folder: str, mail: str, step: str) -> None:
    reader = Reader(Path(folder), mail)
    path = reader.layout.inbox("w1")
    start = reader.files()
    left_behind = [reader.die_at(point, start) for point in reader.points(start)]
    states = {shape(files): files for files in left_behind}
    pairs = 0
    for number, files in enumerate(states.values()):
        reader.put_back(files)
        check_array(path)
        reader.begin_life().inbox("w1").deliver(a_message(_LATE))
        between = reader.files()
        for point in reader.points(between)[number % int(step) :: int(step)]:
            reader.die_at(point, between)
            check_array(path)
            take(reader.begin_life())
            check(reader)
            pairs += 1
    sys.stdout.write(f"{pairs} pairs\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
