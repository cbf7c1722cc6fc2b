from __future__ import annotations

from typing import Any

import pytest

from swarm.core.permission import (
    PermissionRequest,
    Resolution,
    parse_request,
    parse_resolution,
    render_request,
    render_resolution,
    request_digest,
)

REQUEST = PermissionRequest(
    id="perm-1",
    agent="w1",
    run_id="r.w1.1",
    tool="Bash",
    tool_use_id="toolu_1",
    input={"command": "ls"},
    cwd="/srv/app",
    why="no rule allows it",
    digest="sha256:0",
    created_at="t0",
    deadline_at="t1",
)
RESOLUTION = Resolution(id="perm-1", digest="sha256:0", outcome="deny", via="human", by="user", at="t2")


def test_a_digest_depends_on_the_call_and_not_on_the_order_of_its_input() -> None:
    digest = request_digest("Bash", {"a": 1, "b": 2}, "/srv")

    assert digest == request_digest("Bash", {"b": 2, "a": 1}, "/srv")
    others = [("Bash", {"a": 1}, "/srv"), ("Bash", {"a": 1, "b": 2}, "/"), ("Read", {"a": 1, "b": 2}, "/srv")]
    assert digest not in {request_digest(*other) for other in others}
    assert len(digest) == len("sha256:") + 64


def test_half_a_surrogate_pair_has_a_digest() -> None:
    assert request_digest("Bash", {"command": "\ud800"}, "/srv")


def test_what_was_not_given_is_left_out() -> None:
    assert {"task", "suggested_rule", "number"}.isdisjoint(render_request(REQUEST))
    assert {"note", "rule", "input", "request"}.isdisjoint(render_resolution(RESOLUTION))
    assert parse_request(render_request(REQUEST)) == REQUEST
    assert parse_resolution(render_resolution(RESOLUTION)) == RESOLUTION


def test_a_number_is_part_of_the_question() -> None:
    asked = REQUEST.replace(number=7)
    assert render_request(asked)["number"] == 7
    assert parse_request(render_request(asked)) == asked
    with pytest.raises(ValueError, match="number"):
        parse_request({**render_request(REQUEST), "number": "7"})


def test_a_resolution_may_change_the_input_and_carries_its_request() -> None:
    resolution = RESOLUTION.replace(input={}, rule="Bash(ls)", request=render_request(REQUEST))

    assert parse_resolution(render_resolution(resolution)) == resolution


@pytest.mark.parametrize("outcome", ["ask", "ALLOW", "", None, True])
def test_only_a_known_outcome_is_an_answer(outcome: Any) -> None:
    """Anything else must not be taken for consent."""
    with pytest.raises(ValueError, match="outcome"):
        parse_resolution(render_resolution(RESOLUTION) | {"outcome": outcome})
