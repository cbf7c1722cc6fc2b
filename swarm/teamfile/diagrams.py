"""A plan as Mermaid or Graphviz text, safe for any subject."""

from __future__ import annotations

from swarm.teamfile.plan import Plan, PlannedTask, one_line

_COLORS = {
    "completed": "#d3f2d9",
    "in_progress": "#fff1c2",
    "failed": "#ffd6d6",
    "cancelled": "#e4e4e4",
}


def render_mermaid(plan: Plan) -> str:
    """Nodes are called n1, n2 …: words such as `end` would break the diagram as names."""
    names = _names(plan)
    lines = ["flowchart LR"]
    lines += [f'  {names[task.node.id]}["{_mermaid_text(_label(task))}"]' for task in plan.tasks]
    lines += [f"  {names[blocker]} --> {names[node]}" for blocker, node in _edges(plan)]
    lines += _mermaid_classes(plan, names)
    return "\n".join(lines) + "\n"


def _mermaid_classes(plan: Plan, names: dict[str, str]) -> list[str]:
    lines = []
    if plan.critical_path:
        lines.append("  classDef critical stroke-width:3px")
        lines.append(f"  class {','.join(names[node] for node in plan.critical_path)} critical")
    for status, color in _COLORS.items():
        if nodes := [names[task.node.id] for task in plan.tasks if task.node.status == status]:
            lines.append(f"  classDef {status} fill:{color}")
            lines.append(f"  class {','.join(nodes)} {status}")
    return lines


def _mermaid_text(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _-.,()/:" else _mermaid_code(c) for c in text)


def _mermaid_code(character: str) -> str:
    return "<br/>" if character == "\n" else f"#{ord(character)};"


def render_dot(plan: Plan) -> str:
    """Left to right, tasks of one wave in one column, the critical path drawn thick."""
    lines = [f"digraph {_quoted(plan.name)} {{", "  rankdir=LR;", '  node [shape=box, style="rounded"];']
    lines += [f"  {_quoted(task.node.id)} [{_dot_attributes(task)}];" for task in plan.tasks]
    lines += [f"  {{ rank=same; {' '.join(_quoted(node) + ';' for node in wave)} }}" for wave in plan.waves]
    thick = set(zip(plan.critical_path, plan.critical_path[1:], strict=False))
    for edge in _edges(plan):
        style = " [penwidth=2]" if edge in thick else ""
        lines.append(f"  {_quoted(edge[0])} -> {_quoted(edge[1])}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_attributes(task: PlannedTask) -> str:
    parts = [f"label={_quoted(_label(task))}"]
    if task.critical:
        parts.append("penwidth=2")
    if color := _COLORS.get(task.node.status or ""):
        parts.append(f'style="rounded,filled", fillcolor="{color}"')
    return ", ".join(parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines()) + '"'


def _label(task: PlannedTask) -> str:
    node = task.node
    under = f"\n({node.owner})" if node.owner else ""
    return f"{node.id}: {one_line(node.label)}{under}"


def _names(plan: Plan) -> dict[str, str]:
    return {task.node.id: f"n{number}" for number, task in enumerate(plan.tasks, start=1)}


def _edges(plan: Plan) -> list[tuple[str, str]]:
    known = _names(plan)
    return [(b, task.node.id) for task in plan.tasks for b in task.node.blocked_by if b in known]
