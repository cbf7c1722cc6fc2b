"""Whatever somebody types as a name, it stays a name: never a path, never shell text."""

import json
from pathlib import Path

import pytest

from tests.support.command import Shell

ODD = ["../../x", "/etc/x", "a b", "a;touch PWNED", "$(touch PWNED)", "a'b", ".", "..", "", "x" * 300]
BAD = [*ODD, "日本", "測試甲"]


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def team(shell: Shell) -> Shell:
    assert shell.swarm("team", "create", "team").code == 0
    assert shell.swarm("task", "add", "work").code == 0
    return shell


def test_a_team_name_that_is_none_is_refused_with_one_that_would_do(shell: Shell) -> None:
    suggestions = []
    for name in BAD:
        made = shell.swarm("team", "create", "--json", "--", name)
        error = json.loads(made.err)["error"]
        assert (name, made.code, error["code"]) == (name, 2, "bad_name")
        suggestions.append(error["details"]["suggestion"])

    assert everything(shell.home.parent) == {"home", "cwd"}
    assert shell.swarm("team", "create", suggestions[-1]).code == 0
    assert suggestions[-1] != suggestions[-2]


def test_a_workers_name_that_is_none_is_refused_and_nothing_is_written(team: Shell) -> None:
    before = everything(team.home.parent)

    for name in BAD:
        assert (name, team.swarm("task", "claim", "1", "--as", name).code) == (name, 2)
    for name in BAD[:3]:
        assert team.swarm("send", "team-lead", "hi", "--as", name).code == 2
        assert team.swarm("-t", name, "status").code == 2
        assert team.swarm("task", "claim", "1", SWARM_AGENT=name).code == 2
        assert team.swarm("send", "--", name, "hi").code == 3
        assert team.swarm("mail", "--", name).code == 3
        assert team.swarm("logs", "--", name).code == 3
        assert team.swarm("task", "show", "--", name).code == 3
    assert everything(team.home.parent) == before


def test_two_names_never_share_a_folder(team: Shell) -> None:
    """Some file systems cannot tell `Team` from `team`."""
    made = team.swarm("team", "create", "Team")

    assert made.code == 4
    assert made.err == (
        f"error: there is a team team already in {team.root}/teams; choose another name or delete it\n"
    )
