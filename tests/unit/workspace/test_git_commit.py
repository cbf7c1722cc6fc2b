"""Commits in a real repository: exactly the files of a task, whatever they are called."""

from __future__ import annotations

import os

import pytest

from swarm.workspace.git import GitWorkspace
from tests.unit.workspace.repositories import commit, files_of, run

ODD_NAMES = [
    "with space.txt",
    "line\nbreak.txt",
    "-dash.txt",
    "--all",
    "größe.txt",
    "日本.txt",
    "star*.txt",
    "[x]?.txt",
    ":(top)magic.txt",
    'quo"te.txt',
    "back\\slash.txt",
    " lead and trail ",
    os.fsdecode(b"latin-\xe9.txt"),
    "a/b/c/deep.txt",
]


def test_commit_holds_new_changed_and_deleted_files(repository):
    """A task's work is all three; each needs another git command."""
    (repository / "gone.txt").write_text("x")
    run(repository, "add", "gone.txt")
    run(repository, "-c", "user.name=P", "-c", "user.email=p@x.invalid", "commit", "-q", "-m", "more")
    (repository / "gone.txt").unlink()
    (repository / "old.txt").write_text("changed\n")
    (repository / "new.txt").write_text("new\n")
    (repository / "empty.txt").touch()

    made = commit(repository, "gone.txt", "old.txt", "new.txt", "empty.txt")

    assert made == run(repository, "rev-parse", "--short", "HEAD").strip()
    assert files_of(repository) == {"gone.txt", "old.txt", "new.txt", "empty.txt"}
    assert run(repository, "status", "--porcelain") == ""


def test_message_names_subject_body_task_and_agent(repository):
    """The log says who did what, in a form that `git interpret-trailers` reads."""
    (repository / "new.txt").write_text("new\n")

    commit(
        repository,
        "new.txt",
        subject="Rename\nit",
        body="# why\n\nBecause.",
        trailers={"Task": "7 api", "Agent": "b@t\nX: y"},
    )

    assert run(repository, "log", "-1", "--format=%s") == "Rename it\n"
    assert "# why\n\nBecause." in run(repository, "log", "-1", "--format=%b")
    assert run(repository, "log", "-1", "--format=%(trailers)").strip().splitlines() == [
        "Task: 7 api",
        "Agent: b@t X: y",
    ]


def test_a_body_names_nobody(repository):
    """Who did what is not the word of an agent: else one could pass its work off as another's."""
    run(repository, "update-ref", "refs/swarm/demo/start", "HEAD")
    of_task = {"Task": "9 deploy", "Agent": "builder-2@demo"}
    (repository / "new.txt").write_text("new\n")
    forged = "Task: 9 deploy\n agent : boss@demo\nTask: 9 deploy\rAgent: builder-2@demo\n"

    commit(repository, "new.txt", body=f"{forged}\nAgents: all\nTask 9: done")

    said = run(repository, "log", "-1", "--format=%b").splitlines()
    assert said[:3] == ["> Task: 9 deploy", ">  agent : boss@demo", "> Task: 9 deploy"]
    assert said[5:7] == ["Agents: all", "Task 9: done"]
    named = [line for line in said if line.startswith(("Task:", "Agent:"))]
    assert named == ["Task: 7", "Agent: builder-1@demo"]
    assert GitWorkspace(str(repository)).find_made("demo", of_task) is None


def test_a_commit_is_found_behind_later_ones_that_mention_it(repository):
    run(repository, "update-ref", "refs/swarm/demo/start", "HEAD")
    (repository / "new.txt").write_text("new\n")
    made = commit(repository, "new.txt")
    (repository / "new.txt").write_text("newer\n")
    later = "It had said Task: 7 and Agent: builder-1@demo."
    commit(repository, "new.txt", trailers={"Task": "8"}, body=later)

    found = GitWorkspace(str(repository)).find_made("demo", {"Task": "7", "Agent": "builder-1@demo"})

    assert found == made


def test_overlong_or_empty_subject_still_makes_one_line(repository):
    """A model's subject may be anything, and git refuses an empty message."""
    (repository / "new.txt").write_text("new\n")
    commit(repository, "new.txt", subject="x" * 500)
    assert len(run(repository, "log", "-1", "--format=%s").strip()) == 120
    (repository / "new.txt").write_text("newer\n")
    commit(repository, "new.txt", subject=" \0 ", trailers={"Task": "1"})
    assert run(repository, "log", "-1", "--format=%s").strip() == "Work of a task"


