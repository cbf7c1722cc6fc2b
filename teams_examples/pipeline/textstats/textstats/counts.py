"""Lines, words and letters."""

import re

WORD = re.compile(r"[^\W\d_]+")


def words(text):
    return WORD.findall(text)


def count(text):
    return {
        "lines": len(text.splitlines()),
        "words": len(words(text)),
        "letters": sum(len(word) for word in words(text)),
    }
