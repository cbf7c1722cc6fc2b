"""Commands in scratch repositories."""

from __future__ import annotations

import os
import subprocess

from swarm.workspace.git import GitWorkspace


def run(path, *arguments):
    done = subprocess.run(["git", *arguments], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout


def commit(path, *paths, subject="Do it", body="", trailers=None, agent="builder-1", bounds=None):
    return GitWorkspace(str(path), bounds=bounds).commit(
        paths, subject, body, trailers or {"Task": "7", "Agent": f"{agent}@demo"}, agent, "demo"
    )


def files_of(path, revision="HEAD"):
    out = subprocess.run(
        ["git", "show", "--format=", "--name-only", "--no-renames", "-z", revision],
        cwd=path,
        capture_output=True,
        check=True,
    ).stdout
    return {os.fsdecode(name) for name in out.split(b"\0") if name}


def a_hook(repository, text, name="pre-commit"):
    hook = repository / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)
