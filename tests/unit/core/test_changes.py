from __future__ import annotations

from typing import Any

import pytest

from swarm.core import operations
from swarm.core.task import NewTask, Requires, worded_by
from swarm.errors import ConfigError, CycleError, TaskError
from tests.support.journaled import AT, Journaled


@pytest.fixture
def journal() -> Journaled:
    return Journaled()


def journal_at(status: str) -> Journaled:
    """A journal whose task 1 has this status; tasks 2 (pending) and 3 (completed) stand beside it."""
    journal = Journaled()
    for _ in range(3):
        journal.add()
    journal.finish("3", "w3")
    if status == "completed":
        journal.finish("1")
    if status in ("in_progress", "failed"):
        journal.claim("w1", "1")
    if status == "failed":
        journal.write(operations.fail(journal.table, "1", journal.token("1"), "no luck"))
    if status == "cancelled":
        journal.write(operations.cancel(journal.table, "1", "no"))
    assert journal.task("1").status == status
    return journal


# Create


@pytest.mark.parametrize("command", ["", "  ", "\n\t\n", "# make test", "\n  # later\n"])
def test_a_command_of_which_nothing_runs_verifies_nothing(journal: Journaled, command: str) -> None:
    """A shell succeeds at once, and the task would count as verified."""
    with pytest.raises(ConfigError) as caught:
        journal.add(verify=("true", command))
    assert (caught.value.code, caught.value.details) == ("bad_value", {"field": "verify"})
    journal.add(verify=("# first the tests\nmake test",))
    with pytest.raises(ConfigError):
        operations.edit(journal.table, "1", {}, {"verify": [command]})


def test_a_new_task_holds_what_its_creator_decided(journal: Journaled) -> None:
    journal.add()
    journal.add(
        description="All of it.",
        active_form="Doing it",
        blocked_by=("1", "1"),
        requires=Requires(agent="w1"),
        key="api",
        files=("api/**",),
        verify=("true",),
        metadata={"tag": "x"},
    )
    task = journal.task("2")

    assert (task.owner, task.blocked_by, task.key, task.metadata) == ("w1", ("1",), "api", {"tag": "x"})
    assert (task.seq, task.created_by, task.created_at, task.updated_at) == (2, "user", AT, AT)
    assert (task.files, task.verify, task.active_form) == (("api/**",), ("true",), "Doing it")
    assert journal.task("1").blocks == ("2",)
    assert journal.lines[1]["task"]["metadata"]["swarm"]["seq"] == 2, "the line holds the file as it will be"


def test_a_task_for_a_role_has_no_owner_yet(journal: Journaled) -> None:
    journal.add(requires=Requires(role="builder"))

    assert journal.task("1").owner is None


@pytest.mark.parametrize("subject", ["", " \n"])
def test_a_task_needs_a_subject(journal: Journaled, subject: str) -> None:
    with pytest.raises(ConfigError, match="needs a subject") as refused:
        journal.add(subject)
    assert refused.value.code == "bad_value"


def test_the_metadata_key_of_ours_is_not_for_others(journal: Journaled) -> None:
    """A model could give itself another verify that way."""
    journal.add()
    with pytest.raises(ConfigError, match="key swarm is reserved"):
        journal.add(metadata={"swarm": {"verify": []}})
    with pytest.raises(ConfigError, match="key swarm is reserved"):
        operations.edit(journal.table, "1", {"metadata": {"swarm": None}}, {})


def test_waiting_for_an_unknown_task_is_refused_with_those_that_exist(journal: Journaled) -> None:
    with pytest.raises(ConfigError, match="there are no tasks yet"):
        journal.add(blocked_by=("999",))
    journal.add()
    journal.add()
    with pytest.raises(ConfigError, match="no task 999 to wait for; tasks are 1, 2") as refused:
        journal.add(blocked_by=("1", "999"))

    assert refused.value.code == "unknown_reference"
    assert refused.value.details == {"value": "999", "valid": ["1", "2"]}
    assert len(journal.table.tasks()) == 2


def test_an_id_is_never_used_again(journal: Journaled) -> None:
    journal.add()
    journal.add()
    journal.write(operations.delete(journal.table, "2"))

    assert journal.add() == "3"


# Edges


def test_an_edge_is_seen_from_both_ends(journal: Journaled) -> None:
    journal.add()
    journal.add()
    journal.write(operations.link(journal.table, "1", "2"))

    assert (journal.task("1").blocks, journal.task("2").blocked_by) == (("2",), ("1",))
    assert operations.link(journal.table, "1", "2") is None
    journal.write(operations.unlink(journal.table, "1", "2"))
    assert (journal.task("1").blocks, journal.task("2").blocked_by) == ((), ())
    assert operations.unlink(journal.table, "1", "2") is None


