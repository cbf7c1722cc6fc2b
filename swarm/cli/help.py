"""Help pages, made from the table; the same text whichever parser prints it."""

from __future__ import annotations

from swarm.cli.grammar import GLOBALS, HELP, VERSION, Option, Verb
from swarm.cli.table import GROUPS, VERBS

WIDTH = 80
_INDENT = 2
_COLUMN_MAX = 34


def render_verb(verb: Verb) -> str:
    """Return the help page of one verb."""
    parts = [f"Usage: {usage(verb)}", _wrap(verb.help, _INDENT)]
    if verb.positionals:
        parts.append(_section("Arguments", [(p.metavar, p.help) for p in verb.positionals]))
    parts.append(_section("Options", [_option_row(option) for option in verb.all_options]))
    if verb.detail:
        parts.append(_wrap(verb.detail, 0))
    return "\n\n".join(parts)


def render_group(group: str) -> str:
    """Return the help page of a first word such as `task`."""
    rows = [(" ".join(v.path[1:]), v.help) for v in VERBS if v.path[0] == group and len(v.path) > 1]
    parts = [f"Usage: swarm {group} VERB ...", _wrap(GROUPS[group], _INDENT), _section("Verbs", rows)]
    return "\n\n".join([*parts, f"swarm {group} VERB --help says more about each."])


def render_main() -> str:
    """Return the page that `swarm` alone prints."""
    rows = [(" ".join(verb.path), verb.help) for verb in VERBS]
    options = [_option_row(option) for option in (*GLOBALS, VERSION, HELP)]
    return "\n\n".join(
        [
            "Usage: swarm [-t TEAM] VERB ...",
            _wrap("Teams of coding agents that coordinate through files.", _INDENT),
            _section("Verbs", rows),
            _section("Options", options),
            "swarm VERB --help says more about each.\nTo see a team at work, without a key: swarm demo",
        ]
    )


def usage(verb: Verb) -> str:
    """Return the verb's usage line."""
    words = [verb.label, *(p.usage for p in verb.positionals), "[OPTIONS]"]
    return " ".join(words)


def _option_row(option: Option) -> tuple[str, str]:
    left = f"{', '.join(option.flags)} {option.value_name}".rstrip()
    without_short = "    " if len(option.flags) == 1 else ""  # so that long flags stand below each other
    return without_short + left, option.help


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    column = min(max(len(left) for left, _ in rows), _COLUMN_MAX) + _INDENT
    lines = [f"{title}:"]
    for left, text in rows:
        lines.extend(_row(left, text, column))
    return "\n".join(lines)


def _row(left: str, text: str, column: int) -> list[str]:
    lead = " " * _INDENT
    body = _fold(text, WIDTH - column - _INDENT * 2)
    if len(left) > column - _INDENT:
        return [lead + left, *(" " * (column + _INDENT) + line for line in body)]
    first, *rest = body
    return [lead + left.ljust(column) + first, *(" " * (column + _INDENT) + line for line in rest)]


def _wrap(text: str, indent: int) -> str:
    return "\n".join(" " * indent + line for line in _fold(text, WIDTH - indent))


def _fold(text: str, width: int) -> list[str]:
    """Break at blanks so that lines fit; `textwrap` does the same, at the price of its import."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
