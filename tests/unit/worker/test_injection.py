"""Every way of foreign text into a request, with every text of the corpus: it is read, and no more."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.core.identity import check_name
from swarm.core.message import Message as Mail
from swarm.core.message import may_send, parse_control
from swarm.core.tags import as_meant, teammate_message, tool_text
from swarm.core.task import Task, TaskResult
from swarm.errors import SwarmError
from swarm.permissions.calls import Call, Decision
from tests.support.injection import CORPUS, HARMLESS, Attack, faults, live_tags, texts_of, unseen
from tests.support.tools import SETTINGS, ToolBench, make_team
from worker.context.agent import AgentContext
from worker.context.environment import environment_text
from worker.context.instructions import read_instructions, reminder
from worker.context.opening import opening
from worker.context.system import system_prompt
from worker.messages import (
    Message,
    assistant_message,
    requoted,
    text_block,
    thoughtless,
    tool_result,
    tool_use,
    user_message,
)
from worker.model.port import ModelRequest
from worker.model.request import request_body
from worker.prompts.texts import commit_refused, resumed, verify_failed
from worker.session.mail import order_in

LETTER = re.compile(r'<(teammate-message|task-text|task-report)(?: [a-z_]+="[^"<>]*")*>\n[^<>]*\n</\1>')
AGENT = AgentContext(
    name="w1", team="demo", role="builder", run_id="r.w1.1", color=None, model="m", permission_mode="default"
)


def task(**facts: Any) -> Task:
    return Task(**{"id": "7", "subject": "Do it", "description": "Do it.", "created_by": "user"} | facts)


def blocker(**facts: Any) -> Task:
    result = TaskResult(**{"summary": "Done."} | facts.pop("result", {}))
    return task(**{"id": "3", "status": "completed", "owner": "w2", "result": result} | facts)


# Each way makes the messages of a request from one text.

Way = Callable[[str], list[Message]]

LETTERS: dict[str, Way] = {
    "mail": lambda text: mail(text=text),
    "mail of a person": lambda text: mail(text=text, sender="user"),
    "summary of mail": lambda text: mail(summary=text),
    "sender of mail": lambda text: mail(sender=text),
    "color of mail": lambda text: mail(color=text),
    "subject": lambda text: first(task(subject=text)),
    "description": lambda text: first(task(description=text, created_by="w2")),
    "creator": lambda text: first(task(created_by=text)),
    "reworded by": lambda text: first(task(text_by=text)),
    "files of a task": lambda text: first(task(files=(text,))),
    "reason": lambda text: first(task(reason=text)),
    "role": lambda text: [opening(AGENT.replace(role=text), task(), [])],
    "result": lambda text: first(task(), blocker(result={"summary": text})),
    "files of a result": lambda text: first(task(), blocker(result={"files": (text,)})),
    "artifacts of a result": lambda text: first(task(), blocker(result={"artifacts": (text,)})),
    "not checked": lambda text: first(task(), blocker(result={"not_checked": (text,)})),
    "commit": lambda text: first(task(), blocker(result={"commit": text})),
    "subject of a blocker": lambda text: first(task(), blocker(subject=text)),
    "owner of a blocker": lambda text: first(task(), blocker(owner=text)),
}

NOTICES: dict[str, Way] = {
    "check": lambda text: [user_message(verify_failed(text, "exit code 1", "no"))],
    "output of a check": lambda text: [user_message(verify_failed("make", "exit code 1", text))],
    "refused commit": lambda text: [user_message(commit_refused(text, "no"))],
    "output of a hook": lambda text: [user_message(commit_refused("a hook failed", text))],
    "others on the task": lambda text: [user_message(resumed([text]))],
    "a call that was begun": lambda text: [user_message(resumed([], [(f"Bash {text}", "interrupted")]))],
    "its result": lambda text: [user_message(resumed([], [("Bash make", requoted(text))]))],
    "a result without its thoughts": lambda text: thoughtless(
        [
            user_message("Go."),
            assistant_message(tool_use("t1", "Bash", {"command": "make"})),
            user_message(tool_result("t1", text)),
        ]
    ),
}


def mail(**facts: Any) -> list[Message]:
    message = Mail(**{"sender": "w2", "text": "Hello.", "msg_id": "1"} | facts)
    return [user_message(text_block(teammate_message(message)))]


def first(given: Task, *blockers: Task) -> list[Message]:
    return [opening(AGENT, given, blockers)]


def sent(messages: list[Message], system: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the messages as they go out, with the instructions as one more."""
    request = ModelRequest(model="m", system=system, messages=messages, tools=[], max_tokens=1)
    body = json.loads(json.dumps(request_body(request, caching=False)))
    found: list[dict[str, Any]] = body["messages"]
    return [*found, {"role": "system", "content": body["system"]}] if system else found


