"""What the settings files of Claude Code say of permissions, as far as they are believed.

Those in a workspace may have come with it. Until the person trusts the folder they can only take away: deny
and ask rules, and a mode that is not looser than the one without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swarm.core.spawn import RuleSet
from swarm.errors import ConfigError
from swarm.permissions import globs
from swarm.permissions.calls import Behavior
from swarm.permissions.modes import BYPASS, DEFAULT_MODE, check_mode, is_looser
from swarm.permissions.rules import EDITORS, READERS, parse_rule, render_rule
from swarm.storage.settings_files import SettingsFile, read_settings, settings_files
from swarm.values import Value

_JUDGING_HOOKS = ("PreToolUse", "PermissionRequest")


class SettingsPolicy(Value):
    """`rules` stand in the order in which sources are named; `notes` are for the person.

    `no_bypass` is the file that refuses the mode in which nothing is asked.
    """

    rules: tuple[RuleSet, ...] = ()
    mode: str | None = None
    no_bypass: str | None = None
    notes: tuple[str, ...] = ()

    def check(self, mode: str) -> None:
        """Refuse a mode that these settings refuse."""
        if mode == BYPASS and self.no_bypass is not None:
            raise ConfigError(
                f"{self.no_bypass} refuses mode {BYPASS} (permissions.disableBypassPermissionsMode); use "
                "another with --permission-mode, or take that key out",
                code="bad_value",
                details={"value": mode, "path": self.no_bypass},
            )


class _Said(Value):
    """What one file says; `held_back` counts its allow rules that are not believed."""

    file: SettingsFile
    believed: bool
    rules: RuleSet
    held_back: int
    mode: str | None
    no_bypass: bool
    notes: tuple[str, ...]


def read_policy(root: str, workspace: str | None, *, trusted: bool) -> SettingsPolicy:
    """Return what all these files say together.

    Raises:
        ConfigError: One is damaged, or holds a deny or ask rule that cannot be read (bad_value).

    """
    said = [_read(file, root, trusted=trusted) for file in settings_files(root, workspace)]
    mode, ignored = _mode_of(said)
    notes = [note for one in said for note in one.notes]
    notes += _what_trust_would_bring(said, ignored)
    return SettingsPolicy(
        rules=tuple(one.rules for one in said if one.rules),
        mode=mode,
        no_bypass=next((one.file.path for one in said if one.no_bypass), None),
        notes=tuple(notes),
    )


def _read(file: SettingsFile, root: str, *, trusted: bool) -> _Said:
    settings = read_settings(file.path)
    given = settings.get("permissions")
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise _unusable(file, "permissions", "it is no JSON object")
    believed = trusted or not file.comes_with_the_workspace
    notes = list(_hooks_that_judge(file, settings.get("hooks")))
    lists = {key: tuple(_strict_rules(file, root, given, key)) for key in ("deny", "ask")}
    allow = tuple(_allow_rules(file, root, given, notes)) if believed else ()
    held_back = given.get("allow")
    return _Said(
        file=file,
        believed=believed,
        rules=RuleSet(source=file.kind, allow=allow, **lists),
        held_back=0 if believed or not isinstance(held_back, list) else len(held_back),
        mode=_mode_in(file, given, notes),
        no_bypass=given.get("disableBypassPermissionsMode") == "disable",
        notes=tuple(notes),
    )


def _hooks_that_judge(file: SettingsFile, hooks: object) -> Iterator[str]:
    """Tell of hooks that would stop calls; whoever counts on them should not find out later."""
    found = [name for name in _JUDGING_HOOKS if isinstance(hooks, dict) and hooks.get(name)]
    if found:
        yield (
            f"Note: {' and '.join(found)} hooks in {file.path} are not run here; what they forbid has to be "
            "a deny rule"
        )


def _strict_rules(file: SettingsFile, root: str, given: Mapping[str, Any], key: Behavior) -> Iterator[str]:
    """Yield deny or ask rules; one that is lost would let through what it was to stop."""
    texts = given.get(key)
    if texts is None:
        return
    if not isinstance(texts, list):
        raise _unusable(file, f"permissions.{key}", "it is no list of rules")
    for position, text in enumerate(texts):
        try:
            yield from _as_meant(text, key, file, root)
        except ConfigError as error:
            raise _unusable(file, f"permissions.{key}[{position}]", _why(error)) from error


def _allow_rules(file: SettingsFile, root: str, given: Mapping[str, Any], notes: list[str]) -> Iterator[str]:
    """Yield allow rules; one that cannot be read allows nothing, and is told of."""
    texts = given.get("allow")
    if texts is not None and not isinstance(texts, list):
        notes.append(f"Note: permissions.allow in {file.path} is not used: it is no list of rules")
        return
    for text in texts or ():
        try:
            yield from _as_meant(text, "allow", file, root)
        except ConfigError as error:
            notes.append(f"Note: the allow rule {text!r} in {file.path} is not used: {_why(error)}")


def _as_meant(text: object, behavior: Behavior, file: SettingsFile, root: str) -> Iterator[str]:
    """Yield the rule as it is to be read in a workspace.

    In the person's own file a leading slash stands for the folder of that file. A rule that takes away
    holds for the workspace too: who wrote it may have meant that.
    """
    if not isinstance(text, str):
        raise ConfigError("it is no text", code="bad_value")
    rule = parse_rule(text, behavior, file.path)
    anchored = None
    if file.is_the_persons and rule.tool in EDITORS | READERS and rule.content is not None:
        anchored = globs.starting_at(rule.content, root)
    if anchored is None or behavior != "allow":
        yield text
    if anchored is not None:
        yield render_rule(rule.replace(content=anchored))


def _mode_in(file: SettingsFile, given: Mapping[str, Any], notes: list[str]) -> str | None:
    mode = given.get("defaultMode")
    if mode is None:
        return None
    try:
        return check_mode(mode if isinstance(mode, str) else repr(mode))
    except ConfigError as error:
        notes.append(f"Note: permissions.defaultMode in {file.path} is not used: {error.message}")
        return None


def _mode_of(said: Sequence[_Said]) -> tuple[str | None, str | None]:
    """Return the mode, and one that is looser than without the word of a file that is not believed."""
    own = next((one.mode for one in said if one.mode and not one.file.comes_with_the_workspace), None)
    ignored = None
    for one in said:
        if one.mode is None:
            continue
        if one.believed or not is_looser(one.mode, own or DEFAULT_MODE):
            return one.mode, ignored
        ignored = ignored or one.mode
    return None, ignored


def _what_trust_would_bring(said: Sequence[_Said], mode: str | None) -> Iterator[str]:
    count = sum(one.held_back for one in said)
    parts = [f"{count} allow rule{'' if count == 1 else 's'}"] if count else []
    parts += [f"mode {mode}"] if mode is not None else []
    if parts:
        files = [one.file.path for one in said if one.held_back or (mode and not one.believed and one.mode)]
        yield (
            f"Note: {' and '.join(parts)} of {' and '.join(files)} not used, since the folder is not "
            "trusted; --trust-workspace uses them, and so does trusting it once in Claude Code"
        )


def _why(error: ConfigError) -> str:
    return error.message.rpartition(" cannot be read: ")[2]


def _unusable(file: SettingsFile, key: str, why: str) -> ConfigError:
    return ConfigError(
        f"{key} in {file.path} cannot be used: {why}; mend it or take it out, as nothing starts without "
        "what it is to stop",
        code="bad_value",
        details={"path": file.path, "key": key},
    )
