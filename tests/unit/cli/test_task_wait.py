"""`swarm task wait` always comes back, and tells the truth."""

import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.cli import task_wait
from swarm.core.task import Task
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from swarm.storage.watch import Watch
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed, shown, swarm_of, with_members

GONE_PID = 2**22 + 1


def ended(demo: Swarm, *verbs: str) -> None:
    for number, verb in enumerate(verbs, start=1):
        add(demo, f"task {number}")
        if verb in {"complete", "fail"}:
            claimed(demo, str(number), f"w{number}")
            demo("task", verb, str(number), "--as", f"w{number}")
        elif verb == "cancel":
            demo("task", "cancel", str(number))


def test_wait_ends_when_all_are_finished(demo: Swarm) -> None:
    ended(demo, "complete", "complete")

    ran = demo("task", "wait", "--json")
    assert ran.code == 0
    assert [task["status"] for task in ran.json()["tasks"]] == ["completed", "completed"]


@pytest.mark.parametrize("verb", ["fail", "cancel"])
def test_wait_tells_that_some_were_not_completed(demo: Swarm, verb: str) -> None:
    ended(demo, "complete", verb)

    assert demo("task", "wait").code == 6
    assert demo("task", "wait", "1").code == 0
    assert demo("task", "wait", "2", "1", "2").code == 6


def test_wait_gives_up_in_time(demo: Swarm) -> None:
    ended(demo, "complete", "nothing")
    error = demo("task", "wait", "--timeout", "0.05", "--json").error()

    assert (error["code"], error["details"]) == ("timed_out", {"tasks": ["2"]})
    assert demo("task", "wait", "2", "--timeout", "0").code == 124
    assert demo("task", "wait", "1", "--timeout", "0").code == 0


def test_wait_does_not_wait_for_what_cannot_come(demo: Swarm) -> None:
    """A task behind a failed one stays pending until a person acts; waiting for it would be for ever."""
    ended(demo, "fail")
    add(demo, "second", "--blocked-by", "1")
    ran = demo("task", "wait")

    assert ran.code == 6
    assert "task 2 cannot go on" in ran.err


def test_wait_for_an_unknown_task_is_refused(demo: Swarm) -> None:
    assert demo("task", "wait", "7", "--json").error()["code"] == "no_such_task"


def test_a_team_without_tasks_has_none_to_wait_for(demo: Swarm) -> None:
    """A script that waits for the wrong team, or too early, must not hear that all is done."""
    ran = demo("task", "wait")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "error: team demo has no tasks to wait for; add one with swarm task add\n"
    assert demo("task", "wait", "--json").error()["code"] == "no_such_task"


def test_tasks_that_are_not_finished_are_told_in_good_english(demo: Swarm) -> None:
    ended(demo, "nothing", "nothing", "nothing")

    def told(*ids: str) -> str:
        return demo("task", "wait", *ids, "--timeout", "0").err

    assert told("1") == "error: time is up, and task 1 is not finished\n"
    assert told("1", "2") == "error: time is up, and tasks 1 and 2 are not finished\n"
    assert told() == "error: time is up, and tasks 1, 2 and 3 are not finished\n"
    for task_id in ("2", "3"):
        demo("task", "edit", task_id, "--add-blocked-by", "1")
    demo("task", "cancel", "1")
    assert told().endswith("tasks 2 and 3 cannot go on: what they wait for was not completed\n")


def test_wait_decides_on_the_journal_and_not_on_files(demo: Swarm, team: Team) -> None:
    """A task whose file is gone is not done."""
    ended(demo, "complete", "nothing")
    for task_id in ("1", "2"):
        Path(team.layout.task(task_id)).unlink()

    error = demo("task", "wait", "--timeout", "0.05", "--json").error()
    assert (error["code"], error["details"]) == ("timed_out", {"tasks": ["2"]})
    assert demo("task", "wait", "1").code == 0


def test_wait_for_tasks_that_are_gone_altogether_is_an_error(demo: Swarm, team: Team) -> None:
    ended(demo, "complete")
    shutil.rmtree(team.layout.tasks_dir)

    assert demo("task", "wait", "--json").error()["code"] == "corrupt_state"


