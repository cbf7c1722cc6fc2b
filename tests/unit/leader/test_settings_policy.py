"""What is taken from the settings files of Claude Code, what is told of, and what stops a start."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from swarm.core.spawn import RuleSet
from swarm.errors import ConfigError
from swarm.leader.settings_policy import SettingsPolicy, read_policy
from swarm.storage import settings_files
from tests.support.settings_bed import SettingsBed


class Bed(SettingsBed):
    def read(self, *, trusted: bool = False) -> SettingsPolicy:
        return read_policy(str(self.root), str(self.workspace), trusted=trusted)

    def refused(self) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.read(trusted=True)
        assert (caught.value.exit_code, caught.value.code) == (2, "bad_value")
        return caught.value


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def says(path: Path, **permissions: Any) -> None:
    path.write_text(json.dumps({"theme": "dark", "permissions": permissions}))


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of whoever administers the machine."""
    path = tmp_path / "managed-settings.json"
    monkeypatch.setattr(settings_files, "managed_file", lambda: str(path))
    return path


def test_what_the_administrator_denies_is_denied_whoever_allows_it(bed: Bed, managed: Path) -> None:
    """It needs no trust, and comes last where the order counts."""
    says(managed, deny=["Bash(curl:*)"], ask=["Write"], allow=["Bash(ls:*)"], defaultMode="acceptEdits")
    says(bed.user, allow=["Bash(curl:*)"], defaultMode="plan")
    policy = bed.read()

    last = policy.rules[-1]
    assert last.source == "managed settings"
    assert (last.deny, last.ask, last.allow) == (("Bash(curl:*)",), ("Write",), ("Bash(ls:*)",))
    assert (policy.mode, policy.notes) == ("plan", ())


def test_a_repository_makes_no_mode_looser_than_the_administrators(bed: Bed, managed: Path) -> None:
    says(managed, defaultMode="plan")
    says(bed.project, defaultMode="default")
    assert bed.read().mode == "plan"
    assert bed.read(trusted=True).mode == "default"


def test_the_administrator_can_refuse_the_mode_in_which_nothing_is_asked(bed: Bed, managed: Path) -> None:
    says(managed, disableBypassPermissionsMode="disable")
    assert bed.read().no_bypass == str(managed)


@pytest.mark.parametrize("content", ["{", '{"permissions": {"deny": ["Bash(rm"]}}'])
def test_a_damaged_file_of_the_administrator_stops_the_start(bed: Bed, managed: Path, content: str) -> None:
    managed.write_text(content)
    assert str(managed) in bed.refused().message


def test_where_the_administrators_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert settings_files.managed_file() == "/etc/claude-code/managed-settings.json"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert settings_files.managed_file() == "/Library/Application Support/ClaudeCode/managed-settings.json"


def test_without_files_nothing_is_said(bed: Bed) -> None:
    assert bed.read() == SettingsPolicy()
    bed.user.write_text(" \n")
    bed.project.write_text("{}")
    bed.local.write_text('{"permissions": null}')
    assert bed.read() == SettingsPolicy()


def test_all_files_of_a_trusted_folder_are_taken_in_their_order(bed: Bed) -> None:
    """The order says which of them a denial names."""
    for path in (bed.user, bed.project, bed.local):
        says(path, allow=["Bash(ls:*)"], deny=["Bash(rm:*)"], ask=["Write"], defaultMode="acceptEdits")

    policy = bed.read(trusted=True)

    lists = {"allow": ("Bash(ls:*)",), "deny": ("Bash(rm:*)",), "ask": ("Write",)}
    kinds = ("local settings", "user settings", "project settings")
    assert policy == SettingsPolicy(
        rules=tuple(RuleSet(source=kind, **lists) for kind in kinds), mode="acceptEdits"
    )


