"""What a person chose for one run."""

from __future__ import annotations

from swarm.values import Value


class RunOptions(Value):
    """Options of `swarm run`; `root` is the folder that holds `teams/` and `tasks/`."""

    root: str
    environ: dict[str, str]
    name: str | None = None
    backend: str = "in-process"
    backend_reason: str = ""
    permission_mode: str | None = None
    timeout_seconds: float | None = None
    allow_dirty: bool = False
    pace_seconds: float = 0.0
    headless: bool = False