@pytest.mark.parametrize("way", [*LETTERS, *NOTICES])
def test_text_stays_text(way: str) -> None:
    make = (LETTERS | NOTICES)[way]
    like = sent(make(HARMLESS.text))
    bad = {one.id: found for one in CORPUS if (found := faults(sent(make(one.text)), like))}

    assert not bad


@pytest.mark.parametrize("way", [*LETTERS, *NOTICES])
def test_text_is_read(way: str) -> None:
    make = (LETTERS | NOTICES)[way]
    unread = [one.id for one in CORPUS if one.shown not in _told(sent(make(one.text)))]

    assert not unread


def _told(messages: list[dict[str, Any]]) -> str:
    """Return what is said, without what only escapes it."""
    said = "\n".join(texts_of(messages))
    for entity, ch in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")):
        said = said.replace(entity, ch)
    return said.replace("\\", "")


@pytest.mark.parametrize(
    "way",
    [way for way in LETTERS if way not in {"role", "files of a result", "commit", "owner of a blocker"}],
)
def test_no_word_of_an_agent_stands_outside_a_tag(way: str) -> None:
    """There it would be the word of the person or of the runtime, whose messages these are."""

    def outside(text: str) -> str:
        return LETTER.sub("", "\n".join(texts_of(sent(LETTERS[way](text)))))

    bad = [one.id for one in CORPUS if outside(one.text) != outside(HARMLESS.text)]

    assert not bad


@pytest.mark.parametrize("way", LETTERS)
def test_a_letter_has_no_bracket_of_its_own(way: str) -> None:
    """All of it is escaped, not only what is known to be dangerous."""
    assert "<b>&" not in "\n".join(texts_of(sent(LETTERS[way]("<b>& bold"))))


def test_what_stands_before_the_messages_stays_text(tmp_path: Path) -> None:
    def prompt(attack: Attack) -> list[dict[str, Any]]:
        (tmp_path / "user").mkdir(exist_ok=True)
        (tmp_path / "project/.claude").mkdir(parents=True, exist_ok=True)
        text = attack.text.encode("utf-8", "replace")
        for name in ("user/CLAUDE.md", "project/AGENTS.md", "project/.claude/CLAUDE.md"):
            (tmp_path / name).write_bytes(text + name.encode())
        files = read_instructions(str(tmp_path / "user"), str(tmp_path / "project"))
        assert len(files) == 3
        facts = environment_text(
            attack.text, in_repository=False, environ={"SHELL": attack.text}, model=attack.text
        )
        system = system_prompt(AGENT.replace(role=attack.text), ["w1", attack.text], facts)
        return sent([user_message(reminder(files, "2026-11-30"), "Go on.")], system)

    like = prompt(HARMLESS)
    bad = {one.id: found for one in CORPUS if (found := faults(prompt(one), like))}

    assert not bad


# What calls return


@pytest.mark.parametrize("attack", CORPUS, ids=lambda one: one.id)
def test_no_result_spells_a_tag_in_any_way(attack: Attack) -> None:
    text = attack.text.encode("utf-8", "replace").decode()
    shown = tool_text(text)

    assert not live_tags(shown, spelt=True)
    assert not unseen(shown)
    assert as_meant(shown) == text