def test_a_loop_is_refused_by_name(journal: Journaled) -> None:
    for _ in range(3):
        journal.add()
    journal.write(operations.link(journal.table, "1", "2"))
    journal.write(operations.link(journal.table, "2", "3"))

    for a, b, loop in (("3", "1", "3 -> 1 -> 2 -> 3"), ("1", "1", "1 -> 1")):
        with pytest.raises(CycleError, match=f"closes a cycle: {loop}$") as refused:
            operations.link(journal.table, a, b)
        assert refused.value.code == "cycle"


def test_linking_to_an_unknown_task_is_bad_input(journal: Journaled) -> None:
    journal.add()
    with pytest.raises(ConfigError) as refused:
        operations.link(journal.table, "999", "1")
    assert refused.value.code == "unknown_reference"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("in_progress", "in_progress"),
        ("completed", "finished"),
        ("failed", "finished"),
        ("cancelled", "finished"),
    ],
)
def test_what_runs_or_ran_cannot_be_made_to_wait(status: str, code: str) -> None:
    journal = journal_at(status)

    with pytest.raises(TaskError, match=f"task 1 is {status}: it cannot wait for task 2 any more") as refused:
        operations.link(journal.table, "2", "1")
    assert refused.value.code == code
    assert operations.link(journal.table, "3", "1"), "a completed blocker holds nobody back"


# Edit


def test_an_edit_changes_only_what_it_names(journal: Journaled) -> None:
    """Owner, status and claim are not part of it, so it cannot undo a claim that came between."""
    journal.add(description="old", metadata={"a": 1, "b": 2})
    journal.claim("w1")
    before = journal.task("1")
    body = operations.edit(
        journal.table, "1", {"description": "new", "metadata": {"a": None, "c": 3}}, {"verify": ["true"]}
    )
    journal.write(body)

    assert body == {
        "op": "edit",
        "id": "1",
        "set": {"description": "new", "metadata": {"a": None, "c": 3}},
        "swarm": {"verify": ["true"]},
    }
    changed = before.replace(description="new", metadata={"b": 2, "c": 3}, verify=("true",), seq=3)
    assert journal.task("1") == changed


def test_null_removes_a_field(journal: Journaled) -> None:
    journal.add(active_form="Doing it", files=("api/**",), metadata={"a": 1})
    journal.write(
        operations.edit(journal.table, "1", {"activeForm": None, "metadata": {"a": None}}, {"files": None})
    )

    task = journal.task("1")
    assert (task.active_form, task.files, task.metadata) == (None, (), {})


@pytest.mark.parametrize(
    ("edits", "word_of"),
    [
        ([], "user"),
        ([("w1", {"activeForm": "Doing it"})], "user"),
        ([("w1", {"description": "new"})], "w1"),
        ([("w1", {"subject": "new"}), ("w2", {"description": "newer"})], "w2"),
        ([("w1", {"subject": "new"}), ("user", {"description": "newer"})], "w1"),
        ([("w1", {"subject": "new"}), ("user", {"subject": "a", "description": "b"})], "user"),
        ([("w1", {"subject": "new"}), ("team-lead", {"metadata": {"a": 1}})], "w1"),
    ],
)
def test_text_that_an_agent_changed_is_its_word(
    journal: Journaled, edits: list[tuple[str, dict[str, Any]]], word_of: str
) -> None:
    """Else it could speak to the next agent in the name of whoever made the task."""
    journal.add("Do it", description="old")
    for by, fields in edits:
        journal.write(operations.edit(journal.table, "1", fields, {}, by), by)

    assert worded_by(journal.task("1")) == word_of


def test_an_edit_without_a_change_writes_nothing(journal: Journaled) -> None:
    journal.add(description="old", files=("a",))

    assert operations.edit(journal.table, "1", {"description": "old"}, {"files": ["a"]}) is None
    assert operations.edit(journal.table, "1", {"metadata": None}, {}) is None
    assert operations.edit(journal.table, "1", {}, {}) is None


def test_owner_and_requirement_go_together(journal: Journaled) -> None:
    journal.add()
    steps: list[tuple[dict[str, Any], dict[str, Any], str | None, Requires | None]] = [
        ({"owner": "w1"}, {}, "w1", Requires(agent="w1")),
        ({}, {"requires": {"role": "builder"}}, None, Requires(role="builder")),
        ({}, {"requires": Requires(agent="w2")}, "w2", Requires(agent="w2")),
        ({"owner": None}, {}, None, None),
        ({"owner": "w3"}, {"requires": {"agent": "w1"}}, "w1", Requires(agent="w1")),
        ({}, {"requires": None}, None, None),
    ]
    for fields, ours, owner, requires in steps:
        journal.write(operations.edit(journal.table, "1", fields, ours))
        assert (journal.task("1").owner, journal.task("1").requires) == (owner, requires)


