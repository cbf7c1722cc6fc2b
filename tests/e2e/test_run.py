"""`swarm run`: how a run ends, and what it refuses before it starts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY, Shell, processes_of_run

pytestmark = pytest.mark.timeout(60)

SAY_DONE = [{"say": "Done."}]


def write_team(shell: Shell, tasks: list[dict[str, Any]], **more: object) -> str:
    """Write a team file with one teammate and these tasks; its workspace is a folder without git."""
    (shell.cwd / "ws").mkdir(exist_ok=True)
    team = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "acceptEdits"},
        "teammates": [{"name": "w1"}],
        "tasks": tasks,
    }
    (shell.cwd / "team.yaml").write_text(yaml.safe_dump(team | more), encoding="utf-8")
    return "team.yaml"


def a_task(key: str, script: list[Any] | None = None, **more: object) -> dict[str, Any]:
    return {"key": key, "subject": f"Task {key}", "script": script or SAY_DONE, **more}


def status_of(shell: Shell, task: str, team: str = "t1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (shell.root / "tasks" / team / f"{task}.json").read_text(encoding="utf-8")
    )
    return found


def test_file_names_are_utf8_whatever_the_locale_says(shell: Shell) -> None:
    """In an ASCII locale the interpreter could neither name such a file nor start such a command."""
    script = [
        {"calls": [{"Write": {"file_path": "größe.txt", "content": "ü\n"}}]},
        {"calls": [{"Read": {"file_path": "größe.txt"}}, {"Bash": {"command": "cat größe.txt > 日本.txt"}}]},
        {"say": "Fertig: größer."},
    ]
    tasks = [a_task("a", script, verify=["grep -q ü 日本.txt"], files=["größe.txt"])]
    team = write_team(shell, tasks, permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", team, "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert (ended.code, ended.json()["tasks"][0]["summary"]) == (0, "Fertig: größer.")
    assert (shell.cwd / "ws" / "日本.txt").read_text(encoding="utf-8") == "ü\n"


@pytest.mark.parametrize("example", ["pipeline", "retry"])
def test_each_example_ends_well(shell: Shell, example: str) -> None:
    """What ships as an example works as it is."""
    shutil.copytree(REPOSITORY / "teams_examples" / example, shell.cwd / example)

    ended = shell.swarm("run", f"{example}/team.yaml", "--json", SWARM_TIME_SCALE="0.2")

    assert ended.code == 0, ended.err
    assert {task["status"] for task in ended.json()["tasks"]} == {"completed"}
    assert processes_of_run(ended.json()["run"]) == []


def test_the_retry_example_shows_failure_and_retry(shell: Shell) -> None:
    """The example is about mending: a check that failed first, and an attempt that failed."""
    shutil.copytree(REPOSITORY / "teams_examples" / "retry", shell.cwd / "retry")

    ended = shell.swarm("run", "retry/team.yaml", "--json", SWARM_TIME_SCALE="0.2")

    events = (shell.root / "teams" / ended.json()["team"] / "events.jsonl").read_text(encoding="utf-8")
    assert '"event":"verify_failed"' in events.replace(" ", "")
    assert any(task["attempts"] > 0 for task in ended.json()["tasks"])


def test_a_failed_verify_fails_the_task_and_keeps_what_depends_on_it_blocked(shell: Shell) -> None:
    """Done means checked: text at the end of a turn is not enough."""
    file = write_team(shell, [a_task("a", verify=["false"]), a_task("b", blocked_by=["a"])])

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 6
    first, second = ended.json()["tasks"]
    assert (first["status"], second["status"]) == ("failed", "pending")
    assert first["reason"].startswith("parked")
    assert "waits for" in second["reason"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([{"calls": [{"Read": {"file_path": "nothing.txt"}}]}, {"say": "Done."}], "unexpected error"),
        ([{"say": "Done."}, {"say": "More."}], "unused steps"),
        ([{"say": " "}], "an empty answer"),
        (
            [
                {"calls": [{"Glob": {"pattern": "*"}}], "expect": "error"},
                {"say": "Done."},
            ],
            "no error",
        ),
        ([{"calls": [{"Glob": {"pattern": "*"}}]}], "no final answer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_task_is_not_completed_by(shell: Shell, script: list[dict[str, Any]], why: str) -> None:
    """Each of these ends the attempt with a reason, never the task as done."""
    file = write_team(shell, [a_task("a", script)])

    ended = shell.swarm("run", file, "--json")

    (task,) = ended.json()["tasks"] if ended.out else ({"status": "refused"},)
    assert ended.code in (2, 6), why
    assert task["status"] in ("failed", "refused")


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


def test_a_time_limit_ends_in_124(shell: Shell) -> None:
    """What was in hand is given back, and nothing goes on in the background."""
    script = [{"calls": [{"Bash": {"command": "sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", file, "--json", "--timeout", "1")

    assert ended.code == 124, ended.err
    assert status_of(shell, "1")["status"] == "pending"
    assert processes_of_run(ended.json()["run"]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order(shell: Shell, number: signal.Signals) -> None:
    """Exit 130, the task is free again, no tool of ours lives on."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 600"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    process = shell.start("run", file, "--json")
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)

    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert status_of(shell, "1")["status"] == "pending"
    assert processes_of_run(json.loads(out)["run"]) == []


