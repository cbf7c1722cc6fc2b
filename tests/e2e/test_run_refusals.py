"""`swarm run`: what it refuses before it starts, and what an agent is refused in it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(60)


def test_a_denied_command_ends_in_5_and_names_the_rule(shell: Shell) -> None:
    """Nobody can be asked, so the call is denied; the person learns which rule would have allowed it."""
    file = write_team(
        shell, [a_task("a", [{"calls": [{"Bash": {"command": "touch made"}}]}, {"say": "Done."}])]
    )

    ended = shell.swarm("run", file, "--json", "--headless")

    assert ended.code == 5, ended.err
    assert not (shell.cwd / "ws" / "made").exists()
    (denied,) = ended.json()["denied"]
    assert denied["suggested_rule"] == "Bash(touch made)"
    assert "Bash(touch made)" in Path(ended.json()["report"]).read_text(encoding="utf-8")


def test_bypass_runs_commands_but_not_into_the_control_folders(shell: Shell) -> None:
    """The most permissive mode still can't write where approvals live."""
    target = shell.root / "teams" / "t1" / "permissions" / "rules.json"
    script = [
        {"calls": [{"Bash": {"command": "touch made"}}]},
        {"calls": [{"Write": {"file_path": str(target), "content": "{}"}}], "expect": "error"},
        {"calls": [{"Bash": {"command": f"echo x > {target}"}}], "expect": "error"},
        {"say": "Done."},
    ]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.out + ended.err
    assert (shell.cwd / "ws" / "made").exists()
    assert not target.exists()


def test_no_copy_of_the_control_folders_is_made_in_the_workspace(shell: Shell) -> None:
    """Else an allowed `cp -r .claude` would carry rules of the agent's own into the real folders."""
    script = [
        {
            "calls": [{"Write": {"file_path": ".claude/teams/t1/permissions/rules.json", "content": "{}"}}],
            "expect": "error",
        },
        {"calls": [{"Bash": {"command": "cp notes .git/hooks/pre-commit 2>&1"}}], "expect": "error"},
        {"say": "Done."},
    ]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    assert shell.swarm("run", file, "--json").code == 0
    assert not (shell.cwd / "ws" / ".claude").exists()


@pytest.mark.parametrize("rule", ["Wirte(a)", "Bash(rm:*))"])
def test_a_misspelt_rule_is_refused(shell: Shell, rule: str) -> None:
    """A deny rule that never matches protects nothing, and nobody would notice."""
    file = write_team(shell, [a_task("a")], permissions={"mode": "acceptEdits", "deny": [rule]})

    ended = shell.swarm("validate", file)

    assert ended.code == 2
    assert rule in ended.err


def test_an_existing_name_is_refused_and_left_alone(shell: Shell) -> None:
    """A second run doesn't touch the first one's team; `--name` gives it another."""
    file = write_team(shell, [a_task("a")])
    shell.swarm("run", file)
    before = status_of(shell, "1")

    again = shell.swarm("run", file, "--json")

    assert again.code == 4
    assert json.loads(again.err)["error"]["code"] == "name_taken"
    assert again.out == ""
    assert status_of(shell, "1") == before
    assert shell.swarm("run", file, "--name", "t2").code == 0


def test_a_dirty_tree_is_refused_unless_allowed(shell: Shell) -> None:
    """Nobody's uncommitted work ends in an agent's commit."""
    file = write_team(shell, [a_task("a")])
    subprocess.run(["git", "init", "-q", "ws"], cwd=shell.cwd, check=True)
    (shell.cwd / "ws" / "mine.txt").write_text("mine")

    refused = shell.swarm("run", file, "--json")

    assert refused.code == 4
    assert json.loads(refused.err)["error"]["code"] == "dirty_tree"
    assert not (shell.root / "teams" / "t1").exists()
    assert shell.swarm("run", file, "--allow-dirty").code == 0
    assert (shell.cwd / "ws" / "mine.txt").read_text() == "mine"


