"""Commits in a real repository: exactly the files of a task, whatever they are called."""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
import time

import pytest

from swarm.testing.wait import wait_until
from swarm.workspace import git_command
from swarm.workspace.git import Bounds, GitStoppedError, GitWorkspace, WorkspaceError
from swarm.workspace.git_ending import remove_locks

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


@pytest.fixture
def home(isolated_home, monkeypatch):
    """A person who has told git nothing, on a machine that has told it nothing either."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("EMAIL", raising=False)
    return isolated_home


@pytest.fixture
def repository(home, tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    run(path, "init", "-q", "-b", "main")
    (path / "old.txt").write_text("old\n")
    run(path, "add", "old.txt")
    run(path, "-c", "user.name=P", "-c", "user.email=p@x.invalid", "commit", "-q", "-m", "start")
    return path


def run(path, *arguments):
    done = subprocess.run(["git", *arguments], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout


def commit(path, *paths, subject="Do it", body="", trailers=None, agent="builder-1", bounds=None):
    return GitWorkspace(str(path), bounds=bounds).commit(
        paths, subject, body, trailers or {"Task": "7", "Agent": f"{agent}@demo"}, agent, "demo"
    )


def files_of(path, revision="HEAD"):
    out = subprocess.run(
        ["git", "show", "--format=", "--name-only", "--no-renames", "-z", revision],
        cwd=path,
        capture_output=True,
        check=True,
    ).stdout
    return {os.fsdecode(name) for name in out.split(b"\0") if name}


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


def a_hook(repository, text, name="pre-commit"):
    hook = repository / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)


def test_a_failing_hook_refuses_and_leaves_everything_as_it_was(repository):
    """Hooks are the project's own checks: never skipped, and a refusal is no half-made commit."""
    a_hook(repository, "echo style first >&2; exit 1")
    (repository / "new.txt").write_text("new\n")
    (repository / "staged.txt").write_text("mine\n")
    run(repository, "add", "staged.txt")
    before = run(repository, "status", "--porcelain"), run(repository, "rev-parse", "HEAD")

    with pytest.raises(WorkspaceError, match="style first") as caught:
        commit(repository, "new.txt")

    assert caught.value.exit_code == 4
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message
    assert (run(repository, "status", "--porcelain"), run(repository, "rev-parse", "HEAD")) == before


def test_a_hook_sees_no_secret(repository, monkeypatch):
    """A hook is the repository's code; our keys are none of its business."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    a_hook(repository, "env > hook-env")
    (repository / "old.txt").write_text("changed\n")

    commit(repository, "old.txt")

    seen = (repository / "hook-env").read_text()
    assert "PATH=" in seen
    assert "sk-secret" not in seen


def test_a_background_child_of_a_hook_is_not_waited_for(repository):
    """A hook that starts a daemon keeps the output open; git itself is done."""
    a_hook(repository, "sleep 60 &\necho $! > hook-pid")
    (repository / "old.txt").write_text("changed\n")
    try:
        assert commit(repository, "old.txt") is not None
    finally:
        os.kill(int((repository / "hook-pid").read_text()), 9)


def test_what_a_hook_printed_comes_with_the_refusal(repository):
    """The last line alone rarely says what is to be mended; colours do not help."""
    a_hook(repository, "seq 100; printf '\\033[31ma.py:1: unused\\033[0m\\n'; echo 1 problem >&2; exit 1")
    (repository / "old.txt").write_text("changed\n")

    with pytest.raises(WorkspaceError, match="1 problem") as caught:
        commit(repository, "old.txt")

    lines = caught.value.output.splitlines()
    assert lines[-2:] == ["a.py:1: unused", "1 problem"]
    assert len(lines) == 20
    assert pickle.loads(pickle.dumps(caught.value)).output == caught.value.output


def test_an_endless_hook_is_ended(repository):
    """No time limit would hold the workspace's lock for ever."""
    a_hook(repository, "echo begun; echo $$ > hook-pid; sleep 60")
    (repository / "old.txt").write_text("changed\n")

    with pytest.raises(WorkspaceError, match=r"longer than 0\.5 s") as caught:
        commit(repository, "old.txt", bounds=Bounds(seconds=0.5))

    assert "begun" in caught.value.output
    assert not os.path.exists(f"/proc/{(repository / 'hook-pid').read_text().strip()}/cwd")


