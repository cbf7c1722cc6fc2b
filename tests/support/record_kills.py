"""A program that cuts off changes of the small records of a team, at every place, and checks what is left.

    python -m tests.support.record_kills FOLDER CHANGE

Each change is killed (in a forked child) and refused (by a failing call, in this process) before every
system call and inside every append. Afterwards it has happened or it has not, every file parses, and the
change can be made again.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.core.permission import PermissionRequest, Resolution
from swarm.core.roster import Member
from swarm.errors import StateError, StorageIOError
from swarm.storage.mail import EVERYONE, send
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.faults import FailAt, Point, Recorder, die_at
from tests.support.stores import NAMES, RUN_OF, a_message, copied, make_team

_AT = "2026-11-30T12:32:40.000Z"
_DAMAGED = b'[{"from": "w2", "te'


def _record(name: str) -> AgentRecord:
    return AgentRecord(name=name, run_id=RUN_OF[name], backend="process", state="idle", since=_AT)


def _request(request_id: str) -> PermissionRequest:
    return PermissionRequest(
        id=request_id, agent="w1", run_id=RUN_OF["w1"], tool="Bash", tool_use_id="toolu_02", cwd="/srv/app",
        input={"command": "make " * 2000}, why="no rule", digest="sha256:5b", created_at=_AT, deadline_at=_AT,
    )  # fmt: skip


def _answer(request_id: str) -> Resolution:
    return Resolution(id=request_id, digest="sha256:5b", outcome="allow", via="human", by="user", at=_AT)


def _new_member() -> Member:
    return Member(agent_id="w3@demo", name="w3", joined_at=0, cwd="/srv/app", prompt="long " * 2000)


def _damage_and_read(team: Team) -> None:
    """Read an inbox that somebody else has written half of."""
    team.inbox("w2").peek()


CHANGES: dict[str, Callable[[Team], object]] = {
    "join": lambda team: team.roster.add_member(_new_member()),
    "change_member": lambda team: team.roster.update_member("w1", model="claude-sonnet-5-5"),
    "leave": lambda team: team.roster.remove_member("w2"),
    "first_record": lambda team: team.agents.save(_record("w2")),
    "change_record": lambda team: team.agents.update("w1", state="working", task="7"),
    "ask": lambda team: team.permissions.request(_request("perm-2-b")),
    "answer": lambda team: team.permissions.resolve(_answer("perm-1-a")),
    "add_rule": lambda team: team.permissions.add_rule("allow", "Bash(make:*)"),
    "broadcast": lambda team: send(team, "w2", EVERYONE, "to all"),
    "retry_delivered": lambda team: send(team, "w2", "w1", "m4", msg_id="m4"),
    "set_aside": _damage_and_read,
    "expire": lambda team: team.inbox("w1").acknowledge(()),
}
ONE_BY_ONE = frozenset({"broadcast", "expire"})
"""Changes of several messages, each of which happens or does not."""
REPEATABLE = CHANGES.keys() - {"broadcast"}


def prepare(root: Path) -> None:
    team = make_team(root)
    team.agents.save(_record("w1"))
    team.permissions.request(_request("perm-1-a"))
    for text in ("m1", "m2", "m3", "m4"):
        expires_at = _AT if text in ("m2", "m4") else None
        team.inbox("w1").deliver(a_message(text, expires_at=expires_at))
    Path(team.layout.inbox("w2")).write_bytes(_DAMAGED)
    team.events.emit("agent_ready", "w1")


def state_of(team: Team) -> dict[str, Any]:
    """Return what readers see, without a lock and without mending anything."""
    damaged = Path(team.layout.inbox("w2"))
    return {
        "roster": team.roster.load(),
        "agents": team.agents.list_agents(),
        "pending": team.permissions.pending(),
        "resolved": team.permissions.list_resolved(),
        "rules": team.permissions.load_rules(),
        LEADER: [message.text for message in team.inbox(LEADER).peek()],
        "w1": [message.text for message in team.inbox("w1").peek()],
        "expired": [message.text for message in team.inbox("w1").history()],
        "damaged": damaged.exists() and damaged.read_bytes() == _DAMAGED,
    }


def check_files(team: Team) -> None:
    """Check that every file that has a name parses and is its owner's alone."""
    for path in Path(team.layout.team_dir).rglob("[!.]*.json"):
        if path.name != "w2.json" or path.parent.name != "inboxes":
            json.loads(path.read_bytes())
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or path.read_bytes() == _DAMAGED, path


def main(folder: str, name: str) -> None:
    template = Path(folder) / "template"
    prepare(template)
    change = CHANGES[name]
    before = state_of(copied(template, "before"))
    changed = copied(template, "after")
    recorder = Recorder()
    with fault_hook(recorder):
        change(changed)
    after = state_of(changed)
    kept = {"before": 0, "after": 0, "between": 0}
    for number, point in enumerate(recorder.points()):
        for way in (_killed, _refused):
            team = copied(template, f"{number}{way.__name__}")
            way(point, change, team)
            check_files(team)
            seen = state_of(team)
            kept["before" if seen == before else "after" if seen == after else "between"] += 1
            assert seen in (before, after) or name in ONE_BY_ONE, (point, seen)
            _again(change, team)
            assert state_of(team) == after or name not in REPEATABLE, point
            check_files(team)
    sys.stdout.write(json.dumps(kept) + "\n")


def _again(change: Callable[[Team], object], team: Team) -> None:
    """Make the change once more; where it is there already, that is the only refusal."""
    try:
        change(team)
    except StateError as error:
        if error.code != "name_taken":
            raise


def _killed(point: Point, change: Callable[[Team], object], team: Team) -> None:
    die_at(point, change, team)


def _refused(point: Point, change: Callable[[Team], object], team: Team) -> None:
    """Let one call fail. What the change promised, it has done when it does not raise."""
    with fault_hook(FailAt(point)):
        try:
            change(team)
        except StorageIOError:
            return


if __name__ == "__main__":
    assert set(NAMES) == {"w1", "w2"}
    main(*sys.argv[1:])
