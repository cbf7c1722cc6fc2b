"""A team file for a wish of somebody's: who does what they want, with which model, and how it is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from swarm.core.identity import check_name, same_name
from swarm.errors import ConfigError
from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.model import COUNT_MAX
from swarm.teamfile.yaml_text import plain_value
from swarm.values import Value

BUDGET_USD = 5
_SUBJECT_CHARS = 100
_WORKER = "builder"
_PAIR = 2
_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
_GROUP = re.compile(r"(?:(\d{1,4})\s+)?(\S+?)(?:\s+x?(\d{1,4}))?", re.ASCII)

_HEAD = """\
# yaml-language-server: $schema={schema}
#
# A team: who works, on which tasks, in which order.
#
#   swarm validate team.yaml     is it right?
#   swarm plan team.yaml         what waits for what?
#   swarm run team.yaml          do it

name: {name}
description: {description}
workspace: .                    # the folder they work in, relative to this file
"""
_PERMISSIONS = """
permissions:
  mode: acceptEdits             # edits inside the workspace run; commands only by rule
  allow: {allow}
  deny: ["Bash(git push:*)"]

teammates:
"""
_REVIEW = (
    "Look at all that was done for this team's tasks, as one who did not do it: read what changed, run the "
    "checks, and mend what is wrong. Report what was done, what you have checked, and what nobody has."
)
_SPLIT = (
    "Parts that can be done at the same time: make a task of each with TaskCreate, name its files in it, and "
    "let the review wait for it by TaskUpdate with addBlockedBy."
)


class Group(Value):
    """Teammates that do the same: one, or `count` of them that share the name as their role."""

    name: str
    count: int = 1


class Wish(Value):
    """What somebody wants. `allow` are rules for commands that may run; without `verify` nothing checks.

    `has_price` tells whether it is known what the model costs, so that a budget can be kept.
    """

    description: str
    groups: tuple[Group, ...]
    model: str
    verify: tuple[str, ...]
    allow: tuple[str, ...]
    has_price: bool


def parse_groups(text: str) -> tuple[Group, ...]:
    """Return who is meant by `3` or by `builder 2, reviewer`; what cannot be is a ConfigError."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return (_group(_WORKER, text),)
    groups: list[Group] = []
    for part in filter(None, map(str.strip, text.split(","))):
        found = _GROUP.fullmatch(part)
        if found is None or (found[1] and found[3]):
            raise _wrong(part, "write a name, or a name and a number, such as builder 2")
        group = _group(found[2], found[1] or found[3] or "1")
        if any(same_name(group.name, other.name) for other in groups):
            raise _wrong(part, f"{group.name} is there twice; write a number behind the name")
        groups.append(group)
    if not groups:
        raise _wrong(text, "name at least one teammate")
    return tuple(groups)


def show_groups(groups: tuple[Group, ...]) -> str:
    """Return the text that parses to these."""
    return ", ".join(group.name if group.count == 1 else f"{group.name} {group.count}" for group in groups)


def tailored_text(name: str, wish: Wish, *, schema: str) -> str:
    """Return the text of a team file: it is right, and it runs."""
    head = _HEAD.format(schema=schema, name=_plain(name), description=_quoted(_first_line(wish.description)))
    lines = [*_model(wish), _PERMISSIONS.format(allow=_list(wish.allow))[:-1]]
    for group in wish.groups:
        count = f", count: {group.count}" if group.count > 1 else ""
        between = ", " if group.count == _PAIR else " … "
        names = f"  # {group.name}-1{between}{group.name}-{group.count}" if group.count > 1 else ""
        lines.append(f"  - {{name: {_plain(group.name)}{count}}}{names}")
    return head + "\n".join([*lines, "", "tasks:", *_tasks(wish)]) + "\n"


def _model(wish: Wish) -> Iterator[str]:
    if wish.model == SCRIPTED_MODEL:
        yield "model: scripted                 # plays the scripts below: no API key, no cost"
        return
    model = f"model: {_plain(wish.model)}"
    yield f"{model:<31} # asks the Messages API; needs a key: export ANTHROPIC_API_KEY=..."
    if wish.has_price:
        yield f"budget: {{usd: {BUDGET_USD}}}                # what it may cost at most, in US dollars"


def _tasks(wish: Wish) -> Iterator[str]:
    *workers, last = wish.groups
    reviewer = last if workers or last.count > 1 else None
    doing = workers or [last]
    keys = [group.name if len(doing) > 1 else "work" for group in doing]
    if reviewer is not None and any(same_name(key, "review") for key in keys):
        keys = [f"{key}-part" for key in keys]
    for key, group in zip(keys, doing, strict=True):
        told = [wish.description.strip()]
        if len(doing) > 1:
            told.append(f"This task is the part of it that is for {group.name}.")
        if group.count > 1:
            told.append(_SPLIT)
        yield from _task(wish, key, _first_line(wish.description), "\n\n".join(told), group)
    if reviewer is not None:
        yield ""
        yield from _task(wish, "review", "Look at all of it once more", _REVIEW, reviewer, tuple(keys))


def _task(
    wish: Wish, key: str, subject: str, description: str, group: Group, blocked_by: tuple[str, ...] = ()
) -> Iterator[str]:
    yield f"  - key: {_plain(key)}"
    yield f"    subject: {_quoted(subject)}"
    yield f"    description: {_quoted(description)}"
    yield f"    owner: {_plain(group.name)}"
    if blocked_by:
        yield f"    blocked_by: {_list(blocked_by)}"
    if wish.verify:
        yield f"    verify: {_list(wish.verify)}  # must pass before it counts as done"
    if wish.model == SCRIPTED_MODEL:
        yield "    script:                     # one item is one turn; one without calls ends the work"
        yield "      - say: Nothing is done here yet; write the turns, or take another model."


def _group(name: str, count: str) -> Group:
    number = int(count)
    if not 1 <= number <= COUNT_MAX:
        raise _wrong(count, f"there can be 1 to {COUNT_MAX} of them")
    return Group(name=check_name(name), count=number)


def _wrong(text: str, why: str) -> ConfigError:
    return ConfigError(f"{text!r}: {why}", code="bad_value", details={"value": text})


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _SUBJECT_CHARS else f"{line[:_SUBJECT_CHARS].rstrip()}…"


def _plain(text: str) -> str:
    """Return a name as it is where it stays text; models may hold what means something in YAML."""
    return text if plain_value(text) == text and re.fullmatch(r"[A-Za-z0-9][\w./-]*", text) else _quoted(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"
