"""Which backend runs the teammates, and why."""

from __future__ import annotations

from swarm.errors import ConfigError

BUILT = ("in-process",)
"""Backends that `auto` may choose from, best first."""

KNOWN = ("auto", "tmux", "process", "in-process", "iterm2")


def select_backend(asked: str) -> tuple[str, str]:
    """Return the backend to use and the reason; a named one is taken or refused, never swapped."""
    if asked not in KNOWN:
        raise ConfigError(
            f"there is no backend {asked!r}; choose one of {', '.join(KNOWN)}",
            code="bad_value",
            details={"value": asked, "valid": list(KNOWN)},
        )
    if asked == "auto":
        return BUILT[0], "the best that this version has"
    if asked not in BUILT:
        raise ConfigError(
            f"the backend {asked!r} is not built in this version; use --backend {BUILT[0]}",
            code="not_built",
            details={"value": asked, "valid": ["auto", *BUILT]},
        )
    return asked, "asked for by name"
