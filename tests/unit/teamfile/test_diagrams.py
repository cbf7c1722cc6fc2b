"""Mermaid and Graphviz texts that no subject can break."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from swarm.teamfile.plan import Node, plan_nodes, render_graph

NASTY = 'say "hi" \\ <b>end</b>\n{x} | #35; \x1b[0m'


@pytest.fixture
def nasty():
    return plan_nodes(
        'the "plan"',
        [
            Node(id="end", label=NASTY, owner="builder"),
            Node(id="b", label="B", status="failed", blocked_by=("end", "gone")),
            Node(id="c", label="C"),
        ],
    )


def test_mermaid_names_its_nodes_itself(nasty) -> None:
    """`end` as a node name ends the diagram."""
    text = render_graph(nasty, "mermaid")

    assert text.startswith("flowchart LR\n")
    assert "  n1 --> n2\n" in text
    assert "class n1,n2 critical" in text
    assert "class n2 failed" in text


def test_mermaid_labels_hold_no_syntax(nasty) -> None:
    """Quotes, brackets and line ends are written as codes."""
    label = re.search(r'n1\["(.*?)"\]\n', render_graph(nasty, "mermaid"))

    assert label is not None
    assert re.fullmatch(r"(?:[\w _\-.,()/:]|#\d+;|<br/>)*", label[1])
    assert "say #34;hi#34; #92; #60;b#62;end" in label[1]
    assert label[1].endswith("<br/>(builder)")


def test_mermaid_of_nothing_is_still_a_diagram() -> None:
    """No class without members."""
    assert render_graph(plan_nodes("t", []), "mermaid") == "flowchart LR\n"


def test_dot_quotes_everything(nasty) -> None:
    """One string after another, none of them open."""
    text = render_graph(nasty, "dot")
    without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "S", text)

    assert text.startswith('digraph "the \\"plan\\"" {')
    assert '"' not in without_strings
    assert "S -> S [penwidth=2];" in without_strings
    assert "gone" not in text
    assert '[label="end: say \\"hi\\" \\\\ <b>end' in text
    assert 'fillcolor="#ffd6d6"' in text
    assert '  "c" [label="c: C"];\n' in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_dot_is_understood_by_graphviz(nasty) -> None:
    """The real reader agrees."""
    done = subprocess.run(
        ["dot", "-Tplain"], input=render_graph(nasty, "dot"), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
