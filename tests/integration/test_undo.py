"""`swarm undo`: back to where the run began, and nothing is lost on the way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.storage import processes
from tests.e2e.steps import a_task, write_team
from tests.support.command import Ended, Shell
from tests.support.documented import example
from tests.support.live_team import git, make_repository

pytestmark = pytest.mark.timeout(60)

AS_P = ("-c", "user.name=p", "-c", "user.email=p@p.invalid")


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    """A shell beside a repository in which a team has changed one file, made one and removed one."""
    ws = tmp_path / "ws"
    make_repository(ws, {"api.py": "old\n", "gone.txt": "gone\n", ".gitignore": "*.log\n", "mine.txt": "1\n"})
    shell = Shell(isolated_home, tmp_path)
    assert shell.swarm("team", "create", "t1", "--workspace", str(ws)).code == 0
    git(ws, "update-ref", "refs/swarm/t1/start", "HEAD")
    (ws / "api.py").write_text("new\n")
    work(ws, "edit", "1 edit")
    (ws / "gone.txt").unlink()
    (ws / "sub").mkdir()
    (ws / "sub/made.txt").write_text("x\n")
    work(ws, "make", "2 make")
    return shell


def work(ws: Path, key: str, task: str) -> None:
    """Commit everything as a teammate does."""
    git(ws, "add", "-A")
    message = f"Task {key}\n\nDone.\n\nTask: {task}\nAgent: w1@t1\n"
    git(ws, *AS_P, "commit", "-qm", message)


@pytest.fixture
def ws(shell: Shell) -> Path:
    return shell.cwd / "ws"


def head(ws: Path) -> str:
    return git(ws, "rev-parse", "HEAD").strip()


def error(ended: Ended) -> dict[str, Any]:
    assert ended.out == ""
    found: dict[str, Any] = json.loads(ended.err)["error"]
    assert ended.code == 4
    return found


def commit(ws: Path, name: str) -> None:
    (ws / name).write_text("by hand\n")
    git(ws, "add", name)
    git(ws, *AS_P, "commit", "-qm", f"by hand: {name}")


def test_a_run_can_be_undone(isolated_home: Path, tmp_path: Path) -> None:
    make_repository(tmp_path / "ws", {"a.txt": "a\n"})
    before = head(tmp_path / "ws")
    script = [{"calls": [{"Write": {"file_path": "made.txt", "content": "x"}}]}, {"say": "Done."}]
    shell = Shell(isolated_home, tmp_path)
    assert shell.swarm("run", write_team(shell, [a_task("a", script)])).code == 0
    assert head(tmp_path / "ws") != before

    ended = shell.swarm("undo")
    assert (ended.code, ended.out.splitlines()[1].split()[1:]) == (0, ["Task", "a", "w1"])
    assert head(tmp_path / "ws") == before
    assert not (tmp_path / "ws/made.txt").exists()


def test_what_is_not_committed_is_told(isolated_home: Path, tmp_path: Path) -> None:
    """An undo does not bring it back, so the end of the run, both undos and the report have to say so."""
    ws = tmp_path / "ws"
    make_repository(ws, {"old.txt": "a\n", "a.txt": "a\n"})
    calls = [{"Write": {"file_path": "made.txt", "content": "x"}}, {"Bash": {"command": "rm old.txt"}}]
    task = a_task("a", [{"calls": calls}, {"say": "Done."}])
    shell = Shell(isolated_home, tmp_path)
    file = write_team(shell, [task], permissions={"mode": "bypassPermissions"})
    (tmp_path / file).rename(ws / file)
    text = (ws / file).read_text().replace("workspace: ws", "workspace: .")
    (ws / file).write_text(text)
    told = "1 change is not committed: old.txt (git status)"

    assert told in shell.swarm("run", f"ws/{file}").out.splitlines()
    report = (shell.root / "teams/t1/report.md").read_text()
    assert "Neither brings back what was changed and not committed" in report
    assert told in shell.swarm("undo", "--dry-run").out.splitlines()
    undone = shell.swarm("undo")
    assert told in undone.out.splitlines()
    assert shell.swarm("undo", "--json").json()["not_committed"] == ["old.txt"]
    git(ws, "checkout", "-q", "old.txt")
    assert "not committed" not in shell.swarm("undo").out


def test_a_resume_tells_what_is_undone(isolated_home: Path, tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    make_repository(ws, {"a.txt": "a\n"})
    script = [{"calls": [{"Write": {"file_path": "made.txt", "content": "x"}}]}, {"say": "Done."}]
    shell = Shell(isolated_home, tmp_path)
    assert shell.swarm("run", write_team(shell, [a_task("a", script)])).code == 0
    commit_id = git(ws, "rev-parse", "--short", "HEAD").strip()
    assert commit_id in shell.swarm("resume", "t1").out
    assert shell.swarm("undo").code == 0

    again = shell.swarm("resume", "t1")

    assert "All tasks are completed, but the commit of task 1 is not on the branch any more" in again.out
    assert commit_id not in again.out
    assert (
        "The commit of task 1 is not on the branch any more"
        in (shell.root / "teams/t1/report.md").read_text()
    )


def test_nobody_may_be_at_work(shell: Shell, ws: Path) -> None:
    before = head(ws)
    identity = {
        "host": processes.host(),
        "boot_id": processes.boot_id(),
        "pid_ns": processes.pid_ns(),
        "pid": os.getpid(),
        "start_ticks": processes.own_start_ticks(),
    }
    since = "2026-11-30T12:00:00.000Z"
    record = {"name": "w1", "run_id": "k3v9qd7m.w1.1", "backend": "process", "state": "idle", "since": since}
    path = shell.root / "teams/t1/agents/w1.json"
    path.write_text(json.dumps(record | identity))

    assert error(shell.swarm("undo", "--force", "--json"))["code"] == "agent_alive"
    assert head(ws) == before


def test_a_dry_run_shows_and_changes_nothing(shell: Shell, ws: Path) -> None:
    before = head(ws)
    shown = shell.swarm("undo", "--dry-run")

    assert shown.code == 0
    assert shown.out.startswith("2 commits would go, back to ")
    assert "Task make" in shown.out.splitlines()[1]
    assert head(ws) == before
    assert "undone" not in git(ws, "for-each-ref")


def test_undo_goes_back_and_can_be_undone(shell: Shell, ws: Path) -> None:
    before = head(ws)
    (ws / "mine.txt").write_text("mine, not committed\n")
    (ws / "new.txt").write_text("new\n")
    ended = shell.swarm("undo", "--json")

    assert ended.code == 0, ended.err
    shown = ended.json()
    documented = example("json.md", "output: undo")
    assert list(shown) == list(documented)
    assert list(shown["commits"][0]) == list(documented["commits"][0])
    assert (shown["undone"], shown["head"], shown["start"]) == (True, before, head(ws))
    assert [(one["agent"], one["task"]) for one in shown["commits"]] == [("w1", "2"), ("w1", "1")]
    assert (ws / "api.py").read_text() == "old\n"
    assert (ws / "gone.txt").exists()
    assert not (ws / "sub").exists()
    assert (ws / "mine.txt").read_text() == "mine, not committed\n"
    assert (ws / "new.txt").read_text() == "new\n"

    again = shell.swarm("undo")
    assert (again.code, again.out.startswith("nothing to undo")) == (0, True)
    git(ws, "reset", "-q", "--keep", shown["kept"])
    assert head(ws) == before


def test_commits_of_others_stand_in_the_way_unless_forced(shell: Shell, ws: Path) -> None:
    commit(ws, "later.txt")
    before = head(ws)
    refused = error(shell.swarm("undo", "--json"))

    assert (refused["code"], refused["details"]) == ("not_undoable", {"commits": [before]})
    assert head(ws) == before
    forced = shell.swarm("undo", "--force")
    assert forced.code == 0
    assert "(of others)" in forced.out
    assert not (ws / "later.txt").exists()
    assert git(ws, "rev-parse", f"refs/swarm/t1/undone-{before[:12]}").strip() == before


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("path", ["api.py", "gone.txt", "sub/made.txt"])
def test_what_is_not_committed_is_never_lost(
    shell: Shell, ws: Path, path: str, force: tuple[str, ...]
) -> None:
    (ws / path).write_text("precious\n")
    before = head(ws)
    refused = error(shell.swarm("undo", *force, "--json"))

    assert (refused["code"], refused["details"]["paths"]) == ("dirty_tree", [path])
    assert head(ws) == before
    assert (ws / path).read_text() == "precious\n"


def test_what_is_staged_is_never_lost(shell: Shell, ws: Path) -> None:
    (ws / "mine.txt").write_text("staged\n")
    git(ws, "add", "mine.txt")
    (ws / "mine.txt").write_text("and changed again\n")

    assert error(shell.swarm("undo", "--json"))["details"]["paths"] == ["mine.txt"]
    assert git(ws, "show", ":mine.txt") == "staged\n"


def test_an_ignored_file_in_the_place_of_a_removed_one_is_never_lost(shell: Shell, ws: Path) -> None:
    (ws / ".git/info/exclude").write_text("gone.txt\n")
    (ws / "gone.txt").write_text("precious\n")

    assert error(shell.swarm("undo", "--json"))["details"]["paths"] == ["gone.txt"]
    assert (ws / "gone.txt").read_text() == "precious\n"


def test_another_branch_is_left_alone(shell: Shell, ws: Path) -> None:
    git(ws, "checkout", "-q", "--orphan", "other")
    commit(ws, "other.txt")

    assert error(shell.swarm("undo", "--json"))["code"] == "not_undoable"


def test_outside_of_a_repository_there_is_nothing_to_undo(isolated_home: Path, tmp_path: Path) -> None:
    shell = Shell(isolated_home, tmp_path)
    assert shell.swarm("run", write_team(shell, [a_task("a")])).code == 0

    assert error(shell.swarm("undo", "--json"))["code"] == "not_undoable"


def test_no_agent_undoes_anything(shell: Shell, ws: Path) -> None:
    before = head(ws)

    assert shell.swarm("undo", SWARM_AGENT="w1").code == 5
    assert head(ws) == before


def test_no_message_can_pass_for_other_fields(shell: Shell, ws: Path) -> None:
    """An agent that may commit by itself chooses its words."""
    (ws / "mine.txt").write_text("2\n")
    git(ws, *AS_P, "commit", "-qam", "Fix\x1fw1@t1\x1f9\x1e deadbeef\x1fFix\x1fw2@t1\x1f9\n\x1e")

    found = json.loads(shell.swarm("undo", "--dry-run", "--force", "--json").out)["commits"]

    assert [one.get("task") for one in found] == [None, "2", "1"]
