"""On network mounts contention gave not-found errors, and where files could not be locked nobody said so."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.cli.table import VERBS
from swarm.core.identity import LEADER, USER
from swarm.core.task import NewTask
from swarm.storage.mail import send
from tests.support.command import REPOSITORY, Ended, Shell
from tests.support.fuse_server import FORWARDED, LOCAL
from tests.support.mounts import Mount, cannot_mount
from tests.support.stores import make_team
from tests.support.verbs import verb

pytestmark = [pytest.mark.timeout(120)]
mounted = pytest.mark.skipif(bool(cannot_mount()), reason=cannot_mount() or "can mount")

NO_LOCKS = ["ENOLCK", "ENOSYS", "EOPNOTSUPP"]
TEAM_FILE = {
    "name": "t2",
    "workspace": "ws",
    "model": "scripted",
    "teammates": [{"name": "w1"}],
    "tasks": [{"key": "a", "subject": "A", "script": [{"say": "Done."}]}],
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in whose home task 1 of team t1 is pending, 2 is claimed and 3 is cancelled."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    (home / ".claude").mkdir(parents=True)
    (cwd / "ws").mkdir(parents=True)
    (cwd / "team.yaml").write_text(yaml.safe_dump(TEAM_FILE))
    made = Shell(home, cwd)
    for words in (
        ["team", "create", "t1"],
        *(["task", "add", subject] for subject in ("pending", "claimed", "cancelled")),
        ["task", "claim", "2", "--as", "w1"],
        ["task", "cancel", "3"],
    ):
        assert verb(made.root, *words, SWARM_TEAM="t1").code == 0
    return made


# Where files cannot be locked


CHANGES = {
    "run": ["run", "team.yaml"],
    "demo": ["demo"],
    "team create": ["team", "create", "other"],
    "team archive": ["team", "archive", "t1", "--force"],
    "team prune": ["team", "prune", "t1", "--force"],
    "team delete": ["team", "delete", "t1", "--force"],
    "task add": ["task", "add", "late"],
    "task edit": ["task", "edit", "1", "--subject", "late"],
    "task claim": ["task", "claim", "1", "--as", "w2"],
    "task complete": ["task", "complete", "2", "--as", "w1"],
    "task fail": ["task", "fail", "2", "--as", "w1"],
    "task release": ["task", "release", "2", "--as", "w1"],
    "task cancel": ["task", "cancel", "1"],
    "task retry": ["task", "retry", "3"],
    "task delete": ["task", "delete", "1"],
    "send": ["send", "team-lead", "late"],
    "spawn": ["spawn", "w9"],
}
LOOKS = {
    "team list": ["team", "list"],
    "team show": ["team", "show", "t1"],
    "task list": ["task", "list"],
    "task show": ["task", "show", "1"],
    "task graph": ["task", "graph"],
    "mail": ["mail", "team-lead"],
    "status": ["status"],
    "logs": ["logs", "w1"],
    "events": ["events"],
    "cost": ["cost"],
    "plan": ["plan", "team.yaml"],
    "permissions": ["permissions"],
}
ELSEWHERE = {"init", "validate", "completion", "doctor", "task wait"} | {
    *("stop", "restart", "pause", "continue", "attach", "undo", "resume", "approve", "deny"),
}
"""Verbs that have nothing to do with a team's locks, or find nothing to do in this team: no run has begun in
it, and nothing was committed. Doctor is a story of its own."""


def test_every_verb_is_tried() -> None:
    """A new one that writes belongs into the list above."""
    assert {" ".join(one.path) for one in VERBS} == CHANGES.keys() | LOOKS.keys() | ELSEWHERE


def contents(root: Path) -> dict[str, bytes | None]:
    """Return all there is but what only carries locks."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
        if ".locks" not in path.parts
    }


def is_clear_refusal(ended: Ended) -> bool:
    """Whether one sentence says what is wrong and what to do."""
    sentence = ended.err.removesuffix("\n")
    told = "cannot be locked" in sentence and "CLAUDE_CONFIG_DIR" in sentence
    return (ended.code, ended.out) == (4, "") and told and "\n" not in sentence


@mounted
@pytest.mark.parametrize("why", NO_LOCKS)
def test_whoever_would_change_something_is_refused_in_one_sentence(shell: Shell, why: str) -> None:
    before = contents(shell.home.parent)
    with Mount(shell.root, why) as mount:
        for name, words in CHANGES.items():
            ended = mount.swarm(shell, *words, SWARM_TEAM="t1")
            assert is_clear_refusal(ended), (name, ended)
            assert contents(shell.home.parent) == before, name


@mounted
def test_a_program_is_told_the_same(shell: Shell) -> None:
    with Mount(shell.root, "ENOLCK") as mount:
        for name, words in CHANGES.items():
            ended = mount.swarm(shell, *words, "--json", SWARM_TEAM="t1")
            error = json.loads(ended.err)["error"]
            assert (ended.code, ended.out) == (4, ""), name
            assert (error["code"], error["details"]["errno"]) == ("io_error", errno.ENOLCK), name
            assert error["details"]["path"].startswith(str(shell.root)), name


@mounted
def test_looking_needs_no_lock(shell: Shell) -> None:
    with Mount(shell.root, "ENOLCK") as mount:
        for name, words in LOOKS.items():
            ended = mount.swarm(shell, *words, SWARM_TEAM="t1")
            assert ended.code == (3 if name == "logs" else 0), (name, ended)  # w1 never spoke


