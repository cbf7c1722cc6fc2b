from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.core.permission import PermissionRequest, Resolution, parse_request, render_request
from swarm.errors import CorruptStateError, NotFoundError
from swarm.settings import Settings
from swarm.storage.permissions import PermissionStore
from swarm.storage.team import Team


def a_request(request_id: str = "perm-1-a", at: str = "2026-11-30T12:32:19.393Z") -> PermissionRequest:
    return PermissionRequest(
        id=request_id,
        agent="w1",
        run_id="k3v9qd7m.w1.1",
        tool="Bash",
        tool_use_id="toolu_02",
        input={"command": "pip install x"},
        cwd="/srv/app",
        why="no rule allows it",
        digest="sha256:5b0c",
        created_at=at,
        deadline_at="2026-11-30T12:42:19.393Z",
    )


def a_resolution(request_id: str = "perm-1-a", **changes: Any) -> Resolution:
    fields: dict[str, Any] = {
        "id": request_id,
        "digest": "sha256:5b0c",
        "outcome": "allow",
        "via": "human",
        "by": "user",
        "at": "2026-11-30T12:32:40.000Z",
    }
    return Resolution(**(fields | changes))


def test_question_is_pending_until_it_is_answered(team: Team) -> None:
    asked = team.permissions.request(a_request())
    assert asked == a_request().replace(number=1)
    assert team.permissions.pending() == (asked,)
    assert team.permissions.resolution("perm-1-a") is None
    assert team.permissions.resolve(a_resolution())
    assert os.listdir(team.layout.pending_dir) == []
    assert team.permissions.resolution("perm-1-a") == a_resolution()
    assert team.permissions.list_resolved() == (a_resolution(),)


def test_first_answer_counts(team: Team) -> None:
    """A person and the runtime may answer at the same moment."""
    team.permissions.request(a_request())
    assert team.permissions.resolve(a_resolution(outcome="deny"))
    assert not team.permissions.resolve(a_resolution(outcome="allow"))
    resolved = team.permissions.resolution("perm-1-a")
    assert resolved is not None
    assert resolved.outcome == "deny"
    assert os.listdir(team.layout.resolved_dir) == ["perm-1-a.json"]


def test_answer_whose_link_a_network_mount_repeats_is_the_first(team: Team, monkeypatch) -> None:
    """The reply got lost, so the mount asks again, and finds the name taken: by what it has made itself."""
    link = os.link

    def twice(old: str, new: str) -> None:
        link(old, new)
        link(old, new)

    monkeypatch.setattr(os, "link", twice)
    assert team.permissions.resolve(a_resolution(outcome="deny"))
    assert not team.permissions.resolve(a_resolution())
    assert team.permissions.resolution("perm-1-a") == a_resolution(outcome="deny")


def left_by_a_killed_resolver(team: Team, **answer: Any) -> Path:
    path = Path(team.layout.pending_dir, "perm-1-a.json")
    asked = team.permissions.request(a_request())
    pending = path.read_bytes()
    team.permissions.resolve(a_resolution(**{"request": render_request(asked)} | answer))
    path.write_bytes(pending)
    return path


def test_answered_question_that_a_killed_resolver_left_is_not_asked_again(team: Team) -> None:
    path = left_by_a_killed_resolver(team)
    assert team.permissions.pending() == ()
    team.permissions.forget_answered()
    assert not path.exists()


def test_question_that_stands_nowhere_else_is_not_forgotten(team: Team) -> None:
    """An answer of another program may lack it, and one that is damaged says nothing."""
    path = left_by_a_killed_resolver(team, request=None)
    team.permissions.forget_answered()
    assert path.exists()
    Path(team.layout.resolved_dir, path.name).write_text("{")
    team.permissions.forget_answered()
    assert path.exists()


def test_questions_come_oldest_first_and_garbage_is_passed_over(team: Team) -> None:
    team.permissions.request(a_request("perm-2-b", "2026-11-30T12:00:02.000Z"))
    team.permissions.request(a_request("perm-9-a", "2026-11-30T12:00:01.000Z"))
    Path(team.layout.pending_dir, "perm-3-c.json").write_text("{")
    Path(team.layout.pending_dir, "perm-4-d.json").write_text("{}")
    named_as_another = render_request(a_request("perm-2-b").replace(number=7))
    Path(team.layout.pending_dir, "perm-6-f.json").write_text(json.dumps(named_as_another))
    Path(team.layout.pending_dir, "not an id.json").write_text("{}")
    Path(team.layout.pending_dir, ".perm-5-e.4711.tmp").write_text("{")
    assert [request.id for request in team.permissions.pending()] == ["perm-9-a", "perm-2-b"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "perm-1-a"}'])
def test_answer_that_cannot_be_read_is_no_consent(team: Team, content: str) -> None:
    Path(team.layout.resolved_dir, "perm-1-a.json").write_text(content)
    with pytest.raises(CorruptStateError):
        team.permissions.resolution("perm-1-a")


