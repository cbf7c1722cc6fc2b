"""Does a shell command answer permission requests? By running `swarm approve`, or this code, in any spelling.

A folder may have the program's name: what is plainly an argument of some other program is no command.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from swarm.permissions import mentions, shell
from swarm.permissions.calls import Policy
from swarm.permissions.paths import fold

_VERBS = ("approve", "deny")
_SWARM_MODULE = re.compile(
    r"(?:-m\s*swarm(?:\.\w+){0,2}|\bswarm/(?:\w+/)?\w+\.py)(?=\s)([^;&|\n]*)", re.IGNORECASE
)
_SIDE_BY_SIDE = re.compile(
    r"\bswarm\W{1,12}(?:(?:t(?:eam)?\W{1,12}[\w.-]{1,64}|q|quiet|v|verbose|json)\W{1,12}){0,6}(?:approve|deny)\b",
    re.IGNORECASE,
)
_OUR_CODE = re.compile(
    r"\b(?:import|from)\s+swarm\b|\bswarm\.(?:cli|leader|storage)\b|\brun_module\W{1,4}swarm\b"
)
_NEW_NAME = re.compile(r"\balias\s[^;&|\n]*=\S*swarm\b|\bhash\s+-p\s*\S*swarm\b", re.IGNORECASE)
_REDIRECTION = re.compile(r"(?:\d*|&)[<>]{1,3}[|&]?[ \t]*[^\s;&|<>()`]+")
_ANSWERS = re.compile(r"\b(?:approve|deny|permissions?|resolve|settle|questions?|answer)\b", re.IGNORECASE)
_HIDDEN_MODULE = re.compile(rf"-m\s*(\S*{shell.ANYTHING}\S*)([^;&|\n]*)")
_MORE_WORDS_COME = re.compile(r"\b(?:xargs|parallel)\b")
_UNCERTAIN = frozenset("$`{*?[")
_UNCERTAIN_NAME = frozenset("*?[" + shell.ANYTHING)
_COMMAND_END = re.compile(r"[;&|<>()`\n]")


def answers_requests(command: str, policy: Policy) -> bool:
    """Tell whether the command may be an answer; where its verb is hidden, it may."""
    texts = _also_without_redirections(mentions.texts(command, policy))
    plainly = shell.fills_in_plainly(command, ("HOME", "PWD"))
    written = texts if plainly else _also_without_redirections(mentions.unfilled(command))
    for text in texts:
        named = _OUR_CODE.search(text) or _NEW_NAME.search(text)
        if _SIDE_BY_SIDE.search(text) or (named and _ANSWERS.search(text)):
            return True
        calls = [called[1].split() for called in _SWARM_MODULE.finditer(text)]
        calls += _calls(text, written)
        certain = _UNCERTAIN.isdisjoint(text) and not _MORE_WORDS_COME.search(text)
        if any(_answers(words, certain=certain) for words in calls):
            return True
    return _hidden_program_answers(mentions.made_up(command, policy))


def _hidden_program_answers(text: str) -> bool:
    """Tell whether a program whose name the shell makes up, and which may be ours, is told to answer."""
    calls = [(found[1], found[2].split()) for found in _HIDDEN_MODULE.finditer(text)]
    for reading in shell.readings(text):
        program, *words = reading.split(" ")
        calls.append((os.path.basename(program), words))
    for name, words in calls:
        if _UNCERTAIN_NAME.isdisjoint(name):
            continue
        pattern = fold(name.replace(shell.ANYTHING, "*"))
        if fnmatch.fnmatchcase("swarm", pattern) and not set(_VERBS).isdisjoint(_possible_verbs(words)):
            return True
    return False


def _also_without_redirections(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts, then the same without redirections, which may stand between any two words."""
    texts = tuple(texts)
    return tuple(dict.fromkeys((*texts, *(_REDIRECTION.sub(" ", text) for text in texts))))


def _calls(text: str, written: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the arguments of each call of `swarm` that the text may hold.

    A part that does not stand in what is written, since variables are put in, may hold more than one command.
    """
    parts = _COMMAND_END.split(text)
    made_up = Counter(parts)
    for one in written:
        made_up -= Counter(_COMMAND_END.split(one))
    readings = list(map(shell.single_blanks, shell.meanings(text)))
    for part in dict.fromkeys(parts):
        if part in made_up or not _runs_another(part):
            readings += shell.readings(part)
    for reading in readings:
        words = reading.split(" ")
        if _is_swarm(words[0]):
            yield words[1:]


def _runs_another(part: str) -> bool:
    """Tell whether the one program that this part runs is known, and is not `swarm`."""
    program = shell.find_program(part.split())
    return program is not None and _UNCERTAIN.isdisjoint(program.rstrip("[")) and not _is_swarm(program)


def _is_swarm(word: str) -> bool:
    return fold(os.path.basename(word)) == "swarm"


def _answers(words: list[str], *, certain: bool) -> bool:
    """Tell whether `swarm` with these arguments may be an answer; when its verb is hidden, it may."""
    verb = None
    for verb in _possible_verbs(words):
        hidden = not certain and any(one.startswith(verb) or fnmatch.fnmatchcase(one, verb) for one in _VERBS)
        if verb in _VERBS or hidden or not {"{", "["}.isdisjoint(verb):
            return True
    return verb is None and not certain


def _possible_verbs(words: list[str]) -> Iterator[str]:
    """Yield the first word that is no option; after an option it may be its value, then the next too."""
    after_option = False
    for word in words:
        if word.startswith("-"):
            after_option = True
            continue
        yield word
        if not after_option:
            return
        after_option = False
