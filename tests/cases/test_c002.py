"""Several of those who claimed one task at the same moment were told that they had it."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.task import NewTask
from tests.support.racers import Racer
from tests.support.stores import make_team
from tests.support.verbs import RACER, verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

ROUNDS = 40
CLAIM = """
for line in sys.stdin:
    number = line.strip()
    agent = f"{name}-{number}"
    ended = verb(root, "task", "claim", number, "--as", agent, "--json")
    error = json.loads(ended.err)["error"] if ended.code else None
    say([ended.code, agent, error and error["code"], error and error["details"].get("owner")])
"""


def test_exactly_one_of_eight_claims_wins_time_after_time(tmp_path: Path) -> None:
    """The losers are told who has it, and the stored owner is the winner."""
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject=f"task {n}") for n in range(ROUNDS)))
    team.close()
    racers = [Racer(tmp_path, f"w{n}", RACER + CLAIM) for n in range(8)]
    try:
        for racer in racers:
            racer.wait_ready()
            racer.go()
        for number in range(1, ROUNDS + 1):
            answers = _round(racers, number)
            winners = [agent for code, agent, _, _ in answers if code == 0]
            assert len(winners) == 1, number
            lost = {(code, word, owner) for code, _, word, owner in answers if code}
            assert lost == {(4, "taken", winners[0])}, number
            assert team.tasks("user").get_task(str(number)).owner == winners[0]
    finally:
        for racer in racers:
            racer.end()
    assert verb(tmp_path, "status", "--json").json()["tasks"]["in_progress"] == ROUNDS


def _round(racers: list[Racer], number: int) -> list[list[object]]:
    """Let all claim this task at once and return what each was told."""
    for racer in racers:
        assert racer.process.stdin is not None
        racer.process.stdin.write(f"{number}\n")
        racer.process.stdin.flush()
    return [racer.heard() for racer in racers]
