"""What a person chose for one run."""

from __future__ import annotations

from swarm.core.spawn import RuleSet
from swarm.leader.settings_policy import SettingsPolicy
from swarm.values import Value


class RunOptions(Value):
    """Options of `swarm run`; `root` is the folder that holds `teams/` and `tasks/`.

    `rules` are those of the command line, `settings` what the settings files say of permissions.
    """

    root: str
    environ: dict[str, str]
    name: str | None = None
    backend: str = "in-process"
    backend_reason: str = ""
    permission_mode: str | None = None
    rules: RuleSet | None = None
    settings: SettingsPolicy = SettingsPolicy()
    timeout_seconds: float | None = None
    allow_dirty: bool = False
    pace_seconds: float = 0.0
    headless: bool = False
