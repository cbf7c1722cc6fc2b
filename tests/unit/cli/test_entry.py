"""One place turns every failure into a message and an exit code."""

import errno
import io as text_io
from typing import Any

import pytest

import swarm as package
from swarm.cli import entry
from swarm.cli.help import render_group, render_main, render_verb
from swarm.cli.session import Io
from swarm.cli.table import NOT_BUILT, find_verb
from swarm.errors import StateError, SwarmError
from tests.unit.cli.conftest import Swarm


class FailingOut(text_io.StringIO):
    """A stdout whose reader has gone, or whose disk is full."""

    def __init__(self, error: OSError, *, early: bool = False) -> None:
        super().__init__()
        self._error = error
        self._early = early

    def write(self, text: str) -> int:
        if self._early:
            raise self._error
        return len(text)

    def flush(self) -> None:
        raise self._error

    def fileno(self) -> int:
        raise ValueError("no file behind it")


def handled_by(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_args: Any, _io: Io) -> int:
        raise error

    monkeypatch.setattr(entry, "load", lambda _handler: fail)


def test_swarm_alone_prints_its_help(swarm: Swarm) -> None:
    for words in ([], ["-h"], ["--help"], ["-q"], ["-t", "demo"]):
        ran = swarm(*words)
        assert (ran.code, ran.out) == (0, render_main() + "\n")


def test_a_group_alone_prints_its_help(swarm: Swarm) -> None:
    for words in (["task"], ["task", "--help"], ["-v", "task"]):
        ran = swarm(*words)
        assert (ran.code, ran.out) == (0, render_group("task") + "\n")


def test_help_of_a_verb_is_on_stdout(swarm: Swarm) -> None:
    """Also of one whose required argument is missing."""
    for path in (("task", "list"), ("task", "add")):
        verb = find_verb(path)
        assert verb is not None
        ran = swarm(*path, "-h")
        assert (ran.code, ran.out, ran.err) == (0, render_verb(verb) + "\n", "")


def test_version(swarm: Swarm) -> None:
    assert swarm("--version").out == f"swarm {package.__version__}\n"


def test_an_unknown_verb_is_answered_with_the_nearest(swarm: Swarm) -> None:
    assert "did you mean status?" in swarm("stats").err
    assert "did you mean list?" in swarm("task", "lst").err
    assert "see swarm --help" in swarm("qqqqq").err
    assert swarm("stats").code == 2


@pytest.mark.parametrize("path", NOT_BUILT, ids=" ".join)
def test_a_verb_that_is_not_built_yet_is_refused_by_name(swarm: Swarm, path: tuple[str, ...]) -> None:
    """A person who read of it learns that it is not there, instead of that he mistyped it."""
    error = swarm(*path, "--json").error()

    assert error["code"] == "not_built"
    assert " ".join(path) in error["message"]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "x.yaml", "--detach"],
        ["run", "x.yaml", "--detach=5"],
        ["plan", "x.yaml", "--format", "svg"],
        ["task", "graph", "--format", "svg"],
    ],
    ids=" ".join,
)
def test_an_option_that_is_not_built_yet_is_refused_by_name(swarm: Swarm, words: list[str]) -> None:
    ran = swarm(*words)

    assert ran.code == 2
    assert ran.err.startswith("error: swarm ")
    assert "is not built yet" in ran.err


def test_errors_are_one_object_with_json_even_before_the_line_is_understood(swarm: Swarm) -> None:
    error = swarm("task", "list", "--nosuch", "--json").error()

    assert error == {
        "code": "bad_usage",
        "message": "swarm task list has no option --nosuch; see swarm task list --help",
        "details": {"verb": "swarm task list"},
    }


def test_json_behind_two_dashes_is_no_option(swarm: Swarm) -> None:
    ran = swarm("send", "--nosuch", "--", "--json")

    assert ran.err.startswith("error: ")


