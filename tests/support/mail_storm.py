"""A program in which many send to one, who reads as a teammate does, while both are killed and started again.

    python -m tests.support.mail_storm ROOT SENDERS EACH SEED SIZES LIMIT TROUBLES…

EACH is how many messages each sends, SIZES `mostly_small` or `even`, LIMIT the bytes that may wait (0 for
the usual). The only one of TROUBLES is `kill`. Senders with an even number name their messages, and send
again what may have been lost with a killed life; the others go on with the next one. Another process reads
all inbox files all the time. What senders were told is in ROOT/answers/<name>, what that one saw in
ROOT/seen.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from swarm.errors import StateError
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.mail import send
from swarm.storage.team import Team
from tests.support.faults import ends_with_parent
from worker.messages import assistant_message
from worker.session.mail import MailReader
from worker.session.transcript import Transcript, mail_given, read_transcript

OWNER = "w1"
SIZES = {"mostly_small": (300,) * 25 + (5_000,) * 4 + (200_000,), "even": (300, 5_000, 200_000)}
_LONGEST_CALM_SECONDS = 0.1
_LOOK_SECONDS = 0.005
_FULL_SECONDS = 0.01
_IDLE_SECONDS = 0.002


def open_storm(root: str, limit: int = 0) -> Team:
    settings = Settings(durability="none", lock_timeout_seconds=60.0)
    if limit:
        settings = settings.replace(inbox_overflow_max_bytes=limit)
    return Team(Layout(root=root).team("demo"), settings, SystemClock())


def text_of(name: str, number: int, sizes: str) -> str:
    """Return the text of one message: it says whose it is, and its size is one of the usual ones."""
    size = random.Random(f"{name} {number}").choice(SIZES[sizes])
    return f"#{name} {number}#".ljust(size, "x")


def is_named(name: str) -> bool:
    return int(name[1:]) % 2 == 0


class Sender:
    """One sender in one of its lives."""

    def __init__(self, root: str, name: str, each: int, sizes: str, limit: int) -> None:
        self._root, self._name, self._each, self._sizes = root, name, each, sizes
        self._team = open_storm(root, limit)
        self._answers = f"{root}/answers/{name}"

    def run(self) -> None:
        for number in range(self._next(), self._each):
            self._say("trying", number)
            while not self._send(number):
                time.sleep(_FULL_SECONDS)
            self._say("sent", number)

    def _next(self) -> int:
        """Return where to go on: what was tried last may have arrived."""
        if not os.path.exists(self._answers):
            return 0
        what, number = Path(self._answers).read_text().splitlines()[-1].split(" ")
        return int(number) if what != "sent" and is_named(self._name) else int(number) + 1

    def _send(self, number: int) -> bool:
        msg_id = f"{self._name}-{number}" if is_named(self._name) else None
        try:
            send(self._team, self._name, OWNER, text_of(self._name, number, self._sizes), msg_id=msg_id)
        except StateError as error:
            if error.code != "inbox_full":
                raise
            self._say("full", number)
            Path(self._root, "full").touch()
            return False
        return True

    def _say(self, what: str, number: int) -> None:
        with open(self._answers, "a") as file:
            file.write(f"{what} {number}\n")


def read_mail(root: str, life: int, *, when_full: bool) -> None:
    """Read as a teammate does, until all senders have ended and nothing waits.

    With `when_full` it begins when a sender has been told that there is no room.
    """
    while when_full and not os.path.exists(f"{root}/full"):
        time.sleep(_IDLE_SECONDS)
    team = open_storm(root)
    path = team.layout.transcript(OWNER)
    reader = MailReader(team.inbox(OWNER), OWNER, mail_given(read_transcript(path)))
    transcript = Transcript(
        path, team.clock, session=f"life{life:04}", run_id=f"k3v9qd7m.{OWNER}.{life}", task="1"
    )
    transcript.start(cause="claim", model="scripted")
    while True:
        over = os.path.exists(f"{root}/all_sent")
        if reader.take(transcript):
            transcript.assistant(assistant_message("Read."), "end_turn", {})
        elif over:
            return
        time.sleep(_IDLE_SECONDS)


def look(root: str) -> None:
    """Parse every inbox file again and again, without a lock, as `cat` would; write down what was seen."""
    layout = open_storm(root).layout
    looks, bad = 0, []
    while not os.path.exists(f"{root}/over"):
        for path in Path(layout.inboxes_dir).glob("[a-z]*"):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            looks += 1
            try:
                for text in data.split(b"\n")[:-1] if path.suffix == ".jsonl" else [data]:
                    json.loads(text)
            except ValueError as error:
                bad.append(f"{path.name}: {error}")
        time.sleep(_LOOK_SECONDS)
    Path(root, "seen").write_text(json.dumps({"looks": looks, "bad": bad}))


class Storm:
    """All processes of one storm."""

    def __init__(self, root: str, senders: int, each: int, seed: int, sizes: str, limit: int) -> None:
        self._root = root
        self._chance = random.Random(seed)
        self._lives = 0
        self._running: dict[int, str] = {}
        self._acts: dict[str, Callable[[], None]] = {
            f"s{n}": Sender(root, f"s{n}", each, sizes, limit).run for n in range(senders)
        }
        self._acts[OWNER] = lambda: read_mail(root, self._lives, when_full=limit > 0)
        self._acts["looker"] = lambda: look(root)
        self.counts = {"sender_kills": 0, "owner_kills": 0}

    def run(self, *, kill: bool) -> None:
        try:
            for name in self._acts:
                self._start(name)
            while self._running:
                while self._reap():
                    pass
                time.sleep(self._chance.random() * _LONGEST_CALM_SECONDS)
                if kill:
                    self._kill_one()
        finally:
            for pid in self._running:
                os.kill(pid, signal.SIGKILL)

    def _start(self, name: str) -> None:
        self._lives += 1
        pid = os.fork()
        if pid:
            self._running[pid] = name
            return
        try:
            ends_with_parent()
            self._acts[name]()
        except BaseException:  # noqa: BLE001 - whatever it is, the parent's code must not go on here
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def _reap(self) -> bool:
        """Take note of one process that has ended; a killed one starts again."""
        pid, status = os.waitpid(-1, os.WNOHANG) if self._running else (0, 0)
        if not pid:
            return False
        name = self._running.pop(pid)
        if os.WIFSIGNALED(status):
            self._start(name)
            return True
        assert os.waitstatus_to_exitcode(status) == 0, name
        names = set(self._running.values())
        if not any(one.startswith("s") for one in names):
            Path(self._root, "all_sent").touch()
        if OWNER not in names:
            Path(self._root, "over").touch()
        return True

    def _kill_one(self) -> None:
        senders = [pid for pid, name in self._running.items() if name.startswith("s")]
        owner = [pid for pid, name in self._running.items() if name == OWNER]
        if not senders:
            return
        is_owner = bool(owner) and self._chance.random() < 1 / 3
        os.kill(owner[0] if is_owner else self._chance.choice(senders), signal.SIGKILL)
        self.counts["owner_kills" if is_owner else "sender_kills"] += 1


def main(root: str, senders: str, each: str, seed: str, sizes: str, limit: str, *troubles: str) -> None:
    os.makedirs(f"{root}/answers", exist_ok=True)
    storm = Storm(root, int(senders), int(each), int(seed), sizes, int(limit))
    storm.run(kill="kill" in troubles)
    sys.stdout.write(json.dumps(storm.counts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