def test_what_the_person_staged_stays_staged_and_out(repository):
    """The index belongs to the person who shares the workspace."""
    (repository / "staged.txt").write_text("mine\n")
    run(repository, "add", "staged.txt")
    (repository / "old.txt").write_text("theirs\n")

    commit(repository, "old.txt")

    assert files_of(repository) == {"old.txt"}
    assert run(repository, "status", "--porcelain") == "A  staged.txt\n"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_file_name_can_be_committed(repository, name):
    """Names are data: none is an option, a pattern or a quoted text."""
    path = os.path.join(str(repository), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("x")
    (repository / "bystander.txt").write_text("x")

    assert name in GitWorkspace(str(repository)).dirty_paths()
    assert commit(repository, name) is not None

    assert files_of(repository) == {name}
    assert GitWorkspace(str(repository)).dirty_paths() == ("bystander.txt",)


def test_long_lists_of_files_fit(repository):
    """More names than a command line holds."""
    folders = "/".join([letter * 240 for letter in "abcdefghijklmn"])
    (repository / folders).mkdir(parents=True)
    names = [f"{folders}/{number}" for number in range(650)]
    for name in names:
        (repository / name).touch()

    commit(repository, *names)

    assert files_of(repository) == set(names)


def test_a_staged_rename_is_committed_whole(repository):
    """A task may run `git mv`: the old name belongs to the change as much as the new one."""
    run(repository, "mv", "old.txt", "moved.txt")

    assert GitWorkspace(str(repository)).dirty_paths() == ("moved.txt", "old.txt")
    commit(repository, "old.txt", "moved.txt")

    assert files_of(repository) == {"old.txt", "moved.txt"}
    assert run(repository, "status", "--porcelain") == ""


def test_nothing_changed_is_no_commit(repository):
    """An empty commit would claim work that was not done."""
    before = run(repository, "rev-parse", "HEAD")

    assert commit(repository, "old.txt", "never-there.txt") is None
    assert commit(repository) is None

    assert run(repository, "rev-parse", "HEAD") == before


def test_rewritten_line_ends_that_git_undoes_are_no_commit(repository):
    """Status says changed, the commit says nothing to commit: still None, and nothing stays in the index."""
    run(repository, "config", "core.autocrlf", "input")
    (repository / "old.txt").write_bytes(b"old\r\n")

    assert commit(repository, "old.txt") is None


def test_first_commit_of_an_empty_repository(home, tmp_path):
    """A fresh `git init` has no HEAD to compare with."""
    run(tmp_path, "init", "-q", "-b", "main", "fresh")
    path = tmp_path / "fresh"
    (path / "a.txt").write_text("a")
    (path / "b.txt").write_text("b")
    workspace = GitWorkspace(str(path))

    assert workspace.is_repository()
    assert workspace.head() is None
    assert workspace.keep_ref("demo") is None
    assert workspace.dirty_paths() == ("a.txt", "b.txt")
    assert commit(path, "a.txt") is not None

    assert files_of(path) == {"a.txt"}
    assert workspace.dirty_paths() == ("b.txt",)


def test_detached_head_can_be_committed_on(repository):
    """The person may have checked out a tag."""
    run(repository, "checkout", "-q", "--detach")
    (repository / "old.txt").write_text("changed\n")

    assert commit(repository, "old.txt") is not None
    assert files_of(repository) == {"old.txt"}


def test_without_identity_the_agent_signs(repository):
    """A machine without a git identity must not stop the team."""
    (repository / "old.txt").write_text("changed\n")

    commit(repository, "old.txt", agent="builder-2")

    assert run(repository, "log", "-1", "--format=%an <%ae>").strip() == "builder-2 <builder-2@demo.invalid>"


def test_a_configured_identity_signs(repository):
    """What the person has configured is not overridden."""
    run(repository, "config", "user.name", "Person")
    run(repository, "config", "user.email", "person@example.invalid")
    (repository / "old.txt").write_text("changed\n")

    commit(repository, "old.txt")

    assert run(repository, "log", "-1", "--format=%an <%ae>").strip() == "Person <person@example.invalid>"