def test_an_expected_failure_is_one_line_and_its_exit_code(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled_by(monkeypatch, StateError("no \x1b[31mway\nout", code="taken"))
    ran = swarm("status")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "error: no \\x1b[31mway\\nout\n"


def test_what_nobody_expected_is_called_a_bug(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees where to look, not a page of frames."""
    handled_by(monkeypatch, ZeroDivisionError("by nought"))
    ran = swarm("status")

    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("error: bug in swarm: ZeroDivisionError: by nought (test_entry.py:")
    assert swarm("status", "--json").error()["code"] == "bug"


def test_swarm_debug_shows_the_traceback(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    handled_by(monkeypatch, ZeroDivisionError("by nought"))
    ran = swarm("status", SWARM_DEBUG="1")

    assert "Traceback (most recent call last)" in ran.err
    assert "bug in swarm" in ran.err


def test_an_interrupt_is_130(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    handled_by(monkeypatch, KeyboardInterrupt())
    ran = swarm("status")

    assert (ran.code, ran.err) == (130, "error: interrupted\n")


@pytest.mark.parametrize("early", [True, False])
def test_a_reader_that_has_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    """`swarm events | head -1` ends quietly."""
    monkeypatch.setattr(entry, "_discard_unwritten", lambda _io: None)
    err = text_io.StringIO()
    gone = FailingOut(BrokenPipeError(errno.EPIPE, "Broken pipe"), early=early)
    io = Io(gone, err, text_io.StringIO(), {})

    assert entry.execute(["--version"], io) == 0
    assert err.getvalue() == ""


@pytest.mark.parametrize("early", [True, False])
def test_a_result_that_cannot_be_written_is_a_failure(monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    """A full disk under the redirected output must not look like success."""
    monkeypatch.setattr(entry, "_discard_unwritten", lambda _io: None)
    err = text_io.StringIO()
    full = FailingOut(OSError(errno.ENOSPC, "No space left on device"), early=early)
    io = Io(full, err, text_io.StringIO(), {})

    assert entry.execute(["--version"], io) == 4
    assert err.getvalue().startswith("error: the result could not be written: No space left on device")


def test_a_failure_survives_a_flush_that_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    handled_by(monkeypatch, SwarmError("first", code="taken"))
    monkeypatch.setattr(entry, "_discard_unwritten", lambda _io: None)
    err = text_io.StringIO()
    io = Io(FailingOut(OSError(errno.ENOSPC, "No space left on device")), err, text_io.StringIO(), {})

    assert entry.execute(["status"], io) == 4


def test_verbose_sends_the_log_to_stderr_and_no_text_in_it_acts(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    import logging

    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)

    def handler(_args: Any, _io: Io) -> int:
        logging.getLogger("swarm.test").info("it went on\x1b]0;owned\x07")
        raise SwarmError("\x1b[2Jfirst", code="taken")

    monkeypatch.setattr(entry, "load", lambda _handler: handler)

    said = swarm("status", "-v", SWARM_DEBUG="1").err
    assert "it went on\\x1b]0;owned" in said
    assert "Traceback" in said
    assert "\x1b" not in said
    assert swarm("status").err == "error: \\x1b[2Jfirst\n"


def test_options_before_the_verb_count_for_any_verb(swarm: Swarm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the verb is parsed with or without click."""
    seen: list[Any] = []

    def handler(args: Any, _io: Io) -> int:
        seen.append(args["team"])
        return 0

    monkeypatch.setattr(entry, "load", lambda _handler: handler)
    for words in (
        ["-t", "a", "status"],
        ["status", "-t", "a"],
        ["-t", "b", "status", "--team=a"],
        ["-t", "a", "team", "list"],
        ["team", "-t", "a", "list"],
        ["-t", "b", "team", "-t", "c", "list", "-ta"],
    ):
        assert swarm(*words).code == 0

    assert seen == ["a"] * 6
