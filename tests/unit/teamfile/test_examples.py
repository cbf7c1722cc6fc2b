"""The shipped examples, played offline: every path, every old_string and every command must be right.

The player below knows just enough of the tools to apply a script to a copy of the workspace. It is stricter
than the real tools in one point: a call that the script does not expect to fail must do something.
"""

from __future__ import annotations

import functools
import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pathspec
import pytest

import teams_examples
from swarm.core.identity import LEADER
from swarm.teamfile.reader import load_team_file, members, new_tasks

EXAMPLES = Path(next(iter(teams_examples.__path__)))
NAMES = ("demo", "pipeline", "retry")
VERIFY_RETURNS_MAX = 2
ATTEMPTS_MAX = 3


class Refused(Exception):  # noqa: N818
    """A tool's error result."""


class Attempt:
    """One session on one task: its turns, what it has read and what it has written."""

    def __init__(self, example, task):
        self.example = example
        self.task = task
        self.seen: dict[Path, bytes] = {}
        self.written: set[str] = set()
        self.completed = False

    def play(self):
        """Play turn after turn; yields after each, so that two attempts can be interleaved."""
        verified = 0
        for turn in self.task.script:
            for call in turn.calls:
                self._call(call, fails=turn.expect == "error")
            if not turn.calls:
                self.completed = self.example.verify(self.task)
                verified += 1
                if self.completed or verified > VERIFY_RETURNS_MAX:
                    break
            yield
        self.rest = self.task.script[self.task.script.index(turn) + 1 :]

    def _call(self, call, *, fails):
        tool = getattr(self, f"_{call.tool.lower()}")
        refusal = None
        try:
            tool(**call.input)
        except Refused as error:
            refusal = error
        assert fails == (refusal is not None), f"{self.task.key}: {call.tool}: {refusal}"

    def _read(self, file_path, limit=None):
        path = self.example.workspace / file_path
        if not path.is_file():
            raise Refused(f"no file {file_path}")
        self.seen[path] = path.read_bytes()

    def _write(self, file_path, content):
        path = self.example.workspace / file_path
        if path.exists() and self.seen.get(path) != path.read_bytes():
            raise Refused(f"{file_path} was not read")
        self._save(path, file_path, content)

    def _edit(self, file_path, old_string, new_string):
        path = self.example.workspace / file_path
        if not path.is_file() or self.seen.get(path) != path.read_bytes():
            raise Refused(f"{file_path} was not read")
        text = path.read_text(encoding="utf-8")
        if text.count(old_string) != 1 or old_string == new_string:
            raise Refused(f"{file_path} holds {text.count(old_string)} times {old_string!r}")
        self._save(path, file_path, text.replace(old_string, new_string))

    def _save(self, path, file_path, text):
        path.write_text(text, encoding="utf-8")
        self.seen[path] = path.read_bytes()
        self.written.add(file_path)

    def _glob(self, pattern):
        assert list(self.example.workspace.glob(pattern))

    def _grep(self, pattern, path=".", glob="*", output_mode="files_with_matches"):
        wanted = re.compile(pattern)
        root = self.example.workspace / path
        assert root.exists()
        assert output_mode in ("content", "files_with_matches", "count")
        texts = [file.read_text(encoding="utf-8") for file in root.rglob(glob) if file.is_file()]
        assert texts
        assert any(map(wanted.search, texts)) or self.task.key == "check"

    def _bash(self, command):
        assert not set(command) & set(";&|<>$`()\n"), "no allow rule matches such a command"
        assert self.example.allows(command), f"no rule allows {command}"
        done = self.example.run(command)
        assert done.returncode == 0, f"{command}: {done.stderr.decode()}"

    def _sendmessage(self, to, message, summary):
        assert to in {member.name for member in members(self.example.team)} | {LEADER}
        assert message.strip()
        assert 0 < len(summary) <= 200

    def _tasklist(self):
        pass

    def _taskget(self, taskId):  # noqa: N803
        assert 1 <= int(taskId) <= len(self.example.team.tasks)


