"""What an agent is told of the machine that it works on. Worked out once for each session."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping

from swarm.core.tags import one_line


def environment_text(workspace: str, *, in_repository: bool, environ: Mapping[str, str], model: str) -> str:
    """Return a list of facts: without them a model guesses shells, paths and package managers."""
    shell = os.path.basename(environ.get("SHELL", "")) or "bash"
    facts = (
        ("Working directory", f"`{one_line(workspace)}`"),
        ("In a git repository", "yes" if in_repository else "no"),
        ("Platform", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        ("Commands run in", f"bash (the user's shell is {one_line(shell)})"),
        ("Model", one_line(model)),
    )
    return "\n".join(f"- {name}: {value}" for name, value in facts)
