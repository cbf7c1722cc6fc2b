"""What may go wrong between us and a model service, and what follows from it."""

from __future__ import annotations

from typing import Any

from swarm.errors import ModelError

# Kinds of failure, `details["kind"]` of a `ModelError`. The first group passes by itself.
OVERLOADED = "overloaded"
RATE_LIMITED = "rate_limited"
SERVER_ERROR = "server_error"
UNREACHABLE = "unreachable"
BROKEN_OFF = "broken_off"
STALLED = "stalled"

PROMPT_TOO_LONG = "prompt_too_long"
BAD_REQUEST = "bad_request"
NO_ACCESS = "no_access"
NO_SUCH_MODEL = "no_such_model"
USAGE_LIMIT = "usage_limit"
NO_BUDGET = "budget_spent"

PASSING = frozenset({OVERLOADED, RATE_LIMITED, SERVER_ERROR, UNREACHABLE, BROKEN_OFF, STALLED})
"""Kinds after which the same request may succeed a little later."""

UNSERVED = PASSING | {NO_ACCESS, NO_SUCH_MODEL, USAGE_LIMIT}
"""Kinds that say nothing of the request: whatever the agent asks this service for would end like it."""

_BY_TYPE = {
    "overloaded_error": OVERLOADED,
    "rate_limit_error": RATE_LIMITED,
    "api_error": SERVER_ERROR,
    "timeout_error": SERVER_ERROR,
    "authentication_error": NO_ACCESS,
    "permission_error": NO_ACCESS,
    "billing_error": USAGE_LIMIT,
    "not_found_error": NO_SUCH_MODEL,
    "request_too_large": PROMPT_TOO_LONG,
    "invalid_request_error": BAD_REQUEST,
}
"""The documented error types; those inside a stream come with status 200, so only the type tells."""

_BY_STATUS = {
    400: BAD_REQUEST,
    401: NO_ACCESS,
    402: USAGE_LIMIT,
    403: NO_ACCESS,
    404: NO_SUCH_MODEL,
    408: SERVER_ERROR,
    409: SERVER_ERROR,
    413: PROMPT_TOO_LONG,
    429: RATE_LIMITED,
    529: OVERLOADED,
}
_SERVER_FAULTS = 500
_OK = 200

# Texts by which services say what has no error type of its own; lower case.
_TOO_LONG = ("prompt is too long", "exceed context limit", "context window", "too many tokens")
_LIMIT_REACHED = ("usage limit", "credit balance", "spend limit", "spending limit", "quota")

_ADVICE = {
    NO_ACCESS: "check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    NO_SUCH_MODEL: "check the model's name in the team file, --model or ANTHROPIC_MODEL",
    USAGE_LIMIT: "the account has nothing left to spend until its limit is raised or renewed",
    UNREACHABLE: "check the network, the proxy variables and ANTHROPIC_BASE_URL",
}


def failure(kind: str, said: str, **details: Any) -> ModelError:
    """Return the error for this kind; `said` is the cause as the service or the system puts it."""
    advice = _ADVICE.get(kind)
    words = f"{kind.replace('_', ' ')}: {' '.join(said.split()) or 'no reason was given'}"
    return ModelError(
        f"{words}; {advice}" if advice else words,
        details={"kind": kind, **{name: value for name, value in details.items() if value is not None}},
    )


def kind_of(error: ModelError) -> str | None:
    """Return the kind of a failure; None for one that is no failure of a service."""
    kind = error.details.get("kind")
    return kind if isinstance(kind, str) else None


def is_passing(error: ModelError) -> bool:
    return kind_of(error) in PASSING


def service_failure(
    status: int, body: object, *, retry_after: float | None = None, request_id: str | None = None
) -> ModelError:
    """Return the failure that an error answer means: its type decides, else its status, and its text.

    `body` is the answer's JSON, or a text where it is none; inside a stream the status says nothing.
    """
    error = body.get("error") if isinstance(body, dict) else None
    error_type = str(error.get("type") or "") if isinstance(error, dict) else ""
    said = str(error.get("message") or "") if isinstance(error, dict) else str(body or "")
    kind = _BY_TYPE.get(error_type) or _kind_of_status(status)
    text = said.lower()
    if kind == BAD_REQUEST and any(words in text for words in _TOO_LONG):
        kind = PROMPT_TOO_LONG
    if kind in (BAD_REQUEST, RATE_LIMITED, NO_ACCESS) and any(words in text for words in _LIMIT_REACHED):
        kind = USAGE_LIMIT
    place = f" (status {status})" if status != _OK else ""
    return failure(
        kind,
        f"{said[:_SAID_CHARS] or error_type or 'an empty answer'}{place}",
        status=status,
        retry_after=retry_after,
        request_id=request_id,
    )


_SAID_CHARS = 500


def _kind_of_status(status: int) -> str:
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    if status >= _SERVER_FAULTS or status == _OK:
        return SERVER_ERROR
    return BAD_REQUEST
