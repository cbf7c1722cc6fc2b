"""Plans that were handed in, where people and other clients look for them: `R/plans/*.md`."""

from __future__ import annotations

from swarm.storage import files, syscalls
from swarm.storage.layout import Layout


def keep_plan(root: str, request_id: str, text: str) -> str:
    """Write the plan that this request is about and return its path. Each request has a file of its own."""
    folder = Layout(root=root).plans_dir
    syscalls.make_folders(folder)
    path = f"{folder}/{request_id}.md"
    files.write_bytes(path, files.encode(text if text.endswith("\n") else f"{text}\n"))
    return path