def test_what_a_command_left_in_the_background_ends_with_the_run(shell: Shell) -> None:
    """The call itself does not wait for it, and the run does not leave it behind; setsid is no way out."""
    script = [
        {"calls": [{"Bash": {"command": "sleep 600 & setsid sleep 600 & echo $! > pid"}}]},
        {"say": "Done."},
    ]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.err
    assert (shell.cwd / "ws" / "pid").read_text().strip().isdigit()
    assert processes_of_run(ended.json()["run"]) == []


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
        ("--backend", "tmux"),
        ("--backend", "process"),
        ("--model", "claude-sonnet-5-5"),
        ("--resume",),
        ("--budget", "5"),
        ("--detach",),
        ("--permission-mode", "plan"),
        ("--permission-mode", "dontAsk"),
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


def test_a_reader_that_goes_away_does_not_end_the_run(shell: Shell) -> None:
    """`swarm run … 2>&1 | head -1` shows one line; the work goes on to its end all the same."""
    file = write_team(shell, [a_task("a"), a_task("b", blocked_by=["a"])])
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "swarm", "run", file],
        cwd=shell.cwd,
        env=shell.environ(),
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    )
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)

    assert process.wait(30) == 0
    assert status_of(shell, "2")["status"] == "completed"
    assert (shell.root / "teams" / "t1" / "report.md").exists()


def test_a_hang_up_is_ignored_where_it_was_ignored_before(shell: Shell) -> None:
    """`nohup swarm run` goes on when the terminal is closed."""
    script = [{"calls": [{"Bash": {"command": "touch started; sleep 1"}}]}, {"say": "Done."}]
    file = write_team(shell, [a_task("a", script)], permissions={"mode": "bypassPermissions"})
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "swarm", "run", file],
        cwd=shell.cwd,
        env=shell.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((shell.cwd / "ws" / "started").exists, timeout=20)
    process.send_signal(signal.SIGHUP)

    assert process.wait(30) == 0


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


def test_the_reason_of_the_first_attempt_is_told(shell: Shell) -> None:
    """What fails in a second attempt may only follow from the first."""
    script = [{"calls": [{"Bash": {"command": "mkdir made"}}]}, {"say": "Done."}]
    file = write_team(
        shell,
        [a_task("a", script, verify=["test -e never"])],
        permissions={"mode": "acceptEdits", "allow": ["Bash(mkdir:*)"]},
    )

    (task,) = shell.swarm("run", file, "--json").json()["tasks"]

    assert task["reason"].startswith("parked: the check `test -e never` failed")
    assert "attempt 2: step 1 (Bash) failed" in task["reason"]


def test_plain_lines_tell_the_story_where_there_is_no_terminal(shell: Shell) -> None:
    """Stdout holds the result; what happens on the way goes to stderr, a line each."""
    file = write_team(shell, [a_task("a"), a_task("b", blocked_by=["a"])])

    ended = shell.swarm("run", file)

    assert ended.code == 0
    assert "w1" in ended.err
    assert "\x1b" not in ended.err + ended.out
    assert ended.err.index("Task a") < ended.err.index("Task b")
    assert "report.md" in ended.out


def test_a_workspace_without_git_works_without_commits(shell: Shell) -> None:
    """Git is used where it is there, not demanded."""
    script = [{"calls": [{"Write": {"file_path": "a.txt", "content": "x\n"}}]}, {"say": "Written."}]
    file = write_team(shell, [a_task("a", script)])

    ended = shell.swarm("run", file, "--json")

    assert ended.code == 0, ended.out + ended.err
    (task,) = ended.json()["tasks"]
    assert task["files"] == ["a.txt"]
    assert "commit" not in task
    assert (shell.cwd / "ws" / "a.txt").read_text() == "x\n"
