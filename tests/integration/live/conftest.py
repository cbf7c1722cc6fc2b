"""A team whose model is behind a Messages API of this machine, asked through the real SDK."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.live_team import LiveTeam
from tests.support.messages_api import MessagesApi
from worker.claim import Outcome
from worker.main import make_workbench
from worker.model.choose import LiveModels
from worker.model.meter import Unmetered
from worker.workbench import Workbench

MODEL = "claude-sonnet-5-5"

Make = Callable[..., LiveTeam]


@pytest.fixture
def make(isolated_home: Path) -> Make:
    def make_team(*tasks: dict[str, Any], mode: str = "bypassPermissions", **team: Any) -> LiveTeam:
        facts = {"teammates": [{"name": "w1"}], "permissions": {"mode": mode}, "tasks": list(tasks)}
        return LiveTeam(isolated_home, **facts | team)

    return make_team


def live_bench(team: LiveTeam, api: MessagesApi, life: int = 1, **settings: float) -> Workbench:
    """Return what the sessions of w1 share when it asks this service. Its `models` are to be closed."""
    environ = {**team.environ, "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": api.url}
    bench = make_workbench(team.spec("w1", life, model=MODEL, environ=environ), team.team)
    if settings:
        changed = team.settings.replace(**settings)
        bench = bench.replace(models=LiveModels(MODEL, environ, changed, Unmetered()))
    return bench


async def one_session(team: LiveTeam, api: MessagesApi, life: int = 1, **settings: float) -> Outcome | None:
    """Claim what is next for w1 and play one session of it."""
    bench = live_bench(team, api, life, **settings)
    try:
        return await team.begin(bench).run()
    finally:
        await bench.models.close()
