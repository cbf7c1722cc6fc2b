"""Lines that fit a terminal."""

from __future__ import annotations

import shlex

from swarm.cli.folding import folded_command


def test_a_command_in_several_lines_is_one_to_a_shell() -> None:
    words = ["swarm", "resume", "t1", "--allow 'Bash(rm -r leftovers)'", "--allow 'Edit(/shop/prices.py)'"]

    lines = folded_command(words, 46, 9)

    assert all(len(line) <= 46 - 9 for line in lines)
    assert len(lines) > 1
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(" ".join(words))
    assert folded_command(words, None, 9) == [" ".join(words)]
