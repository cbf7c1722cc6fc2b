"""Adding, editing and ending tasks: what changes, what is said, and what is refused."""

import errno

import pytest

from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed, shown, swarm_of, with_members


def test_add_prints_the_task_as_show_does(demo: Swarm) -> None:
    first = add(demo, "first")
    task = demo("task", "add", "second", "--blocked-by", first, "--description", "all of it", "--json").json()

    assert task == shown(demo, task["id"])
    assert (task["subject"], task["description"], task["blockedBy"]) == ("second", "all of it", [first])
    assert (task["open_blockers"], task["ready"], task["verified"]) == ([first], False, False)
    assert swarm_of(task)["created_by"] == "user"


@pytest.mark.parametrize(
    ("call", "file", "code", "may_be_there"),
    [
        ("create", "tasks/demo/.1.", errno.ENOSPC, True),
        ("append", "events.jsonl", errno.ENOSPC, True),
        ("sync", "tasks/demo/.journal.jsonl", errno.EIO, True),
        ("append", "tasks/demo/.journal.jsonl", errno.EIO, True),
        ("append", "tasks/demo/.journal.jsonl", errno.ENOSPC, False),
        ("open", ".locks/tasks", errno.EIO, False),
    ],
)
def test_an_add_that_failed_says_whether_the_task_may_be_there(
    demo: Swarm, call: str, file: str, code: int, *, may_be_there: bool
) -> None:
    """Who repeats it without a look may have it twice."""

    def refuse(name: str, path: str, _size: int) -> None:
        if name == call and file in path:
            raise OSError(code, "refused by the test")

    with fault_hook(refuse):
        ran = demo("task", "add", "first")
    told = "the task may be there all the same: look with swarm task list before you add it again\n"
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.endswith(told) is may_be_there

    assert len(demo("task", "list").lines) <= may_be_there


def test_who_adds_a_task_is_recorded(demo: Swarm) -> None:
    task = demo("task", "add", "x", "--json", SWARM_AGENT="w1").json()

    assert swarm_of(task)["created_by"] == "w1"


def test_an_owner_is_a_name_or_a_role(demo: Swarm) -> None:
    with_members(demo, {"name": "ada"}, {"name": "builder-1", "swarm": {"role": "builder"}})

    for_ada, for_builders = (
        shown(demo, add(demo, "x", "--owner", "ada")),
        shown(demo, add(demo, "y", "--owner", "builder")),
    )

    assert (for_ada["owner"], swarm_of(for_ada)["requires"]) == ("ada", {"agent": "ada"})
    assert ("owner" in for_builders, swarm_of(for_builders)["requires"]) == (False, {"role": "builder"})
    assert (
        demo("task", "claim", for_builders["id"], "--as", "ada", "--json").error()["code"] == "requires_unmet"
    )
    assert demo("task", "claim", for_builders["id"], "--as", "builder-1").code == 0


@pytest.mark.parametrize(
    ("words", "value", "valid"),
    [(["--owner", "nosuch"], "nosuch", ["team-lead"]), (["--blocked-by", "999"], "999", ["1"])],
)
def test_an_unknown_reference_is_named_with_the_valid_ones(
    demo: Swarm, words: list[str], value: str, valid: list[str]
) -> None:
    add(demo, "first")
    error = demo("task", "add", "x", *words, "--json").error()

    assert error["code"] == "unknown_reference"
    assert error["details"] == {"value": value, "valid": valid}
    assert len(demo("task", "list", "--json").json()["tasks"]) == 1


@pytest.mark.parametrize("subject", ["", " ", "\n"])
def test_a_task_needs_a_subject(demo: Swarm, subject: str) -> None:
    assert demo("task", "add", subject, "--json").error()["code"] == "bad_value"


def test_a_subject_may_be_written_in_anything(demo: Swarm) -> None:
    """A line end, a colour or a wide character breaks neither the list nor the next reader."""
    for subject in ("two\nlines", "\x1b[31mred\x07", "日本語 🙂", "-t 0", "a" * 500):
        assert demo("task", "add", "--", subject).code == 0

    lines = demo("task", "list").lines
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)
    assert [task["subject"] for task in demo("task", "list", "--json").json()["tasks"]][
        1
    ] == "\x1b[31mred\x07"


def test_edit_changes_what_is_named(demo: Swarm) -> None:
    with_members(demo, {"name": "ada"})
    add(demo, "first")
    add(demo, "second")
    task = demo(
        *("task", "edit", "2", "--subject", "new", "--description", "text", "--owner", "ada"),
        *("--verify", "true", "--verify", "false", "--add-blocked-by", "1", "--json"),
    ).json()

    assert (task["subject"], task["description"], task["owner"]) == ("new", "text", "ada")
    assert (swarm_of(task)["verify"], task["blockedBy"]) == (["true", "false"], ["1"])

    task = demo("task", "edit", "2", "--owner", "", "--remove-blocked-by", "1", "--json").json()
    assert ("owner" in task, "requires" in swarm_of(task), task["blockedBy"]) == (False, False, [])


