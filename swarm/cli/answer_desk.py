"""Where a person answers by a typed line: `y 3`, `n 3 because …`, `a 3`. An unclear line answers nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarm.cli.question import reference
from swarm.cli.render import printable
from swarm.core.permission import Resolution
from swarm.core.times import parse_time
from swarm.errors import SwarmError
from swarm.leader.questions import Answer, Question, answer, open_questions
from swarm.storage.team import Team
from swarm.values import Value

HELP = (
    "y {0} = it runs, this once · y {0} NOTE = and the agent is told that · n {0} because WHY = no · "
    "a {0} = yes, and its rule is added for the whole team · y {0} 9 = both"
)
_WORDS = {
    **dict.fromkeys(("y", "yes", "allow", "approve"), "yes"),
    **dict.fromkeys(("n", "no", "deny"), "no"),
    **dict.fromkeys(("a", "always"), "always"),
}
_HELP_WORDS = frozenset({"?", "h", "help"})
_TOGETHER = re.compile(r"([a-z]+)#?(\d+)", re.ASCII)
_REFERENCE = re.compile(r"#?(\d{1,9})|((?:perm|plan_approval)-\d{6,}[\w@.-]*)", re.ASCII)
_BECAUSE = "because"
_JUST_CAME_SECONDS = 1.0
_JUST_ANSWERED_SECONDS = 3.0


class Said(Value):
    """What became of a line, for the person who typed it. `bad`: it did not do what was meant."""

    text: str
    bad: bool = False


class _Order(Value):
    """A line that was understood. Without `refs` it is for the only question that is open."""

    word: str
    refs: tuple[str, ...]
    note: str | None


class _Unclear(Value):
    """A line with a note that may begin with the number of a question, or be no note at all."""

    ref: str | None
    note: str


class AnswerDesk:
    """Takes the answers of the person who watches a run of this team."""

    def __init__(self, team: Team) -> None:
        self._team = team

    def take(self, line: str) -> Said:
        """Do what a line says and tell what came of it; nothing is done unless it is clear."""
        words = line.split()
        if not words:
            return Said(text="")
        if words[0].lower() in _HELP_WORDS:
            return Said(text=HELP.format(self._example()))
        order = _understood(words)
        if order is None:
            ref = self._example()
            return _nothing(f"not understood. Type y {ref}, n {ref} because …, a {ref}, or ? for help")
        if isinstance(order, _Unclear):
            where = f"{words[0]} {order.ref or self._example()}"
            return _nothing(f"not clear. Type {where} because {order.note}")
        if order.refs:
            return _together([self._answer(ref, order) for ref in order.refs])
        return self._answer_the_only_one(order)

    def _example(self) -> str:
        """Return the number of a question that is open, so that what is said can be typed."""
        try:
            return next((reference(one.request) for one in self._waiting()), "3")
        except SwarmError:
            return "3"

    def _waiting(self) -> list[Question]:
        return [one for one in open_questions(self._team) if one.asker == "alive"]

    def _answer_the_only_one(self, order: _Order) -> Said:
        try:
            questions = self._waiting()
            if not questions:
                return Said(text="No question is open.", bad=True)
            if len(questions) > 1:
                return _which_one(order.word[0], questions)
            ref = reference(questions[0].request)
            if self._has_just_come(questions[0]):
                typed = f"{order.word[0]} {ref}"
                return _nothing(f"#{ref} has only just come. Look at it, then type {typed}")
        except SwarmError as error:
            return _failed(error)
        return self._answer(ref, order)

    def _has_just_come(self, question: Question) -> bool:
        """Whether the line may have been meant for another, which was answered or closed as it was typed."""
        now = self._team.clock.now()
        if _age(question.request.created_at, now) > _JUST_CAME_SECONDS:
            return False
        answered = self._team.permissions.list_resolved()
        return any(_age(one.at, now) <= _JUST_ANSWERED_SECONDS for one in answered)

    def _answer(self, ref: str, order: _Order) -> Said:
        outcome: Answer = "deny" if order.word == "no" else "allow"
        try:
            done = answer(self._team, ref, outcome, note=order.note, always=order.word == "always")
        except SwarmError as error:
            return _failed(error)
        return Said(text=told(done))


def told(resolution: Resolution) -> str:
    """Return what an answer has brought about, in a few words."""
    number = (resolution.request or {}).get("number")
    name = resolution.id if number is None else f"#{number}"
    outcome = "denied" if resolution.outcome == "deny" else "allowed"
    note = f" (note: {printable(resolution.note)})" if resolution.note else ""
    if resolution.rule is None:
        return f"{name} {outcome}{note}"
    return f"{name} {outcome}{note}, and from now on {printable(resolution.rule)} for the whole team"


def _understood(words: Sequence[str]) -> _Order | _Unclear | None:
    """Return what a line of words orders, None if that cannot be told at all."""
    first, rest = words[0].lower(), list(words[1:])
    glued = _TOGETHER.fullmatch(first)
    if glued:
        first, rest = glued[1], [glued[2], *rest]
    word = _WORDS.get(first)
    if word is None:
        return None
    refs: list[str] = []
    while rest and (found := _references(rest[0])):
        refs += found
        rest.pop(0)
    marked = bool(rest) and rest[0].lower().rstrip(":,") == _BECAUSE
    note = " ".join(rest[1:] if marked else rest) or None
    if note and not marked and len(refs) != 1:
        return _Unclear(ref=refs[0] if refs else None, note=" ".join((*refs[1:], note)))
    return _Order(word=word, refs=tuple(dict.fromkeys(refs)), note=note)


def _references(text: str) -> list[str]:
    """Return the questions that one word names, `3,4` too; none if it is any other word."""
    found = [_REFERENCE.fullmatch(part) for part in text.rstrip(",:").split(",")]
    return [one[1] or one[2] for one in found if one] if all(found) else []


def _nothing(why: str) -> Said:
    return Said(text=printable(f"Nothing answered: {why}"), bad=True)


def _which_one(letter: str, questions: Sequence[Question]) -> Said:
    refs = [reference(question.request) for question in questions]
    return _nothing(f"{len(refs)} are open. Type {letter} {refs[0]}, or {letter} {' '.join(refs)} for all")


def _failed(error: SwarmError) -> Said:
    return Said(text=printable(error.message), bad=True)


def _together(all_said: Sequence[Said]) -> Said:
    return Said(text="; ".join(said.text for said in all_said), bad=any(said.bad for said in all_said))


def _age(time: str, now: float) -> float:
    try:
        return now - parse_time(time)
    except (ValueError, OverflowError):
        return float("inf")
