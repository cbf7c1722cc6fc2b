"""After the blocker was completed the list showed the task free, while other views still said blocked."""

from __future__ import annotations

import json
from pathlib import Path

from swarm.core.task import NewTask
from tests.support.stores import RESULT, claim_task, make_team
from tests.support.verbs import verb


def test_all_views_agree_on_what_is_blocked(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    store = team.tasks("user")
    store.create(NewTask(subject="first"), NewTask(subject="second", blocked_by=("1",)))

    def views() -> tuple[str, str, bool]:
        rows = verb(tmp_path, "task", "list", "--json").json()["tasks"]
        (listed,) = (row for row in rows if row["id"] == "2")
        shown = verb(tmp_path, "task", "show", "2", "--json").json()
        return state_of(listed), state_of(shown), store.table().is_ready("2")

    assert views() == ("blocked", "blocked", False)
    claim = claim_task(team, "w1", "1").claim
    assert claim is not None
    team.tasks("w1").complete("1", claim.token, RESULT)

    assert views() == ("ready", "ready", True)
    history = json.loads(Path(team.layout.task("2")).read_text())
    assert (history["status"], history["blockedBy"]) == ("pending", ["1"])
    assert claim_task(team, "w2").id == "2"


def state_of(row: dict[str, object]) -> str:
    return "ready" if row["ready"] else "blocked"
