"""Completion scripts for shells, made from the table: verbs, options and the values of choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.cli.grammar import GLOBALS, HELP, VERSION, Option, Verb
from swarm.cli.session import Io
from swarm.cli.table import GROUPS, VERBS
from swarm.errors import ConfigError

_SHELLS = ("bash", "zsh", "fish")

_BASH = """\
# Completion of swarm for bash: eval "$(swarm completion bash)"
_swarm() {
    local at='' skip='' word previous="${COMP_WORDS[COMP_CWORD - 1]}" words=''
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [ -n "$skip" ]; then skip=''; continue; fi
        case "$word" in
            -t | --team) skip=yes ;;
            -*) ;;
            *) at="$at $word" ;;
        esac
    done
    case "$previous" in
%(values)s
        *)
            case "$at " in
%(verbs)s
            esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _swarm swarm
"""

_ZSH = """\
#compdef swarm
# Completion of swarm for zsh: eval "$(swarm completion zsh)", or save it as _swarm in a folder of $fpath.
_swarm() {
    local at='' skip='' word known=''
    for word in ${words[2,CURRENT-1]}; do
        if [[ -n $skip ]]; then skip=''; continue; fi
        case $word in
            -t | --team) skip=yes ;;
            -*) ;;
            *) at="$at $word" ;;
        esac
    done
    case ${words[CURRENT-1]} in
%(values)s
        *)
            case "$at " in
%(verbs)s
            esac ;;
    esac
    compadd -- ${=known} || _files
}
if [[ $funcstack[1] == _swarm ]]; then _swarm "$@"; else compdef _swarm swarm; fi
"""

_FISH_HEAD = """\
# Completion of swarm for fish: swarm completion fish > ~/.config/fish/completions/swarm.fish
function __swarm_at
    set -l words (commandline -opc)[2..-1]
    set -l at
    while set -q words[1]
        switch $words[1]
            case -t --team
                set -e words[1]
            case '-*'
            case '*'
                set -a at $words[1]
        end
        set -e words[1]
    end
    set -l wanted (string split ' ' -- $argv[1])
    test "$argv[1]" = '' && test (count $at) -eq 0 && return
    test "$argv[1]" != '' && test "$at[1..$(count $wanted)]" = "$argv[1]"
end
"""


def completion(args: Mapping[str, Any], io: Io) -> int:
    """Print the completion script of the shell that was named."""
    shell = args["shell"]
    if shell not in _SHELLS:
        raise ConfigError(
            f"there is no completion for {shell!r}; give one of {', '.join(_SHELLS)}",
            code="bad_value",
            details={"value": shell, "valid": list(_SHELLS)},
        )
    io.print(render(shell).rstrip("\n"))
    return 0


def render(shell: str) -> str:
    """Return the script for `bash`, `zsh` or `fish`."""
    if shell == "fish":
        return _FISH_HEAD + "\n".join(_fish_lines()) + "\n"
    template, variable = (_BASH, "words") if shell == "bash" else (_ZSH, "known")
    return template % {"values": _value_cases(variable), "verbs": _verb_cases(variable)}


def _value_cases(variable: str) -> str:
    options = {option.label: option for verb in VERBS for option in verb.options if option.choices}
    return "\n".join(
        f"        {label}) {variable}='{' '.join(option.choices)}' ;;" for label, option in options.items()
    )


def _verb_cases(variable: str) -> str:
    """Return one case per verb, the longest first words first: the shell takes the first that fits."""
    cases = [(verb.path, _flags(verb.all_options)) for verb in VERBS]
    cases += [((group,), _second_words(group)) for group in GROUPS]
    cases.append(((), [*_first_words(), *_flags((*GLOBALS, VERSION, HELP))]))
    ordered = sorted(cases, key=lambda case: -len(case[0]))
    return "\n".join(_case(path, words, variable) for path, words in ordered)


def _case(path: tuple[str, ...], words: list[str], variable: str) -> str:
    pattern = f"' {' '.join(path)} '*" if path else "' '"
    return f"                {pattern}) {variable}='{' '.join(words)}' ;;"


def _first_words() -> list[str]:
    return list(dict.fromkeys(verb.path[0] for verb in VERBS))


def _second_words(group: str) -> list[str]:
    return [verb.path[1] for verb in VERBS if verb.path[0] == group]


def _flags(options: tuple[Option, ...]) -> list[str]:
    return [flag for option in options for flag in option.flags]


def _fish_lines() -> list[str]:
    lines = [_fish_word("", word, _first_help(word)) for word in _first_words()]
    for verb in VERBS:
        if len(verb.path) > 1:
            lines.append(_fish_word(verb.path[0], verb.path[1], verb.help))
        lines.extend(_fish_option(verb, option) for option in verb.all_options)
    return lines


def _first_help(word: str) -> str:
    return GROUPS.get(word) or next(verb.help for verb in VERBS if verb.path == (word,))


def _fish_word(at: str, word: str, text: str) -> str:
    return f"complete -c swarm -f -n '__swarm_at \"{at}\"' -a {word} -d {_fish_quoted(text)}"


def _fish_option(verb: Verb, option: Option) -> str:
    flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
    value = "" if option.kind == "flag" else " -r"
    choices = f" -f -a {_fish_quoted(' '.join(option.choices))}" if option.choices else ""
    at = " ".join(verb.path)
    return (
        f"complete -c swarm -n '__swarm_at \"{at}\"' {flags}{value}{choices} -d {_fish_quoted(option.help)}"
    )


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