def test_unknown_outcome_is_no_consent(team: Team) -> None:
    team.permissions.resolve(a_resolution())
    path = Path(team.layout.resolved_dir, "perm-1-a.json")
    path.write_text(path.read_text().replace('"allow"', '"perhaps"'))
    with pytest.raises(CorruptStateError):
        team.permissions.resolution("perm-1-a")


def test_answer_of_another_user_is_none(team: Team, monkeypatch) -> None:
    team.permissions.resolve(a_resolution())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert team.permissions.resolution("perm-1-a") is None


@pytest.mark.parametrize("request_id", ["../rules", "", "a/b", "x" * 200])
def test_id_that_is_no_file_name_is_unknown(team: Team, request_id: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        team.permissions.resolution(request_id)
    assert caught.value.code == "no_such_request"


def test_rules_are_texts_and_absent_ones_are_none(team: Team) -> None:
    assert team.permissions.load_rules() == ((), (), ())
    Path(team.layout.rules).write_text(json.dumps({"allow": ["Bash(ls:*)"]}))
    assert team.permissions.load_rules() == (("Bash(ls:*)",), (), ())


@pytest.mark.parametrize("content", ["{", "[]", '{"deny": "Bash"}', '{"ask": "Bash"}', '{"deny": [1]}'])
def test_rules_that_cannot_be_read_are_an_error(team: Team, content: str) -> None:
    """A deny rule that is silently dropped would allow what was forbidden."""
    Path(team.layout.rules).write_text(content)
    with pytest.raises(CorruptStateError):
        team.permissions.load_rules()


def test_answer_is_synced_before_anybody_can_see_it(team: Team) -> None:
    durable = PermissionStore(team.layout, Settings(), team.clock)
    assert durable.resolve(a_resolution())
    assert durable.resolution("perm-1-a") == a_resolution()


def test_request_keeps_fields_that_are_not_known_here(team: Team) -> None:
    team.permissions.request(parse_request({**render_request(a_request()), "later": 1}))
    assert team.permissions.pending()[0].extra == {"later": 1}


def test_each_question_has_its_number_and_keeps_it(team: Team) -> None:
    first = team.permissions.request(a_request("perm-1-a"))
    second = team.permissions.request(a_request("perm-2-b"))
    assert (first.number, second.number) == (1, 2)
    assert team.permissions.request(a_request("perm-1-a")) == first
    for request in (first, second):
        team.permissions.resolve(a_resolution(request.id, request=render_request(request)))
    assert team.permissions.request(a_request("perm-3-c")).number == 3


@pytest.mark.parametrize("damage", [None, b"{", b"[]", b'{"last": "2", "id": "perm-2-b"}'])
def test_number_is_not_given_twice_when_the_count_is_lost(team: Team, damage: bytes | None) -> None:
    team.permissions.request(a_request("perm-1-a"))
    second = team.permissions.request(a_request("perm-2-b"))
    team.permissions.resolve(a_resolution("perm-2-b", request=render_request(second)))
    counted = Path(team.layout.numbers)
    counted.unlink() if damage is None else counted.write_bytes(damage)
    assert team.permissions.request(a_request("perm-3-c")).number == 3


def test_question_is_found_by_number_and_by_id(team: Team) -> None:
    first = team.permissions.request(a_request("perm-1-a"))
    second = team.permissions.request(a_request("perm-2-b"))
    answer = a_resolution("perm-1-a", request=render_request(first))
    team.permissions.resolve(answer)
    Path(team.layout.resolved_dir, "perm-0-z.json").write_text("{")
    assert [team.permissions.find(ref) for ref in ("1", "#1", "perm-1-a")] == [answer] * 3
    assert [team.permissions.find(ref) for ref in ("2", " #2 ", "perm-2-b")] == [second] * 3


@pytest.mark.parametrize("ref", ["3", "0", "perm-9-x", "", "#", "../rules", "1.0", "-1"])
def test_question_that_was_never_asked_is_unknown(team: Team, ref: str) -> None:
    team.permissions.request(a_request())
    with pytest.raises(NotFoundError) as caught:
        team.permissions.find(ref)
    assert caught.value.code == "no_such_request"


def test_added_rule_counts_and_leaves_the_rest_as_it_was(team: Team) -> None:
    before = team.permissions.rules_mark()
    assert team.permissions.add_rule("allow", "Bash(ls:*)")
    assert team.permissions.rules_mark() != before
    found = json.loads(Path(team.layout.rules).read_text())
    Path(team.layout.rules).write_text(json.dumps({**found, "later": 1}))
    assert team.permissions.add_rule("deny", "Bash(rm:*)")
    assert team.permissions.add_rule("ask", "Write")
    assert not team.permissions.add_rule("allow", "Bash(ls:*)")
    assert team.permissions.load_rules() == (("Bash(ls:*)",), ("Bash(rm:*)",), ("Write",))
    assert json.loads(Path(team.layout.rules).read_text())["later"] == 1


def test_rules_that_cannot_be_read_are_not_replaced(team: Team) -> None:
    Path(team.layout.rules).write_text("{")
    with pytest.raises(CorruptStateError):
        team.permissions.add_rule("allow", "Bash(ls:*)")
    assert Path(team.layout.rules).read_text() == "{"
