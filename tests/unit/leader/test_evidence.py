"""What a run has used, as its transcripts tell it."""

from __future__ import annotations

import json
from pathlib import Path

from swarm.leader.evidence import used_tokens
from tests.support.stores import make_team


def test_tokens_are_counted_whether_they_came_from_a_cache_or_not(tmp_path: Path) -> None:
    """Of this run alone; a line without usage, or a torn one, counts nothing."""
    team = make_team(tmp_path / "root")
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 500,
        "output_tokens": 7,
    }
    lines = [
        {"type": "assistant", "run_id": "k3v9qd7m.w1.1", "usage": usage},
        {"type": "assistant", "run_id": "k3v9qd7m.w1.2", "usage": usage},
        {"type": "assistant", "run_id": "k3v9qd7m.w1.2", "usage": None},
        {"type": "assistant", "run_id": "abcdefgh.w1.1", "usage": usage},
        {"type": "user", "run_id": "k3v9qd7m.w1.1"},
    ]
    path = Path(team.layout.transcript("w1"))
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"type": "assis')

    assert used_tokens(team, "k3v9qd7m") == (2 * 543, 14)
