"""Permission modes: how much a teammate may do without a rule that says so."""

from __future__ import annotations

from swarm.errors import ConfigError

MODES_BUILT = ("plan", "dontAsk", "default", "acceptEdits", "bypassPermissions")
"""From strict to loose."""

DEFAULT_MODE = "default"
PLAN = "plan"
BYPASS = "bypassPermissions"
NEVER_ASKS = "dontAsk"

_NOT_BUILT = ("auto", "bubble")


def check_mode(text: str) -> str:
    """Return the mode as it is spelled; ConfigError `bad_value` or `not_built` otherwise."""
    if text in MODES_BUILT:
        return text
    valid = ", ".join(MODES_BUILT)
    if text in _NOT_BUILT:
        raise ConfigError(
            f"permission mode {text} is not built yet; use one of {valid}",
            code="not_built",
            details={"value": text, "valid": list(MODES_BUILT)},
        )
    raise ConfigError(
        f"{text!r} is no permission mode; use one of {valid}",
        code="bad_value",
        details={"value": text, "valid": list(MODES_BUILT)},
    )


def no_looser(child: str, parent: str) -> str:
    """Return the stricter of the two modes: what a teammate gets who asks for `child` under `parent`."""
    return min(check_mode(child), check_mode(parent), key=MODES_BUILT.index)


def is_looser(mode: str, than: str) -> bool:
    return MODES_BUILT.index(check_mode(mode)) > MODES_BUILT.index(check_mode(than))