def test_edit_of_nothing_is_a_mistake(demo: Swarm) -> None:
    add(demo, "first")

    assert demo("task", "edit", "1", "--json").error()["code"] == "bad_usage"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--add-blocked-by", "2"], "cycle"),
        (["--add-blocked-by", "1"], "cycle"),
        (["--add-blocked-by", "9"], "unknown_reference"),
        (["--remove-blocked-by", "2"], "unknown_reference"),
        (["--owner", "nosuch"], "unknown_reference"),
        (["--subject", ""], "bad_value"),
    ],
)
def test_an_edit_that_cannot_be_leaves_the_task_as_it_is(demo: Swarm, words: list[str], code: str) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    before = [shown(demo, "1"), shown(demo, "2")]

    assert demo("task", "edit", "1", *words, "--json").error()["code"] == code
    assert [shown(demo, "1"), shown(demo, "2")] == before


def test_a_longer_loop_is_refused_and_named(demo: Swarm) -> None:
    add(demo, "1")
    for number in range(2, 6):
        add(demo, str(number), "--blocked-by", str(number - 1))
    error = demo("task", "edit", "1", "--add-blocked-by", "5", "--json").error()

    assert error["code"] == "cycle"
    assert set(error["details"]["cycle"]) == {"1", "2", "3", "4", "5"}


def test_a_failed_task_can_be_retried(demo: Swarm) -> None:
    add(demo, "first")
    claimed(demo, "1")

    failed = demo("task", "fail", "1", "--as", "w1", "--reason", "no luck", "--json").json()
    assert (failed["status"], swarm_of(failed)["reason"]) == ("failed", "no luck")
    assert demo("task", "retry", "1", "--json").json()["status"] == "pending"


def test_several_tasks_are_retried_all_or_none(demo: Swarm) -> None:
    for number in ("1", "2", "3"):
        add(demo, number)
        demo("task", "cancel", number)
    add(demo, "4")
    claimed(demo, "4")

    for wrong, code in (("4", "in_progress"), ("9", "no_such_task")):
        assert demo("task", "retry", "1", "2", wrong, "--json").error()["code"] == code
        assert [shown(demo, task)["status"] for task in "123"] == ["cancelled"] * 3
    assert demo("task", "retry", "--json").error()["code"] == "bad_usage"
    told = ["task 1 is pending again", "task 2 is pending again"]
    assert demo("task", "retry", "1", "2", "1").lines == told
    both = demo("task", "retry", "2", "3", "--json").json()
    assert [(task["id"], task["status"]) for task in both["tasks"]] == [("2", "pending"), ("3", "pending")]


def test_release_says_why(demo: Swarm) -> None:
    add(demo, "first")
    claimed(demo, "1")
    task = demo("task", "release", "1", "--as", "w1", "--json").json()

    assert (task["status"], swarm_of(task)["reason"]) == ("pending", "w1 did not say why")
    assert "given back  w1 did not say why" in demo("task", "show", "1").out


def test_cancelling_says_who_goes_on_waiting(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    ran = demo("task", "cancel", "1", "--reason", "not wanted")

    assert (ran.code, ran.out) == (0, "task 1 is cancelled\n")
    assert "task 2 goes on waiting for it" in ran.err
    assert swarm_of(shown(demo, "1"))["reason"] == "not wanted"


def test_a_deleted_task_is_printed_a_last_time(demo: Swarm) -> None:
    add(demo, "first")
    before = shown(demo, "1")

    assert demo("task", "delete", "1", "--json").json() == before
    assert demo("task", "show", "1", "--json").error()["code"] == "no_such_task"
    assert add(demo, "next") == "2"
    assert demo("task", "delete", "2").out == "task 2 is deleted\n"


def test_a_task_that_others_wait_for_is_not_deleted(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")

    assert demo("task", "delete", "1", "--json").error()["code"] == "has_dependents"


def test_people_get_a_sentence_for_each_change(demo: Swarm) -> None:
    add(demo, "zero")
    said = [
        demo("task", "add", "first").out,
        demo("task", "claim", "2", "--as", "w1").out.split(" (token")[0] + "\n",
        demo("task", "release", "2", "--as", "w1").out,
        demo("task", "edit", "2", "--subject", "new").out,
    ]

    assert said == [
        "task 2 added: first\n",
        "task 2 is w1's now\n",
        "task 2 is pending again\n",
        "task 2 edited\n",
    ]


@pytest.mark.parametrize("command", ["", " \t", "# nothing"])
def test_an_empty_check_is_refused_and_nothing_is_changed(demo: Swarm, command: str) -> None:
    add(demo, "first")
    add(demo, "second")
    before = shown(demo, "2")
    refused = demo("task", "add", "third", "--verify", command, "--json")
    edited = demo("task", "edit", "2", "--add-blocked-by", "1", "--verify", "true", "--verify", command)

    assert (refused.code, refused.error()["code"]) == (2, "bad_value")
    assert (edited.code, edited.err) == (
        2,
        "error: an empty command verifies nothing; give a command, or leave it out\n",
    )
    assert shown(demo, "2") == before
    assert len(demo("task", "list", "--json").json()["tasks"]) == 2


def test_a_task_for_who_has_stopped_is_given_back_to_nobody(demo: Swarm, team: Team) -> None:
    """The leader finds in its mail what to do about it, and that works."""
    add(demo, "first", "--owner", "w1")
    claimed(demo, "1")
    team.agents.save(a_record("w1", "stopped"))
    task = demo("task", "release", "1", "--as", "w1", "--json").json()

    assert (task["status"], "owner" in task) == ("pending", False)
    (message,) = demo("mail", "team-lead", "--json").json()["messages"]
    assert message["from"] == "runtime"
    assert "swarm task edit 1 --owner NAME" in message["text"]
    assert demo("task", "edit", "1", "--owner", "w2", "--json").json()["owner"] == "w2"
