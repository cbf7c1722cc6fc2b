"""Settings files as they lie in a home and in a workspace."""

from __future__ import annotations

from pathlib import Path


class SettingsBed:
    """A root and a workspace with the settings files that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.root, self.workspace = folder / "root", folder / "workspace"
        (self.workspace / ".claude").mkdir(parents=True)
        self.root.mkdir()
        self.user = self.root / "settings.json"
        self.project = self.workspace / ".claude/settings.json"
        self.local = self.workspace / ".claude/settings.local.json"
