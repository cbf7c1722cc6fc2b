from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import StateError
from swarm.storage.inbox import Inbox
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import SETTINGS, a_message


@pytest.fixture
def inbox(team: Team) -> Inbox:
    """The inbox of w1; its array holds three messages at most."""
    return team.inbox("w1")


def texts(inbox: Inbox) -> list[str]:
    return [message.text for message in inbox.peek()]


def history(inbox: Inbox) -> list[str]:
    return [message.text for message in inbox.history()]


def array_of(team: Team) -> list[Any]:
    found: list[Any] = json.loads(Path(team.layout.inbox("w1")).read_text())
    return found


def fill(inbox: Inbox, *names: str) -> None:
    for name in names:
        inbox.deliver(a_message(name))


def kinds(team: Team) -> list[str]:
    return [event.event for _, event in team.events.read() if event.event != "team_created"]


def test_message_waits_until_it_is_acknowledged(inbox: Inbox) -> None:
    fill(inbox, "m1", "m2")
    assert texts(inbox) == texts(inbox) == ["m1", "m2"]
    assert inbox.unread_count() == 2
    inbox.acknowledge(["m1"])
    assert (texts(inbox), history(inbox)) == (["m2"], ["m1"])


def test_array_is_what_others_expect_to_read(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1")
    text = Path(team.layout.inbox("w1")).read_text()
    assert text.startswith("[\n  {\n")
    assert text.endswith("]\n")
    (item,) = json.loads(text)
    assert item["from"] == "w2"
    assert item["msgV"] == 1
    assert item["read"] is False


def test_acknowledged_message_carries_its_time(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1")
    inbox.acknowledge(["m1"])
    line = json.loads(Path(team.layout.history("w1")).read_text())
    assert line["acked_at"].endswith("Z")
    assert "expired" not in line
    assert kinds(team) == ["mail_acknowledged"]


def test_acknowledging_again_changes_nothing(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1", "m2")
    inbox.acknowledge(["m1"])
    inbox.acknowledge(["m1", "unknown"])
    assert (texts(inbox), history(inbox)) == (["m2"], ["m1"])
    assert kinds(team) == ["mail_acknowledged"]


def test_mail_beyond_the_array_waits_beside_it_in_order(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1", "m2", "m3", "m4", "m5")
    assert len(array_of(team)) == 3
    assert Path(team.layout.overflow("w1")).read_bytes().count(b"\n") == 2
    assert texts(inbox) == ["m1", "m2", "m3", "m4", "m5"]


def test_nothing_overtakes_the_overflow(team: Team, inbox: Inbox) -> None:
    """While some of a sender's mail waits beside the array, its next message must go there as well."""
    fill(inbox, "m1", "m2", "m3", "m4", "m5", "m6", "m7")
    inbox.acknowledge(["m1", "m2", "m3"])
    assert [item["text"] for item in array_of(team)] == ["m4", "m5", "m6"]
    fill(inbox, "m8")
    assert texts(inbox) == ["m4", "m5", "m6", "m7", "m8"]
    inbox.acknowledge(["m4", "m7"])
    assert [item["text"] for item in array_of(team)] == ["m5", "m6", "m8"]
    assert not Path(team.layout.overflow("w1")).exists()
    fill(inbox, "m9")
    assert texts(inbox) == ["m5", "m6", "m8", "m9"]


def test_message_larger_than_the_array_waits_beside_it_and_is_read(team: Team, clock: FakeClock) -> None:
    inbox = Inbox(team.layout, "w1", SETTINGS.replace(inbox_max_bytes=2000), clock)
    fill(inbox, "m1")
    inbox.deliver(a_message("big").replace(text="x" * 3000))
    fill(inbox, "m2")
    inbox.acknowledge(["m1"])
    assert [message.msg_id for message in inbox.peek()] == ["big", "m2"]
    inbox.acknowledge(["big"])
    assert [item["text"] for item in array_of(team)] == ["m2"]


def test_array_stays_within_its_bytes_when_it_is_filled_again(team: Team, clock: FakeClock) -> None:
    inbox = Inbox(team.layout, "w1", SETTINGS.replace(inbox_max_bytes=1000), clock)
    for number in range(6):
        inbox.deliver(a_message(f"m{number}").replace(text="x" * 200))
    for number in range(5):
        assert Path(team.layout.inbox("w1")).stat().st_size <= 1000
        inbox.acknowledge([f"m{number}"])
        assert [m.msg_id for m in inbox.peek()] == [f"m{later}" for later in range(number + 1, 6)]


def test_full_inbox_refuses_and_keeps_what_it_has(team: Team, clock: FakeClock) -> None:
    inbox = Inbox(team.layout, "w1", SETTINGS.replace(inbox_overflow_max_bytes=2500), clock)
    with pytest.raises(StateError) as caught:
        fill(inbox, *(f"m{number}" for number in range(20)))
    assert caught.value.code == "inbox_full"
    assert caught.value.details == {"to": "w1"}
    waiting = texts(inbox)
    assert len(waiting) > 3
    inbox.acknowledge(waiting)
    fill(inbox, "next")
    assert texts(inbox) == ["next"]


def test_retry_delivers_once(inbox: Inbox) -> None:
    """The sender cannot know whether the message arrived before the error; its id can."""
    fill(inbox, "m1", "m2", "m3", "m4")
    inbox.acknowledge(["m1"])
    fill(inbox, "m5")
    for known in ("m1", "m2", "m5"):
        inbox.deliver(a_message(known), retry=True)
    inbox.deliver(a_message("new"), retry=True)
    assert texts(inbox) == ["m2", "m3", "m4", "m5", "new"]


def test_urgent_mail_comes_first_and_senders_keep_their_order(inbox: Inbox) -> None:
    fill(inbox, "m1")
    inbox.deliver(a_message("u1", priority="urgent"))
    inbox.deliver(a_message("u2", priority="urgent"))
    assert texts(inbox) == ["u1", "u2", "m1"]


def test_expired_mail_is_never_shown_and_leaves_with_an_event(
    team: Team, inbox: Inbox, clock: FakeClock
) -> None:
    inbox.deliver(a_message("soon", expires_at="2026-11-30T12:34:00.000Z"))
    inbox.deliver(a_message("odd", expires_at="one day"))
    clock.advance(10**6)
    assert texts(inbox) == ["odd"]
    assert inbox.unread_count() == 1
    inbox.acknowledge([])
    assert [(m.text, m.expired) for m in inbox.history()] == [("soon", True)]
    assert [item["text"] for item in array_of(team)] == ["odd"]
    assert kinds(team) == ["mail_expired"]


def test_mail_of_other_clients_is_read_and_kept(team: Team, inbox: Inbox) -> None:
    """It may have no id; the id made for it must stay the same until it is acknowledged."""
    foreign = {
        "from": "alice",
        "text": "hi",
        "timestamp": "2026-11-30T12:33:38.156Z",
        "read": False,
        "lead_sig": "x",
    }
    seen = {**foreign, "text": "seen", "read": True}
    Path(team.layout.inbox("w1")).write_text(json.dumps([foreign, seen, foreign]))
    first, second = inbox.peek()
    assert first.msg_id != second.msg_id
    inbox.acknowledge([first.msg_id])
    assert [message.msg_id for message in inbox.peek()] == [second.msg_id]
    assert inbox.peek()[0].extra == {"lead_sig": "x"}
    assert history(inbox) == ["hi", "seen"]


def test_items_that_are_no_messages_leave_with_the_next_acknowledgement(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1")
    Path(team.layout.inbox("w1")).write_text(json.dumps([*array_of(team), {"text": 5}, "odd"]))
    assert texts(inbox) == ["m1"]
    inbox.acknowledge([])
    assert [item["text"] for item in array_of(team)] == ["m1"]
    assert Path(team.layout.history("w1")).read_text() == '{"text":5}\n"odd"\n'
    assert history(inbox) == []


@pytest.mark.parametrize("content", ["", "[{", '{"from": "x"}'])
def test_damaged_inbox_is_set_aside_and_a_new_one_started(team: Team, inbox: Inbox, content: str) -> None:
    path = Path(team.layout.inbox("w1"))
    for round_number in (1, 2):
        path.write_text(content)
        fill(inbox, f"m{round_number}")
        assert texts(inbox) == [f"m{round_number}"]
        inbox.acknowledge([f"m{round_number}"])
    aside = sorted(name for name in os.listdir(path.parent) if ".damaged-" in name)
    assert len(aside) == 2
    assert all(name.startswith("w1.json.damaged-20") for name in aside)
    assert all((path.parent / name).read_text() == content for name in aside)
    assert kinds(team).count("inbox_set_aside") == 2


def test_reader_of_a_damaged_inbox_starts_a_new_one(team: Team, inbox: Inbox) -> None:
    """Else its owner could never read mail again."""
    fill(inbox, "m1", "m2", "m3", "m4")
    Path(team.layout.inbox("w1")).write_text("[")
    assert texts(inbox) == ["m4"]
    assert kinds(team) == ["inbox_set_aside"]


def test_torn_overflow_line_is_not_read_and_cut_by_the_next(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1", "m2", "m3", "m4")
    with Path(team.layout.overflow("w1")).open("ab") as file:
        file.write(b'{"from": "w2", "te')
    assert texts(inbox) == ["m1", "m2", "m3", "m4"]
    fill(inbox, "m5")
    assert texts(inbox) == ["m1", "m2", "m3", "m4", "m5"]


def test_acknowledgement_cut_off_after_the_history_is_finished_by_the_next(team: Team, inbox: Inbox) -> None:
    """Its ids are in the last lines of the history, so they leave the inbox without a second line."""
    fill(inbox, "m1", "m2", "m3", "m4")
    array = Path(team.layout.inbox("w1")).read_bytes()
    overflow = Path(team.layout.overflow("w1")).read_bytes()
    inbox.acknowledge(["m1", "m4"])
    Path(team.layout.inbox("w1")).write_bytes(array)
    Path(team.layout.overflow("w1")).write_bytes(overflow)
    inbox.acknowledge([])
    assert (texts(inbox), history(inbox)) == (["m2", "m3"], ["m1", "m4"])


def test_acknowledgement_cut_off_before_the_overflow_shows_nothing_twice(team: Team, inbox: Inbox) -> None:
    fill(inbox, "m1", "m2", "m3", "m4", "m5")
    overflow = Path(team.layout.overflow("w1")).read_bytes()
    inbox.acknowledge(["m1"])
    Path(team.layout.overflow("w1")).write_bytes(overflow)
    assert texts(inbox) == ["m2", "m3", "m4", "m5"]
    inbox.acknowledge(["m4"])
    assert (texts(inbox), history(inbox)) == (["m2", "m3", "m5"], ["m1", "m4"])


def test_thousands_of_messages_do_not_slow_down_the_next(team: Team, inbox: Inbox, clock: FakeClock) -> None:
    """The array has a limit, and what waits beside it is only ever appended to."""
    lines = b"".join(
        json.dumps({"from": "w2", "text": "x" * 400, "msg_id": f"o{n}"}).encode() + b"\n" for n in range(5000)
    )
    fill(inbox, "m1", "m2", "m3")
    Path(team.layout.overflow("w1")).write_bytes(lines)
    fill(inbox, "last")
    assert texts(inbox)[-1] == "last"
    assert len(texts(inbox)) == 5004
    assert Path(team.layout.inbox("w1")).stat().st_size < 2000


def test_empty_inbox_has_nothing(inbox: Inbox) -> None:
    inbox.acknowledge([])
    assert inbox.peek() == ()
    assert inbox.history() == ()