def meanwhile(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """Do one step at each wait, and fail at one too many."""
    left = list(steps)

    class Stepping(Watch):
        def wait(self, seconds: float) -> bool:
            left.pop(0)()
            return True

    monkeypatch.setattr(task_wait, "Watch", Stepping)


def test_a_task_that_is_deleted_meanwhile_is_an_error(demo: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(demo, "nothing", "nothing")
    meanwhile(monkeypatch, lambda: demo("task", "delete", "2"))

    assert demo("task", "wait", "2", "1", "--json").error()["code"] == "no_such_task"


def test_a_team_that_is_deleted_meanwhile_is_an_error(demo: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(demo, "nothing")
    meanwhile(monkeypatch, lambda: demo("team", "delete", "demo", "--force"))

    assert demo("task", "wait", "--json").error()["code"] == "no_such_team"


def test_a_task_that_is_added_meanwhile_is_waited_for(demo: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(demo, "nothing")

    def add_and_cancel() -> None:
        add(demo, "second")
        demo("task", "cancel", "1")

    meanwhile(monkeypatch, add_and_cancel, lambda: demo("task", "cancel", "2"))
    assert [task["id"] for task in json.loads(demo("task", "wait", "--json").out)["tasks"]] == ["1", "2"]


def test_a_task_that_another_hand_added_is_known(demo: Swarm, team: Team) -> None:
    theirs = {"id": "7", "subject": "theirs", "description": "", "status": "pending"}
    Path(team.layout.task("7")).write_text(json.dumps(theirs | {"blocks": [], "blockedBy": []}))

    assert demo("task", "wait", "7", "--timeout", "0", "--json").error()["code"] == "timed_out"


def test_what_another_hand_finished_is_seen_after_a_while(demo: Swarm, team: Team) -> None:
    """Nobody else may be there to look through the files."""
    ended(demo, "nothing")
    path = Path(team.layout.task("1"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "completed"}))

    assert demo("task", "wait", "--timeout", "10", SWARM_TIME_SCALE="0.002").code == 0


def test_waiting_frees_what_a_dead_worker_holds(
    demo: Swarm, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a person who waits for the last task would wait for a dead one."""
    ended(demo, "nothing")
    assert isinstance(team.tasks("w1").claim("w1", None, "k3v9qd7m.w1.1"), Task)
    team.agents.save(a_record("w1", pid=GONE_PID, task="1"))

    assert demo("task", "wait", "--timeout", "0.1").code == 124
    task = shown(demo, "1")
    assert (task["status"], swarm_of(task)["crashes"]) == ("pending", 1)


def test_wait_ends_when_only_teammates_are_left_whose_models_cannot_be_asked(demo: Swarm, team: Team) -> None:
    """One that only stopped may come again; one that may not take the task does not help."""
    with_members(demo, {"name": "b1", "swarm": {"role": "builder"}})
    add(demo, "first", "--owner", "builder")
    add(demo, "second", "--blocked-by", "1")
    for name in ("w1", "b1"):
        team.agents.save(a_record(name, "stopped", reason="asked"))
    assert demo("task", "wait", "--timeout", "0.1").code == 124

    team.agents.save(a_record("b1", "stopped", reason="failed", why="no access: no key"))
    ran = demo("task", "wait", "--timeout", "10")

    assert ran.code == 6
    assert "task 1 cannot go on: b1 has ended: no access: no key" in ran.err
    assert "task 2 cannot go on: what it waits for was not completed" in ran.err


def test_waiting_notices_whose_model_cannot_be_asked_without_a_change_of_a_task(
    demo: Swarm, team: Team
) -> None:
    with_members(demo, {"name": "w9"})
    add(demo, "first", "--owner", "w9")
    gone = a_record("w9", "stopped", reason="failed", why="no access: no key")
    other = threading.Timer(0.2, lambda: team.agents.save(gone))
    other.start()
    ran = demo("task", "wait", "--timeout", "15", SWARM_TIME_SCALE="0.1")
    other.join()

    assert ran.code == 6


def test_waiting_reads_nothing_while_nothing_happens(demo: Swarm, team: Team) -> None:
    """A look costs one `stat`, however many tasks there are."""
    ended(demo, "nothing", "complete")
    calls: list[tuple[str, str]] = []

    def note(call: str, path: str, size: int) -> None:
        calls.append((call, path))

    with fault_hook(note):
        assert demo("task", "wait", "--timeout", "0.4").code == 124
    of_files = [
        call for call in calls if call[1].startswith(team.layout.tasks_dir) and ".journal" not in call[1]
    ]
    journal = [call for call, path in calls if path == team.layout.journal]
    assert of_files == []
    assert journal.count("read") <= 2
    assert journal.count("stat") > 5


def test_a_hint_ends_the_waiting_at_once(demo: Swarm) -> None:
    """The look each second is far away here."""
    ended(demo, "nothing")
    begun = time.monotonic()
    other = threading.Timer(0.1, lambda: demo("task", "cancel", "1"))
    other.start()
    ran = demo("task", "wait", "--timeout", "60", SWARM_TIME_SCALE="15")
    other.join()

    assert ran.code == 6
    assert time.monotonic() - begun < 8


def test_without_hints_it_looks_each_second(demo: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(Watch):
        def __init__(self, _paths: Any) -> None:
            super().__init__(())
            self.close()
            self.problem = "changes are seen a little later: no inotify watch is left"

    monkeypatch.setattr(task_wait, "Watch", Without)
    ended(demo, "nothing")
    other = threading.Timer(0.1, lambda: demo("task", "cancel", "1"))
    other.start()
    ran = demo("task", "wait", "--timeout", "15")
    other.join()

    assert ran.code == 6
    assert ran.err == "Warning: changes are seen a little later: no inotify watch is left\n"