def test_a_fresh_team_file_in_the_repository_runs(shell: Shell) -> None:
    """`init` then `run` works at once: the team file and its schema are nobody's unsaved work."""
    subprocess.run(["git", "init", "-q"], cwd=shell.cwd, check=True)

    assert shell.swarm("init").code == 0
    ended = shell.swarm("run", "team.yaml", "--json")

    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("--detach",),
        ("--permission-mode", "auto"),
        ("--permission-mode", "bubble"),
    ],
    ids=" ".join,
)
def test_what_is_not_built_is_refused_by_name(shell: Shell, words: tuple[str, ...]) -> None:
    """An option is either done or refused; it is never silently ignored."""
    file = write_team(shell, [a_task("a")])

    ended = shell.swarm("run", file, *words, "--json")

    assert ended.code == 2
    error = json.loads(ended.err)["error"]
    assert error["code"] == "not_built"
    assert words[0].removeprefix("--").split("-")[0] in error["message"]
    assert not (shell.root / "teams").exists()


@pytest.mark.parametrize("key", ["", " "], ids=["none", "blank"])
def test_a_model_without_a_key_is_refused_before_anything_is_made(shell: Shell, key: str) -> None:
    file = write_team(shell, [a_task("a")])

    ended = shell.swarm("run", file, "--model", "claude-sonnet-5-5", "--json", ANTHROPIC_API_KEY=key)

    assert ended.code == 2
    error = json.loads(ended.err)["error"]
    assert error["code"] == "no_key"
    assert "ANTHROPIC_API_KEY" in error["message"]
    assert "swarm demo" in error["message"]
    assert not (shell.root / "teams").exists()


def test_a_workspace_with_a_run_in_it_is_refused(shell: Shell) -> None:
    """Two runs in one folder would commit each other's unfinished work."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    process = shell.start("run", file)
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)

    refused = shell.swarm("run", file, "--name", "t2", "--json")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)

    assert refused.code == 4
    assert json.loads(refused.err)["error"]["code"] == "leader_alive"
    assert not (shell.root / "teams" / "t2").exists()


def test_an_agent_cannot_change_what_verifies_its_task(shell: Shell) -> None:
    """What is checked is for people to say, also where a command of an agent calls `swarm`."""
    swarm = f"{sys.executable} -m swarm"
    script = [
        {"calls": [{"Bash": {"command": f"{swarm} task edit 1 --verify true"}}], "expect": "error"},
        {"calls": [{"Bash": {"command": f"{swarm} task complete 1 --unverified"}}], "expect": "error"},
        {"say": "Done."},
    ]
    file = write_team(
        shell, [a_task("a", script, verify=["false"])], permissions={"mode": "bypassPermissions"}
    )

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 6
    assert status_of(shell, "1")["metadata"]["swarm"]["verify"] == ["false"]


def test_a_repository_without_git_is_refused_before_anything_is_made(shell: Shell) -> None:
    """Else each task would be done, and fail three times at its commit."""
    file = write_team(shell, [a_task("a")])
    (shell.cwd / "ws" / ".git").mkdir()
    (shell.cwd / "ws" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    ended = replace(shell, path=str(shell.cwd / "nothing")).swarm("run", file)

    assert ended.code == 2
    assert ended.err == (
        f"error: {shell.cwd / 'ws'} is a git repository, but git is not on PATH; "
        "work could not be committed\n"
    )
    assert not (shell.root / "teams" / "t1").exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([{"say": "Done."}], "exists, and its run is over; swarm team archive t1 puts it away; give"),
        ([{"calls": [{"Read": {"file_path": "no"}}]}], "exists, and its run is over"),
    ],
)
def test_a_name_that_a_run_that_is_over_has_is_said_to_be_that(
    shell: Shell, script: list[dict[str, object]], told: str
) -> None:
    file = write_team(shell, [a_task("a", script)])
    shell.swarm("run", file)

    again = shell.swarm("run", file)

    assert (again.code, again.err.startswith(f"error: team t1 {told}")) == (4, True), again.err
