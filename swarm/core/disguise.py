"""Finds names of tags in whatever spelling: a reader must not take for a tag of ours what is none."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from swarm.core.untrusted import is_unseen

_OPENING = r"(?:<|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u0*3c|\\u\{0*3c\}|\\x3c|\\0*74|%(?:25)*3c)"
_BETWEEN = r"[\s/\\!?|*'\".:#=]*+(?:[a-z][a-z0-9.-]*+\s*+:\s*+)?+"  # marks, and the prefix of a namespace
_MAYBE = re.compile("[<&\\\\%]|[^\x00-\x7f]")

_PLAIN_ASCII = re.compile(r"[\t\n\x20-\x7e]*+")

_LOOK_ALIKE = dict(
    zip(
        "\u2039\u3008\u27e8\u276e\u02c2\u1438\u29fc\xab\u226a\u227a\u22d6"  # brackets
        "\u276c\u2770\u2991\u27ea\u300a"
        "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u0455\u0443\u0445\u043c\u0442\u043a\u0261"
        "\u0578\u057d\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c4\u03c5\u0131"
        "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f\u1d0d"  # small capitals
        "\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22"
        "\u2212\u30fc\u02d7",
        "<<<<<<<<<<<<<<<<acdehijlopsyxmtkgnuoaeikvptuiabcdefghijklmnoprstuvwyz---",
        strict=True,
    )
)


class Disguised:
    """Looks for these names behind an opening bracket, and puts a backslash between the two.

    Case, blanks, invisible characters, accents, compatibility forms, letters of other scripts that look the
    same, marks before a name, namespaces and escaped brackets make no difference; dashes and underscores are
    one.
    """

    def __init__(self, names: Iterable[str]) -> None:
        spelt = "|".join(r"\s*+".join(map(re.escape, name)) for name in names)
        self._find = re.compile(rf"({_OPENING})(?={_BETWEEN}(?:{spelt})(?![a-z0-9-]))")

    def marked(self, text: str) -> str:
        r"""Return the text with `<\` for each `<` before such a name, and `<\\` for `<\`."""
        return _spliced(text, ((at, at, "\\") for at in self._places(text)))

    def unmarked(self, text: str) -> str:
        """Undo `marked`."""
        return _spliced(text, ((at, at + 1, "") for at in self._places(text) if text[at : at + 1] == "\\"))

    def _places(self, text: str) -> Iterator[int]:
        """Yield where each opening bracket ends."""
        if not _MAYBE.search(text):
            return
        folded, place = _folded(text)
        for found in self._find.finditer(folded):
            yield place(found.end(1))


def _spliced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    reached = 0
    for start, end, piece in changes:
        parts += (text[reached:start], piece)
        reached = end
    return "".join((*parts, text[reached:])) if parts else text


def _folded(text: str) -> tuple[str, Callable[[int], int]]:
    """Return the text with all spellings of a letter as one, and what tells where a place in it was."""
    if _PLAIN_ASCII.fullmatch(text):
        return text.lower().replace("_", "-"), _same
    pieces = [_FOLD[ch] for ch in text]
    return "".join(pieces), _Places(pieces)


def _same(end: int) -> int:
    return end


class _Places:
    """From the end of something in folded text to its end in the text."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ends = list(accumulate(map(len, pieces)))

    def __call__(self, end: int) -> int:
        return bisect_left(self._ends, end) + 1


class _Fold(dict[str, str]):
    def __missing__(self, ch: str) -> str:
        folded = self[ch] = _fold(ch)
        return folded


def _fold(ch: str) -> str:
    if ch.isspace():
        return " "
    if is_unseen(ch):
        return ""
    letters = (one for one in unicodedata.normalize("NFKD", ch) if unicodedata.category(one)[0] != "M")
    return "".join(_as_ascii(one) for one in letters).lower()


def _as_ascii(ch: str) -> str:
    ch = ch.casefold()
    if ch == "_" or unicodedata.category(ch[0]) == "Pd":
        return "-"
    return _LOOK_ALIKE.get(ch, ch)


_FOLD = _Fold()
