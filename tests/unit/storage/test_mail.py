from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from swarm.errors import ConfigError, LockTimeoutError, NotFoundError, StateError
from swarm.settings import Settings
from swarm.storage.lock import FileLock
from swarm.storage.mail import send
from swarm.storage.syscalls import Hook, fault_hook
from swarm.storage.team import Team
from tests.support.stores import SETTINGS, make_team


def test_message_is_in_the_recipients_file_when_send_returns(team: Team) -> None:
    team.roster.update_member("w1", color="green")
    (result,) = send(team, "w1", "w2", "hello", summary="greeting", priority="urgent", in_reply_to="x")
    (message,) = team.inbox("w2").peek()
    assert message.msg_id == result.msg_id
    assert (message.sender, message.to, message.text) == ("w1", "w2", "hello")
    assert (message.summary, message.priority, message.in_reply_to) == ("greeting", "urgent", "x")
    assert message.color == "green"
    assert message.timestamp.startswith("2026-11-30T")


def test_send_is_recorded(team: Team) -> None:
    (result,) = send(team, "w1", "w2", "secret text", summary="greeting")
    _, event = list(team.events.read())[-1]
    assert (event.event, event.agent) == ("mail_sent", "w1")
    assert event.data == {"to": "w2", "msg_id": result.msg_id, "summary": "greeting"}


@pytest.mark.parametrize("name", ["wroker", "W1", "", "user", "../w1", "general-purpose"])
def test_unknown_recipient_is_refused_with_the_valid_ones(team: Team, name: str) -> None:
    """A mailbox that nobody reads must not come into being."""
    with pytest.raises(NotFoundError) as caught:
        send(team, "team-lead", name, "hello")
    assert caught.value.code == "no_such_agent"
    assert caught.value.details == {"value": name, "valid": ["w1", "w2"]}
    assert os.listdir(team.layout.inboxes_dir) == []


def test_nobody_writes_to_itself(team: Team) -> None:
    with pytest.raises(ConfigError) as caught:
        send(team, "w1", "w1", "hello")
    assert caught.value.code == "bad_value"


def test_mail_to_all_has_a_copy_and_a_result_for_each_other_member(team: Team) -> None:
    results = send(team, "w1", "*", "hello")
    assert [result.to for result in results] == ["team-lead", "w2"]
    assert len({result.msg_id for result in results}) == 2
    assert team.inbox("w1").peek() == ()
    assert [team.inbox(r.to).peek()[0].to for r in results] == ["team-lead", "w2"]


def test_person_reaches_every_member(team: Team) -> None:
    assert [result.to for result in send(team, "user", "*", "hello")] == ["team-lead", "w1", "w2"]


def test_one_full_inbox_does_not_keep_mail_from_the_others(tmp_path: Path) -> None:
    team = make_team(tmp_path, settings=SETTINGS.replace(inbox_max_bytes=10, inbox_overflow_max_bytes=400))
    send(team, "w1", "w2", "x" * 100)
    first, second = send(team, "w1", "*", "hello " * 20)
    assert (first.to, first.error) == ("team-lead", None)
    assert second.to == "w2"
    assert second.error is not None
    assert second.error.code == "inbox_full"
    assert second.msg_id is None


def test_repeated_send_with_its_id_arrives_once(team: Team) -> None:
    send(team, "w1", "w2", "hello", msg_id="one")
    send(team, "w1", "w2", "hello", msg_id="one")
    assert [message.msg_id for message in team.inbox("w2").peek()] == ["one"]


def test_one_id_cannot_stand_for_all_copies(team: Team) -> None:
    with pytest.raises(ConfigError):
        send(team, "w1", "*", "hello", msg_id="one")


def test_sender_learns_in_which_state_the_recipient_is(team: Team) -> None:
    """Mail to an agent that has stopped is kept, but the sender should know that nobody reads it now."""
    assert send(team, "w1", "w2", "hello")[0].recipient is None
    record = AgentRecord(
        name="w2",
        run_id="k3v9qd7m.w2.1",
        backend="in-process",
        state="stopped",
        since="2026-11-30T12:31:02.410Z",
        heartbeat="2026-11-30T12:31:02.410Z",
    )
    team.agents.save(record)
    assert send(team, "w1", "w2", "hello")[0].recipient == "stopped"
    team.agents.save(record.replace(state="starting"))
    assert send(team, "w1", "w2", "hello")[0].recipient == "starting"


