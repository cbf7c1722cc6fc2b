"""Many commands at the same moment: nothing is lost, and nothing is given twice."""

import json
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.command import Ended, Shell


@pytest.fixture
def team(shell: Shell) -> Shell:
    assert shell.swarm("team", "create", "demo").code == 0
    return shell


def all_at_once(shell: Shell, lines: Iterable[list[str]]) -> list[Ended]:
    processes = [shell.start(*words) for words in lines]
    return [ended(process) for process in processes]


def ended(process: subprocess.Popen[str]) -> Ended:
    out, err = process.communicate(timeout=15)
    return Ended(process.returncode, out, err)


def tasks(shell: Shell) -> Any:
    return shell.swarm("task", "list", "--json").json()["tasks"]


def test_one_of_eight_claims_wins(team: Shell) -> None:
    """The others learn who has it, and the file says the same."""
    for number in ("1", "2"):
        team.swarm("task", "add", f"task {number}")
        names = [f"w{n}-{number}" for n in range(8)]
        ran = all_at_once(team, (["task", "claim", number, "--as", name, "--json"] for name in names))

        winners = [name for name, end in zip(names, ran, strict=True) if end.code == 0]
        assert len(winners) == 1
        lost = [json.loads(end.err)["error"] for end in ran if end.code != 0]
        assert {(error["code"], error["details"]["owner"]) for error in lost} == {("taken", winners[0])}
        assert {end.code for end in ran} == {0, 4}
        assert team.swarm("task", "show", number, "--json").json()["owner"] == winners[0]


def test_an_agent_that_claims_eight_times_gets_one_task(team: Shell) -> None:
    for number in range(4):
        team.swarm("task", "add", f"task {number}")
    ran = all_at_once(team, (["task", "claim", "--as", "w1", "--json"] for _ in range(8)))

    assert sorted(end.code for end in ran) == [0, *[4] * 7]
    assert [task.get("owner") for task in tasks(team)].count("w1") == 1


def test_parallel_adds_get_different_ids_while_others_read(team: Shell) -> None:
    """Every reader sees whole tasks, never a torn list and never an empty one."""
    team.swarm("task", "add", "first")
    adds = [["task", "add", f"subject {n}", "--json"] for n in range(16)]
    reads = [["task", "list", "--json"] for _ in range(8)]
    ran = all_at_once(team, [words for pair in zip(adds, reads * 2, strict=True) for words in pair])

    assert {end.code for end in ran} == {0}
    ids = [json.loads(end.out)["id"] for end in ran[::2]]
    assert len(set(ids)) == 16
    assert {task["subject"] for task in tasks(team)} == {"first", *(f"subject {n}" for n in range(16))}
    assert all(json.loads(end.out)["tasks"] for end in ran[1::2])


def test_two_edits_that_would_close_a_loop_together(team: Shell) -> None:
    """Each is right by itself; whoever comes second is refused, and the loop is named."""
    for number in range(2):
        team.swarm("task", "add", f"task {number}")
    ran = all_at_once(
        team,
        [
            ["task", "edit", "1", "--add-blocked-by", "2", "--json"],
            ["task", "edit", "2", "--add-blocked-by", "1", "--json"],
        ],
    )

    assert sorted(end.code for end in ran) == [0, 4]
    (error,) = [json.loads(end.err)["error"] for end in ran if end.code]
    assert (error["code"], set(error["details"]["cycle"])) == ("cycle", {"1", "2"})
    assert sorted(len(task["open_blockers"]) for task in tasks(team)) == [0, 1]


def test_parallel_mail_all_arrives_in_each_senders_order(team: Shell) -> None:
    roster = team.home / ".claude/teams/demo/config.json"
    obj = json.loads(roster.read_text())
    obj["members"] += [obj["members"][0] | {"agentId": f"w{n}@demo", "name": f"w{n}"} for n in range(8)]
    roster.write_text(json.dumps(obj))
    for round_ in range(2):
        ran = all_at_once(team, (["send", "team-lead", f"{n}:{round_}", "--as", f"w{n}"] for n in range(8)))
        assert {end.code for end in ran} == {0}

    mail = team.swarm("mail", "team-lead", "--json").json()["messages"]
    assert sorted(message["text"] for message in mail) == sorted(
        f"{n}:{r}" for n in range(8) for r in range(2)
    )
    for n in range(8):
        assert [m["text"] for m in mail if m["from"] == f"w{n}"] == [f"{n}:0", f"{n}:1"]
