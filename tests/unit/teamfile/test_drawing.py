"""The drawing for a terminal: exact pictures, for they are the contract."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from swarm.teamfile.plan import Node, plan_nodes, render_graph


def drawn(rows, **options):
    """Draw nodes given as `id: blockers`, one a line."""
    pairs = [row.strip().partition(":") for row in rows.strip().splitlines()]
    nodes = [Node(id=name, label=f"{name}!", blocked_by=tuple(waits.split())) for name, _, waits in pairs]
    text = render_graph(plan_nodes("t", nodes), "text", **options)
    return [line.rstrip() for line in text.splitlines()[2:-2]]


def picture(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_a_chain_is_one_line_down() -> None:
    """The simplest plan."""
    assert drawn("a:\nb: a") == picture("""
  1  ● a  a!
     │
  2  ● b  b!
""")


def test_tasks_of_one_wave_fork_and_meet_again() -> None:
    """The shape of most plans; the critical path is filled."""
    assert drawn("a:\nb: a\nc: a\nd: b c") == picture("""
  1  ●   a  a!
     ├─╮
  2  ● │ b  b!
     │ ○ c  c!
     ├─╯
  3  ●   d  d!
""")


def test_independent_tasks_are_not_joined() -> None:
    """Side by side in time, below each other on the screen, without a line between."""
    assert drawn("a:\nb:\nc: b") == picture("""
  1  ○ a  a!
     ● b  b!
     │
  2  ● c  c!
""")


def test_a_link_that_others_imply_is_not_drawn() -> None:
    """a -> c says nothing that a -> b -> c does not."""
    assert drawn("a:\nb: a\nc: a b") == drawn("a:\nb: a\nc: b")


def test_lines_that_cross_are_told_apart_from_lines_that_meet() -> None:
    """z leads to n and to m: the line to m passes behind the one to n, and an arrow says where it goes."""
    assert drawn("x:\ny:\nz:\nm: x z\nn: x y z") == picture("""
  1  ●     x  x!
     ├─╮
     │ │ ○ y  y!
     │ ├─╯
     │ │ ○ z  z!
     ├◂│─┤
     │ ├─╯
  2  ● │   m  m!
       ○   n  n!
""")


def test_a_lane_to_the_right_is_joined_too() -> None:
    """d ends in the lane of e, which is further right."""
    assert drawn("a:\nb:\nc: a b\nd: a\ne: b d") == picture("""
  1  ●     a  a!
     ├─╮
     │ │ ○ b  b!
     ├◂│─┤
  2  ○ │ │ c  c!
       ● │ d  d!
       ╰─┤
  3      ● e  e!
""")


def test_a_column_is_used_again_when_its_lane_has_ended() -> None:
    """y leads nowhere, so g takes its place between two lanes that go on."""
    assert drawn("a:\nb:\nc:\ny: b\ne: a\nf: e\ng: e\nz: c g") == picture("""
  1  ●     a  a!
     │ ○   b  b!
     │ │ ○ c  c!
     │ │ │
  2  │ ○ │ y  y!
     ●   │ e  e!
     ├─╮ │
  3  ○ │ │ f  f!
       ● │ g  g!
       ╰─┤
  4      ● z  z!
""")


def test_many_tasks_into_one_take_few_columns() -> None:
    """Each joins the lane of the one before."""
    lines = drawn("\n".join(f"t{n}:" for n in range(30)) + "\nend: " + " ".join(f"t{n}" for n in range(30)))

    assert max(len(line) for line in lines) < 25


def test_too_many_lanes_are_left_out() -> None:
    """Forty columns of lines help nobody; the list by waves does."""
    rows = (
        "a:\n" + "\n".join(f"t{n}: a" for n in range(40)) + "\n" + "\n".join(f"u{n}: t{n}" for n in range(40))
    )
    lines = drawn(rows)

    assert len(lines) == 81
    assert "│" not in "".join(lines)


def test_plain_terminals_get_ascii() -> None:
    """A log in latin-1 or ASCII must not crash or fill with question marks."""
    lines = drawn("a:\nb: a\nc: a\nd: b c", encoding="ascii")

    assert lines == picture("""
  1  *   a  a!
     +-.
  2  * | b  b!
     | o c  c!
     +-'
  3  *   d  d!
""")


def test_text_that_the_encoding_lacks_is_replaced() -> None:
    """The subject is the user's; the drawing still comes out."""
    text = render_graph(plan_nodes("t", [Node(id="a", label="Größe 日本")]), encoding="ascii")

    assert "Gr??e ??" in text


@pytest.mark.parametrize("width", [50, 64, 80])
def test_no_line_is_wider_than_the_terminal(width) -> None:
    """Wide characters count twice."""
    nodes = [
        Node(id="key-that-is-long-beyond-reason-and-more", label="日本語" * 30, owner="me"),
        Node(id="b", label="x" * 100, owner="me", blocked_by=("key-that-is-long-beyond-reason-and-more",)),
    ]
    lines = render_graph(plan_nodes("t", nodes), width=width).splitlines()

    assert all(cell_len(line) <= width for line in lines[:-2])
    assert sum("…" in line for line in lines) == 2


@pytest.mark.parametrize("length", range(15, 40, 3))
def test_a_label_that_is_cut_says_so(length) -> None:
    """Fewer characters than cells, but more cells than there is room: that is cut, too."""
    label = "語" * length
    (row,) = render_graph(plan_nodes("t", [Node(id="a", label=label)]), width=60).splitlines()[2:3]

    assert (label in row) is (cell_len(label) <= 48)
    assert ("…" in row) is (label not in row)


def test_nothing_in_a_subject_can_move_the_cursor() -> None:
    """A task's text comes from a file, later from a model."""
    text = render_graph(plan_nodes("t\x1b[2J", [Node(id="a", label="x\n\x1b[31my\x07\u202e", owner="o\r")]))

    assert all(character.isprintable() or character == "\n" for character in text)
    assert "x [31my" in text


def test_statuses_have_signs_and_a_legend() -> None:
    """The graph of a running team shows how far it is."""
    statuses = ["completed", "in_progress", "pending", "failed", "cancelled", "odd"]
    nodes = [Node(id=str(n), label="S", status=status) for n, status in enumerate(statuses)]
    text = render_graph(plan_nodes("t", nodes))

    assert [line[5] for line in text.splitlines()[2:8]] == ["✔", "●", "○", "✘", "⊘", "○"]
    assert "○ pending   ✔ completed   ● in_progress   ✘ failed   ⊘ cancelled" in text
    assert "\ncritical path, 1 task: 0\n" in text


def test_legend_is_ascii_too() -> None:
    """All or nothing."""
    text = render_graph(plan_nodes("t", [Node(id="1", label="S", status="failed")]), encoding="ascii")

    assert "x failed" in text
    assert text.isascii()


def test_cycles_are_named_below() -> None:
    """In the direction in which work would flow."""
    nodes = [Node(id="a", label="A", blocked_by=("b",)), Node(id="b", label="B", blocked_by=("a",))]

    assert "cycle, none of these can start: a → b → a" in render_graph(plan_nodes("t", nodes))


def test_headline_counts() -> None:
    """Singular and plural."""
    assert render_graph(plan_nodes("t", [Node(id="a", label="A")])).startswith("t: 1 task in 1 wave\n")
    assert render_graph(plan_nodes("t", [])) == "t: 0 tasks in 0 waves\n"
