"""Many processes spend one budget, some of them die: all that was charged stays within it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from swarm.core.costs import parse_entry_line
from swarm.storage.team import Team
from tests.support.cost_kills import CHANGES
from tests.support.racers import race
from tests.support.races import run_program
from tests.support.stores import make_team, reopened

LIMIT = 2_000_000
WORST = 35_000

SPEND = """
import os, random, signal
from swarm.errors import StateError
MODEL = "claude-sonnet-5-5"
chance = random.Random(name)
charged = open(sys.argv[1] + "/charged-" + name, "a")
life = "k3v9qd7m." + name + ".1"
calls = 0
while True:
    try:
        team.costs.reserve(life, MODEL, 10_000, 1_000)
    except StateError as error:
        assert error.code == "budget_spent", error
        break
    calls += 1
    usage = {"input_tokens": chance.randrange(10_001), "output_tokens": chance.randrange(1_001)}
    usage["cache_creation_input_tokens"] = 10_000 - usage["input_tokens"]
    counts = usage["input_tokens"], usage["output_tokens"], usage["cache_creation_input_tokens"]
    micros = sum(count * rate for count, rate in zip(counts, (2, 10, 2.5)))
    print(micros, file=charged, flush=True)  # what the service charges, whoever lives to write it down
    if DIES and chance.random() < 0.2:
        life = "k3v9qd7m." + name + "." + str(calls + 1)
        pid = os.fork()
        if pid == 0:
            team.costs.reserve(life, MODEL, 0, 0)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        continue
    team.costs.record(agent=name, run_id=life, task="7", model=MODEL, usage=usage)
say(calls)
"""


def spend(root: Path, *, dies: bool) -> tuple[Team, float, int]:
    """Let eight processes call until nothing is left; return the team, what was charged, and the calls."""
    team = make_team(root)
    team.costs.set_terms({"budget_usd": LIMIT / 10**6})
    names = [f"w{n}" for n in range(8)]
    calls = race(root, names, SPEND.replace("DIES", str(dies)))
    charged = sum(float(line) for path in root.glob("charged-*") for line in path.read_text().split())
    for line in Path(team.layout.costs).read_bytes().splitlines():
        parse_entry_line(line)
    return reopened(team), charged, sum(calls)


def test_eight_processes_spend_a_budget_and_no_more(tmp_path: Path) -> None:
    """And they spend it: what is left is too little for the next call."""
    team, charged, calls = spend(tmp_path, dies=False)

    table = team.costs.table()
    assert charged <= table.spent <= charged + calls  # each cost is rounded up to a whole micro-dollar
    assert LIMIT - WORST < table.spent <= LIMIT
    assert table.total.calls == calls
    assert table.reserved == 0


def test_a_budget_holds_where_calls_are_never_settled(tmp_path: Path) -> None:
    """Whoever is killed between its request and its line has spent what was reserved for it."""
    team, charged, _ = spend(tmp_path, dies=True)

    table = team.costs.table()
    assert charged <= LIMIT
    assert table.reserved > 0
    assert LIMIT - WORST < table.spent <= LIMIT


AT_ONCE = """
import time
granted = []
start = float(open(sys.argv[1] + "/start").read())
for number in range(ROUNDS):
    team = Team(Layout(root=f"{sys.argv[1]}/{number}").team("demo"), settings, SystemClock())
    team.costs.table()
    while time.time() < start + number * 0.02:
        pass
    calls = 0
    for life in (1, 2):
        try:
            team.costs.reserve(f"k3v9qd7m.{name}.{life}", "claude-sonnet-5-5", 10_000, 1_000)
        except StateError:
            break
        calls += 1
    granted.append(calls)
say(granted)
"""


def test_the_last_call_is_given_to_one(tmp_path: Path) -> None:
    """Round after round all ask at the same moment for what is enough for three."""
    rounds = 60
    for number in range(rounds):
        make_team(tmp_path / str(number)).costs.set_terms({"budget_usd": 3 * WORST / 10**6})
    (tmp_path / "start").write_text(str(time.time() + 1.5))
    code = "from swarm.errors import StateError\n" + AT_ONCE.replace("ROUNDS", str(rounds))

    granted = race(tmp_path, [f"w{n}" for n in range(8)], code)

    assert [sum(calls) for calls in zip(*granted, strict=True)] == [3] * rounds


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_killed_anywhere_leaves_the_budget_whole(tmp_path: Path, name: str) -> None:
    assert int(run_program("cost_kills", tmp_path, name)) >= 5
