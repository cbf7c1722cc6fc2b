"""What of a workspace is in its repository, and what git says when it has none."""

from __future__ import annotations

import subprocess
import threading

import pytest

from swarm.workspace import git_command
from swarm.workspace.git import GitWorkspace, WorkspaceError
from tests.unit.workspace.repositories import commit, files_of, run


def test_a_mode_change_is_a_change(repository):
    """Making a script executable can be all that a task does."""
    (repository / "old.txt").chmod(0o755)

    commit(repository, "old.txt")

    assert "mode change 100644 => 100755" in run(repository, "show", "--summary", "--format=")


def test_paths_outside_the_repository_are_left_out(repository, tmp_path):
    """A tool may have written a scratch file elsewhere; that is not the task's result."""
    (tmp_path / "outside.txt").write_text("x")
    (repository / "old.txt").write_text("changed\n")

    assert commit(repository, str(tmp_path / "outside.txt"), "../outside.txt", "/etc/hostname") is None
    assert commit(repository, str(repository / "old.txt"), "../outside.txt") is not None
    assert files_of(repository) == {"old.txt"}


def test_ignored_files_are_left_out(repository):
    """`git add` would refuse the whole list for one of them."""
    (repository / ".gitignore").write_text("build/\n")
    (repository / "build").mkdir()
    (repository / "build" / "x.o").write_text("x")

    commit(repository, ".gitignore", "build/x.o")

    assert files_of(repository) == {".gitignore"}


def test_submodules_and_nested_repositories_are_left_out(repository, tmp_path):
    """They have logs of their own; a commit here would only move a pointer."""
    run(tmp_path, "clone", "-q", str(repository), "other")
    run(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "other"),
        "sub",
    )
    run(repository, "-c", "user.name=P", "-c", "user.email=p@x.invalid", "commit", "-q", "-m", "submodule")
    run(repository, "clone", "-q", str(tmp_path / "other"), "nested")
    for inner in ("sub", "nested"):
        (repository / inner / "old.txt").write_text("changed\n")
        (repository / inner / "new.txt").write_text("new\n")

    assert GitWorkspace(str(repository)).dirty_paths() == ()
    assert commit(repository, "sub", "sub/old.txt", "sub/new.txt", "nested", "nested/old.txt") is None


def test_a_workspace_may_be_a_folder_of_the_repository(repository):
    """Paths in and out are relative to the workspace; what lies beside it does not count as dirty."""
    workspace = repository / "packages" / "api"
    workspace.mkdir(parents=True)
    (workspace / "users.py").write_text("x")
    (repository / "old.txt").write_text("changed\n")

    assert GitWorkspace(str(workspace)).toplevel() == str(repository.resolve())
    assert GitWorkspace(str(workspace)).dirty_paths() == ("users.py",)
    assert commit(workspace, "users.py", str(repository / "old.txt")) is not None
    assert files_of(repository) == {"packages/api/users.py"}


def test_a_workspace_behind_a_symlink_is_the_same_workspace(repository, tmp_path):
    """Paths may come with the link or without it."""
    link = tmp_path / "link"
    link.symlink_to(repository)
    (repository / "old.txt").write_text("changed\n")
    (repository / "new.txt").write_text("new\n")

    commit(link, str(link / "old.txt"), str(repository / "new.txt"))

    assert files_of(repository) == {"old.txt", "new.txt"}


def test_a_symlink_is_committed_as_a_link(repository, tmp_path):
    """Not what it points to, and not refused for pointing outside."""
    (repository / "link").symlink_to(tmp_path)

    commit(repository, "link")

    assert files_of(repository) == {"link"}


def test_a_linked_worktree_is_a_workspace(repository, tmp_path):
    """Its `.git` is a file, and the branch is its own."""
    run(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "old.txt").write_text("changed\n")

    assert commit(tmp_path / "side", "old.txt") is not None

    assert files_of(repository, "side") == {"old.txt"}
    assert run(repository, "status", "--porcelain") == ""


