"""Whether there is a key to a model service and an address of it, found out without loading anything."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.errors import ConfigError

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables that may hold a key; the first that is set counts."""

DEFAULT_BASE_URL = "https://api.anthropic.com"
_BASE_URL = "ANTHROPIC_BASE_URL"


def check_access(environ: Mapping[str, str]) -> None:
    """Refuse an environment without a key, as `no_key`, or with an address or key that cannot be."""
    if not any(environ.get(name, "").strip() for name in KEYS):
        raise ConfigError(
            "there is no key for the model service: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; "
            "`swarm demo` and `model: scripted` need none",
            code="no_key",
            details={"variables": list(KEYS)},
        )
    for name in KEYS:
        key = environ.get(name, "").strip()
        if not key.isascii() or not key.isprintable():
            raise ConfigError(
                f"{name} holds characters that no key has; copy it anew",
                code="bad_value",
                details={"variable": name},
            )
    base_url(environ)


def base_url(environ: Mapping[str, str]) -> str:
    """Return the address of the service; one that cannot be is a ConfigError."""
    from urllib.parse import urlsplit

    given = environ.get(_BASE_URL, "").strip()
    if not given:
        return DEFAULT_BASE_URL
    try:
        parts = urlsplit(given)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known = False
    if not known:
        raise ConfigError(
            f"{_BASE_URL} is {given!r}, which is no address of a service; it reads like {DEFAULT_BASE_URL}",
            code="bad_value",
            details={"variable": _BASE_URL, "value": given},
        )
    return given
