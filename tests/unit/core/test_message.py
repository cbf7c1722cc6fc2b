from __future__ import annotations

import json

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import (
    CONTROL_KINDS,
    Message,
    idle_notification,
    may_send,
    order_for_peek,
    parse_control,
    parse_message,
    parse_messages,
    render_message,
    shutdown_reply,
    shutdown_request,
    task_report,
)

AT = "2026-11-30T12:33:38.156Z"


def a_message(number: int, priority: str | None = None) -> Message:
    return Message(sender="w1", text=str(number), msg_id=str(number), priority=priority)


def test_urgent_mail_goes_first_and_keeps_its_order() -> None:
    box = [a_message(1), a_message(2, "urgent"), a_message(3), a_message(4, "urgent")]

    assert [message.text for message in order_for_peek(box)] == ["2", "4", "1", "3"]


def test_the_least_that_another_client_writes_is_mail() -> None:
    message = parse_message({"from": "alice", "text": "hi"})

    assert (message.sender, message.timestamp, message.read, message.msg_v) == ("alice", "", False, None)
    assert message.msg_id.startswith("foreign-")
    assert render_message(message) == {
        "from": "alice", "text": "hi", "msg_id": message.msg_id, "type": "message", "read": False,
    }  # fmt: skip


def test_equal_foreign_mail_is_told_apart_by_its_place() -> None:
    obj = {"from": "alice", "text": "hi", "timestamp": AT}
    first, second, other = parse_messages([obj, obj, obj | {"text": "ho"}])

    assert len({first.msg_id, second.msg_id, other.msg_id}) == 3
    assert parse_message(obj) == first
    assert parse_message(obj, ordinal=1) == second


def test_history_says_when_and_whether_it_was_read() -> None:
    message = a_message(1).replace(to="w2", acked_at=AT, expired=True, expires_at=AT, in_reply_to="0")
    obj = render_message(message)

    assert (obj["acked_at"], obj["expired"], obj["in_reply_to"]) == (AT, True, "0")
    assert parse_message(obj) == message


@pytest.mark.parametrize("item", ["hi", {"from": "alice"}, {"text": "hi"}, {"from": 1, "text": "hi"}])
def test_what_has_no_sender_or_text_is_no_mail(item: object) -> None:
    with pytest.raises(ValueError, match="should be"):
        parse_messages([item])


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "",
        "{",
        "[]",
        "{}",
        '{"type": 1}',
        '{"type": ["idle_notification"]}',
        '{"type": "make_coffee"}',
        ' {"type": "idle_notification"}',
        '{"type": "idle_notification"} and more',
        '{"a":' * 100_000,
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert parse_control(text) is None


def test_a_control_message_is_recognised() -> None:
    assert parse_control(idle_notification("w1", "no_task", AT, "did it")) == {
        "type": "idle_notification",
        "from": "w1",
        "timestamp": AT,
        "idleReason": "no_task",
        "summary": "did it",
    }


def test_a_shutdown_request_has_an_id_made_of_time_and_target() -> None:
    request = json.loads(shutdown_request(LEADER, "w1", AT))
    rejected = json.loads(shutdown_reply(request["requestId"], "w1", AT, approved=False, reason="busy"))

    assert request["requestId"] == "shutdown-1796042018156@w1"
    assert "reason" not in request
    assert (rejected["type"], rejected["reason"]) == ("shutdown_rejected", "busy")


def test_a_report_says_why_a_task_failed() -> None:
    report = parse_control(task_report("7", "failed", None, "no luck", [], AT))

    assert report == {
        "type": "swarm.task_report",
        "taskId": "7",
        "status": "failed",
        "reason": "no luck",
        "unblocked": [],
        "timestamp": AT,
    }


ORDERS_OF_THE_LEADER = {
    "shutdown_request",
    "swarm.pause",
    "swarm.continue",
    "plan_approval_response",
    "permission_response",
}


def test_orders_are_obeyed_from_the_leader_alone() -> None:
    """A teammate, a person's shell or the leader itself cannot shut anybody down by mail."""
    orders = {kind for kind in CONTROL_KINDS if may_send(kind, LEADER, "w1")}

    assert orders == ORDERS_OF_THE_LEADER
    for sender in ("w2", "user", "runtime", "w1"):
        assert not any(may_send(kind, sender, "w1") for kind in CONTROL_KINDS)
    assert not any(may_send(kind, LEADER, LEADER) for kind in CONTROL_KINDS)


def test_reports_are_heard_by_the_leader_alone() -> None:
    reports = {kind for kind in CONTROL_KINDS if may_send(kind, "w1", LEADER)}

    assert reports == CONTROL_KINDS - ORDERS_OF_THE_LEADER
    assert not any(may_send(kind, "user", LEADER) for kind in CONTROL_KINDS)
    assert not may_send("make_coffee", "w1", LEADER)
