"""Questions and answers as the verbs print them: for people, and as objects for programs."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

from swarm.cli.question import clipped, question_lines, reference, summary, time_left
from swarm.cli.render import local_time, paint, printable
from swarm.cli.session import Io
from swarm.core.breaking import width
from swarm.core.fields import EMPTY
from swarm.core.permission import PermissionRequest, Resolution, parse_request
from swarm.leader.questions import Question

_OF_A_REQUEST = (
    "id", "number", "agent", "task", "tool", "input", "cwd", "why", "suggested_rule",
    "created_at", "deadline_at",
)  # fmt: skip
_OF_AN_ANSWER = ("outcome", "via", "by", "note", "rule", "at")
_OUTCOMES = {"allow": ("allowed", "green"), "deny": ("denied", "red"), "expired": ("not answered", "yellow")}


def question_object(question: Question) -> dict[str, Any]:
    """Return an open question for programs, with whether somebody still waits for the answer."""
    return _facts(question.request) | {"asker": question.asker}


def answered_object(resolution: Resolution) -> dict[str, Any]:
    """Return an answer for programs, with what it answers."""
    request = _request_of(resolution)
    asked = {"id": resolution.id} if request is None else _facts(request)
    return asked | {key: value for key in _OF_AN_ANSWER if (value := getattr(resolution, key)) is not None}


def print_question(question: Question, io: Io, which: str = "") -> None:
    """Print all of a question, and what to type; `which` says for which team."""
    request = question.request
    _print(request, io)
    ref = reference(request)
    if question.asker == "gone":
        io.note(f"{printable(request.agent)}, who asked, is gone: an answer comes too late")
    else:
        always = ", or with --always" if request.suggested_rule else ""
        io.note(f"yes: swarm approve {ref}{which}{always}")
        io.note(f"no: swarm deny {ref}{which} --note WHY")


def print_answered(resolution: Resolution, io: Io) -> None:
    """Print what was asked and what the answer was."""
    request = _request_of(resolution)
    if request is not None:
        _print(request, io, answered=True)
    io.print(f"  {_outcome(resolution, io)}")


def open_line(question: Question, io: Io) -> str:
    """Return an open question in one line."""
    gone = question.asker == "gone"
    left = "who asked is gone" if gone else time_left(question.request, io.clock.now())
    return _with_end(summary(question.request, unicode=io.unicode), left, left, io)


def answered_line(resolution: Resolution, io: Io) -> str:
    """Return an answered question in one line."""
    request = _request_of(resolution)
    if request is None:
        return f"{printable(resolution.id)}: {_outcome(resolution, io)}"
    what = summary(request, unicode=io.unicode)
    long = _outcome(resolution, io, color=False)
    brief = width(what) + width(long) + len("; ") > (io.columns or sys.maxsize)
    end = _outcome(resolution, io, color=False, brief=brief)
    return _with_end(what, end, _outcome(resolution, io, brief=brief), io)


def _with_end(text: str, end: str, drawn_end: str, io: Io) -> str:
    """Return a line of which the end is always there, and the rest as far as it fits."""
    room = (io.columns or sys.maxsize) - len(end) - 2
    return f"{clipped(text, max(1, room), unicode=io.unicode)}; {drawn_end}" if end else text


def _outcome(resolution: Resolution, io: Io, *, color: bool = True, brief: bool = False) -> str:
    word, style = _OUTCOMES[resolution.outcome]
    by = "" if resolution.outcome == "expired" else f" by {printable(resolution.by)}"
    rule = f", always: {printable(resolution.rule)}" if resolution.rule else ""
    note = f": {printable(resolution.note)}" if resolution.note else ""
    said = paint(word, style, enabled=io.color and color)
    return f"{said}{by} {local_time(resolution.at)}{'' if brief else f'{rule}{note}'}"


def _print(request: PermissionRequest, io: Io, *, answered: bool = False) -> None:
    lines = question_lines(request, io.columns, None, unicode=io.unicode, color=io.color, answered=answered)
    if not io.color:
        for line in lines:
            io.print(line.plain)
        return
    console = Console(file=io.out, force_terminal=True, width=io.columns or 10_000, highlight=False)
    with console.capture() as drawn:
        for line in lines:
            console.print(line)
    io.print(drawn.get().removesuffix("\n"))


def _facts(request: PermissionRequest) -> dict[str, Any]:
    found = {key: getattr(request, key) for key in _OF_A_REQUEST}
    return {key: value for key, value in found.items() if value is not None} | {"input": dict(request.input)}


def _request_of(resolution: Resolution) -> PermissionRequest | None:
    """Return the question as the answer holds it; other programs may leave out most of it."""
    told = resolution.request
    if told is None:
        return None
    lacking = dict.fromkeys(("run_id", "cwd", "digest", "created_at", "deadline_at"), "")
    try:
        return parse_request({"id": resolution.id, "input": EMPTY, **lacking, **told})
    except ValueError:
        return None