def test_a_failed_task_can_be_meant_for_somebody_else() -> None:
    """It still says who failed; the new agent shows up with the retry."""
    journal = journal_at("failed")
    journal.write(operations.edit(journal.table, "1", {}, {"requires": {"agent": "w2"}}))
    assert journal.task("1").owner == "w1"
    journal.write(operations.retry(journal.table, "1"))

    assert journal.task("1").owner == "w2"


TEXTS = {"subject", "description", "activeForm", "metadata"}
VALUES: dict[str, Any] = {
    "subject": "New", "description": "New", "activeForm": "New", "metadata": {"new": 1}, "owner": "w9",
    "requires": {"role": "r"}, "files": ["new"], "verify": ["new"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ("pending", set(VALUES)),
        ("in_progress", TEXTS | {"files", "verify"}),
        ("completed", TEXTS),
        ("failed", set(VALUES) - {"owner"}),
        ("cancelled", set(VALUES) - {"owner"}),
    ],
)
def test_what_can_be_edited_depends_on_the_status(status: str, allowed: set[str]) -> None:
    """A live claim keeps its owner; a check that is added to a completed task did not run."""
    done = set()
    for key, value in VALUES.items():
        journal = journal_at(status)
        ours = key in ("requires", "files", "verify")
        try:
            body = operations.edit(
                journal.table, "1", {} if ours else {key: value}, {key: value} if ours else {}
            )
        except TaskError as refused:
            assert refused.code == ("in_progress" if status == "in_progress" else "finished")  # noqa: PT017
            assert refused.details == {"task": "1", "field": key}  # noqa: PT017
        else:
            assert body is not None
            journal.write(body)
            done.add(key)

    assert done == allowed


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ({"status": "completed"}, {}),
        ({"id": "9"}, {}),
        ({"blockedBy": []}, {}),
        ({}, {"claim": None}),
        ({}, {"attempts": 0}),
        ({}, {"seq": 1}),
        ({"subject": " "}, {}),
        ({"subject": None}, {}),
        ({"description": 1}, {}),
        ({}, {"files": "api/**"}),
        ({}, {"requires": "w1"}),
    ],
)
def test_an_edit_that_makes_no_sense_is_bad_input(fields: dict[str, Any], ours: dict[str, Any]) -> None:
    """Found out before the line is written: a journal with such a line could not be read again."""
    journal = Journaled()
    journal.add()

    with pytest.raises(ConfigError) as refused:
        operations.edit(journal.table, "1", fields, ours)
    assert refused.value.code == "bad_value"


# Delete


def test_a_task_in_progress_is_not_deleted() -> None:
    with pytest.raises(TaskError, match="w1 works on task 1") as refused:
        operations.delete(journal_at("in_progress").table, "1")
    assert refused.value.code == "in_progress"


def test_a_task_that_others_wait_for_is_deleted_only_with_its_links(journal: Journaled) -> None:
    journal.add()
    journal.add(blocked_by=("1",))
    journal.add(blocked_by=("2",))

    with pytest.raises(TaskError, match="task 3 depends on task 2") as refused:
        operations.delete(journal.table, "2")
    assert refused.value.code == "has_dependents"
    assert refused.value.details == {"task": "2", "dependents": ["3"]}
    touched = journal.write(operations.delete(journal.table, "2", unlink=True))
    assert touched == ("2", "3", "1")
    assert (journal.task("1").blocks, journal.task("3").blocked_by) == ((), ())
    assert journal.table.is_ready("3")


def test_a_blocked_task_is_deleted_with_its_links(journal: Journaled) -> None:
    journal.add()
    journal.add(blocked_by=("1",))
    journal.write(operations.delete(journal.table, "2"))

    assert journal.task("1").blocks == ()
    assert journal.table.counts()["pending"] == 1


def test_many_valid_ids_are_not_all_listed(journal: Journaled) -> None:
    for number in range(1, 121):
        journal.table.apply({"op": "snap", "task": {"id": str(number), "subject": "x", "status": "pending"}})

    with pytest.raises(ConfigError) as refused:
        operations.create(journal.table, NewTask(subject="x", blocked_by=("999",)), AT, "user")
    assert len(refused.value.details["valid"]) == 100
