"""The task graph seen as a whole: waves, critical path, and how they are written down.

`Node` is all that is needed of a task, so that the plan of a team file and the graph of a running team
are drawn by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from swarm.core.task import Task
from swarm.errors import ConfigError
from swarm.teamfile.graph import acyclic, find_critical_path, find_cycles, find_waves
from swarm.teamfile.model import TeamFile
from swarm.values import Value

FORMATS = ("text", "mermaid", "dot")


class Node(Value):
    """A task to draw. `status` is None in the plan of a team file, where nothing has begun."""

    id: str
    label: str
    owner: str | None = None
    status: str | None = None
    blocked_by: tuple[str, ...] = ()


class PlannedTask(Value):
    """A node with its place: waves count from 1, `critical` tasks are those of the longest chain."""

    node: Node
    wave: int
    critical: bool


class Plan(Value):
    """All tasks in the order given. A graph with cycles is planned without the links that close them."""

    name: str
    tasks: tuple[PlannedTask, ...]
    waves: tuple[tuple[str, ...], ...]
    critical_path: tuple[str, ...]
    cycles: tuple[tuple[str, ...], ...] = ()


def plan(team: TeamFile) -> Plan:
    """Plan the tasks of a team file by their keys."""
    nodes = [Node(id=t.key, label=t.subject, owner=t.owner, blocked_by=t.blocked_by) for t in team.tasks]
    return plan_nodes(team.name, nodes)


def plan_tasks(name: str, tasks: Iterable[Task]) -> Plan:
    """Plan the tasks of a team by their ids. Links to tasks that are not there are left out."""
    return plan_nodes(name, [_node_of(task) for task in tasks])


def plan_nodes(name: str, nodes: Iterable[Node]) -> Plan:
    """Plan these nodes; ids must differ. The same nodes in the same order give the same plan."""
    by_id = {node.id: node for node in nodes}
    given = {node.id: node.blocked_by for node in by_id.values()}
    waits = acyclic(given)
    waves = find_waves(waits)
    wave_of = {node: number for number, wave in enumerate(waves, start=1) for node in wave}
    path = find_critical_path(waits)
    on_path = set(path)
    tasks = tuple(
        PlannedTask(node=node, wave=wave_of[node.id], critical=node.id in on_path) for node in by_id.values()
    )
    return Plan(name=name, tasks=tasks, waves=waves, critical_path=path, cycles=find_cycles(given))


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """The object that `plan --json` prints."""
    tasks = [_task_as_json(task) for task in plan.tasks]
    waves = [list(wave) for wave in plan.waves]
    return {"name": plan.name, "tasks": tasks, "waves": waves, "critical_path": list(plan.critical_path)}


def render_graph(plan: Plan, form: str = "text", *, width: int = 80, encoding: str = "utf-8") -> str:
    """Draw the plan as `text` for a terminal of this width and encoding, as `mermaid` or as `dot`."""
    from swarm.teamfile import diagrams, drawing

    if form == "text":
        return drawing.draw(plan, width=width, encoding=encoding)
    if form == "mermaid":
        return diagrams.render_mermaid(plan)
    if form == "dot":
        return diagrams.render_dot(plan)
    if form == "svg":
        message = "svg is not built yet; pipe the dot format to `dot -Tsvg`"
        raise ConfigError(message, code="not_built", details={"value": form})
    message = f"there is no graph format {form}; formats are {', '.join(FORMATS)}"
    raise ConfigError(message, code="bad_value", details={"value": form, "valid": list(FORMATS)})


def one_line(text: str) -> str:
    """Return the text without line ends or anything that could move a terminal's cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _node_of(task: Task) -> Node:
    required = task.requires and (task.requires.agent or task.requires.role)
    owner = task.owner or required or None
    return Node(id=task.id, label=task.subject, owner=owner, status=task.status, blocked_by=task.blocked_by)


def _task_as_json(task: PlannedTask) -> dict[str, Any]:
    node = task.node
    shown: dict[str, Any] = {"key": node.id, "subject": node.label}
    if node.owner is not None:
        shown["owner"] = node.owner
    return shown | {"blocked_by": list(node.blocked_by), "wave": task.wave, "critical": task.critical}
