"""What holds for every team file and every task graph, not only for the examples."""

from __future__ import annotations

import string
from itertools import pairwise

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from swarm.errors import ConfigError
from swarm.teamfile.graph import topological_order, without_shortcuts
from swarm.teamfile.model import (
    Permissions,
    ScriptCall,
    ScriptTurn,
    TaskSpec,
    TeamFile,
    TeammateSpec,
)
from swarm.teamfile.plan import Node, plan_nodes, render_graph
from swarm.teamfile.reader import parse_team_file
from swarm.teamfile.rendering import render_team_file
from swarm.teamfile.shape import shape
from swarm.teamfile.yaml_text import parse_yaml

# How long an example takes says nothing: a limit that strikes inside of one is reported as that one's fault.
pytestmark = pytest.mark.timeout(120)
few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
any_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
words = ["", " ", "No", "true", "null", "~", "010", "1.0", "1e3", "2026-11-30", "1:30", "*a", "<<", "="]
signs = ["- a", "a: b", "#", "|\n  x", " x\n\ty", "\x85", "a\u2028b", "a\r\nb", "\ufeff", "'", '"', "\\"]
tricky_text = st.sampled_from([*words, *signs])
texts = any_text | tricky_text
numbers = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans() | st.none()
json_like = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
calls = st.builds(
    ScriptCall, tool=st.sampled_from(["Read", "Bash"]), input=st.dictionaries(texts, json_like, max_size=3)
)
turns = st.builds(ScriptTurn, say=st.none() | texts, calls=st.lists(calls, max_size=2).map(tuple))
tasks = st.builds(
    TaskSpec,
    key=texts,
    subject=texts,
    description=texts,
    owner=st.none() | texts,
    verify=st.lists(texts, max_size=2).map(tuple),
    script=st.lists(turns, max_size=2).map(tuple),
)
teammates = st.builds(TeammateSpec, name=texts, count=st.none() | st.integers(1, 64))
teams = st.builds(
    TeamFile,
    name=texts,
    description=texts,
    model=texts,
    permissions=st.builds(Permissions, allow=st.lists(texts, max_size=2).map(tuple)),
    teammates=st.lists(teammates, max_size=2).map(tuple),
    tasks=st.lists(tasks, max_size=3).map(tuple),
)


@few
@given(teams)
def test_a_rendered_team_reads_back_equal(team) -> None:
    """What is stored with the team is what was loaded, whatever the texts are."""
    document = parse_yaml(render_team_file(team))

    assert document.problems == ()
    assert shape(document.data) == team


@few
@given(data=st.dictionaries(texts, json_like, max_size=5), flow=st.sampled_from([True, False, None]))
@example(data={"": "", "0": "", "00": "", "\x85": None, " ": ""}, flow=True)
@example(data={"": "", "0": "", "00": "", "\x85": None, "\xa0": ""}, flow=True)
def test_what_another_writer_quotes_is_read_as_it_was_meant(data, flow) -> None:
    """Our reading of plain words never contradicts the usual one, it only takes fewer of them for values."""
    text = yaml.safe_dump(data, default_flow_style=flow)

    assert parse_yaml(text).data == data


yaml_like = st.text("[]{}:,-*&!|>'\"#? \n\tab1", max_size=60)


@few
@given(st.text(max_size=200) | yaml_like, st.sampled_from(["yaml", "toml", "json"]))
def test_no_text_ends_in_a_traceback(text, kind) -> None:
    """Whatever stands in the file, the answer is a sentence; nothing random is a whole team file."""
    with pytest.raises(ConfigError) as caught:
        parse_team_file(text, f"team.{kind}")

    assert caught.value.exit_code == 2
    assert caught.value.details["file"] == f"team.{kind}"


@st.composite
def graphs(draw, *, acyclic=True):
    names = draw(st.permutations(string.ascii_lowercase[: draw(st.integers(0, 9))]))
    order = draw(st.permutations(names))
    waits = {}
    for position, name in enumerate(order):
        among = order[:position] if acyclic else order
        waits[name] = tuple(draw(st.lists(st.sampled_from(among), unique=True, max_size=4)) if among else ())
    return [Node(id=name, label=name, blocked_by=waits[name]) for name in names]


@few
@given(graphs())
def test_plans_keep_the_order_of_links(nodes) -> None:
    """Waves and ids respect every link, and the longest chain has one task of each wave."""
    planned = plan_nodes("t", nodes)
    wave = {task.node.id: task.wave for task in planned.tasks}
    waits = {node.id: node.blocked_by for node in nodes}
    rank = {name: position for position, name in enumerate(topological_order(waits))}
    links = [(blocker, name) for name, blockers in waits.items() for blocker in blockers]

    assert all(wave[a] < wave[b] and rank[a] < rank[b] for a, b in links)
    assert [wave[node] for node in planned.critical_path] == list(range(1, len(planned.waves) + 1))
    assert set(pairwise(planned.critical_path)) <= set(links)
    assert planned.cycles == ()


@few
@given(graphs(acyclic=False))
def test_any_graph_is_drawn(nodes) -> None:
    """With cycles too: one row for each task, and every cycle that is named is a real one."""
    planned = plan_nodes("t", nodes)
    waits = {node.id: node.blocked_by for node in nodes}
    rows = [line for line in render_graph(planned).splitlines()[2:] if line.startswith(" ")]

    assert sorted(row[-1] for row in rows if row[-1].isalpha()) == sorted(waits)
    for cycle in planned.cycles:
        assert cycle[0] == cycle[-1]
        assert all(b in waits[a] for a, b in pairwise(cycle))


@few
@given(graphs())
def test_every_drawn_line_leads_somewhere(nodes) -> None:
    """Read the picture back: following the lines down from each task gives exactly the links that matter."""
    reduced = without_shortcuts({node.id: node.blocked_by for node in nodes})
    wanted = {(blocker, name) for name, blockers in reduced.items() for blocker in blockers}

    assert links_in(render_graph(plan_nodes("t", nodes))) == wanted


def links_in(picture):
    """Follow the lines of a drawing and return which task leads to which."""
    found: set[tuple[str, str]] = set()
    sources: dict[int, set[str]] = {}
    above = ""
    for line in picture.splitlines()[2:]:
        if not line.startswith(" "):
            break
        cells = line[5:].ljust(40)
        column = next((at for at, character in enumerate(cells) if character in "●○"), None)
        if column is None:
            _follow(cells, sources)
        else:
            if above[column : column + 1] in ("●", "○"):
                sources.pop(column)  # below each other without a line between: not linked
            found |= {(source, cells.split()[-1]) for source in sources.pop(column, ())}
            sources[column] = {cells.split()[-1]}
        above = cells
    return found


def _follow(cells, sources):
    """Move along one row of lines only: forks share, joins add."""
    bends = [at for at, character in enumerate(cells) if character in "├┤┬╮╯╰"]
    if not bends:
        return
    ends = [at for at in bends if cells[at] in "╯╰"]
    arrow = next((at for at, character in enumerate(cells) if character in "◂▸"), None)
    if ends:
        (end,) = ends
        (into,) = (at for at in bends if at != end)
        sources[into] = sources.get(into, set()) | sources.pop(end)
    elif arrow is not None:
        into = arrow - 1 if cells[arrow] == "◂" else arrow + 1
        (start,) = (at for at in bends if at != into)
        sources[into] = sources.get(into, set()) | sources[start]
    else:
        start = bends[0]
        for at in bends[1:]:
            sources[at] = set(sources[start])
