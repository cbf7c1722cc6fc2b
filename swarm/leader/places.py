"""Keeps the folders of one machine, and with them a person's name, out of what is shown to others."""

from __future__ import annotations

import os
import re

from swarm.values import Value

_HERE = "."


class Places(Value):
    """Folders with what stands in their places, the innermost first."""

    names: tuple[tuple[str, str], ...]

    @staticmethod
    def of(root: str, workspace: str, home: str | None = None) -> Places:
        """Return those of a team: paths in its workspace become relative, `~` is the person's folder."""
        known = {
            home or os.path.expanduser("~"): "~",
            root: "$CLAUDE_CONFIG_DIR",
            workspace: _HERE,
        }
        both = {real: name for path, name in known.items() for real in (path, os.path.realpath(path))}
        found = [(path.rstrip("/"), name) for path, name in both.items() if path.rstrip("/")]
        return Places(names=tuple(sorted(found, key=lambda place: (-len(place[0]), place[0]))))

    def hidden(self, text: str) -> str:
        """Return the text with these folders named as they are to everybody."""
        for path, name in self.names:
            whole = rf"(?<!\w){re.escape(path)}(?![\w-]|\.\w)"
            if name == _HERE:
                text = re.sub(rf"{whole}/(?=[\w.])", "", text)
            text = re.sub(whole, name.replace("\\", r"\\"), text)
        return text