class Example:
    """A copy of an example that is being played."""

    def __init__(self, folder):
        loaded = load_team_file(str(folder / "team.yaml"))
        self.team = loaded.team
        self.workspace = Path(loaded.workspace)
        self.tasks = {task.key: task for task in loaded.team.tasks}
        self.attempts: dict[str, list[Attempt]] = {key: [] for key in self.tasks}

    def run(self, command):
        bash = ["bash", "-c", command]
        return subprocess.run(
            bash, cwd=self.workspace, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )

    def allows(self, command):
        for rule in self.team.permissions.allow:
            wanted = rule.removeprefix("Bash(").removesuffix(")")
            prefix = wanted.removesuffix(":*")
            if command == prefix or (wanted != prefix and command.startswith(prefix + " ")):
                return True
        return False

    def verify(self, task):
        return all(self.run(command).returncode == 0 for command in task.verify)

    def attempt(self, key):
        self.attempts[key].append(Attempt(self, self.tasks[key]))
        return self.attempts[key][-1]

    def finish(self, key):
        """Play attempts until the task is completed, as often as a real team would."""
        for _ in range(ATTEMPTS_MAX):
            attempt = self.attempt(key)
            for _turn in attempt.play():
                pass
            if attempt.completed:
                return
        pytest.fail(f"{key} was never completed")

    def interleave(self, *keys):
        """Play one attempt of each, a turn of one after a turn of the other."""
        attempts = [self.attempt(key) for key in keys]
        for _ in itertools.zip_longest(*(attempt.play() for attempt in attempts)):
            pass
        assert all(attempt.completed for attempt in attempts)

    def last(self, key):
        return self.attempts[key][-1]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """This example, played to its end in the order of the ids that a run gives; once for all tests."""

    @functools.cache
    def play(name):
        folder = tmp_path_factory.mktemp(name)
        shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
        example = Example(folder)
        for task in new_tasks(example.team):
            example.finish(task.key)
        return example

    return play


@pytest.fixture
def copy(tmp_path):
    """A copy of this example, ready to be played."""

    def make(name):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
        return Example(tmp_path / name)

    return make


@pytest.mark.parametrize("name", NAMES)
def test_example_ends_with_every_task_completed(played, name) -> None:
    """All turns used, each task verified, nothing left to say."""
    example = played(name)

    assert all(example.last(key).completed and example.last(key).rest == () for key in example.tasks)
    assert all(task.verify for task in example.team.tasks)


@pytest.mark.parametrize("name", NAMES)
def test_tasks_write_only_what_they_say(played, name) -> None:
    """`files` keeps parallel tasks apart, and tells what a commit takes."""
    example = played(name)
    for key, task in example.tasks.items():
        globs = pathspec.PathSpec.from_lines("gitignore", task.files)
        assert all(globs.match_file(path) for path in example.last(key).written)


@pytest.mark.parametrize("name", NAMES)
def test_workspace_starts_green_where_nothing_says_otherwise(copy, name) -> None:
    """A refactor starts from passing tests; the example about failure starts from failing ones."""
    assert (copy(name).run("python3 -B -m unittest -q").returncode == 0) is (name != "retry")


@pytest.mark.parametrize("order", [("billing", "api"), None])
def test_builders_of_the_demo_do_not_wait_for_each_other(copy, order) -> None:
    """In the other order and turn by turn: each verifies while the other is half done."""
    example = copy("demo")
    for key in ("map", "user"):
        example.finish(key)
    if order is None:
        example.interleave("api", "billing")
    for key in (*(order or ()), "retire", "check"):
        example.finish(key)

    assert not set.intersection(example.last("api").written, example.last("billing").written)


def test_demo_is_a_refactor_across_modules(played) -> None:
    """What a watcher is promised: several packages changed, the old name gone, the new one in its place."""
    example = played("demo")
    written = set().union(*(example.last(key).written for key in example.tasks))
    sources = "".join(path.read_text(encoding="utf-8") for path in example.workspace.rglob("*.py"))

    assert {"orderdesk/users.py", "orderdesk/cli.py"} < written
    assert {Path(path).parent.name for path in written} >= {"api", "billing", "reports", "tests"}
    assert "fetch_user" not in sources
    assert sources.count("load_user(") >= 5


def test_demo_shows_every_kind_of_tool(played) -> None:
    """It is the first thing that people see of the product."""
    tasks = played("demo").team.tasks
    called = {call.tool for task in tasks for turn in task.script for call in turn.calls}

    assert called >= {"Bash", "Read", "Write", "Edit", "Glob", "Grep", "TaskList", "TaskGet", "SendMessage"}


def test_demo_says_how_many_tests_passed(played) -> None:
    """A summary with a wrong number would be a bad example."""
    example = played("demo")
    told = example.run("python3 -B -m unittest -q").stderr.decode()

    assert "Ran 33 tests" in told
    assert "all 33 tests pass" in example.tasks["check"].script[-1].say


def test_retry_fails_where_it_says_it_does(played) -> None:
    """amounts mends itself within one attempt, data needs a second one, labels runs into a refusal."""
    example = played("retry")

    assert {key: len(attempts) for key, attempts in example.attempts.items()} == {
        "amounts": 1,
        "data": 2,
        "labels": 1,
        "look": 1,
    }
    endings = [turn for turn in example.tasks["amounts"].script if not turn.calls]
    assert len(endings) == 2
    assert [turn.expect for turn in example.tasks["labels"].script] == ["error", None, None, None]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_the_example_is_left_in_the_workspace(played, name) -> None:
    """Compiled files would end up in commits, or make a run differ from the one before."""
    workspace = played(name).workspace

    assert not list(workspace.rglob("__pycache__"))
    assert (workspace / ".gitignore").read_text(encoding="utf-8") == "__pycache__/\n"
