"""Markdown made of text that others wrote: it is shown, and nothing in it acts.

No mention calls anybody, no reference links or closes an issue, no line is a command to a bot, and no text
leaves its place. That holds where the page is pasted into a pull request, too: there references are looked
for in the finished text, so that a backslash does not help, while what is code is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from swarm.core.untrusted import clean

_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)")
_BREAKS_TABLE = re.compile(r"[|\\]")
_WORD = re.compile(r"[^\s|\\`]+")
_ACTS = re.compile(
    r"@\w"  # calls somebody
    r"|[#!&%$~^]\d|~[\w\"]"  # issue, merge request, epic, milestone, snippet, label, alert
    r"|(?:gh|gl)-\d|\[\w+:"  # other ways to name an issue
    r"|://|www\."  # an address, which closes an issue as well as its number does
    r"|^\W*/[a-z]",  # a command to a bot, where it begins a line
    re.IGNORECASE,
)
_PRICE = re.compile(r"\W*\$\d+(?:\.\d+)?\W*")
_OPENS, _CLOSES = "(\"'[{,;", ")\"']},;.:!?…"
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
_MARK = re.compile(r"#(?=#{0,5}(?:\s|$))|[-+](?=\s)|[-=+](?=[-=\s]*$)")
_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|$))")
_ITEM = re.compile(r"(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(?=\S)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_INDENT = "    "


def inline(text: str, *, in_table: bool = False, at_most: int | None = None) -> str:
    """Return the text as one line of Markdown; code in it stays code, where that cannot break the table.

    Of a text of more than `at_most` characters the rest is left out, which is shown.
    """
    line = " ".join(clean(text).split())
    if at_most is not None and len(line) > at_most:
        line = f"{line[:at_most].rstrip()}…"
    return _joined(_pieces(line, in_table=in_table))


def code(text: str) -> str:
    """Return one line as code; not for a cell of a table, which a bar in it would end."""
    line = " ".join(clean(text).split())
    if not line:
        return ""
    ticks = "`" * (max((len(run) for run in _TICKS.findall(line)), default=0) + 1)
    space = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(text: str) -> Iterator[str]:
    """Yield lines that show the text as it is, except for what is invisible."""
    lines = clean(text).rstrip("\n").split("\n")
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (fence, *lines, fence)


def prose(text: str) -> Iterator[str]:
    """Yield lines of Markdown that say what the text says: paragraphs, lists and code, and nothing else."""
    lines = clean(text).strip("\n").split("\n")
    at, blank, depth = 0, True, -1
    while at < len(lines):
        end = _end_of_code(lines, at)
        if end is not None:
            if not blank:
                yield ""
            yield from fenced("\n".join(lines[at + 1 : end]))
            yield ""
            at, blank, depth = end + 1, True, -1
            continue
        item = _ITEM.match(lines[at])
        if item is not None:
            depth = min(len(item[1].expandtabs(4)) // 2, depth + 1)
            mark = "-" if item[2] is None else f"{int(item[2])}."
            line = f"{_INDENT * depth}{mark} {_line(lines[at][item.end() :])}"
        else:
            line = _line(lines[at])
            depth = -1 if line else depth
        if line or not blank:
            yield line
        at, blank = at + 1, not line


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that show the title until somebody opens it; `title` is ours and plain."""
    yield from (f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def _pieces(line: str, *, in_table: bool) -> Iterator[tuple[bool, str]]:
    """Yield what the line consists of, as Markdown, each with whether it is code."""
    end = 0
    for found in _CODE_SPAN.finditer(line):
        if not (in_table and _BREAKS_TABLE.search(found[2])):
            yield from _plain(line[end : found.start()])
            yield True, code(found[2])
            end = found.end()
    yield from _plain(line[end:])


def _plain(text: str) -> Iterator[tuple[bool, str]]:
    """Yield text without code in it; a word that would act becomes code, all else stays readable."""
    end = 0
    for word in _WORD.finditer(text):
        if not _ACTS.search(word[0]) or _PRICE.fullmatch(word[0]):
            continue
        core = word[0].lstrip(_OPENS).rstrip(_CLOSES)
        if not _ACTS.search(core):
            core = word[0]
        start = word.start() + word[0].index(core)
        yield False, _escaped(text[end:start])
        yield True, code(core)
        end = start + len(core)
    yield False, _escaped(text[end:])


def _joined(pieces: Iterable[tuple[bool, str]]) -> str:
    """Return the pieces as one text; where code touched code, their marks would be read as one."""
    text, was_code = "", False
    for is_code, piece in pieces:
        if piece:
            text += f" {piece}" if is_code and was_code else piece
            was_code = is_code
    return text


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], text)


def _line(line: str) -> str:
    """Return one line that begins nothing: no heading, rule, list or table."""
    text = line.strip()
    number = _NUMBER.match(text)
    if number is None and not _MARK.match(text):
        return inline(text)
    at = 0 if number is None else number.end()
    rest = text[at + 1 :]
    return f"{text[:at]}\\{text[at]}{' ' if rest[:1].isspace() else ''}{inline(rest)}"


def _end_of_code(lines: list[str], at: int) -> int | None:
    """Return the line that closes the block of code that begins here; None where none begins, or closes."""
    opened = _FENCE.match(lines[at])
    if opened is None:
        return None
    for number in range(at + 1, len(lines)):
        text = lines[number].strip()
        if text.startswith(opened[1]) and not text.strip(opened[1][0]):
            return number
    return None