def test_a_folder_that_is_not_trusted_only_takes_away(bed: Bed) -> None:
    """Whoever wrote the repository may have written its settings."""
    says(bed.user, allow=["Bash(ls:*)"])
    says(bed.project, allow=["Bash", "Write"], deny=["Bash(rm:*)"], defaultMode="bypassPermissions")
    says(bed.local, allow=["Read(//etc/**)"], ask=["WebFetch"])

    policy = bed.read()

    assert policy.rules == (
        RuleSet(source="local settings", ask=("WebFetch",)),
        RuleSet(source="user settings", allow=("Bash(ls:*)",)),
        RuleSet(source="project settings", deny=("Bash(rm:*)",)),
    )
    assert policy.mode is None
    (note,) = policy.notes
    assert note == (
        f"Note: 3 allow rules and mode bypassPermissions of {bed.local} and {bed.project} not used, since "
        "the folder is not trusted; --trust-workspace uses them, and so does trusting it once in Claude Code"
    )


@pytest.mark.parametrize(
    ("user", "project", "trusted", "mode"),
    [
        (None, "plan", False, "plan"),
        (None, "dontAsk", False, "dontAsk"),
        (None, "default", False, "default"),
        (None, "acceptEdits", False, None),
        (None, "acceptEdits", True, "acceptEdits"),
        ("plan", "acceptEdits", False, "plan"),
        ("acceptEdits", "plan", False, "acceptEdits"),
        ("bypassPermissions", "acceptEdits", False, "bypassPermissions"),
    ],
)
def test_a_mode_of_the_project_counts_last_and_is_not_looser(
    bed: Bed, user: str | None, project: str, trusted: bool, mode: str | None
) -> None:
    says(bed.user, **({"defaultMode": user} if user else {}))
    says(bed.project, defaultMode=project)

    assert bed.read(trusted=trusted).mode == mode


@pytest.mark.parametrize(
    ("user", "local", "mode"),
    [
        ("acceptEdits", "plan", "plan"),
        ("acceptEdits", "bypassPermissions", "acceptEdits"),
        ("plan", "default", "plan"),
    ],
)
def test_a_local_mode_comes_first_where_it_is_not_looser_than_the_persons(
    bed: Bed, user: str, local: str, mode: str
) -> None:
    says(bed.user, defaultMode=user)
    says(bed.local, defaultMode=local)

    assert bed.read().mode == mode


@pytest.mark.parametrize("mode", ["auto", "bubble", "yolo", 3])
def test_a_mode_that_is_none_here_is_told_of(bed: Bed, mode: object) -> None:
    """It is no reason not to start: without it the mode is a strict one."""
    says(bed.user, defaultMode=mode)

    policy = bed.read()

    assert policy.mode is None
    assert policy.notes[0].startswith(f"Note: permissions.defaultMode in {bed.user} is not used: ")


def test_an_allow_rule_that_cannot_be_read_is_told_of_and_left_out(bed: Bed) -> None:
    says(bed.user, allow=["Bash(ls:*)", "Bash(rm", 7, "Read(!x)"])

    policy = bed.read()

    assert policy.rules == (RuleSet(source="user settings", allow=("Bash(ls:*)",)),)
    assert policy.notes == (
        f"Note: the allow rule 'Bash(rm' in {bed.user} is not used: write Tool or Tool(content)",
        f"Note: the allow rule 7 in {bed.user} is not used: it is no text",
        f"Note: the allow rule 'Read(!x)' in {bed.user} is not used: a path pattern cannot be negated",
    )
    says(bed.user, allow="Bash")
    assert bed.read().notes == (f"Note: permissions.allow in {bed.user} is not used: it is no list of rules",)


@pytest.mark.parametrize("key", ["deny", "ask"])
@pytest.mark.parametrize("rule", ["Bash(rm", "bash(rm)", "", 7, None])
@pytest.mark.parametrize("kind", ["user", "project", "local"])
def test_a_rule_that_was_to_stop_something_stops_the_start(
    bed: Bed, key: str, rule: object, kind: str
) -> None:
    """A lost one would let it through; in a folder that is not trusted as well."""
    path = getattr(bed, kind)
    says(path, **{key: ["Bash(ls)", rule]})

    error = bed.refused()

    assert error.message.startswith(f"permissions.{key}[1] in {path} cannot be used: ")
    assert error.details == {"path": str(path), "key": f"permissions.{key}[1]"}
    with pytest.raises(ConfigError):
        bed.read()


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", "\0", '{"permissions": []}', '{"permissions": {"deny": "x"}}']
)
@pytest.mark.parametrize("kind", ["user", "project", "local"])
def test_a_damaged_file_stops_the_start(bed: Bed, text: str, kind: str) -> None:
    path: Path = getattr(bed, kind)
    path.write_text(text)

    assert str(path) in bed.refused().message


