"""The text of a shell command, looked at without a shell parser: cautiously in both directions.

An allow rule sees the command as it stands, and only one that the shell cannot take apart.
A deny rule sees every reading that the shell might give it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

SEPARATORS = ";&|<>$`()\n"
ANYTHING = "\ue000"
"""Stands for what only the shell knows; no path of ours and no program's name holds it."""
COMMAND_MAX_CHARS = 16_000
"""A longer command is not taken apart: no allow rule matches it, and every deny rule does."""

_SPLIT = re.compile(f"[{re.escape(SEPARATORS)}]")
_SIGNS = re.compile(r"[;&|<>()`]+")
_BLANKS = re.compile(r"\s+")
_QUOTES = re.compile(r"\\\n|['\"\\]")
_QUOTED_BLANKS = re.compile(r"\\[ \t]|'[^']*'|\"[^\"]*\"")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]=]*\])?\+?=")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U000([0-9a-fA-F]{1,5})|([0-7]{1,3})|([tnvfr]))"
)
_BRACES = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)[^{}]*\}|([A-Za-z_]\w*))")
_SET_VARIABLE = re.compile(r"\b([A-Za-z_]\w*)=([^\s;&|<>()`]*)")
_OTHER_MENTION = re.compile(r"(?<![$\w{])([A-Za-z_]\w*)\b(?!=)|(?<=\$\{)([A-Za-z_]\w*)\b(?!\})")
_CHANGED_VALUE = re.compile(r"\$\{[^{}\w]*[A-Za-z_]\w*[^\w{}][^{}]*\}")
_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")
_MADE_UP = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$[A-Za-z_]\w*|\$[\d@*#?!$_-]|\$(?=\W|$)")
_LEADING_ASSIGNMENTS = re.compile(r"(?:[A-Za-z_]\w*\+?=\S* )+")
_EXPANDED = frozenset("*?[{")

_WRAPPERS = frozenset(
    "env command builtin exec eval sudo doas su nohup nice ionice time timeout stdbuf setsid xargs parallel "
    "find sh bash dash zsh ksh fish busybox toybox chroot unshare nsenter strace ltrace watch script "
    "flock trap  ssh sshpass uv uvx pipx poetry hatch npx bunx  taskset chrt runuser pkexec systemd-run "
    "setpriv fakeroot prlimit setarch linux32 linux64 arch numactl  unbuffer rlwrap entr sg at batch tmux "
    "screen gdb valgrind perf hyperfine catchsegv caffeinate xvfb-run  dbus-run-session start-stop-daemon "
    "tini dumb-init gosu su-exec runcon capsh choom cgexec chpst softlimit  setuidgid s6-setuidgid "
    "firejail bwrap eatmydata nocache proxychains proxychains4 torsocks gtimeout gnice  genv gtime "
    "mapfile readarray complete compgen select "
    "then do else elif if while until ! { coproc function".split()
)
"""Words that run the words after them."""

_WITH_A_VALUE = frozenset(
    "--git-dir --work-tree --namespace --prefix --cwd --dir --host --context --config --kubeconfig --file "
    "--project-directory --filter --profile --region".split()
)
"""Long options with a word of their own behind them; a short one may have one."""

_RUNNERS = frozenset("npm pnpm yarn conda mamba micromamba rye pdm pipenv bundle mise".split())
_RUN = frozenset("exec run dlx x".split())
_LOADER = re.compile(r"ld(?:-linux|-musl|\.so|64\.so)")

_GO_ON = frozenset(
    "command builtin exec nohup setsid sudo doas time env then do else elif if while until ! {".split()
)
"""Those of them that run the next word, unless it is an option."""

_GO_ON_BEHIND = re.compile(
    r"nice (?:-n ?\d+ )?|timeout [0-9.]+[smhd]? |(?:/\S*/)?(?:ba|da|z|k)?sh (?:-[abefhilmnuvx]+ )*"
    r"-[abefhilmnuvx]*c[abefhilmnuvx]* (?:-[abefhilmnuvx]+ )*"
)
"""What runs the word behind it, unless that looks like an option."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WRAPPED_WORDS_MAX = 300
_OPTION_LETTERS_MAX = 4
_OPTIONS_MAX = 100
_EXPANSIONS_MAX = 64
_NESTED_MAX = 4
_VALUE_MAX_CHARS = 400
_GROWTH_MAX_CHARS = 40_000


def is_compound(command: str) -> bool:
    """Tell whether the shell may run something else than the one program whose name stands first.

    True with any of the separating characters, and when the name itself is yet to be worked out.
    """
    if len(command) > COMMAND_MAX_CHARS or _SPLIT.search(command) is not None:
        return True
    words = command.split(maxsplit=1)
    return bool(words) and not _EXPANDED.isdisjoint(words[0])


def readings(command: str) -> Iterator[str]:
    """Yield all texts that a deny rule is compared with: the command, its parts, and what these may mean.

    Blanks are single, and a program stands without its folder; some come more than once.
    """
    parts = _SPLIT.split(command)
    if len(parts) > 1:
        yield from map(single_blanks, meanings(command))
    for part in dict.fromkeys(parts):
        for text in map(single_blanks, meanings(part)):
            if text:
                yield text
                yield from _inner(text.split(" "))


def meanings(text: str) -> Iterator[str]:
    """Yield the text as it stands, unquoted, with quoted blanks glued, decoded, and with braces opened."""
    bare = unquote(text)
    yield text
    yield bare
    yield unquote(_QUOTED_BLANKS.sub(lambda found: _BLANKS.sub("_", found[0]), text))
    yield unquote(decode(text))
    yield _BRACES.sub(lambda found: found[1].replace(",", " "), bare)


def unquote(text: str) -> str:
    return _QUOTES.sub("", text)


def decode(text: str) -> str:
    """Return the text with escapes such as backslash-x41 replaced by what they stand for."""
    return _ESCAPE.sub(_character, text)


def expand_braces(word: str) -> list[str]:
    """Return what `a{b,c}` stands for; a word without a list stands for itself."""
    waiting = [word]
    done: list[str] = []
    while waiting and len(done) + len(waiting) < _EXPANSIONS_MAX:
        text = waiting.pop()
        found = _BRACES.search(text)
        if found is None or "," not in found[1]:
            done.append(text)
            continue
        waiting.extend(text[: found.start()] + choice + text[found.end() :] for choice in found[1].split(","))
    return done + waiting


def put_in_variables(command: str, known: Mapping[str, str]) -> str:
    """Return the command with the variables that are known, or set in it, replaced by their values."""
    values = dict(known)
    for name, value in _SET_VARIABLE.findall(command):
        filled = _put_in(value, values)
        if (
            len(filled) > _VALUE_MAX_CHARS
        ):  # no path of ours; and doubled often enough, it would fill the memory
            values.pop(name, None)
        else:
            values[name] = filled
    filled = _put_in(command, values)
    if len(filled) > len(command) + _GROWTH_MAX_CHARS:
        raise ValueError("its variables stand for too much text")
    return filled


def hide_made_up(command: str, known: Mapping[str, str]) -> str:
    """Return the command with plain variables put in, and `ANYTHING` for all else that the shell makes up."""
    text = put_in_variables(_hidden(_CHANGED_VALUE.sub(ANYTHING, command), substitutions_only=True), known)
    return _hidden(text)


def fills_in_plainly(command: str, known: Iterable[str]) -> bool:
    """Tell whether each variable gets its value in `name=value`, and none holds what ends a command."""
    names = set(known)
    for name, value in _SET_VARIABLE.findall(command):
        if _QUOTES.search(_QUOTED.sub("", value)) or "\\" in value:
            return False  # it goes on behind the quote, or it is an escape
        names.add(name)
    return not any(names.intersection(found) for found in _OTHER_MENTION.findall(command))


def find_program(words: Sequence[str]) -> str | None:
    """Return the word that is run in a command without separators, empty if it only sets variables.

    None where it may be one of several.
    """
    text = " ".join(words) + " "
    while True:
        set_first = _LEADING_ASSIGNMENTS.match(text)
        text = text[set_first.end() :] if set_first else text
        word = text.partition(" ")[0]
        ahead = _GO_ON_BEHIND.match(text)
        if ahead is None and word not in _GO_ON:
            break
        text = text[ahead.end() if ahead else len(word) + 1 :]
        if text.startswith(("-", "+")):
            return None
    return None if _runs_words([os.path.basename(word), *text.split()[1:2]]) else word


def has_separators(text: str) -> bool:
    return _SPLIT.search(text) is not None


def spaced(text: str) -> str:
    """Return the text with one blank on either side of what separates commands."""
    return single_blanks(_SIGNS.sub(r" \g<0> ", text))


def single_blanks(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _hidden(text: str, *, substitutions_only: bool = False) -> str:
    pattern = _SUBSTITUTION if substitutions_only else _MADE_UP
    for _ in range(_NESTED_MAX):
        before, text = text, pattern.sub(ANYTHING, text)
        if text == before:
            break
    return text


def _put_in(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


def _inner(words: list[str]) -> Iterator[str]:
    """Yield the commands that may hide in this one: behind assignments, a program's folder, a wrapper."""
    while words and (assigned := _ASSIGNMENT.match(words[0])):
        yield " ".join([words[0][assigned.end() :], *words[1:]])  # such as PAGER, which some program runs
        words = words[1:]
    if not words:
        return
    words = [os.path.basename(words[0]), *words[1:]]
    yield " ".join(words)
    yield from _without_options(words)
    if not _runs_words(words):
        return
    if len(words) > _WRAPPED_WORDS_MAX:  # each of them may begin a command: too much to look at
        raise ValueError(f"more than {_WRAPPED_WORDS_MAX} words follow {words[0]}")
    for start in range(1, len(words)):
        for first in _beginnings(words[start]):
            yield " ".join([first, *words[start + 1 :]])
            yield from _without_options([first, *words[start + 1 :]])


def _runs_words(words: list[str]) -> bool:
    """Tell whether this program runs what stands behind it."""
    name = words[0]
    runs_script = name in _RUNNERS and not _RUN.isdisjoint(words[1:2])
    return name in _WRAPPERS or runs_script or _LOADER.match(name) is not None


def _without_options(words: list[str]) -> Iterator[str]:
    """Yield the command without the options before its first argument: `git -C x push` is `git push`."""
    reached = {1}
    for at in range(1, len(words)):
        if at not in reached:
            continue
        word = words[at]
        if not word.startswith("-"):
            if at > 1:
                yield " ".join([words[0], *words[at:]])
            continue
        if at > _OPTIONS_MAX:
            raise ValueError(f"more than {_OPTIONS_MAX} options follow {words[0]}")
        takes_word = len(word) == len("-C") or word in _WITH_A_VALUE
        reached |= {at + 1, at + 2} if takes_word else {at + 1}


def _beginnings(word: str) -> Iterator[str]:
    """Yield what a command in this word may begin with: also as the value of an option or a variable."""
    yield word
    yield os.path.basename(word)
    values = [word.partition("=")[2]]
    if word.startswith("-"):
        values += [word[at:] for at in range(2, 2 + _OPTION_LETTERS_MAX)]
    for value in filter(None, values):
        yield os.path.basename(value)


def _character(found: re.Match[str]) -> str:
    if found[5]:
        return "\n" if found[5] == "n" else " "
    code = int(found[4], 8) if found[4] else int(found[1] or found[2] or found[3], 16)
    return chr(code) if code else ""
