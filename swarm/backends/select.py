"""Which backend runs the teammates, and why."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

from swarm.errors import ConfigError

OPTION = "--backend"
IN_PROCESS = "in-process"
KNOWN = ("auto", "tmux", "process", IN_PROCESS, "iterm2")
FOR_RUN = ("tmux", IN_PROCESS)
"""What `auto` means for a whole run, best first: panes to look at, else all in the leader's process."""
FOR_ONE = ("tmux", "process")
"""What it means for a teammate that outlives the command which starts it."""

_ANSWER_SECONDS = 10.0


def select_backend(
    asked: str, environ: Mapping[str, str], preferred: tuple[str, ...] = FOR_RUN, *, by: str = "name"
) -> tuple[str, str]:
    """Return the backend to use and the reason; a named one is taken or refused, never swapped.

    `by` says where it stands that it is wanted.
    """
    whose = "" if by in (OPTION, "name") else f", asked for by {by}"  # who has just typed it knows
    if asked not in KNOWN:
        raise ConfigError(
            f"there is no backend {asked!r}{whose}; choose one of {', '.join(KNOWN)}",
            code="bad_value",
            details={"value": asked, "valid": list(KNOWN)},
        )
    if asked == "auto":
        return _best(environ, preferred)
    why_not = why_not_usable(asked, environ)
    if why_not is not None:
        raise ConfigError(
            f"the backend {asked!r}{whose and f'{whose},'} {why_not}; use --backend {preferred[-1]}",
            code="bad_value",
            details={"value": asked, "valid": [name for name in KNOWN if name != asked]},
        )
    return asked, f"asked for by {by}"


def why_not_usable(name: str, environ: Mapping[str, str]) -> str | None:
    """Return what keeps a backend from being used here, as the end of a sentence; None when nothing does."""
    if name == "tmux":
        return _why_no_tmux(environ)
    if name == "iterm2" and shutil.which("osascript", path=environ.get("PATH", "")) is None:
        return "needs iTerm2 and macOS's osascript, which is not there"
    return None


def _why_no_tmux(environ: Mapping[str, str]) -> str | None:
    """`tmux -V` asks no server: what is wrong with that is found out at the first start."""
    program = shutil.which("tmux", path=environ.get("PATH", ""))
    if program is None:
        return "needs tmux, which is not installed"
    try:
        subprocess.run(
            [program, "-V"], env=dict(environ), capture_output=True, check=True, timeout=_ANSWER_SECONDS
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        return f"needs tmux, and {program} fails: {said or f'exit code {error.returncode}'}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"needs tmux, and {program} does not run: {error}"
    return None


def _best(environ: Mapping[str, str], preferred: tuple[str, ...]) -> tuple[str, str]:
    """Return the first that can be used; the last of them always can."""
    reasons: list[str] = []
    for name in preferred[:-1]:
        why_not = why_not_usable(name, environ)
        if why_not is None:
            return name, "; ".join([*reasons, "the best there is"])
        reasons.append(f"{name} {why_not}")
    return preferred[-1], "; ".join(reasons)