def test_mail_is_synced_where_results_must_last(tmp_path: Path) -> None:
    team = make_team(tmp_path, settings=Settings(inbox_max_messages=1))
    send(team, "w1", "w2", "one")
    send(team, "w1", "w2", "two")
    assert [message.text for message in team.inbox("w2").peek()] == ["one", "two"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("lock", ".locks/inbox-w2"),
        ("rename", "inboxes/w2.json"),
        ("sync", "inboxes/w2.json"),
        ("lock", ".locks/events"),
        ("append", "events.jsonl"),
    ],
)
def test_send_that_failed_half_way_is_repeated_with_the_id_in_its_error(
    tmp_path: Path, call: str, name: str
) -> None:
    """Nobody can tell whether it arrived: a new id could make it two, and none could lose it."""
    team = make_team(tmp_path, settings=SETTINGS.replace(durability="full"))
    with fault_hook(refused(call, f"{team.layout.team_dir}/{name}")), pytest.raises(StateError) as caught:
        send(team, "w1", "w2", "hello")
    details = caught.value.details
    assert (caught.value.code, details["to"]) == ("io_error", "w2")
    check_repeated(team, details["msg_id"])


@pytest.mark.parametrize("lock", ["inbox-w2", "events"])
def test_send_that_found_a_lock_taken_is_repeated_with_the_id_in_its_error(team: Team, lock: str) -> None:
    """Behind the second lock the message has arrived, and only its event is missing."""
    taken = FileLock(team.layout.lock(lock), team.settings, team.clock, "somebody")
    with taken, pytest.raises(LockTimeoutError) as caught:
        send(team, "w1", "w2", "hello")
    check_repeated(team, caught.value.details["msg_id"])


def check_repeated(team: Team, msg_id: str) -> None:
    """Send again and check that message and event are there once."""
    (result,) = send(team, "w1", "w2", "hello", msg_id=msg_id)
    assert result.msg_id == msg_id
    assert [message.msg_id for message in team.inbox("w2").peek()] == [msg_id]
    sent = [event for _, event in team.events.read() if event.event == "mail_sent"]
    assert [event.data["msg_id"] for event in sent] == [msg_id]


def refused(call: str, path: str) -> Hook:
    """Return a hook that refuses this call on this file."""

    def hook(name: str, at: str, size: int) -> None:
        if (name, at) == (call, path):
            raise OSError(errno.ENOSPC, "no space left")

    return hook


def test_copy_that_failed_says_its_id_and_the_others_are_delivered(team: Team) -> None:
    with fault_hook(refused("rename", team.layout.inbox("w1"))):
        first, second, third = send(team, "user", "*", "hello")
    assert (first.error, third.error) == (None, None)
    assert second.error is not None
    assert second.error.details["msg_id"]


def test_who_is_refused_for_good_gets_no_id(tmp_path: Path) -> None:
    """Then it is known that nothing was delivered."""
    team = make_team(tmp_path, settings=SETTINGS.replace(inbox_max_bytes=10, inbox_overflow_max_bytes=10))
    with pytest.raises(StateError) as caught:
        send(team, "w1", "w2", "hello")
    assert (caught.value.code, caught.value.details) == ("inbox_full", {"to": "w2"})


def test_damaged_record_of_the_recipient_does_not_make_the_sender_repeat(team: Team) -> None:
    Path(team.layout.agent("w2")).write_text("{")
    assert send(team, "w1", "w2", "hello")[0].recipient == "unknown"


@pytest.mark.parametrize("given", ["", "two words", "a\n", "x" * 129])
def test_id_that_could_not_be_found_again_is_refused(team: Team, given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        send(team, "w1", "w2", "hello", msg_id=given)
    assert caught.value.code == "bad_value"
    assert team.inbox("w2").peek() == ()
