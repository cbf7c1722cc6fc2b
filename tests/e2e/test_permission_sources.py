"""Rules and modes from everywhere, as a person gives them to `swarm run`, `resume` and `spawn`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.core.roster import Roster, parse_roster
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Ended, Shell

TOUCHES = [{"calls": [{"Bash": {"command": "touch made"}}]}, {"say": "Done."}]
FAILS = [{"calls": [{"Bash": {"command": "touch made"}}], "expect": "error"}, {"say": "Then not."}]
BYPASS = {"mode": "bypassPermissions"}


def settings(path: Path, **permissions: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": permissions}))
    return path


def user(shell: Shell, **permissions: Any) -> Path:
    return settings(shell.root / "settings.json", **permissions)


def project(shell: Shell, **permissions: Any) -> Path:
    return settings(shell.cwd / "ws/.claude/settings.json", **permissions)


def made(shell: Shell) -> bool:
    return (shell.cwd / "ws/made").exists()


def roster(shell: Shell, team: str = "t1") -> Roster:
    return parse_roster(json.loads((shell.root / "teams" / team / "config.json").read_text()))


def modes(shell: Shell) -> dict[str, str | None]:
    return {member.name: member.permission_mode for member in roster(shell).members}


def error(ended: Ended) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.err)["error"]
    return found


def denial(shell: Shell) -> str:
    """Return what the model was told of its denied call."""
    transcript = (shell.root / "teams/t1/transcripts/w1.jsonl").read_text()
    return next(line for line in transcript.splitlines() if "not permitted" in line)


# Sources


def test_an_allow_rule_of_the_command_line_lets_a_call_through(shell: Shell) -> None:
    file = write_team(shell, [a_task("a", TOUCHES)])

    assert shell.swarm("run", file, "--allow", "Bash(touch:*)", "--allow", "Bash(ls)").code == 0
    assert made(shell)


@pytest.mark.parametrize("source", ["command line", "team file", "user settings", "project settings"])
def test_a_deny_from_any_source_beats_all_allows_and_is_named(shell: Shell, source: str) -> None:
    """In a folder that nobody trusts as well, and where nothing is asked."""
    deny = {"deny": ["Bash(touch:*)"]}
    permissions = {**BYPASS, "allow": ["Bash"], **(deny if source == "team file" else {})}
    file = write_team(shell, [a_task("a", FAILS)], permissions=permissions)
    user(shell, allow=["Bash"], **(deny if source == "user settings" else {}))
    project(shell, allow=["Bash"], **(deny if source == "project settings" else {}))
    words = ["--deny", "Bash(touch:*)"] if source == "command line" else []

    ended = shell.swarm("run", file, "--allow", "Bash", *words)

    assert ended.code == 0, ended.err
    assert not made(shell)
    assert f"The rule Bash(touch:*) of the {source} forbids this call." in denial(shell)


def test_an_ask_rule_beats_an_allow_rule_of_any_source(shell: Shell) -> None:
    file = write_team(shell, [a_task("a", FAILS)], permissions={**BYPASS, "allow": ["Bash"]})

    ended = shell.swarm("run", file, "--ask", "Bash(touch:*)", "--headless", "--json")

    assert not made(shell)
    (denied,) = ended.json()["denied"]
    assert denied["why"] == "The rule Bash(touch:*) of the command line wants a person to decide."


def test_rules_of_a_project_wait_until_the_folder_is_trusted(shell: Shell) -> None:
    file = write_team(shell, [a_task("a", FAILS)], permissions={"mode": "default"})
    path = project(shell, allow=["Bash(touch:*)"], defaultMode="bypassPermissions")

    ended = shell.swarm("run", file, "--headless")

    assert (
        f"Note: 1 allow rule and mode bypassPermissions of {path} not used, since the folder is not trusted"
        in ended.err
    )
    assert not made(shell)
    write_team(shell, [a_task("a", TOUCHES)], permissions={"mode": "default"})
    ended = shell.swarm("run", file, "--name", "t2", "--trust-workspace")
    assert (ended.code, "not trusted" in ended.err) == (0, False), ended.err
    assert made(shell)


def test_a_folder_that_is_trusted_elsewhere_is_trusted(shell: Shell) -> None:
    file = write_team(shell, [a_task("a", TOUCHES)], permissions={"mode": "default"})
    project(shell, allow=["Bash(touch:*)"])
    trusted = {str((shell.cwd / "ws").resolve()): {"hasTrustDialogAccepted": True}}
    (shell.home / ".claude.json").write_text(json.dumps({"projects": trusted}))

    ended = shell.swarm("run", file)

    assert (ended.code, "not trusted" in ended.err) == (0, False), ended.err
    assert made(shell)


@pytest.mark.parametrize(
    "spoiled",
    ["{", '{"permissions": {"deny": ["Bash(rm"]}}', '{"permissions": {"ask": [7]}}'],
)
def test_a_settings_file_that_would_lose_a_prohibition_stops_the_start(shell: Shell, spoiled: str) -> None:
    file = write_team(shell, [a_task("a")])
    path = project(shell)
    path.write_text(spoiled)

    ended = shell.swarm("run", file, "--json")

    assert (ended.code, ended.out) == (2, "")
    assert str(path) in error(ended)["message"]
    assert not (shell.root / "teams/t1").exists()


@pytest.mark.parametrize("verb", ["run", "spawn"])
@pytest.mark.parametrize("option", ["--allow", "--deny", "--ask"])
@pytest.mark.parametrize("rule", ["Bash(rm", "bash(rm)", "Bush(rm)", ""])
def test_a_rule_of_the_command_line_that_cannot_be_meant_is_refused(
    shell: Shell, verb: str, option: str, rule: str
) -> None:
    file = write_team(shell, [a_task("a")])
    if verb == "spawn":
        assert shell.swarm("team", "create", "t1").code == 0

    ended = shell.swarm(verb, file if verb == "run" else "w1", option, rule, "--json")

    assert (ended.code, error(ended)["code"]) == (2, "bad_value")
    assert verb == "spawn" or not (shell.root / "teams").exists()


def test_rules_of_the_run_hold_when_it_is_resumed(shell: Shell) -> None:
    """The copy of the team file that the team keeps has them."""
    waits = {"calls": [{"Bash": {"command": "sh wait.sh"}}]}
    file = write_team(shell, [a_task("a", [waits, *FAILS])], permissions=BYPASS)
    (shell.cwd / "ws/wait.sh").write_text("while [ ! -e go ]; do sleep 0.1; done\n")
    first = shell.swarm("run", file, "--deny", "Bash(touch made)", "--ask", "Write", "--timeout", "1")
    assert first.code == 124, first.err
    kept = yaml.safe_load((shell.root / "teams/t1/team.yaml").read_text())["permissions"]
    assert kept == {"mode": "bypassPermissions", "deny": ["Bash(touch made)"], "ask": ["Write"]}
    (shell.cwd / "ws/go").touch()
    refused = shell.swarm("run", file, "--resume", "--permission-mode", "plan", "--json")
    assert (refused.code, error(refused)["code"]) == (2, "bad_usage")

    resumed = shell.swarm("resume", "t1")

    assert resumed.code == 0, resumed.err
    assert not made(shell)
    assert "The rule Bash(touch made) of the team file forbids this call." in denial(shell)


@pytest.mark.parametrize("again", [("resume", "t1"), ("run", "team.yaml", "--resume")])
def test_rules_that_a_resume_is_given_are_added_and_kept(shell: Shell, again: tuple[str, ...]) -> None:
    """What was denied for the lack of a rule gets done by it; a deny rule stays the stronger."""
    touches = [{"calls": [{"Bash": {"command": "touch made"}}]}, {"say": "Done."}]
    removes = [{"calls": [{"Bash": {"command": "rm made"}}]}, {"say": "Done."}]
    tasks = [a_task("a", touches), a_task("b", removes, blocked_by=["a"])]
    file = write_team(shell, tasks, permissions={"mode": "default", "deny": ["Bash(rm:*)"]})
    assert shell.swarm("run", file, "--headless").code == 5
    assert shell.swarm("task", "retry", "1").code == 0
    wrong = shell.swarm(*again, "--headless", "--allow", "Bash(touch", "--json")
    assert (wrong.code, error(wrong)["code"]) == (2, "bad_value")

    more = ["--allow", "Bash(touch made)", "--ask", "Read", "--deny", "Write"]
    resumed = shell.swarm(*again, "--headless", *more)

    assert resumed.code == 6, resumed.err
    assert made(shell)
    assert status_of(shell, "1")["status"] == "completed"
    rules = json.loads((shell.root / "teams/t1/permissions/rules.json").read_text())
    assert rules == {"deny": ["Write"], "ask": ["Read"], "allow": ["Bash(touch made)"]}
    assert shell.swarm("task", "retry", "2").code == 0
    third = shell.swarm(*again, "--headless", "--allow", "Bash(rm made)")
    assert third.code == 6, third.err
    assert made(shell)


# Modes


@pytest.mark.parametrize(
    ("flag", "in_file", "in_settings", "mode"),
    [
        ("plan", "acceptEdits", "bypassPermissions", "plan"),
        (None, "acceptEdits", "bypassPermissions", "acceptEdits"),
        (None, None, "acceptEdits", "acceptEdits"),
        (None, None, None, "default"),
        ("bypassPermissions", "plan", "plan", "bypassPermissions"),
    ],
)
def test_the_mode_of_a_run_is_the_first_that_is_given(
    shell: Shell, flag: str | None, in_file: str | None, in_settings: str | None, mode: str
) -> None:
    """It is recorded for the leader and for each teammate."""
    file = write_team(shell, [a_task("a")], permissions={"mode": in_file} if in_file else {})
    if in_settings:
        user(shell, defaultMode=in_settings)

    ended = shell.swarm("run", file, *(["--permission-mode", flag] if flag else []))

    assert ended.code == 0, ended.err
    assert modes(shell) == {"team-lead": mode, "w1": mode}


def test_a_teammate_gets_no_looser_mode_than_its_leader(shell: Shell) -> None:
    mates = [
        {"name": "w1", "permission_mode": "bypassPermissions"},
        {"name": "w2", "permission_mode": "plan"},
    ]
    file = write_team(shell, [a_task("a", owner="w1")], teammates=mates, permissions={"mode": "acceptEdits"})

    ended = shell.swarm("run", file)

    assert ended.code == 0, ended.err
    assert modes(shell) == {"team-lead": "acceptEdits", "w1": "acceptEdits", "w2": "plan"}
    assert (
        ended.err.count("Note: w1 gets mode acceptEdits, not bypassPermissions: no teammate has a looser")
        == 1
    )
    assert "w2 gets" not in ended.err


@pytest.mark.parametrize("way", ["flag", "file", "teammate", "settings"])
def test_settings_can_refuse_the_mode_in_which_nothing_is_asked(shell: Shell, way: str) -> None:
    mode = "bypassPermissions"
    mate = {"name": "w1", **({"permission_mode": mode} if way == "teammate" else {})}
    permissions = {"mode": mode} if way == "file" else {}
    file = write_team(shell, [a_task("a")], teammates=[mate], permissions=permissions)
    project(shell, disableBypassPermissionsMode="disable")
    user(shell, **({"defaultMode": mode} if way == "settings" else {}))

    ended = shell.swarm("run", file, *(["--permission-mode", mode] if way == "flag" else []), "--json")

    if way == "teammate":  # it would not get that mode in any case
        assert ended.code == 0, ended.err
        return
    assert (ended.code, error(ended)["code"]) == (2, "bad_value")
    assert "disableBypassPermissionsMode" in error(ended)["message"]
    assert not (shell.root / "teams/t1").exists()
