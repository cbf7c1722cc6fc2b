"""What a teammate and its commands see of the environment: a short list, so that no secret leaks."""

from __future__ import annotations

import os
from collections.abc import Mapping

_PASSED_ON = frozenset(
    "PATH HOME USER LOGNAME SHELL TERM COLORTERM LANG TZ TMPDIR SSL_CERT_FILE SSL_CERT_DIR".split()
    + [f"{kind}_proxy" for kind in ("http", "https", "ftp", "all", "no")]
    + [f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "FTP", "ALL", "NO")]
)

_FOR_THE_MODEL = "ANTHROPIC_"


def told_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a teammate is told of its starter's environment: what its commands get, and its keys."""
    return {
        name: value
        for name, value in environ.items()
        if _is_passed_on(name) or name.startswith(_FOR_THE_MODEL)
    }


def child_environment(
    environ: Mapping[str, str], *, root: str, team: str, agent: str, run_id: str, task: str | None
) -> dict[str, str]:
    """Return the whole environment of a command that `agent` runs; all that is not named here stays behind.

    `environ` is the teammate's own environment. `task` is the task in hand, if there is one.
    """
    child = {name: value for name, value in environ.items() if _is_passed_on(name)}
    child["CLAUDE_CONFIG_DIR"] = os.path.abspath(root)
    child["SWARM_TEAM"] = team
    child["SWARM_AGENT"] = agent
    child["SWARM_RUN_ID"] = run_id
    if task is not None:
        child["SWARM_TASK"] = task
    return child


def _is_passed_on(name: str) -> bool:
    return name in _PASSED_ON or name.startswith("LC_")
