"""Which backend runs the teammates, and why."""

from __future__ import annotations

from swarm.errors import ConfigError

KNOWN = ("auto", "tmux", "process", "in-process", "iterm2")
BUILT = ("process", "in-process")
FOR_RUN = ("tmux", "in-process")
"""What `auto` means for a whole run, best first: panes to look at, else all in the leader's process."""
FOR_ONE = ("tmux", "process")
"""What it means for a teammate that outlives the command which starts it."""


def select_backend(asked: str, preferred: tuple[str, ...] = FOR_RUN) -> tuple[str, str]:
    """Return the backend to use and the reason; a named one is taken or refused, never swapped."""
    if asked not in KNOWN:
        raise ConfigError(
            f"there is no backend {asked!r}; choose one of {', '.join(KNOWN)}",
            code="bad_value",
            details={"value": asked, "valid": list(KNOWN)},
        )
    if asked == "auto":
        return _best(preferred)
    why_not = why_not_usable(asked)
    if why_not is not None:
        built = asked in BUILT
        usable = _best(preferred)[0]
        raise ConfigError(
            f"the backend {asked!r} {why_not}; use --backend {usable}",
            code="bad_value" if built else "not_built",
            details={"value": asked, "valid": ["auto", *BUILT]},
        )
    return asked, "asked for by name"


def why_not_usable(name: str) -> str | None:
    """Return what keeps a backend from being used here, as the end of a sentence; None when nothing does."""
    if name not in BUILT:
        return "is not built in this version"
    return None


def _best(preferred: tuple[str, ...]) -> tuple[str, str]:
    """Return the first that can be used; the last of them always can."""
    reasons: list[str] = []
    for name in preferred[:-1]:
        why_not = why_not_usable(name)
        if why_not is None:
            return name, "; ".join([*reasons, "the best there is"])
        reasons.append(f"{name} {why_not}")
    return preferred[-1], "; ".join(reasons)
