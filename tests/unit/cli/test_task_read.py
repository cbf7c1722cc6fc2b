"""Looking at tasks: the list, the page of one, the graph."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import add, claimed, shown


def test_list_filters(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    add(demo, "third")
    claimed(demo, "3")

    def ids(*words: str) -> list[str]:
        return [task["id"] for task in demo("task", "list", *words, "--json").json()["tasks"]]

    assert (ids(), ids("--ready"), ids("--blocked")) == (["1", "2", "3"], ["1"], ["2"])
    assert (ids("--status", "pending"), ids("--status", "in_progress")) == (["1", "2"], ["3"])
    assert demo("task", "list", "--ready", "--status", "pending").code == 2


def test_the_list_says_state_owner_and_what_is_waited_for(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    claimed(demo, "1")

    assert demo("task", "list").lines == [
        "1  ● in progress  first   w1",
        "2  · blocked      second      waits for 1",
    ]


def test_an_empty_list_is_said_on_stderr(demo: Swarm) -> None:
    ran = demo("task", "list")

    assert (ran.code, ran.out, ran.err) == (0, "", "no such tasks in team demo\n")
    assert demo("task", "list", "--json").json() == {"team": "demo", "tasks": []}


def test_a_loop_planted_by_hand_is_reported(demo: Swarm) -> None:
    """No verb makes one; whoever edited the files learns why nothing moves."""
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo/1.json")
    path.write_text(path.read_text().replace('"blockedBy": []', '"blockedBy": ["2"]'))

    assert "tasks 1 -> 2 -> 1 wait for each other" in demo("task", "list").err
    assert "tasks 1 -> 2 -> 1 wait for each other" in demo("task", "graph").err


def test_show_is_a_page_for_people(demo: Swarm) -> None:
    add(demo, "first", "--description", "all\nof it \x1b[2J", "--verify", "true")
    claimed(demo, "1")
    demo("task", "complete", "1", "--as", "w1", "--result", "done\nand more")
    page = demo("task", "show", "1").out

    assert page.startswith("1  first\n\n  status      ✔ completed\n  owner       w1\n")
    for part in (
        "verify      true",
        "verified    yes",
        "    all\n    of it \\x1b[2J",
        "    done\n    and more",
    ):
        assert part in page


@pytest.mark.parametrize(
    "task_id", ["999", "0", "-", "abc", "../../config", "1.json", "", "1\n", "\0", "\uff11"]
)
@pytest.mark.parametrize("verb", ["show", "retry", "cancel", "delete"])
def test_an_id_that_is_none_is_not_found(demo: Swarm, verb: str, task_id: str) -> None:
    """Whatever it is made of, it never becomes a path."""
    add(demo, "first")

    assert demo("task", verb, task_id, "--json").error()["code"] == "no_such_task"


def test_list_show_and_claim_agree_on_what_is_blocked(demo: Swarm) -> None:
    """One rule: only completion unblocks, and the edge that stays as history is not open."""
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")

    def views() -> tuple[Any, ...]:
        listed = demo("task", "list", "--json").json()["tasks"][1]
        single = shown(demo, "2")
        return listed["open_blockers"], single["open_blockers"], listed["ready"], single["ready"]

    assert views() == (["1"], ["1"], False, False)
    assert demo("task", "claim", "2", "--as", "w2").code == 4
    claimed(demo, "1")
    demo("task", "complete", "1", "--as", "w1")
    assert views() == ([], [], True, True)
    assert demo("task", "claim", "2", "--as", "w2").code == 0


def test_graph_draws_the_tasks(demo: Swarm) -> None:
    add(demo, "first")
    add(demo, "second", "--blocked-by", "1")

    assert "first" in demo("task", "graph").out
    assert demo("task", "graph", "--format", "mermaid").out.startswith(("graph", "flowchart"))
    assert demo("task", "graph", "--format", "dot").out.startswith("digraph")


def test_a_task_without_its_file_is_shown_by_every_verb(demo: Swarm) -> None:
    for subject in ("first", "second", "third"):
        add(demo, subject)
    Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo/2.json").unlink()

    assert [line.split()[-1] for line in demo("task", "list").lines] == ["first", "second", "third"]
    assert "3 tasks" in demo("status").out
    assert "second" in demo("task", "graph").out


def test_a_file_that_is_no_task_hides_no_other(demo: Swarm) -> None:
    add(demo, "first")
    odd = Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo/5.json")
    odd.touch()
    told = f"{odd} is no task (it is empty); swarm doctor --fix sets it aside"

    for verb, part in ((("task", "list"), "first"), (("status",), "1 task:"), (("task", "graph"), "first")):
        ran = demo(*verb)
        assert (ran.code, ran.err) == (0, f"Warning: {told}\n")
        assert part in ran.out
    for verb in (("task", "list"), ("status",)):
        assert demo(*verb, "--json").json()["problems"] == [told]
    demo("doctor", "--fix")
    assert demo("task", "list").err == ""
    assert "problems" not in demo("task", "list", "--json").json()


@pytest.mark.parametrize(
    "verb", ["task list", "task graph", "task show 1", "task add x", "task claim 1 --as w1", "status"]
)
def test_a_lost_task_folder_is_never_an_empty_list(demo: Swarm, verb: str) -> None:
    add(demo, "first")
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo")
    shutil.rmtree(folder)
    ran = demo(*verb.split())

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        f"error: the task list of team demo is missing ({folder}); put a copy of it back, "
        "or give the team up with swarm team delete demo --force\n"
    )
    assert demo(*verb.split(), "--json").code in {2, 4}  # the graph has no --json


def test_a_lost_journal_is_told_of_as_such(demo: Swarm) -> None:
    add(demo, "first")
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo/.journal.jsonl")
    path.unlink()
    told = f"the journal of team demo's tasks is missing ({path}); swarm doctor --fix makes it anew "

    assert demo("task", "claim", "1", "--as", "w1").err.startswith(f"error: {told}")
    ran = demo("task", "list")
    assert "first" in ran.out
    assert ran.err.startswith(f"Warning: {told}")


def test_a_damaged_journal_names_the_way_to_mend_it(demo: Swarm) -> None:
    add(demo, "first")
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "tasks/demo/.journal.jsonl")
    path.write_bytes(path.read_bytes() + b"rubbish\n")

    assert demo("task", "claim", "1", "--as", "w1").err.endswith("; swarm doctor --fix cuts it there\n")
    assert "; swarm doctor --fix cuts it there; this is what" in demo("task", "list").err
    demo("doctor", "--fix")
    assert demo("task", "claim", "1", "--as", "w1").code == 0


def test_a_damaged_roster_names_the_way_out(demo: Swarm) -> None:
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "teams/demo/config.json")
    path.write_text("{half")
    told = "; mend it by hand, or let swarm doctor --fix make it anew from the agents' records\n"

    for verb in (("task", "list", "-t", "demo"), ("status", "-t", "demo"), ("team", "show", "demo")):
        ran = demo(*verb)
        assert (ran.code, ran.err.endswith(told)) == (4, True)
    assert demo("team", "delete", "demo", "--force").code == 0
