"""Does a shell command name one of the swarm's own folders? Looked for in every reading of its text.

What a program makes up while it runs cannot be seen here; `docs/permissions.md` says so.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator

from swarm.permissions import shell
from swarm.permissions.calls import Policy
from swarm.permissions.paths import (
    config_roots,
    fold,
    in_control_folder,
    is_below,
    is_config_root,
    normal_path,
    real_path,
    with_real,
)

ANYTHING = shell.ANYTHING
_WORD_END = re.compile(r"[\s;&|<>()`]+")
_PIECE_END = re.compile(r"[=:,@]")
_UNKNOWN_VARIABLE = re.compile(r"\$(?:\{[^}]*\}|\w+)?")
_SLASHES = re.compile(r"/(?:\.?/)+")
_NAME_ENDS = r"(?![\w-]|\.\w)"
_USUAL = re.compile(r"(?<![\w-])\.claude/(?:teams|tasks)" + _NAME_ENDS)
_GOES_HOME = re.compile(r"\b(?:cd|pushd|chdir)\s*(?:[;&|)\n]|$)")
_GLOB = frozenset("*?[" + ANYTHING)
_OF_A_PROCESS = re.compile(r"/+proc/+[^/]+/+(cwd|root)(?=/|$)")
_BRACKETS = re.compile(r"\[[!^]?\]?(?:\[:\w+:\]|\[[.=][^\]]*[.=]\]|[^\]/])*\]")
_SEQUENCE = re.compile(r"\{[^{},\s]{1,12}\.\.[^{},\s]{1,12}\}")
_ENTERS = re.compile(r"(?:-C=?|--(?:directory|chdir)=)(?=\S)")
_FOLDERS_MAX = 8


def names_control_folder(command: str, cwd: str, policy: Policy) -> bool:
    """Tell whether the command names the swarm's folders, or the folder that holds them.

    Knows home, the configuration variable, variables set in the command itself, `cd`, globs, braces,
    quotes, escapes and symlinks.
    """
    if "CLAUDE_CONFIG_DIR" in shell.unquote(command):
        return True
    roots = with_real(policy.control_roots)
    if any(_needle_behind_unknown(root).search(_plain(made_up(command, policy))) for root in roots):
        return True
    needles = [_USUAL, *(_needle(root) for root in roots)]
    for text in texts(command, policy):
        folded = _plain(text)
        if any(needle.search(folded) for needle in needles):
            return True
        words = list(_words(text))
        folders = folders_entered(text, words, cwd, policy.home)
        if any(is_config_root(folder, policy) or in_control_folder(folder, policy) for folder in folders):
            return True
        if any(_leads_there(word, folders, policy) for word in dict.fromkeys(words)):
            return True
    return False


def texts(command: str, policy: Policy) -> tuple[str, ...]:
    """Return the command with known variables put in and without quotes, as it stands and decoded."""
    known = {"HOME": policy.home, "PWD": "."}
    return unfilled(shell.put_in_variables(command, known))


def made_up(command: str, policy: Policy) -> str:
    """Return what `texts` begins with, and one sign for each thing that only the shell knows."""
    return shell.unquote(shell.hide_made_up(command, {"HOME": policy.home, "PWD": "."}))


def unfilled(command: str) -> tuple[str, ...]:
    """Return what `texts` does, with the variables left as they are."""
    return tuple(dict.fromkeys((shell.unquote(command), shell.unquote(shell.decode(command)))))


def folders_entered(text: str, words: Iterable[str], cwd: str, home: str) -> tuple[str, ...]:
    """Return the folders that the command may be in at some time: where it starts and where it goes."""
    folders = [normal_path(cwd)]
    if _GOES_HOME.search(text):
        folders.append(home)
    wanted = False
    for word in words:
        if wanted and not word.startswith("-"):
            folders += [resolve(word, folder, home) for folder in folders]
            folders = list(dict.fromkeys(folders))[:_FOLDERS_MAX]
            wanted = False
        elif word in ("cd", "pushd", "chdir", "-C", "--directory", "--chdir"):
            wanted = True
        elif found := _ENTERS.match(word):
            folders += [resolve(word[found.end() :], folder, home) for folder in folders]
            folders = list(dict.fromkeys(folders))[:_FOLDERS_MAX]
    return tuple(folders)


def resolve(word: str, folder: str, home: str) -> str:
    """Return the absolute path that `word` means to a shell in `folder`; symlinks are not followed."""
    return normal_path(_joined(word, folder, home))


def _joined(word: str, folder: str, home: str) -> str:
    if word == "~" or word.startswith("~/"):
        word = home + word[1:]
    elif word.startswith(("~+", "~-")):  # where the shell is, and where it was
        word = f".{word[2:]}"
    elif word.startswith("~"):
        word = os.path.expanduser(word)
    path = os.path.join(folder, word)
    found = _OF_A_PROCESS.search(path) if "/proc" in path else None
    if found is None or normal_path(path[: found.start()] or "/") != "/":
        return path
    return (folder if found[1] == "cwd" else "") + path[found.end() :]


def _words(text: str) -> Iterator[str]:
    for word in _WORD_END.split(_SEQUENCE.sub("*", _UNKNOWN_VARIABLE.sub(ANYTHING, text))):
        for choice in shell.expand_braces(word) if "{" in word else (word,):
            if choice:
                yield choice
                if _PIECE_END.search(choice):
                    yield from filter(None, _PIECE_END.split(choice))


def _leads_there(word: str, folders: tuple[str, ...], policy: Policy) -> bool:
    for folder in folders:
        path = resolve(word, folder, policy.home)
        if not _GLOB.isdisjoint(word):
            if _glob_may_mean_control(path, policy):
                return True
        elif _is_control(path, policy) or _is_control(_target(word, path, folder, policy.home), policy):
            return True
    return False


def _target(word: str, path: str, folder: str, home: str) -> str:
    """Return where the word leads after symlinks: beyond one, `..` is the folder above its target."""
    may_be_link = "/" in word or os.path.lexists(path)
    return real_path(_joined(word, folder, home)) if may_be_link else path


def _is_control(path: str, policy: Policy) -> bool:
    folded = fold(path)
    near = any(is_below(folded, fold(root)) for root in config_roots(policy))
    if near or os.path.lexists(path):
        return is_config_root(path, policy) or in_control_folder(path, policy)
    return False


def _glob_may_mean_control(path: str, policy: Policy) -> bool:
    """Compare step by step; what merely *might* be anything, such as `*` or `$x` alone, says nothing."""
    steps = fold(path).split("/")
    for config in config_roots(policy):
        depth = len(fold(config).split("/"))
        for folder in (config, *with_real(policy.control_roots)):
            names = fold(folder).split("/")
            telling = any(step.strip("*?" + ANYTHING) for step in steps[depth - 1 : len(names)])
            exact = folder != config or len(steps) == depth
            if exact and telling and len(steps) >= len(names) and all(map(_step_fits, names, steps)):
                return True
    return False


def _step_fits(name: str, pattern: str) -> bool:
    leaves_hidden_out = not pattern.startswith((".", "["))
    pattern = _BRACKETS.sub("?", pattern)  # shells know more kinds of them than `fnmatch`
    if ANYTHING in pattern:
        return fnmatch.fnmatchcase(name, pattern.replace(ANYTHING, "*"))
    if name.startswith(".") and leaves_hidden_out:
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _plain(text: str) -> str:
    return _SLASHES.sub("/", fold(text))


def _needle_behind_unknown(folder: str) -> re.Pattern[str]:
    """Find the folder by its last two names, where what stands before them is made up by the shell."""
    tail = "/".join(fold(folder).rsplit("/", 2)[-2:])
    return re.compile(rf"{ANYTHING}(?:[^\s;&|<>()`]*/)?{re.escape(tail)}{_NAME_ENDS}")


def _needle(folder: str) -> re.Pattern[str]:
    return re.compile(re.escape(fold(folder)) + _NAME_ENDS)
