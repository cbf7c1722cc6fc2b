"""One frame of the live view, made from what was gathered, for a terminal of a given size: nothing else.

From top to bottom: how far the run is, the tasks, the teammates, and what somebody has to answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from swarm.cli.cells import cut, cut_start, fit
from swarm.cli.exact_text import exact, label
from swarm.cli.frame_rows import agent_lines, event_lines, task_lines
from swarm.cli.question import question_lines, reference
from swarm.cli.render import count
from swarm.cli.sight import Sight
from swarm.core.breaking import width, wrap_words
from swarm.core.money import shown_usd
from swarm.core.permission import PermissionRequest
from swarm.values import Value

_PROMPT = "> "
_HINT_GAP = 3
_ROOMY = 20  # from so many rows on there are blank lines between the parts
_BLANKS = 3
_HAPPENED_MOST = 12
_SAID_MOST = 6
_OTHERS_MOST = 3
_LEAST_QUESTION = 4
_SMALL = 16  # with fewer rows each list gives up its second line to a question
_THOUSAND, _MILLION = 1_000, 1_000_000
_HOUR, _MINUTE = 3600, 60
_LEAST_ABOUT = 10


class Typing(Value):
    """The line at the bottom: what was typed so far, and what the last answer came to.

    `listens`: somebody can type; without it questions are shown with the commands that answer them.
    `shows`: the id of the question that he wants to see, for which the lists make room.
    """

    listens: bool = False
    text: str = ""
    said: str = ""
    is_bad: bool = False
    shows: str = ""


class Size(Value):
    """What the terminal has room for, and whether it can write more than ASCII."""

    columns: int
    rows: int
    unicode: bool = True
    color: bool = True


class Frame(Value):
    """Lines that fit the size they were made for; `cursor` is the row and column where typing goes on."""

    lines: tuple[Text, ...]
    cursor: tuple[int, int] | None = None


def draw(sight: Sight, size: Size, typing: Typing, now: float) -> Frame:
    """Return the frame: never more rows or wider lines than there is room for."""
    line, at = _input_line(sight, size, typing)
    below = [*_bottom(sight, size, typing, now), *line]
    above = [head_line(sight, size), *_lists(sight, size, max(0, size.rows - 1 - len(below)))]
    space = size.rows - len(above) - len(below)
    lines = [*above, *([Text()] * space if below else ()), *below][-size.rows :]
    fitted = tuple(fit(text, size.columns, unicode=size.unicode) for text in lines)
    return Frame(lines=fitted, cursor=None if at is None else (len(lines) - 1, at))


def _lists(sight: Sight, size: Size, room: int) -> list[Text]:
    """Return the tasks, the teammates, and if that leaves room what happened last."""
    tasks, agents = len(sight.tasks), len(sight.agents)
    airy = size.rows >= _ROOMY and tasks + agents + _BLANKS <= room
    gap = [Text()] * airy
    left = room - _BLANKS * airy
    tall = airy and not sight.questions and tasks + 2 * agents <= left
    for_agents = 2 * agents if tall else min(agents, max(2, left // 2, left - tasks), left)
    doing = agent_lines(sight.agents, size.columns, for_agents, unicode=size.unicode, tall=tall)
    left -= len(doing)
    todo = task_lines(sight.tasks, sight.colors, size.columns, max(0, left), unicode=size.unicode)
    left = min(left - len(todo) - len(gap), _HAPPENED_MOST)
    news = event_lines(sight.happened, size.columns, left * airy, unicode=size.unicode)
    return [*gap, *todo, *gap, *doing, *(gap if news else ()), *news, *gap]


def head_line(sight: Sight, size: Size) -> Text:
    """Return the first line; of a narrow one the less telling parts are left out."""
    name = label(sight.team, unicode=size.unicode)
    line = Text.assemble((" swarm ", "bold reverse"), (f" {name}", "bold"))
    parts = [
        (f"{sight.done}/{sight.total} done", "green"),
        (f"{sight.failed} failed" if sight.failed else "", "bold red"),
        (count(len(sight.questions), "question") if sight.questions else "", "bold yellow"),
        (_clock(int(sight.elapsed)), ""),
        (_money(sight), ""),
        (_tokens(sight), "dim"),
        (label(sight.description, unicode=size.unicode), "dim"),
    ]
    for at, (said, style) in enumerate(parts):
        room = size.columns - width(line.plain) - 2
        is_last = at == len(parts) - 1
        if said and (width(said) <= room or (is_last and room > _LEAST_ABOUT)):
            line.append(f"  {cut(said, room, unicode=size.unicode)}", style=style)
    return line


def _clock(seconds: int) -> str:
    hours = f"{seconds // _HOUR}:" if seconds >= _HOUR else ""
    return f"{hours}{seconds % _HOUR // _MINUTE:02d}:{seconds % _MINUTE:02d}"


def _money(sight: Sight) -> str:
    if sight.limit is not None:
        return f"{shown_usd(sight.spent)} of {shown_usd(sight.limit)}"
    return shown_usd(sight.spent) if sight.spent else ""


def _tokens(sight: Sight) -> str:
    return f"{_short(sight.read)} in {_short(sight.written)} out" if sight.read or sight.written else ""


def _short(number: int) -> str:
    if number < _THOUSAND:
        return str(number)
    thousands = number / _THOUSAND
    if number < _MILLION:
        return f"{thousands:.1f}k" if number < 10 * _THOUSAND else f"{thousands:.0f}k"
    return f"{number / _MILLION:.1f}M"


def _bottom(sight: Sight, size: Size, typing: Typing, now: float) -> list[Text]:
    """Return the open questions and what was said to the last answer."""
    said = _said(typing, size)
    if not sight.questions:
        return said
    first, *others = sight.questions
    is_wanted = first.id == typing.shows
    least = 0 if is_wanted else 2 if size.rows >= _SMALL else 1
    lists = 1 + min(least, len(sight.tasks)) + min(least, len(sight.agents))
    room = max(_LEAST_QUESTION, size.rows - lists - len(said) - 1)
    places = min(len(others), _OTHERS_MOST, max(0, room - _LEAST_QUESTION - 1))
    lines = question_lines(
        first,
        size.columns,
        max(1, room - 1 - (0 if is_wanted else places)),
        unicode=size.unicode,
        color=size.color,
        now=now,
        team=sight.team,
    )
    listed = _others(others, sight.team, size, min(places, max(0, room - 1 - len(lines))), now)
    rule = Text(("─" if size.unicode else "-") * size.columns, style="dim")
    return [rule, *lines, *listed, *said]


def _others(others: Sequence[PermissionRequest], team: str, size: Size, room: int, now: float) -> list[Text]:
    """Return one line for each further question, the last one for those that have no room."""
    shown = others if len(others) <= room else others[: max(0, room - 1)]
    lines = [
        Text(line.plain, style="yellow")
        for one in shown
        for line in question_lines(one, size.columns, 1, unicode=size.unicode, color=size.color, now=now)
    ]
    left = len(others) - len(shown)
    if left and room:
        dots = "…" if size.unicode else "..."
        said = f"{dots} {left} more: swarm permissions -t {exact(team, unicode=size.unicode)}"
        lines.append(Text(cut(said, size.columns, unicode=size.unicode), style="bold yellow"))
    return lines


def _said(typing: Typing, size: Size) -> list[Text]:
    style = "red" if typing.is_bad else "green"
    told = typing.said.splitlines()
    most = max(1, min(_SAID_MOST, size.rows // 4), min(len(told), size.rows - _LEAST_QUESTION - 1))
    lines = [piece for line in told for piece in wrap_words(exact(line, unicode=size.unicode), size.columns)]
    if len(lines) > most:
        lines = [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), size.columns, unicode=size.unicode)]
    return [Text(line, style=style) for line in lines]


def _input_line(sight: Sight, size: Size, typing: Typing) -> tuple[list[Text], int | None]:
    """Return the line to type in, with what can be typed beside it, and the column of the cursor."""
    if not typing.listens:
        return (_commands(sight, size) if sight.questions else []), None
    if not sight.questions and not typing.text:
        return [], None
    text = exact(typing.text, unicode=size.unicode)
    shown = cut_start(text, max(1, size.columns - len(_PROMPT) - 1), unicode=size.unicode)
    line = Text.assemble((_PROMPT, "bold"), shown)
    cursor = width(line.plain)
    hint = _hint(sight, size, typing, size.columns - cursor - _HINT_GAP)
    if hint:
        line.append(f"{'   ' if text else '  '}{hint}", style="dim")
    return [line], min(cursor, size.columns - 1)


def _hint(sight: Sight, size: Size, typing: Typing, room: int) -> str:
    """Return what can be typed; for less room without what can be learnt from the help."""
    if not sight.questions:
        return ""
    first, *others = sight.questions
    ref, *more = (exact(reference(one), unicode=size.unicode) for one in (first, *others[:1]))
    answers = (f"y {ref} = yes", f"n {ref} WHY = no")
    always = (f"a {ref} = always",) if first.suggested_rule else ()
    show, ask = tuple(f"{one} = show it" for one in more), ("? = help",)
    brief: tuple[str, ...] = answers
    if first.id == typing.shows:
        show = ("Enter = back",)
        brief = (answers[0], *show)
    dot = " · " if size.unicode else " | "
    ways = ((*answers, *always, *show, *ask), (*answers, *show, *ask), (*brief, *ask), ask)
    return next((hint for hint in map(dot.join, ways) if width(hint) <= room), "")


def _commands(sight: Sight, size: Size) -> list[Text]:
    ref = exact(reference(sight.questions[0]), unicode=size.unicode)
    team = exact(sight.team, unicode=size.unicode)
    said = f"swarm approve {ref} -t {team} | swarm deny {ref} -t {team}   in another terminal"
    return [Text(cut(said, size.columns, unicode=size.unicode), style="dim")]
