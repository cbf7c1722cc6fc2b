"""A question for permission never came up at the leader, and each call hung, even where all was allowed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.support.asked import answering, heard, led, until_asked
from tests.support.command import Ended, Shell
from tests.support.live_runs import BY_HAND, MODEL, access, told, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply

pytestmark = pytest.mark.timeout(120)

SOON = 5.0
WRITE = call("Write", {"file_path": "made.txt", "content": "made\n"})
TASK = {"key": "a", "subject": "Make it", "script": [{"say": "x"}]}


def turn(exchange: Exchange) -> Reply:
    return reply("All done.") if exchange.turns else reply(WRITE)


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def requests(shell: Shell, kind: str) -> list[Path]:
    return sorted((shell.root / "teams/t1/permissions" / kind).glob("*.json"))


def events(shell: Shell, kind: str) -> list[dict[str, object]]:
    lines = (shell.root / "teams/t1/events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def run(shell: Shell, api: MessagesApi, backend: dict[str, Any], mode: str, *words: str) -> Ended:
    file = write_live_team(shell, [TASK], permissions={"mode": mode})
    return shell.swarm("run", file, "--json", *words, **backend, **access(api))


def test_with_nobody_to_ask_it_is_denied_at_once_and_listed(shell: Shell, backend: dict[str, Any]) -> None:
    """The model hears why and what would allow it, and so does the person."""
    with MessagesApi(turn) as api:
        ended = run(shell, api, backend, "default", "--headless")

    assert api.refused == []
    asked, answered = api.exchanges
    assert asked.finished is not None
    assert answered.received - asked.finished < SOON
    assert not (shell.cwd / "ws/made.txt").exists()
    (resolved,) = [json.loads(path.read_text()) for path in requests(shell, "resolved")]
    assert requests(shell, "pending") == []
    (denied,) = ended.json()["denied"]
    assert denied["suggested_rule"]
    assert (resolved["outcome"], resolved["request"]["tool"]) == ("deny", "Write")
    assert denied["suggested_rule"] in told(answered.body)
    assert denied["suggested_rule"] in Path(ended.json()["report"]).read_text()
    assert len(events(shell, "permission_requested")) == len(events(shell, "permission_resolved")) == 1


@pytest.mark.parametrize("outcome", ["allow", "deny"])
def test_it_is_at_the_lead_within_five_seconds(shell: Shell, backend: dict[str, Any], outcome: str) -> None:
    """In its files, in its mail and on its screen; the call waits for the answer, and then goes on."""
    file = write_live_team(shell, [TASK], permissions={"mode": "default"})
    with MessagesApi(turn) as api:
        process, screen = led(shell, "run", file, **backend, **access(api))
        wait_until(lambda: api.exchanges and api.exchanges[0].finished, timeout=30, what="the call is made")
        made = api.exchanges[0].finished
        assert made is not None
        (request,) = until_asked(shell)
        wait_until(lambda: "wants Write" in screen.text(), timeout=30, what="the screen says so")
        shown = time.monotonic()
        mail = shell.swarm("mail", "team-lead", "--all", "--json").out
        assert len(api.exchanges) == 1
        assert not (shell.cwd / "ws/made.txt").exists()
        said = heard(answering(shell, "1", outcome, "as agreed"))
        out, _ = process.communicate(timeout=60)

    assert shown - made < SOON
    assert request.id in mail
    assert said == {"outcome": outcome}
    assert "Write" in screen.text()
    assert api.refused == []
    assert "as agreed" in told(api.exchanges[1].body)
    assert (shell.cwd / "ws/made.txt").exists() == (outcome == "allow")
    assert ("denied to w1" in out) == (outcome == "deny")


def test_where_all_is_allowed_no_request_is_made(shell: Shell, backend: dict[str, Any]) -> None:
    with MessagesApi(turn) as api:
        ended = run(shell, api, backend, "bypassPermissions")

    assert ended.code == 0, ended.err
    assert (shell.cwd / "ws/made.txt").read_text() == "made\n"
    assert ended.json()["denied"] == []
    assert requests(shell, "pending") == requests(shell, "resolved") == []
    assert events(shell, "permission_requested") == []


@pytest.mark.parametrize("backend", BY_HAND, indirect=True)
def test_one_that_is_spawned_with_all_allowed_asks_for_nothing(shell: Shell, backend: dict[str, Any]) -> None:
    (shell.cwd / "ws").mkdir()
    with MessagesApi(turn) as api:
        for words in (
            ("team", "create", "t1", "--workspace", "ws"),
            ("task", "add", "Make it"),
            ("spawn", "w1", "--permission-mode", "bypassPermissions", "--model", MODEL),
            ("task", "wait", "1", "--timeout", "60"),
            ("stop", "--all"),
        ):
            ended = shell.swarm(*words, **backend, **access(api))
            assert ended.code == 0, (words, ended)

    assert (shell.cwd / "ws/made.txt").read_text() == "made\n"
    assert requests(shell, "pending") == requests(shell, "resolved") == []
    assert events(shell, "permission_requested") == []
