"""Processes that do the same at the same moment."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path

from swarm.core.identity import LEADER
from swarm.core.roster import Member
from swarm.core.task import NewTask
from swarm.storage.layout import Layout
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.racers import race
from tests.support.stores import SETTINGS, check_tasks, make_team

EIGHT = [f"racer-{number}" for number in range(8)]


def test_one_of_eight_gets_the_only_task(tmp_path: Path) -> None:
    """The others are told who won, in time to look for something else."""
    team = make_team(tmp_path)
    for round_number in range(1, 6):
        team.tasks("user").create(NewTask(subject="only"))
        answers = race(
            tmp_path,
            EIGHT,
            f"""
answer = team.tasks(name).claim(name, None, f"k3v9qd7m.{{name}}.1", "{round_number}")
say([answer.owner] if isinstance(answer, Task) else [answer.code, answer.details.get("owner")])
""",
        )
        winners = [answer for answer in answers if len(answer) == 1]
        assert len(winners) == 1
        (winner,) = winners[0]
        assert [answer for answer in answers if len(answer) == 2] == [["taken", winner]] * 7
        assert team.tasks("user").get_task(str(round_number)).owner == winner
        team.tasks("user").cancel(str(round_number), "the round is over")
    check_tasks(team)


def test_many_tasks_are_each_done_once_while_others_add_link_and_edit(tmp_path: Path) -> None:
    """No claim is lost to an edit, no id given twice, no completion undone."""
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject=f"task {number}") for number in range(40)))
    answers = race(
        tmp_path,
        EIGHT,
        """
store, done, made = team.tasks(name), [], []
while True:
    answer = store.claim(name, None, f"k3v9qd7m.{name}.1")
    if not isinstance(answer, Task):
        break
    if len(made) < 3:
        new = store.create(NewTask(subject=f"by {name}", blocked_by=(answer.id,)))[0]
        made.append(new.id)
        store.edit(new.id, {"description": "edited by " + name})
    store.edit(answer.id, {"description": "worked on by " + name})
    store.complete(answer.id, answer.claim.token, TaskResult(summary="by " + name))
    done.append(answer.id)
say([done, made])
""",
    )
    done = Counter(task_id for ids, _ in answers for task_id in ids)
    made = [task_id for _, ids in answers for task_id in ids]
    tasks = team.tasks("user").list_tasks()
    assert set(done) == {task.id for task in tasks if task.status == "completed"}
    assert set(done.values()) == {1}
    assert len(tasks) == 40 + len(made) == 40 + len(set(made))
    assert all(task.description for task in tasks)
    assert all(task.result and task.result.summary == f"by {task.owner}" for task in tasks if task.finished)
    check_tasks(team)


def test_no_message_of_twenty_senders_is_lost_and_readers_see_whole_files(tmp_path: Path) -> None:
    team = make_team(tmp_path, settings=SETTINGS.replace(inbox_max_messages=128))
    senders = [f"s{number}" for number in range(20)]
    for name in senders:
        team.roster.add_member(Member(agent_id=f"{name}@demo", name=name, joined_at=0, cwd="/"))
    path = Path(team.layout.inbox(LEADER))
    stop = threading.Event()
    looks, bad = [0], []

    def look() -> None:
        while not stop.is_set():
            if path.exists():
                looks[0] += 1
                try:
                    json.loads(path.read_bytes())
                except ValueError as error:
                    bad.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        code = """
for number in range(25):
    send(team, name, LEADER, f"{name} {number}")
say("sent")
"""
        race(tmp_path, senders, code)
    finally:
        stop.set()
        reader.join()
    assert (bad, looks[0] > 10) == ([], True)
    inbox = Team(team.layout, SETTINGS, FakeClock()).inbox(LEADER)
    heard = [message.text for message in inbox.peek()]
    assert len(heard) == 500
    for name in senders:
        assert [text for text in heard if text.split()[0] == name] == [f"{name} {n}" for n in range(25)]
    inbox.acknowledge([message.msg_id for message in inbox.peek()])
    assert inbox.unread_count() == 0
    assert sorted(message.text for message in inbox.history()) == sorted(heard)


def test_mail_sent_while_the_owner_acknowledges_is_neither_lost_nor_repeated(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    answers = race(
        tmp_path,
        ["w1", "w2", "owner"],
        """
if name == "owner":
    inbox, heard = team.inbox(LEADER), []
    while len(heard) < 100:
        seen = inbox.peek()
        heard += [message.text for message in seen]
        inbox.acknowledge([message.msg_id for message in seen])
    say(heard)
else:
    for number in range(50):
        send(team, name, LEADER, f"{name} {number}")
    say("sent")
""",
    )
    heard = answers[2]
    for name in ("w1", "w2"):
        assert [text for text in heard if text.startswith(name)] == [f"{name} {n}" for n in range(50)]
    assert sorted(m.text for m in team.inbox(LEADER).history()) == sorted(heard)


def test_every_join_and_leave_reaches_the_roster(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    race(
        tmp_path,
        EIGHT,
        """
from swarm.core.roster import Member
for number in range(4):
    member = f"{name}-{number}"
    team.roster.add_member(Member(agent_id=f"{member}@demo", name=member, joined_at=0, cwd="/"))
team.roster.remove_member(f"{name}-0")
say("joined")
""",
    )
    expected = {f"{name}-{number}" for name in EIGHT for number in (1, 2, 3)}
    assert set(team.roster.load().names()) == expected | {LEADER, "w1", "w2"}


def test_one_of_eight_makes_the_team(tmp_path: Path) -> None:
    """The others find the name taken, not half a team."""
    answers = race(
        tmp_path,
        EIGHT,
        """
from swarm.errors import StateError
from swarm.storage.team import create_team
try:
    create_team(sys.argv[1], "demo", workspace="/" + name, settings=settings, clock=SystemClock())
    say("made")
except StateError as error:
    say(error.code)
""",
    )
    assert sorted(answers) == ["made"] + ["name_taken"] * 7
    made_by = EIGHT[answers.index("made")]
    team = Team(Layout(root=str(tmp_path)).team("demo"), SETTINGS, FakeClock())
    assert team.roster.load().workspace == f"/{made_by}"
    check_tasks(team)
