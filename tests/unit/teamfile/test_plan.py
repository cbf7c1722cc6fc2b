"""Waves, critical path, and the numbers that `plan --json` prints."""

from __future__ import annotations

import pytest

from swarm.core.task import Requires, Task
from swarm.errors import ConfigError
from swarm.teamfile.plan import Node, plan, plan_as_json, plan_nodes, plan_tasks, render_graph


def nodes(**blockers):
    return [
        Node(id=name, label=name.upper(), blocked_by=tuple(waits.split())) for name, waits in blockers.items()
    ]


def test_wave_is_one_more_than_that_of_the_last_blocker() -> None:
    """A task waits for all of its blockers, not for the first."""
    planned = plan_nodes("t", nodes(a="", b="a", c="a b", d=""))

    assert planned.waves == (("a", "d"), ("b",), ("c",))
    assert [task.wave for task in planned.tasks] == [1, 2, 3, 1]


def test_order_within_a_wave_is_that_of_the_file() -> None:
    """The same file always gives the same plan."""
    assert plan_nodes("t", nodes(z="", m="", a="")).waves == (("z", "m", "a"),)


def test_critical_path_is_the_longest_chain() -> None:
    """Each task counts 1; nobody knows yet how long one takes."""
    planned = plan_nodes("t", nodes(a="", b="a", c="", d="b c", e="c"))

    assert planned.critical_path == ("a", "b", "d")
    assert [task.node.id for task in planned.tasks if task.critical] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("blockers", "path"),
    [
        ({"a": "", "b": ""}, ("a",)),
        ({"a": "", "b": "", "c": "b a"}, ("a", "c")),
        ({"a": "", "b": "a", "c": "a", "d": "c b"}, ("a", "b", "d")),
    ],
)
def test_of_equal_chains_the_first_in_the_file_is_critical(blockers, path) -> None:
    """Ties must not depend on the order within `blocked_by` or on hashing."""
    assert plan_nodes("t", nodes(**blockers)).critical_path == path


def test_empty_graph_has_no_waves() -> None:
    """A team without tasks can still be asked for its graph."""
    planned = plan_nodes("t", [])

    assert (planned.waves, planned.critical_path, planned.cycles) == ((), (), ())


def test_json_is_the_documented_object(load, good) -> None:
    """Programs read this."""
    assert plan_as_json(plan(load(good).team)) == {
        "name": "demo",
        "tasks": [
            {
                "key": "map",
                "subject": "Look around",
                "owner": "scout",
                "blocked_by": [],
                "wave": 1,
                "critical": True,
            },
            {
                "key": "build",
                "subject": "Build it",
                "owner": "builder",
                "blocked_by": ["map"],
                "wave": 2,
                "critical": True,
            },
        ],
        "waves": [["map"], ["build"]],
        "critical_path": ["map", "build"],
    }


def test_json_leaves_out_an_owner_that_is_not_there() -> None:
    """Absent is absent, never null."""
    assert "owner" not in plan_as_json(plan_nodes("t", nodes(a="")))["tasks"][0]


def test_tasks_of_a_team_are_planned_by_their_ids() -> None:
    """Who has it, else who is to have it; finished blockers stay in the drawing."""
    tasks = [
        Task(id="1", subject="A", status="completed", owner="scout"),
        Task(id="2", subject="B", blocked_by=("1", "99"), requires=Requires(role="builder")),
        Task(id="3", subject="C", requires=Requires(agent="scout")),
        Task(id="4", subject="D"),
    ]
    planned = plan_tasks("t", tasks)

    assert planned.waves == (("1", "3", "4"), ("2",))
    assert [task.node.owner for task in planned.tasks] == ["scout", "builder", "scout", None]
    assert planned.tasks[0].node.status == "completed"


def test_planted_cycle_is_reported_and_does_not_hang() -> None:
    """Files can be edited by hand; the graph is still drawn, without the links that close the loop."""
    planned = plan_nodes("t", nodes(a="c", b="a", c="b", d="d"))

    assert planned.cycles == (("a", "c", "b", "a"), ("d", "d"))
    assert planned.waves == (("a", "d"), ("b",), ("c",))


def test_thousands_of_tasks_are_planned_at_once() -> None:
    """A chain of 3000 must not be 3000 times slower than one of 1."""
    chain = {f"t{n}": f"t{n - 1}" if n else "" for n in range(3000)}

    assert len(plan_nodes("t", nodes(**chain)).critical_path) == 3000


@pytest.mark.parametrize(("form", "code"), [("svg", "not_built"), ("png", "bad_value")])
def test_other_formats_are_refused(form, code) -> None:
    """By name, with a way out."""
    with pytest.raises(ConfigError) as caught:
        render_graph(plan_nodes("t", []), form)

    assert caught.value.code == code
