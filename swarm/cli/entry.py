"""What runs when somebody types `swarm`: a parser, the handler, and one place for every failure."""

from __future__ import annotations

import os
import sys
from codecs import lookup
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Literal, TextIO

from swarm.cli import fast
from swarm.cli.grammar import Verb
from swarm.cli.session import Io
from swarm.errors import SwarmError

Handler = Callable[[Mapping[str, Any], Io], int]

_LEADING = (("run",), ("demo",), ("resume",))
"""The verbs that lead a team: for these `kill` and a closed terminal mean what Ctrl-C does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command with the process's own streams, and return its exit code."""
    if argv is None:
        _insist_on_utf8()
    out, err, source = _stream(sys.stdout, "w"), _stream(sys.stderr, "w"), _stream(sys.stdin, "r")
    return execute(sys.argv[1:] if argv is None else argv, Io(out, err, source, os.environ))


def _insist_on_utf8() -> None:
    """Start anew in Python's UTF-8 mode where the locale cannot name every file.

    Names of files and arguments of commands are UTF-8 in every record of ours, whatever the locale says.
    What is printed keeps an encoding that the locale asks for, but for ASCII, which holds no JSON of ours.
    """
    if sys.getfilesystemencoding() == "utf-8" or not sys.executable:
        return
    if sys.stdout is not None and lookup(sys.stdout.encoding).name != "ascii":
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - ourselves


def _stream(given: TextIO | None, mode: Literal["r", "w"]) -> TextIO:
    """Return a standard stream, or nothing's in the place of one that was closed before we started.

    Half a surrogate pair in somebody's file is printed as an escape, not as a traceback.
    """
    stream = given or open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - open as long as the process
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace" if mode == "w" else "surrogateescape")
    return stream


def execute(argv: Sequence[str], io: Io) -> int:
    """Parse and run one command; every failure becomes a message on stderr and an exit code."""
    io.json = _wants_json(argv)
    code = 0
    try:
        try:
            code = _run(argv, io)
        finally:
            io.flush()
    except SwarmError as error:
        return _report(error, error, io)
    except BrokenPipeError:  # whoever reads our output has seen enough, as `head` has; what was done counts
        return code
    except KeyboardInterrupt as error:
        return _report(SwarmError("interrupted", code="interrupted"), error, io)
    except Exception as error:  # noqa: BLE001 - the last catch: what was not expected is a bug, and is called one
        return _report(_bug(error), error, io)
    else:
        return code
    finally:
        _discard_unwritten(io)


def _run(argv: Sequence[str], io: Io) -> int:
    found = parse(argv, io)
    if found is None:
        return 0
    verb, args = found
    io.apply(args)
    if io.verbose:
        _show_log(io)
    if verb.path not in _LEADING:
        return load(verb.handler)(args, io)
    from swarm.leader.signals import interrupting

    with interrupting():  # before all that such a verb imports, which takes most of a second
        return load(verb.handler)(args, io)


def parse(argv: Sequence[str], io: Io) -> tuple[Verb, Mapping[str, Any]] | None:
    """Return the verb and its arguments, or None when a help page was all that was asked for."""
    found = fast.find_fast(argv)
    if found is None:
        from swarm.cli.main import parse as parse_with_click

        return parse_with_click(argv, io)
    verb, words = found
    try:
        return verb, fast.parse(verb, words)
    except fast.HelpWanted:
        from swarm.cli.help import render_verb

        io.print(render_verb(verb))
        return None


def load(handler: str) -> Handler:
    """Import the function that `module:function` names."""
    module, _, function = handler.partition(":")
    loaded: Handler = getattr(import_module(module), function)
    return loaded


def _show_log(io: Io) -> None:
    """Send the program's log to stderr, as `-v` asks."""
    import logging

    from swarm.core.shown import printable_lines

    class Harmless(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return printable_lines(super().format(record))

    handler = logging.StreamHandler(io.err)
    handler.setFormatter(Harmless("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.DEBUG)


def _report(shown: SwarmError, cause: BaseException, io: Io) -> int:
    """Say what went wrong, as a sentence or as one object, and return the exit code."""
    with suppress(OSError):  # nobody may be there to hear it
        from swarm.cli.render import print_error, printable_lines

        if io.environ.get("SWARM_DEBUG") == "1":
            import traceback

            io.err.write(printable_lines("".join(traceback.format_exception(cause))))
        print_error(shown, io)
    return shown.exit_code


def _bug(error: Exception) -> SwarmError:
    kind, place = type(error).__name__, _place(error)
    return SwarmError(
        f"bug in swarm: {kind}: {error} ({place}); SWARM_DEBUG=1 shows the traceback",
        details={"type": kind, "place": place},
    )


def _place(error: Exception) -> str:
    """Return `file:line` of where the error was raised."""
    step = error.__traceback__
    while step and step.tb_next:
        step = step.tb_next
    if step is None:
        return "unknown place"
    return f"{os.path.basename(step.tb_frame.f_code.co_filename)}:{step.tb_lineno}"


def _wants_json(argv: Sequence[str]) -> bool:
    """Whether `--json` stands among the options; looked up before parsing, so that usage errors obey it."""
    words = list(argv)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _discard_unwritten(io: Io) -> None:
    """Send what cannot be written nowhere, so that the interpreter's own last flush does not fail over it."""
    for stream in (io.out, io.err):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