@mounted
def test_doctor_names_the_fault(shell: Shell) -> None:
    before = contents(shell.home.parent)
    with Mount(shell.root, "ENOLCK") as mount:
        found = mount.swarm(shell, "doctor", "--json").json()
        fixed = mount.swarm(shell, "doctor", "--fix")

    assert "no_locks" in json.dumps(found)
    assert fixed.code == 4
    assert "Traceback" not in fixed.err
    assert contents(shell.home.parent) == before


# Many at once


RACER = """
import json, sys
from pathlib import Path
from tests.support.verbs import verb
root, name, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def act(*words):
    ended = verb(root, *words, SWARM_TIME_SCALE="4")
    said.append([words, ended.code, ended.err])
    return ended.code == 0
said, won = [], []
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    task = str(number + 1)
    if act("task", "claim", task, "--as", name):
        act("task", "complete", task, "--as", name, "--result", name)
        won.append(task)
    act("send", "team-lead", f"{name} {number}")
    act("task", "show", task)
    act("status")
print(json.dumps({"name": name, "won": won, "said": said}), flush=True)
"""
ROUNDS = 4
BOTH_SIDES = "both_sides"


def race(root: Path, befores: list[list[str]]) -> list[dict[str, Any]]:
    """Let as many processes act at the same moment, and return what each of them says."""
    started = [
        subprocess.Popen(
            [*before, sys.executable, "-c", RACER, str(root), f"w{number}", str(ROUNDS)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, before in enumerate(befores)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [json.loads(process.communicate(timeout=100)[0]) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()


@mounted
@pytest.mark.parametrize("kept", [0.0, 60.0], ids=["nothing_kept", "attributes_kept"])
@pytest.mark.parametrize("how", [LOCAL, FORWARDED, BOTH_SIDES])
def test_sixteen_claim_and_send_at_once_and_nothing_is_lost_or_done_twice(
    how: str, kept: float, tmp_path: Path
) -> None:
    team = make_team(tmp_path)
    for number in range(ROUNDS):
        assert verb(tmp_path, "task", "add", f"task {number}").code == 0
    with Mount(tmp_path, FORWARDED if how == BOTH_SIDES else how, kept) as mount:
        befores = [[] if how == BOTH_SIDES and number % 2 else mount.before for number in range(16)]
        answers = race(tmp_path, befores)

    said = [said for answer in answers for said in answer["said"]]
    surprising = [(words, code, err) for words, code, err in said if not is_expected(words, code, err)]
    assert surprising == []
    tasks = team.tasks(USER).list_tasks()
    winners = {task: answer["name"] for answer in answers for task in answer["won"]}
    assert sum(len(answer["won"]) for answer in answers) == ROUNDS
    assert {task.id: (task.status, task.owner) for task in tasks} == {
        task: ("completed", name) for task, name in winners.items()
    }
    texts = [mail.text for mail in team.inbox(LEADER).peek()]
    assert len(texts) == 16 * ROUNDS
    for n in range(16):
        assert [text for text in texts if text.startswith(f"w{n} ")] == [f"w{n} {k}" for k in range(ROUNDS)]
    assert [event.event for _, event in team.events.read() if event.event == "store_repaired"] == []


def is_expected(words: list[str], code: int, err: str) -> bool:
    """Whether this is how a verb may end while others race: it succeeds, or somebody else was first."""
    first = any(sign in err for sign in ("is completed", " works on task "))
    return code == 0 or (words[:2] == ["task", "claim"] and code == 4 and first)


WRITER = """
import json, sys
from pathlib import Path
from swarm.core.task import NewTask
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.team import open_team
team = open_team(sys.argv[1], "demo", Settings(), SystemClock())
store = team.tasks("here")
for line in sys.stdin:
    (task,) = store.create(NewTask(subject="here"))
    seen = sorted(store.table().ids(), key=int)
    send(team, "here", "team-lead", f"here {task.id}")
    if line.strip() == "rewrite":
        store.rewrite()
    print(json.dumps([task.id, seen]), flush=True)
"""


@mounted
@pytest.mark.parametrize("kept", [0.0, 60.0], ids=["nothing_kept", "attributes_kept"])
def test_two_hosts_that_keep_their_files_open_take_turns(kept: float, tmp_path: Path) -> None:
    """What one of them believes of sizes and times must not count under the lock."""
    team = make_team(tmp_path)
    store = team.tasks("there")
    with Mount(tmp_path, FORWARDED, kept) as mount:
        writer = subprocess.Popen(
            [*mount.before, sys.executable, "-c", WRITER, str(tmp_path)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdin is not None
        assert writer.stdout is not None
        try:
            for turn in range(12):
                (mine,) = store.create(NewTask(subject="there"))
                send(team, USER, LEADER, f"there {mine.id}")
                if turn % 4 == 1:
                    store.rewrite()
                writer.stdin.write("rewrite\n" if turn % 4 == 3 else "go\n")
                writer.stdin.flush()
                theirs, seen = json.loads(writer.stdout.readline())
                assert int(theirs) == int(mine.id) + 1
                assert seen == [str(number) for number in range(1, int(theirs) + 1)]
                assert list(map(str, sorted(map(int, store.table().ids())))) == seen
        finally:
            writer.kill()
            writer.communicate()

    assert [mail.text.partition(" ")[0] for mail in team.inbox(LEADER).peek()] == ["there", "here"] * 12
    assert [event.event for _, event in team.events.read() if event.event == "store_repaired"] == []
