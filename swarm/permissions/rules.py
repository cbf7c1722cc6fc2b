"""Rules: `Tool` or `Tool(content)`, read, written and compared with a call.

For Bash the content is a command: exact, a prefix (`git diff:*`) or with `*` anywhere. For a file tool it
is a gitignore-like glob on the path. An allow rule has to fit all that the call means, a deny or ask rule
any of it.
"""

from __future__ import annotations

import fnmatch
import functools
import itertools
import re
from collections.abc import Iterable

from swarm.errors import ConfigError
from swarm.permissions import globs, shell
from swarm.permissions.calls import Behavior, Call, Policy, Rule
from swarm.permissions.paths import Place

__all__ = ["Rule", "matches", "parse_rule", "parse_rules", "quote_command", "render_rule"]

EDITORS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
READERS = frozenset(("Read", "Grep", "Glob"))
_WITHOUT_CONTENT = frozenset(
    ("ExitPlanMode", "SendMessage", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
)
_KNOWN = {name.casefold(): name for name in EDITORS | READERS | _WITHOUT_CONTENT | {"Bash"}}

_SHAPE = re.compile(r"(mcp__[\w*-]+|[A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL | re.ASCII)
_PROGRAM_FOLDER = re.compile(r"^[^\s*:]*/(?=[^\s/])")
_PIECE = re.compile(r"\\[\\*]|\*+|[^\\*]+|\\", re.DOTALL)


def parse_rule(text: str, behavior: Behavior, source: str) -> Rule:
    """Return the rule; ConfigError `bad_value` when it could not be meant as it stands.

    `Bash()` and `Bash(*)` are `Bash`. Brackets in the content may be escaped by a backslash.
    """
    shape = _SHAPE.fullmatch(text.strip())
    if shape is None:
        raise _bad(text, source, "write Tool or Tool(content)")
    tool, escaped = shape[1], shape[2]
    spelled = _KNOWN.get(tool.casefold(), tool)
    if spelled != tool:
        raise _bad(text, source, f"the tool is called {spelled}")
    content = re.sub(r"\\([\\()])", r"\1", escaped or "")
    if tool == "Bash":
        content = content.strip(" \t\n")
    if tool in EDITORS | READERS:
        content = globs.tidy(content)
    if content in ("", "*", ":*"):
        return Rule(tool=tool, content=None, behavior=behavior, source=source)
    if tool in _WITHOUT_CONTENT:
        raise _bad(text, source, f"a rule for {tool} has no content; write {tool}")
    if tool in EDITORS | READERS and (problem := globs.problem_with(content)):
        raise _bad(text, source, problem)
    return Rule(tool=tool, content=content, behavior=behavior, source=source)


def parse_rules(texts: Iterable[str], behavior: Behavior, source: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, behavior, source) for text in texts)


def render_rule(rule: Rule) -> str:
    """Return the text that parses to this rule."""
    if rule.content is None:
        return rule.tool
    escaped = re.sub(r"([\\()])", r"\\\1", rule.content)
    return f"{rule.tool}({escaped})"


def matches(rule: Rule, call: Call, policy: Policy, places: tuple[Place, ...]) -> bool:
    """Tell whether the rule speaks of this call; `places` are those of the call's paths.

    In doubt an allow rule does not match and the others do.
    """
    if call.tool == "Bash":
        return rule.tool == "Bash" and _matches_command(rule, call.input["command"])
    if rule.content is None:
        return speaks_of(rule, call.tool)
    if call.tool in EDITORS | READERS:
        return _covers(rule, call.tool) and _matches_places(rule, policy, places, whole_folders=not call.edit)
    return speaks_of(rule, call.tool) and rule.behavior != "allow"


def speaks_of(rule: Rule, tool: str) -> bool:
    """Tell whether the rule names this tool: itself or, of a server's tools, their server or a pattern."""
    if not rule.tool.startswith("mcp__"):
        return rule.tool == tool
    return fnmatch.fnmatchcase(tool, rule.tool) or tool.startswith(f"{rule.tool}__")


def is_denied_as_a_whole(tool: str, rules: Iterable[Rule]) -> bool:
    """Tell whether no call of this tool is ever allowed, so that there is no need to offer it."""
    return any(one.behavior == "deny" and one.content is None and speaks_of(one, tool) for one in rules)


def quote_command(command: str) -> str:
    """Return the rule content that means exactly this command."""
    return re.sub(r"([\\*])", r"\\\1", command)


def _covers(rule: Rule, tool: str) -> bool:
    """A path is protected whichever tool reads or writes it; it is opened for the tool named, or its kin."""
    if rule.behavior == "allow":
        return (
            rule.tool == tool
            or (rule.tool == "Edit" and tool in EDITORS)
            or (rule.tool == "Read" and tool in READERS)
        )
    return any(rule.tool in kin and tool in kin for kin in (EDITORS, READERS))


def _matches_command(rule: Rule, command: str) -> bool:
    content = rule.content
    if rule.behavior == "allow" and (shell.is_compound(command) or "\0" in command):
        return False
    if content is None:
        return True
    if rule.behavior == "allow":
        return _pattern(content).fullmatch(command.strip(" \t")) is not None
    if len(command) > shell.COMMAND_MAX_CHARS:
        return True
    patterns = [_pattern(text) for text in _meant(content)]
    texts = shell.readings(command)
    if shell.has_separators(content):
        texts = itertools.chain(texts, map(shell.spaced, shell.meanings(command)))
    return any(pattern.fullmatch(text) for text in texts for pattern in patterns)


@functools.lru_cache(maxsize=512)
def _meant(content: str) -> tuple[str, ...]:
    """Return what a deny or ask rule may mean: without quotes, without the program's folder, tidied."""
    text = re.sub(r":\*+$", ":*", re.sub(r"\s+", " ", content).replace(" :*", ":*"))
    texts = [text, re.sub("['\"]", "", text)]
    texts += [_PROGRAM_FOLDER.sub("", one) for one in texts]
    texts += [shell.spaced(one) for one in texts if shell.has_separators(one)]
    return tuple(dict.fromkeys(filter(None, texts)))


@functools.lru_cache(maxsize=512)
def _pattern(content: str) -> re.Pattern[str]:
    """Return the expression for a whole command. Its atomic groups keep the time linear in the command."""
    base, prefix = (content[:-2], True) if content.endswith((":*", " *")) else (content, False)
    pieces = _PIECE.findall(base)
    texts = [""]
    for piece in pieces:
        if piece.startswith("*"):
            texts.append("")
        else:
            texts[-1] += re.escape(piece[1] if piece in (r"\\", r"\*") else piece)
    end = r"(?:[ \t].*)?" if prefix else ""
    first, *others = texts
    if not others:
        return re.compile(first + end, re.DOTALL)
    *middle, last = others
    between = "".join(f"(?>.*?{text})" for text in middle)
    return re.compile(f"{first}{between}.*{last}{end}", re.DOTALL)


def _matches_places(rule: Rule, policy: Policy, places: tuple[Place, ...], *, whole_folders: bool) -> bool:
    pattern = globs.PathPattern(
        rule.content or "", policy.workspace, policy.home, whole_folders=whole_folders
    )
    if rule.behavior == "allow":
        return bool(places) and all(pattern.fits(one.lexical) and pattern.fits(one.real) for one in places)
    return any(pattern.fits_folded(path) for one in places for path in (one.lexical, one.real))


def _bad(text: str, source: str, what: str) -> ConfigError:
    return ConfigError(
        f"the permission rule {text!r} in {source} cannot be read: {what}",
        code="bad_value",
        details={"value": text, "source": source},
    )
