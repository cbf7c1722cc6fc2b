"""The part of the report about what was asked while the team ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swarm.core.markdown import code, inline
from swarm.core.permission import Resolution
from swarm.leader.denied import call_of, word_of
from swarm.leader.places import Places


def question_lines(questions: Iterable[Resolution], places: Places) -> Iterator[str]:
    """Yield each question with its answer, equal ones once; nothing where nobody asked."""
    counted: dict[str, int] = {}
    for resolution in questions:
        told = _answer(resolution, places)
        counted[told] = counted.get(told, 0) + 1
    if counted:
        yield from ("", "## Questions", "")
    yield from (f"- {told}{f' ({number} times)' if number > 1 else ''}" for told, number in counted.items())


def _answer(resolution: Resolution, places: Places) -> str:
    request = resolution.request or {}
    asker = inline(str(request.get("agent", "somebody")), at_most=100)
    task = f", task {inline(str(request['task']), at_most=20)}" if request.get("task") else ""
    by = f" by {inline(resolution.by, at_most=100)}" if resolution.outcome != "expired" else ""
    told = f"**{word_of(resolution.outcome).capitalize()}**{by}: {code(places.hidden(call_of(request)))}"
    told += f" ({asker}{task})"
    if resolution.note:
        told += f"; said: {inline(places.hidden(resolution.note), at_most=500)}"
    if resolution.rule:
        told += f"; by the rule {code(places.hidden(resolution.rule))}"
    rule = request.get("suggested_rule")
    if resolution.outcome != "allow" and rule:
        told += f"; this rule would allow it: {code(places.hidden(str(rule)))}"
    return told
