"""What people see of texts that try to act on a terminal: the text, on the line where it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from swarm.core.breaking import width
from swarm.core.identity import LEADER
from swarm.core.jsontext import json_line
from swarm.core.message import Message
from swarm.core.task import NewTask, Task, TaskResult
from swarm.core.transcript import Position, assistant_line, note_line, result_line, start_line, user_line
from swarm.storage.files import append_line
from swarm.storage.team import Team
from tests.support.injection import CORPUS
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, on_a_terminal

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
TEXTS = [one.text.encode("utf-8", "replace").decode() for one in CORPUS]
WHEN = "2026-11-30T12:31:02.410Z"
VERBS = [
    ("status",),
    ("task", "list"),
    ("mail", "w1", "--all"),
    ("logs", "w1"),
    ("events",),
    ("team", "list"),
    ("team", "show"),
    ("cost",),
    ("permissions",),
    ("permissions", "--all"),
    ("task", "graph"),
    ("task", "graph", "--format", "mermaid"),
    ("task", "graph", "--format", "dot"),
    ("doctor",),
    *(("task", "show", str(number)) for number in range(1, len(TEXTS) + 2)),
]


@pytest.fixture
def full(team: Team) -> Team:
    """A team that is full of such texts."""
    inbox, store = team.inbox("w1"), team.tasks("w1")
    for at, text in enumerate(TEXTS):
        mail = Message(sender=text, to="w1", text=text, summary=text, msg_id=f"m{at}", timestamp=WHEN)
        inbox.deliver(mail.replace(priority=text))
        team.events.emit("mail_sent", "w2", to=text, summary=text)
        (made,) = store.create(NewTask(subject=text, description=text, metadata={text: text}, key=f"k{at}"))
        claimed = store.claim("w1", None, "k3v9qd7m.w1.1", made.id)
        assert isinstance(claimed, Task)
        assert claimed.claim is not None
        if at % 2:
            store.fail(made.id, claimed.claim.token, text)
        else:
            store.complete(made.id, claimed.claim.token, TaskResult(summary=text, files=(text,), commit=text))
    for line in transcript():
        append_line(team.layout.transcript("w1"), line)
    team.agents.save(a_record("w1", reason=TEXTS[0]))
    return team


def transcript() -> Iterator[bytes]:
    at = Position(session="s1", n=1, time=WHEN, run_id="k3v9qd7m.w1.1")
    yield json_line(start_line(at, cause="mail", model="m"))
    for n, text in enumerate(TEXTS):
        block = {"type": "tool_use", "id": f"t{n}", "name": text, "input": {"command": text}}
        said = {"role": "assistant", "content": [{"type": "text", "text": text}, block]}
        yield json_line(user_line(at, message={"role": "user", "content": text}))
        yield json_line(assistant_line(at, message=said, stop_reason="tool_use", usage={}))
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text, "is_error": True}
        yield json_line(result_line(at, block=result, elapsed_seconds=1.0))
        yield json_line(note_line(at, what=text, text=text))


def acting(shown: str) -> set[str]:
    """Return the characters that a terminal or a bidirectional reader would act on."""
    plain = COLOURS.sub("", shown)
    return {ch for ch in plain if not (ch.isprintable() or ch in "\n\t\u200c\u200d\u3000\xa0")}


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_no_text_acts_on_a_terminal(full: Team, swarm: Swarm, options: tuple[str, ...]) -> None:
    for words in VERBS:
        if words[0] == "logs" and options:
            continue
        for environ in ({}, {"FORCE_COLOR": "1"}):
            ran = swarm("-t", "demo", *words, *options, **environ)
            assert not acting(ran.out + ran.err), words


@pytest.mark.parametrize("columns", [80, 40])
def test_no_text_is_so_long_that_it_begins_a_row(full: Team, columns: int) -> None:
    """What a terminal breaks by itself begins at its edge, where only lines of ours begin."""
    for words in [one for one in VERBS if "--format" not in one]:
        lines = on_a_terminal((columns, 24), "-t", "demo", *words)
        wide = [line for line in lines if width(line.expandtabs()) > columns]
        assert not wide, words


@pytest.mark.parametrize("words", [("mail", "w1", "--all"), ("events",), ("logs", "w1")])
def test_a_row_of_foreign_text_stands_behind_a_margin(full: Team, words: tuple[str, ...]) -> None:
    rows = on_a_terminal((80, 24), "-t", "demo", *words)
    lines = on_a_terminal((60_000, 24), "-t", "demo", *words)

    assert len(rows) > len(lines)
    heads = [row for row in rows if not row.startswith("    ")]
    assert len(heads) == len([line for line in lines if not line.startswith("    ")])
    assert all(row.startswith("2026-") for row in heads)


def test_no_text_makes_a_line_of_its_own(full: Team, swarm: Swarm) -> None:
    """Else a subject could look like another task, a sender like another message."""
    assert len(swarm("-t", "demo", "task", "list").lines) == len(TEXTS)
    assert len(swarm("-t", "demo", "events", "--json").lines) == len(swarm("-t", "demo", "events").lines)
    heads = [line for line in swarm("-t", "demo", "mail", "w1", "--all").lines if not line.startswith("    ")]
    assert len(heads) == len(TEXTS)


@pytest.mark.parametrize("sender", ["w2", "user", "runtime"])
def test_only_what_its_sender_may_send_is_put_in_words(team: Team, swarm: Swarm, sender: str) -> None:
    """A teammate's text that looks like the leader's answer is shown as the text that it is."""
    for at, text in enumerate(TEXTS):
        team.inbox("w1").deliver(Message(sender=sender, to="w1", text=text, msg_id=f"m{at}"))

    shown = swarm("-t", "demo", "mail", "w1").out

    for kind in ("shutdown_request", "permission_response", "plan_approval_response", "swarm.task_report"):
        assert f'"type": "{kind}"' in shown
    assert LEADER not in {line.split("  ")[1] for line in shown.splitlines() if line[:4] == "2026"}
