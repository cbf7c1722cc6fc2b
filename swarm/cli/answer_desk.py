"""Where a person answers by a typed line: `y 3`, `n 3 because …`, `a 3`. An unclear line answers nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarm.cli.question import reference
from swarm.cli.render import printable
from swarm.core.permission import Resolution, called
from swarm.errors import NotFoundError, SwarmError
from swarm.leader.questions import Answer, Question, answer, open_questions
from swarm.storage.team import Team
from swarm.values import Value

_HELP = (
    "y {0} = yes, this once; n {0} = no",
    "a {0} = yes, and its rule for the team",
    "y {0} NOTE, n {0} WHY = the agent is told",
)
_HELP_OF_SEVERAL = "y {0} {1} = both; {1} = show it in full"
_LEAVE = "Ctrl-C stops; swarm resume {0} goes on"
_WORDS = {
    **dict.fromkeys(("y", "yes", "allow", "approve"), "yes"),
    **dict.fromkeys(("n", "no", "deny"), "no"),
    **dict.fromkeys(("a", "always"), "always"),
}
_HELP_WORDS = frozenset({"?", "h", "help"})
_TOGETHER = re.compile(r"([a-z]+)#?(\d+)", re.ASCII)
_REFERENCE = re.compile(r"#?(\d{1,9})|((?:perm|plan_approval)-\d{6,}[\w@.-]*)", re.ASCII)
_BECAUSE = "because"


class Said(Value):
    """What became of a line, for the person who typed it. `bad`: it did not do what was meant.

    `show` is the id of a question that is to be seen in full.
    """

    text: str
    bad: bool = False
    show: str | None = None


class _Order(Value):
    """A line that was understood. Without `refs` it is for the only question that is open."""

    word: str
    refs: tuple[str, ...]
    note: str | None


class _Unclear(Value):
    """A line with a note that may begin with the number of a question, or be no note at all."""

    refs: tuple[str, ...]
    note: str


class AnswerDesk:
    """Takes the answers of the person who watches a run of this team."""

    def __init__(self, team: Team) -> None:
        self._team = team

    def take(self, line: str, seen: Sequence[str] | None = None) -> Said:
        """Do what a line says and tell what came of it; nothing is done unless it is clear.

        `seen` are the ids of the questions that were on the screen when the line was begun, as they stood:
        without a number it can mean no other. None stands for all that are open.
        """
        words = line.split()
        if not words:
            return Said(text="")
        try:
            return self._take(words, seen)
        except SwarmError as error:
            return _failed(error)

    def _take(self, words: Sequence[str], seen: Sequence[str] | None) -> Said:
        waiting = _as_shown(self._waiting(), seen or ())
        refs = [reference(one.request) for one in waiting]
        if words[0].lower() in _HELP_WORDS:
            return Said(text=_help(refs, self._team.name))
        if len(words) == 1 and len(named := _references(words[0])) == 1:
            return self._shown(named[0])
        order = _understood(words)
        if isinstance(order, _Order) and order.refs:
            try:
                for ref in order.refs:
                    self._team.permissions.find(ref)
            except NotFoundError as error:
                return _nothing(error.message)
            return _together([self._answer(ref, order) for ref in order.refs])
        if not refs:
            return Said(text="No question is open.", bad=True)
        if order is None:
            return _nothing(f"not understood. Type y {refs[0]}, n {refs[0]} WHY, a {refs[0]}, or ? for help")
        if isinstance(order, _Unclear):
            return _nothing(_both_ways(words[0], order, refs))
        return self._answer_the_only_one(order, waiting, seen)

    def _answer_the_only_one(
        self, order: _Order, waiting: Sequence[Question], seen: Sequence[str] | None
    ) -> Said:
        letter, refs = order.word[0], [reference(one.request) for one in waiting]
        if len(refs) > 1:
            return _nothing(
                f"{len(refs)} are open. Type {letter} {refs[0]}, or {letter} {' '.join(refs)} for all"
            )
        if seen is not None and list(seen) != [waiting[0].request.id]:
            return _nothing(
                f"the questions changed while you typed. Look at #{refs[0]}, then type {letter} {refs[0]}"
            )
        return self._answer(refs[0], order)

    def _waiting(self) -> list[Question]:
        return [one for one in open_questions(self._team) if one.asker == "alive"]

    def _shown(self, ref: str) -> Said:
        found = self._team.permissions.find(ref)
        if isinstance(found, Resolution):
            return Said(text=told(found))
        return Said(text="", show=found.id)

    def _answer(self, ref: str, order: _Order) -> Said:
        outcome: Answer = "deny" if order.word == "no" else "allow"
        try:
            done = answer(self._team, ref, outcome, note=order.note, always=order.word == "always")
        except SwarmError as error:
            return _failed(error)
        return Said(text=told(done))


def told(resolution: Resolution) -> str:
    """Return what an answer has brought about, in a few words."""
    name = called(resolution)
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
        return _Unclear(refs=tuple(dict.fromkeys(refs)), note=note)
    return _Order(word=word, refs=tuple(dict.fromkeys(refs)), note=note)


def _references(text: str) -> list[str]:
    """Return the questions that one word names, `3,4` too; none if it is any other word."""
    found = [_REFERENCE.fullmatch(part) for part in text.rstrip(",:").split(",")]
    return [one[1] or one[2] for one in found if one] if all(found) else []


def _nothing(why: str) -> Said:
    return Said(text=printable(f"Nothing answered: {why}"), bad=True)


def _as_shown(questions: Sequence[Question], seen: Sequence[str]) -> list[Question]:
    """Return the questions in the order in which they stood on the screen, and those that came since."""
    places = {request_id: place for place, request_id in enumerate(seen)}
    return sorted(questions, key=lambda one: places.get(one.request.id, len(places)))


def _help(refs: Sequence[str], team: str) -> str:
    one, other = (*refs, "3", "4")[:2] if len(refs) != 1 else (refs[0], "")
    lines = (*_HELP, *((_HELP_OF_SEVERAL,) if other else ()))
    return "\n".join((*(line.format(one, other) for line in lines), _LEAVE.format(team)))


def _both_ways(word: str, order: _Unclear, refs: Sequence[str]) -> str:
    """Return what can be typed for each thing that the line may have meant."""
    if not order.refs:
        return f"not clear. Type {word} {refs[0]} because {order.note}"
    closed = [f"#{ref}" if ref.isdecimal() else ref for ref in order.refs if ref not in refs]
    unless = f", {' and '.join(closed)} {'is' if len(closed) == 1 else 'are'} not open" if closed else ""
    meant = [ref for ref in order.refs if ref in refs] or refs[:1]
    first, *others = order.refs
    one = f"{word} {first} because {' '.join((*others, order.note))}   or   " if first in refs else ""
    return f"not clear{unless}. Type {one}{word} {' '.join(meant)} because {order.note}"


def _failed(error: SwarmError) -> Said:
    return Said(text=printable(error.message), bad=True)


def _together(all_said: Sequence[Said]) -> Said:
    return Said(text="; ".join(said.text for said in all_said), bad=any(said.bad for said in all_said))