def test_what_is_no_file_stops_the_start_too(bed: Bed) -> None:
    bed.user.mkdir()
    assert str(bed.user) in bed.refused().message
    bed.user.rmdir()
    bed.user.symlink_to(bed.user)
    assert str(bed.user) in bed.refused().message


@pytest.mark.parametrize("kind", ["user", "project", "local"])
def test_any_file_may_refuse_bypass(bed: Bed, kind: str) -> None:
    path = getattr(bed, kind)
    says(path, disableBypassPermissionsMode="disable")

    policy = bed.read()

    policy.check("acceptEdits")
    with pytest.raises(ConfigError, match="disableBypassPermissionsMode") as caught:
        policy.check("bypassPermissions")
    assert caught.value.message.startswith(str(path))
    assert caught.value.exit_code == 2
    says(path, disableBypassPermissionsMode="enable")
    bed.read().check("bypassPermissions")


def test_rules_for_tools_that_are_not_here_are_no_fault(bed: Bed) -> None:
    rules = [
        "WebFetch(domain:example.org)",
        "mcp__x__y",
        "mcp__x",
        "mcp__x__*",
        "Task",
        "Skill(commit)",
        "WebSearch",
    ]
    says(bed.user, allow=rules, deny=rules, ask=rules)

    policy = bed.read()

    assert policy.notes == ()
    assert policy.rules[0].deny == tuple(rules)


def test_in_ones_own_file_a_slash_starts_at_the_folder_of_that_file(bed: Bed) -> None:
    """As in Claude Code; what takes away holds in the workspace as well, in case that was meant."""
    here = f"/{bed.root}"
    says(
        bed.user,
        allow=["Edit(/a/**)", "Edit(b/**)"],
        deny=["Read(/.env)", "Read(~/x)", "Read(//y)", "Bash(/z)"],
    )
    says(bed.project, deny=["Read(/.env)"])

    user, project = bed.read().rules

    assert user.allow == (f"Edit({here}/a/**)", "Edit(b/**)")
    assert user.deny == ("Read(/.env)", f"Read({here}/.env)", "Read(~/x)", "Read(//y)", "Bash(/z)")
    assert project.deny == ("Read(/.env)",)


def test_at_home_the_persons_own_file_is_not_the_repositorys(tmp_path: Path) -> None:
    """There `.claude` in the workspace is the root itself."""
    root = tmp_path / ".claude"
    root.mkdir()
    says(root / "settings.json", allow=["Bash(ls:*)"])

    policy = read_policy(str(root), str(tmp_path), trusted=False)

    assert policy == SettingsPolicy(rules=(RuleSet(source="user settings", allow=("Bash(ls:*)",)),))


@pytest.mark.parametrize("hook", ["PreToolUse", "PermissionRequest"])
def test_it_is_told_that_hooks_which_would_stop_calls_are_not_run(bed: Bed, hook: str) -> None:
    """Whoever counts on them would find out by what was done."""
    matched = [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}]
    bed.user.write_text(json.dumps({"hooks": {hook: matched, "Stop": matched}}))
    bed.project.write_text(json.dumps({"hooks": {"Stop": matched, hook: []}}))

    (note,) = bed.read().notes

    assert f"{hook} hooks in {bed.user} are not run here" in note


@pytest.mark.parametrize("hooks", [None, [], "x", {"PreToolUse": None}])
def test_where_there_are_no_hooks_nothing_is_told(bed: Bed, hooks: object) -> None:
    bed.user.write_text(json.dumps({"hooks": hooks}))
    assert bed.read().notes == ()