def stopped(repository, hook, *, name="pre-commit"):
    """Commit a new file, and stop it as soon as the hook runs; return how long it took to end then."""
    a_hook(repository, f"echo $$ > hook-pid.new; mv hook-pid.new hook-pid\n{hook}", name)
    (repository / "new.txt").write_text("new\n")
    stop = threading.Event()
    bounds = Bounds(stop=stop)
    caught = []

    def work():
        try:
            caught.append(commit(repository, "new.txt", bounds=bounds))
        except GitStoppedError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until((repository / "hook-pid").exists, timeout=15)
    stop.set()
    began = time.monotonic()
    thread.join(15)
    return caught[0], time.monotonic() - began


ENDLESS_HOOKS = {
    "sleeps": "sleep 1000",
    "would succeed": "sleep 3; exit 0",
    "hears nothing": "trap '' TERM INT HUP; sleep 1000; exit 0",
    "stops git": "kill -STOP $PPID; sleep 1000",
    "adds files": "echo x > more.txt; git add more.txt; kill -STOP $PPID; sleep 1000",
}


@pytest.mark.parametrize("hook", ENDLESS_HOOKS.values(), ids=ENDLESS_HOOKS)
def test_a_stop_ends_a_commit_and_leaves_the_repository_usable(repository, hook):
    """Whatever the hook does, no commit comes later, no lock stays, and the index is as it was."""
    before = run(repository, "rev-parse", "HEAD")

    caught, took = stopped(repository, hook)

    assert isinstance(caught, GitStoppedError)
    assert took < 8  # two seconds for git to take its locks back, and time for a busy machine
    assert not os.path.exists(f"/proc/{(repository / 'hook-pid').read_text().strip()}/cwd")
    assert run(repository, "rev-parse", "HEAD") == before
    assert run(repository, "diff", "--cached", "--name-only") == ""
    assert "?? new.txt" in run(repository, "status", "--porcelain")
    assert not [name for name in os.listdir(repository / ".git") if name.endswith(".lock")]
    (repository / ".git" / "hooks" / "pre-commit").unlink()
    assert commit(repository, "new.txt") is not None


def test_a_commit_that_has_landed_when_the_stop_comes_is_told(repository):
    """A hook after the commit hangs: what is in the log must not be done again by somebody else."""
    made, _ = stopped(repository, "sleep 1000", name="post-commit")

    assert made == run(repository, "rev-parse", "--short", "HEAD").strip()
    assert files_of(repository) == {"new.txt"}


def test_a_stop_ends_the_wait_for_a_lock_and_leaves_it_there(repository):
    """It is somebody else's."""
    lock = repository / ".git" / "index.lock"
    lock.touch()
    (repository / "old.txt").write_text("changed\n")
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    began = time.monotonic()

    with pytest.raises(GitStoppedError):
        commit(repository, "old.txt", bounds=Bounds(stop=stop))

    assert time.monotonic() - began < git_command.LOCK_WAIT_SECONDS
    assert lock.exists()
    timer.join()


def test_locks_of_somebody_else_stay(tmp_path):
    """Only what is younger than our commit, older than its second index, and beside that, is ours."""
    (tmp_path / "index.lock").touch()
    (tmp_path / "next-index-8.lock").touch()
    now = time.time_ns()

    remove_locks(str(tmp_path), 7, now)
    remove_locks(str(tmp_path), 8, now + 10**10)
    assert sorted(os.listdir(tmp_path)) == ["index.lock", "next-index-8.lock"]
    os.utime(tmp_path / "index.lock", ns=(now + 10**9, now + 10**9))
    remove_locks(str(tmp_path), 8, now)
    assert os.listdir(tmp_path) == ["index.lock"]


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