def test_index_lock_of_somebody_else_is_waited_for(repository):
    """The person's editor asks git for its state all the time."""
    lock = repository / ".git" / "index.lock"
    lock.touch()
    (repository / "new.txt").write_text("new\n")
    timer = threading.Timer(0.4, lock.unlink)
    timer.start()

    assert commit(repository, "new.txt") is not None
    timer.join()


def test_index_lock_that_stays_is_an_error(repository, monkeypatch):
    """A crashed git leaves its lock; only a person may decide that it is dead."""
    monkeypatch.setattr(git_command, "LOCK_WAIT_SECONDS", 0.3)
    (repository / ".git" / "index.lock").touch()
    (repository / "old.txt").write_text("changed\n")

    with pytest.raises(WorkspaceError, match=r"index\.lock"):
        commit(repository, "old.txt")

    assert (repository / ".git" / "index.lock").exists()


def test_a_merge_in_progress_is_refused_in_gits_words(repository):
    """Half a merge cannot be committed; the person has to finish it."""
    identity = ("-c", "user.name=P", "-c", "user.email=p@x.invalid")
    run(repository, "checkout", "-q", "-b", "side")
    (repository / "old.txt").write_text("side\n")
    run(repository, *identity, "commit", "-q", "-a", "-m", "side")
    run(repository, "checkout", "-q", "main")
    (repository / "old.txt").write_text("main\n")
    run(repository, *identity, "commit", "-q", "-a", "-m", "main")
    subprocess.run(
        ["git", *identity, "merge", "-q", "side"], cwd=repository, capture_output=True, check=False
    )
    (repository / "new.txt").write_text("new\n")

    with pytest.raises(WorkspaceError, match="partial commit during a merge"):
        commit(repository, "new.txt")

    assert "?? new.txt" in run(repository, "status", "--porcelain")


def test_variables_that_name_another_repository_are_ignored(repository, tmp_path, monkeypatch):
    """Started from a git hook or an editor, we inherit them; they must not redirect a commit."""
    run(tmp_path, "init", "-q", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "stray-index"))
    (repository / "old.txt").write_text("changed\n")

    assert commit(repository, "old.txt") is not None

    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert files_of(repository) == {"old.txt"}
    assert not (tmp_path / "stray-index").exists()


def test_configuration_of_the_person_does_not_change_what_we_read(repository):
    """Colours, quoting, relative paths and hidden untracked files are matters of taste."""
    for key, value in {
        "color.ui": "always",
        "core.quotepath": "true",
        "status.relativePaths": "true",
        "status.showUntrackedFiles": "no",
        "status.renames": "copies",
        "commit.verbose": "true",
        "commit.cleanup": "strip",
        "log.showSignature": "false",
    }.items():
        run(repository, "config", key, value)
    (repository / "größe.txt").write_text("old\n")

    assert GitWorkspace(str(repository)).dirty_paths() == ("größe.txt",)
    made = commit(repository, "größe.txt", body="# kept")

    assert "# kept" in run(repository, "log", "-1", "--no-color", "--format=%b")
    assert "\x1b" not in GitWorkspace(str(repository)).diffstat(made)


