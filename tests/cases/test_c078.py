"""A note that was typed with an approval was lost; the same note with a refusal arrived."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.asked import answering, heard, led, until_asked
from tests.support.command import Shell
from tests.support.live_runs import access, all_blocks, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply

pytestmark = pytest.mark.timeout(120)

N1 = "use the small one, and only this once"
N2 = "that file is Anna's; leave it alone"
TASK = {"key": "a", "subject": "Make it", "script": [{"say": "x"}]}
WRITES = [
    call("Write", {"file_path": name, "content": "x\n"}, call_id=f"toolu_{name}") for name in ("one", "two")
]


def turn(exchange: Exchange) -> Reply:
    return reply("All done.") if exchange.turns else reply(*WRITES)


def test_both_notes_are_in_the_next_request(
    isolated_home: Path, tmp_path: Path, backend: dict[str, Any]
) -> None:
    shell = Shell(isolated_home, tmp_path)
    file = write_live_team(shell, [TASK], permissions={"mode": "default"})
    with MessagesApi(turn) as api:
        process, _ = led(shell, "run", file, "--json", **backend, **access(api))
        until_asked(shell)
        heard(answering(shell, "1", "allow", N1))
        until_asked(shell)
        heard(answering(shell, "2", "deny", N2))
        process.communicate(timeout=60)

    assert api.refused == []
    blocks = all_blocks(api.exchanges[1].body)
    results = {one["tool_use_id"]: one for one in blocks if one.get("type") == "tool_result"}
    assert N2 in results["toolu_two"]["content"]
    assert N1 not in results["toolu_one"]["content"]
    (said,) = [one["text"] for one in blocks if one.get("type") == "text" and N1 in one["text"]]
    assert said.startswith(
        '<user-note from="user" about="your Write call, which was allowed (permission request 1)"'
    )
    assert (shell.cwd / "ws/one").exists()
    assert not (shell.cwd / "ws/two").exists()


def test_the_note_of_one_that_is_allowed_always_is_there_too(isolated_home: Path, tmp_path: Path) -> None:
    shell = Shell(isolated_home, tmp_path)
    file = write_live_team(shell, [TASK], permissions={"mode": "default"})
    with MessagesApi(lambda exchange: reply("Done.") if exchange.turns else reply(WRITES[0])) as api:
        process, _ = led(shell, "run", file, "--json", **access(api))
        until_asked(shell)
        assert shell.swarm("approve", "1", "--always", "--note", N1).code == 0
        process.communicate(timeout=60)

    (said,) = [one["text"] for one in all_blocks(api.exchanges[1].body) if N1 in str(one.get("text"))]
    assert said.startswith('<user-note from="user"')
    assert (shell.cwd / "ws/one").exists()
