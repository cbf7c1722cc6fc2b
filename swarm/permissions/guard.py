"""What no shell command may do in any mode, as far as its text tells.

Touch the swarm's own folders, answer permission requests, delete what cannot be brought back, or write files
that are run or obeyed later. A net under the rules: a program that the command starts can still do all of it.
"""

from __future__ import annotations

import itertools
import re

from swarm.permissions import answers, mentions, shell
from swarm.permissions.calls import Policy
from swarm.permissions.paths import BadPathError, immune_reason, is_below, locate, real_path

_WRITERS = frozenset("mv rm rmdir unlink shred tee touch dd truncate chmod chown mkdir patch".split())
_COPIERS = frozenset("cp ln install rsync".split())  # these write what is named last
_EDITORS = frozenset("sed perl".split())  # these write when told to edit in place
_REDIRECT = re.compile(r">{1,2}[|&]?\s*([^\s;&|<>()]+)")
_BELOW_THE_TOP = (
    "bin boot dev etc home lib lib32 lib64 opt proc root run sbin srv sys usr usr/bin usr/lib usr/local "
    "usr/sbin var Applications Library System Users private"
)
_USES_MAX = 4_000
_SET_IN_A_ROW_MAX = 300
_SYSTEM_FOLDERS = frozenset(("/", *(f"/{name}" for name in _BELOW_THE_TOP.split())))


def refusal(command: str, cwd: str, policy: Policy) -> str | None:
    """Say why the command is refused in every mode; None when nothing speaks against it here."""
    if "\0" in command:
        return "it holds a NUL character"
    if _has_too_many_variables(command):
        return "it has too many variables to be judged; put it into a script"
    if mentions.names_control_folder(command, cwd, policy):
        return "it names the swarm's own folders, which only the runtime touches"
    if answers.answers_requests(command, policy):
        return "only a person answers permission requests"
    texts = mentions.texts(command, policy)
    for text in texts:
        folders = mentions.folders_entered(text, text.split(), cwd, policy.home)
        commands = [reading.split(" ") for reading in dict.fromkeys(shell.readings(text))]
        if target := _deleted_for_good(commands, folders, policy):
            return f"deleting {target} would destroy more than this work"
        if found := _protected_target(text, commands, folders, policy):
            return f"it writes {found[0]}: {found[1]}"
    return None


def _has_too_many_variables(command: str) -> bool:
    """Tell whether judging the command would take seconds, in which whoever shares the process stands still.

    Texts of any length are no trouble; variables that are used, or set one behind the other, are put in.
    """
    if command.count("$") > _USES_MAX:
        return True
    in_a_row = 0
    for word in command.split():
        in_a_row = in_a_row + 1 if "=" in word else 0
        if in_a_row > _SET_IN_A_ROW_MAX:
            return True
    return False


def _deleted_for_good(commands: list[list[str]], folders: tuple[str, ...], policy: Policy) -> str | None:
    for words in commands:
        program, arguments = words[0], words[1:]
        targets = [word for word in arguments if not word.startswith("-")]
        if program == "rmdir" or (program == "rm" and any(_is_recursive(word) for word in arguments)):
            precious = [
                policy.workspace,
                real_path(policy.workspace),
                policy.home,
                *policy.control_roots,
                *folders[:1],
            ]
        elif program == "find" and not {"-delete", "rm"}.isdisjoint(arguments):
            precious = [policy.home, *policy.control_roots]
        else:
            continue
        for target in targets:
            if any(_destroys(target, folder, precious, policy.home) for folder in folders):
                return target
    return None


def _is_recursive(word: str) -> bool:
    return word == "--recursive" or (
        word.startswith("-") and not word.startswith("--") and bool({"r", "R"} & set(word))
    )


def _destroys(target: str, folder: str, precious: list[str], home: str) -> bool:
    """Tell whether the target is, or lies above, something precious; `x/*` is as bad as `x`."""
    whole = re.sub(r"(?:^|(?<=/))\.?[*?]+$", "", target)
    path = mentions.resolve(whole or ".", folder, home)
    real = real_path(path)
    return any(
        one in _SYSTEM_FOLDERS or any(is_below(kept, one) for kept in precious) for one in (path, real)
    )


def _protected_target(
    text: str, commands: list[list[str]], folders: tuple[str, ...], policy: Policy
) -> tuple[str, str] | None:
    """Return a protected file that the command writes, and why it is protected."""
    targets = [*_REDIRECT.findall(text), *itertools.chain.from_iterable(map(_written, commands))]
    for target in dict.fromkeys(targets):
        for folder in folders:
            if reason := _why_protected(target, folder, policy):
                return target, reason
    return None


def _written(words: list[str]) -> list[str]:
    """Return what the command may write, of the words that are no options."""
    program, arguments = words[0], words[1:]
    named = [word.removeprefix("of=") for word in arguments if not word.startswith("-")]
    named += [word.partition("=")[2] for word in arguments if word.startswith("--") and "=" in word]
    if program in _COPIERS and not any(word.startswith(("-t", "--target")) for word in arguments):
        return named[1:]  # all but the source: behind the target may stand a redirection or a comment
    in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments)
    return named if program in _WRITERS | _COPIERS or (program in _EDITORS and in_place) else []


def _why_protected(target: str, folder: str, policy: Policy) -> str | None:
    try:
        return immune_reason(locate(target, folder, policy.home), policy)
    except BadPathError:
        return None
