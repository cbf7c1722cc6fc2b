"""Whether there is a key to a model service, found out without loading anything."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.errors import ConfigError

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables that may hold a key; the first that is set counts."""


def check_access(environ: Mapping[str, str]) -> None:
    """Refuse an environment without a key, as `no_key`."""
    if not any(environ.get(name, "").strip() for name in KEYS):
        raise ConfigError(
            "there is no key for the model service: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; "
            "`swarm demo` and `model: scripted` need none",
            code="no_key",
            details={"variables": list(KEYS)},
        )
