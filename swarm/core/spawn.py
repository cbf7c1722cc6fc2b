"""What a teammate is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.core.fields import EMPTY
from swarm.values import Value


class TeammateSpec(Value):
    """All that a new teammate needs to know, whichever way it is started.

    `leader_run_id` is set when a leader lives that it should watch; `allow` and `deny` are permission
    rules of the team file; `environ` is the environment that its children are made from. `pace_seconds`
    is how long a scripted model waits before each turn, so that a person can follow.
    """

    root: str
    team: str
    name: str
    run_id: str
    workspace: str
    model: str
    backend: str
    permission_mode: str = "default"
    role: str | None = None
    leader_run_id: str | None = None
    color: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    environ: Mapping[str, str] = EMPTY
    time_scale: float = 1.0
    pace_seconds: float = 0.0