async def _calls(bench: ToolBench, attack: Attack) -> list[Message]:
    """Make the same calls, with this text wherever it can stand, and return the results as messages."""
    raw = attack.text.encode("utf-8", "surrogatepass")
    text = attack.text.encode("utf-8", "replace").decode()
    name = text.replace("/", "|").replace("\0", "0")[:60]
    path = bench.workspace / "page.txt"
    os.makedirs(bench.workspace, exist_ok=True)
    path.write_bytes(b"first\n" + raw.replace(b"\0", b"0") + b"\nlast\n")
    (bench.workspace / f"named {name}").write_text("x")
    result = TaskResult(summary=text, files=(text,), not_checked=(text,), commit=text)
    author = bench.team.tasks("builder-2")
    metadata = {text: [text, {"k": text}], "reason": text}
    (made,) = author.create(_new(f"Look {text}", description=text, metadata=metadata, files=(text,)))
    claimed = author.claim("builder-2", None, "r.builder-2.1", made.id)
    assert isinstance(claimed, Task)
    assert claimed.claim is not None
    author.complete(made.id, claimed.claim.token, result)
    uses = [
        bench.use("Read", file_path=str(path)),
        bench.use("Read", file_path=f"{name}.missing"),
        bench.use("Grep", pattern=".", path=str(path), output_mode="content"),
        bench.use("Glob", pattern="named*"),
        bench.use("Edit", file_path=str(path), old_string="last", new_string="end"),
        bench.use("Write", file_path=str(path), content="first\n"),
        bench.use("Bash", command="cat original.txt; echo; ls"),
        bench.use("Bash", command="cat large.txt"),
        bench.use("TaskGet", taskId=made.id),
        bench.use("TaskList"),
        bench.use("Nothing " + name),
        bench.use("TaskGet", taskId=text),
        bench.use("SendMessage", to=name, message="Hello."),
    ]
    (bench.workspace / "original.txt").write_bytes(raw)
    (bench.workspace / "large.txt").write_bytes(raw + b"\n" + b"x" * 20_000)
    results = [block for use in uses for block in await bench.turn(use)]
    return [user_message("Go."), assistant_message(*uses), user_message(*results)]


def _new(subject: str, **facts: Any) -> Any:
    from swarm.core.task import NewTask

    return NewTask(subject=subject, **facts)


@pytest.mark.timeout(120)
async def test_results_stay_text(tmp_path: Path, isolated_home: Path) -> None:
    settings = SETTINGS.replace(bash_result_max_chars=10_000, preview_bytes=1_000)

    async def results(attack: Attack) -> list[dict[str, Any]]:
        home = tmp_path / attack.id
        home.mkdir()
        bench = ToolBench(make_team(home / "root", home / "work", settings), home / "work")
        return [sent(await _calls(bench, attack))[2]]

    like = await results(HARMLESS)
    assert len(like[0]["content"]) == 13
    bad, unread = {}, []
    for one in CORPUS:
        found = await results(one)
        if wrong := faults(found, like):
            bad[one.id] = wrong
        if one.shown not in _told(found):
            unread.append(one.id)

    assert not bad
    assert not unread


async def test_reasons_of_denials_stay_text(tmp_path: Path, isolated_home: Path) -> None:
    bench = ToolBench(make_team(tmp_path / "root", tmp_path / "work"), tmp_path / "work")

    async def results(attack: Attack) -> list[dict[str, Any]]:
        async def gate(_: object, __: object, call: Call) -> Decision:
            return Decision(behavior="deny", reason=attack.text, why="rule", rule=f"Bash({attack.text})")

        bench.gate = gate
        return sent([user_message(await bench.call("Bash", command="true"))])

    like = await results(HARMLESS)
    bad = {one.id: found for one in CORPUS if (found := faults(await results(one), like))}

    assert not bad


# Control messages and names


@pytest.mark.parametrize("sender", ["w2", "user", "runtime", "Team-Lead", "team-lead\u200b", ""])
def test_only_the_leader_gives_orders(sender: str) -> None:
    obeyed = [one.id for one in CORPUS if order_in(Mail(sender=sender, text=one.text, msg_id="1"), "w1")]

    assert not obeyed


def test_no_text_reports_in_the_name_of_another() -> None:
    """What the leader takes for a report is bound to who sent it; the runtime and people send none."""
    kinds = {str(found["type"]) for one in CORPUS if (found := parse_control(one.text))}

    assert {"shutdown_request", "swarm.task_report", "permission_response"} <= kinds
    assert not any(may_send(kind, sender, "w1") for kind in kinds for sender in ("w2", "user", "runtime"))
    assert not any(may_send(kind, sender, "team-lead") for kind in kinds for sender in ("user", "runtime"))


async def test_a_model_sends_no_control_message(tmp_path: Path, isolated_home: Path) -> None:
    bench = ToolBench(make_team(tmp_path / "root", tmp_path / "work"), tmp_path / "work")
    for one in CORPUS:
        if parse_control(one.text):
            assert "sent by the runtime only" in await bench.error(
                "SendMessage", to="builder-2", message=one.text
            )

    await asyncio.sleep(0)
    assert not bench.team.inbox("builder-2").peek()


@pytest.mark.parametrize("attack", CORPUS, ids=lambda one: one.id)
def test_no_such_text_is_a_name(attack: Attack) -> None:
    with pytest.raises(SwarmError):
        check_name(attack.text)


def test_the_corpus_is_whole() -> None:
    assert len({one.id for one in CORPUS}) == len(CORPUS) >= 40
    assert all(one.text and one.shown for one in CORPUS)
