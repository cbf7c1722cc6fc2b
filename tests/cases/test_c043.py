"""Allow rules and the lead's bypass mode were not handed down: teammates asked for what was allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Shell
from tests.support.live_runs import access, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply
from worker.messages import tool_results

pytestmark = pytest.mark.timeout(120)

COMMANDS = ("ls", "rm precious.txt", "ls; rm precious.txt")
TASK = {"key": "a", "subject": "Tidy up", "script": [{"say": "x"}]}
MODES = pytest.mark.parametrize("mode", ["default", "bypassPermissions"])


def turn(exchange: Exchange) -> Reply:
    """Play one command in each turn: what comes after a failed one in the same turn is not run."""
    if exchange.turns == len(COMMANDS):
        return reply("All done.")
    return reply(call("Bash", {"command": COMMANDS[exchange.turns]}))


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    """A person who allows `ls` everywhere, and a project that denies `rm`."""
    made = Shell(isolated_home, tmp_path)
    settings = {
        made.root / "settings.json": {"allow": ["Bash(ls:*)"]},
        made.cwd / "ws/.claude/settings.json": {"deny": ["Bash(rm:*)"]},
    }
    for path, permissions in settings.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"permissions": permissions}))
    (made.cwd / "ws/precious.txt").write_text("kept\n")
    return made


def check(shell: Shell, api: MessagesApi) -> None:
    """Hold `ls` to have run unasked, and nothing that removes to have run."""
    assert api.refused == []
    results = [result for one in api.exchanges[-1].messages for result in tool_results(one)]
    listed, removed, both = [str(result["content"]) for result in results]
    assert [result["is_error"] for result in results] == [False, True, True]
    assert "precious.txt" in listed
    assert "The rule Bash(rm:*) of the project settings forbids this call." in removed
    assert "Bash(rm:*)" in both
    assert (shell.cwd / "ws/precious.txt").read_text() == "kept\n"
    permissions = shell.root / "teams/t1/permissions"
    assert [*permissions.glob("pending/*"), *permissions.glob("resolved/*")] == []


@MODES
def test_a_run_hands_them_down(shell: Shell, backend: dict[str, Any], mode: str) -> None:
    with MessagesApi(turn) as api:
        file = write_live_team(shell, [TASK], permissions={})
        ended = shell.swarm("run", file, "--permission-mode", mode, "--headless", **backend, **access(api))

    assert ended.code == 0, ended.err
    check(shell, api)


@MODES
def test_a_spawn_by_hand_hands_them_down(shell: Shell, mode: str) -> None:
    with MessagesApi(turn) as api:
        environ = {**access(api), "SWARM_TEAM": "t1"}
        for words in (
            ("team", "create", "t1", "--workspace", "ws"),
            ("task", "add", "Tidy up"),
            (
                "spawn",
                "w1",
                "--backend",
                "process",
                "--permission-mode",
                mode,
                "--model",
                "claude-sonnet-5-5",
            ),
            ("task", "wait", "1", "--timeout", "60"),
            ("stop", "--all"),
        ):
            ended = shell.swarm(*words, **environ)
            assert ended.code == 0, (words, ended)

    check(shell, api)
