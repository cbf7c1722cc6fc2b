"""What the words of a shell command tell. Hints for the model; no permission hangs on them."""

from __future__ import annotations

import os
import re
import shlex

_SEPARATOR = re.compile(
    r"""(?P<kept>\\.|'[^']*'|"(?:\\.|[^"\\])*"|\d*[<>]&\d*|&>{1,2})|(?P<between>&&|\|\||\|&|[;|&\n])""",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = frozenset("sudo env command nohup time exec builtin".split())
_HARMLESS_OPTIONS = frozenset("--version --help --headless --batch -batch -b -bn1 -es -Es -V".split())

_INSTEAD = {
    **dict.fromkeys(
        "vi vim nvim view vimdiff nano pico emacs micro hx kak joe ne mcedit".split(),
        "change files with Edit or Write",
    ),
    **dict.fromkeys(
        "less more most pg".split(), "look at files with Read, or leave the pager out of the pipe"
    ),
    **dict.fromkeys(
        "top htop btop atop iotop nmon watch".split(), "run a command that prints once and ends, such as ps"
    ),
    **dict.fromkeys(
        "mc ranger nnn tig lazygit gitui ncdu fzf dialog whiptail alsamixer".split(),
        "use a command that takes its choices as arguments",
    ),
}
_NO_MATCH = "nothing matched"
_FALSE_IS_NO_ERROR = {
    **dict.fromkeys("grep egrep fgrep zgrep rg ag".split(), _NO_MATCH),
    **dict.fromkeys("diff cmp".split(), "they differ"),
    **dict.fromkeys(("test", "[", "[["), "the condition is false"),
}


def refused_program(command: str) -> str | None:
    """Return why the command cannot work without a terminal, as a sentence for the model, or None."""
    for _, segment in split_segments(command):
        program, *options = _words(segment) or [""]
        instead = _INSTEAD.get(program)
        if instead and not _HARMLESS_OPTIONS.intersection(options):
            return f"{program} needs a terminal, and commands here have none, so it would hang: {instead}."
    return None


def meaning_of_one(command: str, output: str) -> str | None:
    """Return what exit code 1 of this command says when it is no error, or None when it is one."""
    segments = split_segments(command)
    if not segments or re.search(r"\bset\s+-", command):
        return None
    position = len(segments) - 1
    meaning = _FALSE_IS_NO_ERROR.get((_words(segments[position][1]) or [""])[0])
    while position and segments[position][0] in ("|", "|&"):
        position -= 1
    # With `&&` the code may come from any part before; only `cd` is known, and it would have said something.
    before = segments[:position]
    chained = bool(before) and segments[position][0] == "&&"
    if chained and (output.strip() or any((_words(text) or [""])[0] != "cd" for _, text in before)):
        return None
    return meaning


def split_segments(command: str) -> list[tuple[str, str]]:
    """Return the simple commands in order, each with the operator before it ("" for the first)."""
    segments: list[tuple[str, str]] = []
    operator, start = "", 0
    for match in _SEPARATOR.finditer(command):
        if match["between"]:
            segments.append((operator, command[start : match.start()]))
            operator, start = match["between"], match.end()
    segments.append((operator, command[start:]))
    return [(before, text.strip()) for before, text in segments if text.strip()]


def _words(segment: str) -> list[str]:
    """Return program (without its folder) and arguments, past assignments and words such as `sudo`."""
    text = segment.lstrip("({! \t")
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        words = text.split()
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _PREFIXES):
        words.pop(0)
    return [os.path.basename(words[0]), *words[1:]] if words else []
