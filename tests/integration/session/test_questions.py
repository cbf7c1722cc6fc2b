"""A call that needs a person waits for the answer, and does what it says: no more, and once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from swarm.core.permission import PermissionRequest, Resolution, render_request
from swarm.core.times import format_time
from swarm.errors import StateError
from swarm.leader.questions import answer, open_questions
from swarm.storage.tasks import TaskStore
from tests.integration.session.steps import asked, bash, begun, write
from tests.support.live_team import LiveTeam

NOTE = "not on my machine"


def tree(team: LiveTeam) -> dict[str, str]:
    """Return every file that a call could have made or changed."""
    home = team.workspace.parent
    folders = (team.workspace, home / "outside")
    return {str(f.relative_to(home)): f.read_text() for one in folders for f in one.rglob("*") if f.is_file()}


KINDS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "Bash": ([bash("echo ran >> made.txt")], "work/made.txt: ran\n"),
    "Write": ([write("made.txt", "new\n")], "work/made.txt: new\n"),
    "Write over": ([write("old.txt", "new\n")], "work/old.txt: new\n"),
    "Edit": (
        [{"Edit": {"file_path": "old.txt", "old_string": "a", "new_string": "b"}}],
        "work/old.txt: b\n",
    ),
    "Write outside": ([write("../outside/made.txt", "new\n")], "outside/made.txt: new\n"),
    "Read outside": ([{"Read": {"file_path": "../outside/secret.txt"}}], "told: hidden"),
    "Grep outside": (
        [{"Grep": {"pattern": "hid", "path": "../outside", "output_mode": "content"}}],
        "told: hidden",
    ),
    "Glob outside": ([{"Glob": {"pattern": "*.txt", "path": "../outside"}}], "told: secret.txt"),
}  # fmt: skip


def last_result(team: LiveTeam) -> dict[str, Any]:
    return team.results("w1")[-1]


@pytest.mark.parametrize("kind", KINDS)
async def test_allowed_call_runs_once_with_what_was_approved(asking, kind: str) -> None:
    calls, effect = KINDS[kind]
    team = asking(*calls)
    before = tree(team)
    session = begun(team)
    (request,) = await asked(team)
    assert {request.tool: request.input} == calls[0]
    await asyncio.sleep(0.1)
    assert tree(team) == before

    answer(team.team, "1", "allow")
    outcome = await session

    assert outcome is not None
    assert outcome.status == "completed"
    assert not last_result(team)["is_error"]
    told = f"told: {last_result(team)['content']}"
    changed = [f"{name}: {text}" for name, text in tree(team).items() if before.get(name) != text]
    assert changed == [] if effect.startswith("told") else changed == [effect]
    assert effect.removeprefix("told: ") in told or not effect.startswith("told")
    assert len(team.team.permissions.list_resolved()) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_denied_call_touches_nothing_and_says_who_and_why(asking, kind: str) -> None:
    team = asking(*KINDS[kind][0], denied=True)
    before = tree(team)
    session = begun(team)
    await asked(team)

    answer(team.team, "1", "deny", note=NOTE)
    await session

    assert tree(team) == before
    assert last_result(team)["is_error"]
    assert f"The user denied it: {NOTE}" in last_result(team)["content"]


@pytest.mark.parametrize("kind", KINDS)
async def test_call_that_nobody_answers_expires(asking, kind: str) -> None:
    team = asking(*KINDS[kind][0], denied=True)
    team.team.settings = team.team.settings.replace(permission_deadline_seconds=0.3)
    before = tree(team)

    outcome = await asyncio.wait_for(begun(team), timeout=30)

    assert outcome is not None
    assert outcome.status == "completed"
    assert tree(team) == before
    assert "nobody answered in time" in last_result(team)["content"]
    (resolution,) = team.team.permissions.list_resolved()
    assert (resolution.outcome, resolution.via, resolution.by) == ("expired", "runtime", "runtime")
    with pytest.raises(StateError) as caught:
        answer(team.team, "1", "allow")
    assert caught.value.code == "already_resolved"


async def test_several_at_once_are_answered_in_any_order(asking) -> None:
    """Reads run side by side: each waits for its own answer, and no answer is for two."""
    names = ("one", "two", "three")
    calls = [{"Read": {"file_path": f"../outside/{name}.txt"}} for name in names]
    team = asking(turns=[{"calls": calls, "expect": "error"}, {"say": "Done."}])
    for name in names:
        (team.workspace.parent / "outside" / f"{name}.txt").write_text(f"text {name}\n")
    session = begun(team)
    requests = await asked(team, 3)
    number = {str(request.input["file_path"]).split("/")[-1]: request.number for request in requests}

    answer(team.team, str(number["three.txt"]), "allow")
    await team.until(lambda: len(team.results("w1")) == 1, "the third is read")
    answer(team.team, str(number["one.txt"]), "deny", note=NOTE)
    await team.until(lambda: len(team.results("w1")) == 2, "the first is denied")
    assert len(open_questions(team.team)) == 1
    answer(team.team, str(number["two.txt"]), "allow")
    await session

    told = [result["content"] for result in team.results("w1")]
    assert "text three" in told[0]
    assert NOTE in told[1]
    assert "text two" in told[2]


async def test_leader_is_told_in_the_form_that_is_on_the_wire(asking) -> None:
    team = asking(bash("touch a"))
    session = begun(team)
    (request,) = await asked(team)
    await team.until(lambda: [m for m in team.mail() if "permission_request" in m.text], "mail")
    (mail,) = [json.loads(m.text) for m in team.mail() if "permission_request" in m.text]
    answer(team.team, request.id, "allow")
    await session
    assert mail == {
        "type": "permission_request",
        "request_id": request.id,
        "agent_id": "w1",
        "tool_name": "Bash",
        "tool_use_id": request.tool_use_id,
        "description": request.why,
        "input": {"command": "touch a"},
        "permission_suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "touch a"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
    }


async def test_notes_arrive_with_the_next_request_on_both_branches(asking) -> None:
    turns = [{"calls": [bash("touch a"), bash("touch b")], "expect": "error"}, {"say": "Done."}]
    team = asking(turns=turns)
    session = begun(team)
    await asked(team)
    answer(team.team, "1", "allow", note="this once")
    await team.until(lambda: len(team.team.permissions.list_resolved()) == 1, "the first answer")
    await asked(team)
    answer(team.team, "2", "deny", note=NOTE)
    await session

    last = team.messages("w1", team.sessions("w1")[-1])[-2]
    assert last["role"] == "user"
    assert NOTE in last["content"][1]["content"]
    assert last["content"][2]["text"] == (
        '<user-note from="user" about="your Bash call, which was allowed (permission request 1)" '
        'trust="user">\nthis once\n</user-note>'
    )


async def test_note_of_one_that_is_always_allowed_arrives_too(asking) -> None:
    team = asking(bash("touch a"))
    session = begun(team)
    await asked(team)
    answer(team.team, "1", "allow", note="and no others", always=True)
    await session

    last = team.messages("w1", team.sessions("w1")[-1])[-2]
    assert "and no others" in last["content"][1]["text"]
    assert "a" in tree_names(team)


async def test_person_may_change_what_is_run(asking) -> None:
    team = asking(bash("touch a"))
    session = begun(team)
    (request,) = await asked(team)
    give(team, request, input={"command": "touch b"})
    await session
    assert {"a", "b"} & set(tree_names(team)) == {"b"}


CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "no input of the tool": ({"order": "touch b"}, "order"),
    "denied by a rule": ({"command": "rm -f a"}, "Bash(rm:*)"),
    "never allowed": ({"command": "swarm approve 1"}, "never run"),
}


@pytest.mark.parametrize("kind", CHANGED)
async def test_what_a_person_put_in_its_place_is_judged_too(asking, kind: str) -> None:
    changed, said = CHANGED[kind]
    team = asking(bash("touch a"), denied=True, permissions={"mode": "default", "deny": ["Bash(rm:*)"]})
    before = tree(team)
    session = begun(team)
    (request,) = await asked(team)
    give(team, request, input=changed)
    await session
    assert tree(team) == before
    assert said in last_result(team)["content"]


@pytest.mark.parametrize("changes", [{"digest": "sha256:0"}, {"outcome": "perhaps"}, {"by": 7}], ids=str)
async def test_answer_that_does_not_fit_is_no_consent(asking, changes: dict[str, Any]) -> None:
    team = asking(bash("touch a"), denied=True)
    session = begun(team)
    (request,) = await asked(team)
    path = Path(team.team.layout.resolved_dir, f"{request.id}.json")
    fields = {"id": request.id, "digest": request.digest, "outcome": "allow", "via": "human", "by": "user"}
    path.with_suffix(".tmp").write_text(json.dumps({**fields, "at": format_time(0), **changes}))
    path.with_suffix(".tmp").rename(path)
    await session
    assert "a" not in tree_names(team)
    assert "the answer" in last_result(team)["content"]


@pytest.mark.parametrize("behavior", ["allow", "deny"])
async def test_rule_that_comes_meanwhile_answers_it(asking, behavior: Any) -> None:
    team = asking(bash("touch a"), denied=behavior == "deny")
    session = begun(team)
    await asked(team)
    team.team.permissions.add_rule(behavior, "Bash(touch:*)")
    await session
    (resolution,) = team.team.permissions.list_resolved()
    assert (resolution.outcome, resolution.via) == (behavior, "rule")
    assert ("a" in tree_names(team)) == (behavior == "allow")
    assert "Bash(touch:*)" in str(resolution.note)


async def test_always_answers_what_it_covers_from_then_on(asking) -> None:
    turn = {"calls": [bash("touch a")]}
    team = asking(turns=[turn, turn, {"say": "Done."}])
    session = begun(team)
    await asked(team)
    answer(team.team, "1", "allow", always=True)
    await session
    assert len(team.team.permissions.list_resolved()) == 1
    assert team.task("job").status == "completed"


async def test_rule_of_an_answer_whose_giver_was_killed_is_added_all_the_same(asking) -> None:
    team = asking(bash("touch a"))
    session = begun(team)
    (request,) = await asked(team)
    give(team, request, rule="Bash(touch a)")
    await session
    assert team.team.permissions.load_rules() == (("Bash(touch a)",), (), ())
    assert [event.event for event in team.events("rule_added")] == ["rule_added"]


@pytest.mark.parametrize("given", [{}, {"input": {"command": "touch a"}}], ids=["as asked", "its own input"])
async def test_what_is_forbidden_meanwhile_stays_forbidden(asking, monkeypatch, given) -> None:
    team = asking(bash("touch a"), denied=True)
    session = begun(team)
    (request,) = await asked(team)
    resolve = team.team.permissions.resolve
    monkeypatch.setattr(team.team.permissions, "resolve", lambda _: False)  # as if both came in one moment
    team.team.permissions.add_rule("deny", "Bash(touch:*)")
    resolve(answer_to(request, **given))
    await session
    assert "a" not in tree_names(team)


def cancel_task(team: LiveTeam) -> None:
    store: TaskStore = team.team.tasks("user")
    store.cancel(team.ids["job"], "no longer wanted")


async def test_task_that_is_taken_away_ends_the_wait(asking) -> None:
    team = asking(bash("touch a"), denied=True)
    session = begun(team)
    await asked(team)
    cancel_task(team)
    assert await asyncio.wait_for(session, timeout=30) is None
    assert_closed(team)


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_end_of_the_agent_ends_the_wait(asking, way: str) -> None:
    team = asking(bash("touch a"))
    stop = asyncio.Event()
    session = begun(team, stop)
    await asked(team)
    stop.set() if way == "stop" else session.cancel()
    await asyncio.wait([session], timeout=30)
    assert_closed(team)
    assert team.task("job").status == "pending"
    assert "nterrupted" in last_result(team)["content"]
    with pytest.raises(StateError):
        answer(team.team, "1", "allow")


async def test_while_it_waits_it_says_so_and_lives(asking) -> None:
    team = asking(bash("touch a"))
    team.start("w1")
    (request,) = await asked(team)

    def record() -> Any:
        return team.team.agents.load("w1")

    await team.until(lambda: record().state == "waiting", "it says that it waits")
    waiting = record()
    assert (waiting.reason, waiting.on, waiting.until) == ("permission", request.id, request.deadline_at)
    assert waiting.task == team.ids["job"]
    await team.until(lambda: record().heartbeat > waiting.heartbeat, "a heartbeat")
    assert team.task("job").status == "in_progress"
    answer(team.team, "1", "allow")
    await team.until_finished()
    assert record().reason != "permission"
    await team.stop()


async def test_next_life_closes_what_a_killed_one_has_asked(asking) -> None:
    team = asking(bash("touch a"))
    left = team.team.permissions.request(
        PermissionRequest(
            id="perm-1-a", agent="w1", run_id=team.run_id("w1"), tool="Bash", tool_use_id="t", cwd="/",
            input={"command": "touch a"}, why="", digest="", created_at=format_time(0), deadline_at="9",
        )
    )  # fmt: skip
    team.start("w1", life=2)
    await team.until(lambda: team.team.permissions.resolution(left.id), "the old question is closed")
    (request,) = await asked(team)
    assert request.number == 2
    answer(team.team, "2", "allow")
    await team.until_finished()
    await team.stop()


def answer_to(request: PermissionRequest, **changes: Any) -> Resolution:
    fields = {"outcome": "allow", "via": "human", "by": "user", "at": format_time(0)} | changes
    return Resolution(id=request.id, digest=request.digest, request=render_request(request), **fields)


def give(team: LiveTeam, request: PermissionRequest, **changes: Any) -> None:
    assert team.team.permissions.resolve(answer_to(request, **changes))


def tree_names(team: LiveTeam) -> list[str]:
    return [name.removeprefix("work/") for name in tree(team)]


def assert_closed(team: LiveTeam) -> None:
    (resolution,) = team.team.permissions.list_resolved()
    assert resolution.outcome == "expired"
    assert open_questions(team.team) == ()
    assert "a" not in tree_names(team)
