"""A scratch copy of a shipped example, as a git repository where there is git."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from swarm.errors import StateError

_IDENTITY = (
    "-c",
    "user.name=swarm demo",
    "-c",
    "user.email=demo@swarm.invalid",
    "-c",
    "commit.gpgsign=false",
)


def examples_dir() -> Path:
    """Folder of the shipped examples."""
    import teams_examples

    return Path(next(iter(teams_examples.__path__)))


def make_scratch(example: Path) -> Path:
    """Copy an example into a new temporary folder, which stays: a person may look at what came out."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix="swarm-demo-"))
        shutil.copytree(
            example, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
        if shutil.which("git"):
            _make_repository(scratch / "package")
    except (OSError, shutil.Error, subprocess.CalledProcessError) as error:
        raise StateError(
            f"no scratch copy of the example could be made: {error}",
            code="io_error",
            details={"path": str(example), "errno": getattr(error, "errno", None) or 0},
        ) from error
    return scratch


def _make_repository(folder: Path) -> None:
    commit = (*_IDENTITY, "commit", "-q", "-m", "The package as it was")
    for words in (("init", "-q"), ("add", "-A"), commit):
        subprocess.run(["git", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True)
