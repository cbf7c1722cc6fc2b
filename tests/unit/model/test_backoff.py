"""When a failed request is sent again, and when not."""

from __future__ import annotations

import pytest

from swarm.errors import ModelError
from swarm.settings import Settings
from worker.model.backoff import Backoff
from worker.model.failures import PASSING, failure, service_failure

SETTINGS = Settings()
OVERLOADED = failure("overloaded", "Overloaded")


def bounds(tries: int) -> list[tuple[float, float]]:
    drawn: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        drawn.append((low, high))
        return high

    backoff = Backoff(SETTINGS, draw)
    for _ in range(tries):
        backoff.wait_after(OVERLOADED)
    return drawn


def test_the_bound_doubles_up_to_a_minute() -> None:
    assert bounds(5) == [(1, 2), (1, 4), (1, 8), (1, 16), (1, 32)]
    assert Backoff(SETTINGS.replace(model_tries_max=20), lambda low, high: high).wait_after(OVERLOADED) == 2
    many = Backoff(SETTINGS.replace(model_tries_max=20), lambda low, high: high)
    assert max(many.wait_after(OVERLOADED) or 0.0 for _ in range(15)) == 60


def test_many_that_fail_at_once_do_not_come_back_at_once() -> None:
    waits = {Backoff(SETTINGS).wait_after(OVERLOADED) for _ in range(20)}

    assert len(waits) == 20
    assert all(wait is not None and 1 <= wait <= 2 for wait in waits)


def test_the_sixth_try_is_the_last() -> None:
    backoff = Backoff(SETTINGS)

    waits = [backoff.wait_after(OVERLOADED) for _ in range(6)]

    assert [wait is None for wait in waits] == [False] * 5 + [True]


@pytest.mark.parametrize(("asked", "wait"), [(30.0, 30.0), (0.0, 2.0), (600.0, 600.0), (601.0, None)])
def test_the_wait_that_the_service_names_is_kept(asked: float, wait: float | None) -> None:
    """At least that long; who is told to wait for hours gives the task back instead."""
    error = service_failure(429, {"error": {"type": "rate_limit_error"}}, retry_after=asked)

    assert Backoff(SETTINGS, lambda low, high: high).wait_after(error) == wait


@pytest.mark.parametrize(
    "kind", ["bad_request", "no_access", "no_such_model", "usage_limit", "prompt_too_long"]
)
def test_what_does_not_pass_is_not_tried_again(kind: str) -> None:
    assert kind not in PASSING
    assert Backoff(SETTINGS).wait_after(failure(kind, "no")) is None
    assert Backoff(SETTINGS).wait_after(ModelError("of another kind")) is None


@pytest.mark.parametrize(
    ("status", "error_type", "said", "kind"),
    [
        (529, "overloaded_error", "Overloaded", "overloaded"),
        (200, "overloaded_error", "Overloaded", "overloaded"),
        (200, "rate_limit_error", "slow down", "rate_limited"),
        (200, "api_error", "Internal server error", "server_error"),
        (200, "", "", "server_error"),
        (429, "rate_limit_error", "Number of request tokens", "rate_limited"),
        (429, "rate_limit_error", "You have reached your specified API usage limits", "usage_limit"),
        (400, "invalid_request_error", "Your credit balance is too low", "usage_limit"),
        (402, "billing_error", "pay", "usage_limit"),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000", "prompt_too_long"),
        (
            400,
            "invalid_request_error",
            "input and `max_tokens` exceed context limit",
            "prompt_too_long",
        ),
        (413, "request_too_large", "Request exceeds the maximum size", "prompt_too_long"),
        (400, "invalid_request_error", "messages.3: tool_use ids", "bad_request"),
        (401, "authentication_error", "invalid x-api-key", "no_access"),
        (403, "permission_error", "not for you", "no_access"),
        (404, "not_found_error", "model: claude-x", "no_such_model"),
        (500, "api_error", "", "server_error"),
        (502, "", "<html>bad gateway</html>", "server_error"),
        (418, "", "teapot", "bad_request"),
    ],
)
def test_what_a_service_says_has_one_kind(status: int, error_type: str, said: str, kind: str) -> None:
    body = {"type": "error", "error": {"type": error_type, "message": said}} if error_type else said

    error = service_failure(status, body)

    assert error.details["kind"] == kind
    assert str(error).startswith(kind.replace("_", " "))


@pytest.mark.parametrize("body", [None, "", [], {"error": "odd"}, {"error": {"message": None}}, 7])
def test_an_odd_body_is_no_bug(body: object) -> None:
    assert service_failure(500, body).details["kind"] == "server_error"