def test_changed_under_follows_the_patterns_of_a_task(repository):
    """`files:` says what a task may write; what a command changed there is part of its work."""
    for name in ("api/users.py", "api/deep/more.py", "web/page.py"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("x")

    workspace = GitWorkspace(str(repository))

    assert workspace.changed_under(["api/**"]) == ("api/deep/more.py", "api/users.py")
    assert workspace.changed_under(["docs/**"]) == ()
    assert workspace.changed_under([]) == ()


def test_keep_ref_marks_where_the_run_began(repository):
    """`undo` needs the commit before the first task; a run that is taken up again keeps the first mark."""
    workspace = GitWorkspace(str(repository))
    first = workspace.head()
    assert workspace.keep_ref("demo") == "refs/swarm/demo/start"
    (repository / "old.txt").write_text("changed\n")
    commit(repository, "old.txt")

    workspace.keep_ref("demo", replace=False)
    assert run(repository, "rev-parse", "refs/swarm/demo/start").strip() == first
    workspace.keep_ref("demo")
    assert run(repository, "rev-parse", "refs/swarm/demo/start").strip() == workspace.head()


def test_diffstat_names_files_and_counts(repository):
    """For the report; an unknown commit, or one that looks like an option, is no stat and no error."""
    (repository / "old.txt").write_text("changed\nmore\n")
    made = commit(repository, "old.txt")
    workspace = GitWorkspace(str(repository))

    assert "old.txt | 3 ++-" in workspace.diffstat(made)
    assert workspace.diffstat("0123456789") == ""
    assert workspace.diffstat("--output=x") == ""
    assert not (repository / "x").exists()


def test_a_folder_without_repository_is_none(home, tmp_path):
    """Teams work without git as well."""
    assert not GitWorkspace(str(tmp_path)).is_repository()
    assert not GitWorkspace(str(tmp_path / "missing")).is_repository()


@pytest.mark.parametrize(
    "damage", ["garbage in HEAD", "an empty HEAD", "no HEAD", "a link that leads nowhere"]
)
def test_where_a_repository_should_be_git_has_to_find_one(repository, damage):
    """A broken one looks like none to git; then the team's work would stay uncommitted without a word."""
    folder = repository / "packages"
    folder.mkdir()
    head = repository / ".git" / "HEAD"
    if damage == "no HEAD":
        head.unlink()
    elif damage == "a link that leads nowhere":
        (folder / ".git").write_text("gitdir: /nowhere\n")
    else:
        head.write_text("garbage\n" if "garbage" in damage else "")
    workspace = GitWorkspace(str(folder))

    assert not workspace.is_repository()
    with pytest.raises(WorkspaceError, match="repository"):
        workspace.must_commit(expected=True)
    if damage == "no HEAD":
        assert not workspace.must_commit(expected=False)
    else:
        with pytest.raises(WorkspaceError, match="repository"):
            workspace.must_commit(expected=False)


def test_without_git_work_that_should_be_committed_is_an_error(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(WorkspaceError, match="could not run"):
        GitWorkspace(str(repository)).must_commit(expected=True)


def test_the_inside_of_a_git_folder_is_no_workspace(repository):
    """A commit from there would be one of nothing."""
    assert not GitWorkspace(str(repository / ".git")).is_repository()
    assert not GitWorkspace(str(repository / ".git")).must_commit(expected=False)


def test_without_git_there_is_no_repository(repository, monkeypatch, tmp_path):
    """Nothing breaks on a machine that has no git."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert not GitWorkspace(str(repository)).is_repository()


def test_a_repository_of_another_user_is_an_error_not_a_silent_no(repository, monkeypatch):
    """Git refuses to work there; without a word the team's work would just stay uncommitted."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr(git_command, "git_environment", lambda environ: dict(environ) | {"LC_ALL": "C"})

    with pytest.raises(WorkspaceError, match=r"safe\.directory"):
        GitWorkspace(str(repository)).is_repository()


@pytest.mark.parametrize("inside", [False, True])
def test_parts_of_a_repository_that_an_agent_writes_are_none(repository, tmp_path, inside):
    """Git would take them for a bare one, and run what their settings name."""
    folder = repository / "sub" if inside else tmp_path / "plain"
    folder.mkdir()
    for part in ("objects", "refs"):
        (folder / part).mkdir()
        (folder / part / "x").write_text("x")
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(
        f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {folder}\n"
        f'fsmonitor = "touch {tmp_path}/ran; false"\n'
    )

    for look in (lambda: commit(folder, "HEAD"), lambda: GitWorkspace(str(folder)).dirty_paths()):
        with pytest.raises(WorkspaceError, match="bare"):
            look()

    assert not (tmp_path / "ran").exists()
