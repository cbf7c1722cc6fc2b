"""A team in which nothing is wrong, and each fault that an examination knows, to be planted in it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.message import render_message
from swarm.storage.finding import Finding
from swarm.storage.health import examine_team
from swarm.storage.ledger import Ledger
from swarm.storage.team import Team
from tests.support.stores import RUN_OF, a_message, prepare, reopened
from tests.unit.cli.steps import a_record

NOBODY = 2**22 - 1  # no system gives its processes a higher number


def sound_team(root: Path) -> Team:
    """Return a team in which nothing is wrong, with w2 alive on task 4."""
    team = prepare(root)
    team.agents.save(a_record("w2", task="4"))
    assert examine(team) == ()
    return team


def examine(team: Team, ended: list[AgentRecord] | None = None) -> tuple[Finding, ...]:
    return examine_team(reopened(team), ([] if ended is None else ended).append)


def write(path: str, text: str) -> None:
    Path(path).write_text(text)
    os.chmod(path, 0o600)


def append(path: str, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)
    os.chmod(path, 0o600)


def commit(team: Team, body: dict[str, Any]) -> None:
    ledger = Ledger(team.layout, "user", team.settings, team.clock)
    with ledger.locked():
        ledger.commit(body)
    ledger.close()


def dead(team: Team, name: str) -> None:
    record = a_record(name, task="4").replace(pid=NOBODY, run_id=RUN_OF[name])
    team.agents.save(record)


def with_old_file(team: Team) -> None:
    """Put back task 3 as it was before its last change, as if that had never reached the file."""
    old = Path(team.layout.task("3")).read_bytes()
    team.tasks("user").edit("3", {"subject": "new"})
    write(team.layout.task("3"), old.decode())


def secret(team: Team, age: float) -> None:
    path = f"{team.layout.spawn_dir}/w1.env"
    write(path, "ANTHROPIC_API_KEY=x")
    os.utime(path, (team.clock.now() - age,) * 2)


def scratch(path: str, number: int) -> None:
    """Damage one byte in the middle of a line."""
    lines = Path(path).read_bytes().splitlines(keepends=True)
    line = bytearray(lines[number])
    line[len(line) // 2] ^= 1
    lines[number] = bytes(line)
    write(path, b"".join(lines).decode("latin-1"))


def edited(team: Team, task_id: str, **fields: Any) -> None:
    task = json.loads(Path(team.layout.task(task_id)).read_text())
    write(team.layout.task(task_id), json.dumps(task | fields))


def stray_item(team: Team) -> None:
    good = render_message(a_message("mx"))
    write(team.layout.inbox("team-lead"), json.dumps([good, "no message"]))


def file_for_folder(team: Team) -> None:
    os.rmdir(team.layout.logs_dir)
    write(team.layout.logs_dir, "")


def link_to_nowhere(team: Team) -> None:
    os.unlink(team.layout.tasks_link)
    os.symlink("/nowhere", team.layout.tasks_link)


def folder_for(path: str) -> None:
    os.unlink(path)
    os.mkdir(path, 0o700)


def link_blocks(team: Team, *ids: str) -> None:
    """Make task 1, for which 2 waits, say that these do."""
    commit(team, {"op": "edit", "id": "1", "set": {"blocks": list(ids)}})


def link_blocked_by(team: Team, *ids: str) -> None:
    """Make task 5, which waits for 3, say that it waits for these."""
    commit(team, {"op": "edit", "id": "5", "set": {"blockedBy": list(ids)}})


def come_back(team: Team, task_id: str) -> None:
    """Delete a task, and write its file again as a writer does that was stopped meanwhile."""
    path = Path(team.layout.task(task_id))
    old = path.read_bytes()
    team.tasks("user").delete(task_id)
    path.write_bytes(old)
    path.chmod(0o600)


def keep_lines(path: str, number: int) -> None:
    Path(path).write_bytes(b"".join(Path(path).read_bytes().splitlines(keepends=True)[:number]))


def with_mark_of_order(path: str) -> None:
    """Save a file as some editors do: what follows is no JSON any more for most who read it."""
    Path(path).write_bytes(b"\xef\xbb\xbf" + Path(path).read_bytes())


def in_utf_16(path: str) -> None:
    Path(path).write_bytes(Path(path).read_text().encode("utf-16"))


PLANTS: dict[str, Callable[[Team], object]] = {
    "missing_folder": lambda team: os.rmdir(team.layout.logs_dir),
    "missing_folder: locks": lambda team: shutil.rmtree(team.layout.locks_dir),
    "missing_folder: a file": file_for_folder,
    "broken_link": lambda team: os.unlink(team.layout.tasks_link),
    "broken_link: elsewhere": link_to_nowhere,
    "broken_link: a folder": lambda team: folder_for(team.layout.tasks_link),
    "wrong_mode": lambda team: os.chmod(team.layout.config, 0o644),
    "wrong_mode: folder": lambda team: os.chmod(team.layout.tasks_dir, 0o755),
    "damaged_lock": lambda team: write(team.layout.lock("tasks"), "garbage"),
    "damaged_lock: long": lambda team: write(team.layout.lock("events"), "x" * 500),
    "damaged_lock: a folder": lambda team: folder_for(team.layout.lock("roster")),
    "stale_lock": lambda team: write(f"{team.layout.inbox('w1')}.lock", ""),
    "odd_file": lambda team: write(f"{team.layout.tasks_dir}/notes.txt", "mine"),
    "odd_file: a folder": lambda team: folder_for(team.layout.task("5")),
    "odd_file: no id": lambda team: write(f"{team.layout.tasks_dir}/1234567890.json", "{}"),
    "torn_tail": lambda team: append(team.layout.journal, '{"seq":'),
    "torn_tail: events": lambda team: append(team.layout.events, '{"time":'),
    "torn_tail: overflow": lambda team: append(team.layout.overflow("w1"), '{"from":'),
    "torn_tail: transcript": lambda team: write(team.layout.transcript("w1"), '{"type":'),
    "torn_tail: history": lambda team: write(team.layout.history("w1"), '{"from":'),
    "missing_task_file": lambda team: os.unlink(team.layout.task("1")),
    "damaged_task_file": lambda team: write(team.layout.task("1"), ""),
    "damaged_task_file: no task": lambda team: write(team.layout.task("1"), "[1]"),
    "stale_task_file": with_old_file,
    "damaged_task_file: a mark of order": lambda team: with_mark_of_order(team.layout.task("1")),
    "damaged_task_file: UTF-16": lambda team: in_utf_16(team.layout.task("1")),
    "edited_task_file": lambda team: edited(team, "3", subject="by hand"),
    "edited_task_file: status": lambda team: edited(team, "3", status="completed"),
    "edited_task_file: links": lambda team: edited(team, "1", blocks=[]),
    "edited_task_file: not ours": lambda team: edited(team, "4", metadata={}),
    "unknown_task_file": lambda team: write(team.layout.task("99"), "no task"),
    "unknown_task_file: new": lambda team: write(
        team.layout.task("99"), json.dumps({"id": "99", "subject": "theirs", "status": "pending"})
    ),
    "unknown_task_file: deleted": lambda team: come_back(team, "5"),
    "cut_journal": lambda team: keep_lines(team.layout.journal, 4),
    "cut_journal: emptied": lambda team: keep_lines(team.layout.journal, 0),
    "damaged_journal": lambda team: scratch(team.layout.journal, 5),
    "damaged_journal: the first line": lambda team: scratch(team.layout.journal, 0),
    "damaged_counter": lambda team: write(team.layout.highwatermark, "many"),
    "one_sided_link": link_blocks,
    "one_sided_link: more": lambda team: link_blocks(team, "2", "3"),
    "one_sided_link: nobody": lambda team: link_blocks(team, "2", "77"),
    "one_sided_link: no blocker": lambda team: link_blocked_by(team, "3", "77"),
    "damaged_record": lambda team: write(team.layout.agent("w1"), "{"),
    "dead_claim": lambda team: dead(team, "w2"),
    "dead_agent": lambda team: dead(team, "w1"),
    "leftover_secret": lambda team: secret(team, age=team.settings.ready_timeout_seconds + 1),
    "damaged_request": lambda team: write(f"{team.layout.pending_dir}/perm-1-a.json", '{"id": "perm-1-a"}'),
    "damaged_inbox": lambda team: write(team.layout.inbox("w2"), "[{"),
    "stray_mail": stray_item,
    "damaged_lines": lambda team: append(team.layout.overflow("w1"), "no message\n"),
    "orphan_draft": lambda team: write(f"{team.layout.inboxes_dir}/.w1.{NOBODY}.tmp", "[]"),
    "orphan_draft: task": lambda team: write(f"{team.layout.tasks_dir}/.1.{NOBODY}.tmp", "{}"),
}
