"""The part of the report about what was asked while the team ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swarm.core.identity import RUNTIME
from swarm.core.markdown import code, inline
from swarm.core.permission import Resolution
from swarm.leader.denied import call_of, is_settled, latest, word_of
from swarm.leader.places import Places
from swarm.storage.questions import NOBODY_ANSWERED, was_left_open


def question_lines(questions: Iterable[Resolution], places: Places) -> Iterator[str]:
    """Yield each question with its answer, equal ones once; nothing where nobody asked.

    One that was left open is not told when the call was asked for again.
    """
    counted: dict[str, int] = {}
    asked = tuple(questions)
    last = {answer.id for answer in latest(asked)}
    for resolution in asked:
        if was_left_open(resolution) and resolution.id not in last:
            continue
        told = _answer(resolution, places)
        counted[told] = counted.get(told, 0) + 1
    if counted:
        yield from ("", "## Questions", "")
    yield from (f"- {told}{f' ({number} times)' if number > 1 else ''}" for told, number in counted.items())


def _answer(resolution: Resolution, places: Places) -> str:
    request = resolution.request or {}
    asker = inline(str(request.get("agent", "somebody")), at_most=100)
    task = f", task {inline(str(request['task']), at_most=20)}" if request.get("task") else ""
    by = f" by {inline(resolution.by, at_most=100)}" if resolution.by != RUNTIME else ""
    told = f"**{word_of(resolution).capitalize()}**{by}: {code(places.hidden(call_of(request)))}"
    told += f" ({asker}{task})"
    if resolution.note and resolution.note != NOBODY_ANSWERED:
        said = "said: " if resolution.via == "human" else ""
        told += f"; {said}{inline(places.hidden(resolution.note), at_most=500)}"
    if resolution.rule:
        told += f"; by the rule {code(places.hidden(resolution.rule))}"
    rule = request.get("suggested_rule")
    if resolution.outcome != "allow" and rule and not is_settled(resolution):
        told += f"; this rule would allow it: {code(places.hidden(str(rule)))}"
    return told
