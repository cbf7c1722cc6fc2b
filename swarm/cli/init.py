"""`swarm init`: a team file to start from, made for this folder by three answers, or the example."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.core.breaking import hanging
from swarm.core.identity import suggest_name
from swarm.core.shown import printable_lines
from swarm.errors import ConfigError, SwarmError
from swarm.permissions.calls import Rule
from swarm.permissions.rules import quote_command, render_rule
from swarm.pricing import price_of
from swarm.settings import DEFAULT_MODEL, SCRIPTED_MODEL
from swarm.teamfile.schema import SCHEMA_FILE_NAME, schema_text
from swarm.teamfile.starter import STARTER_FILE_NAME, starter_text
from swarm.teamfile.tailored import Group, Wish, parse_groups, show_groups, tailored_text
from swarm.workspace.git import GitWorkspace
from swarm.workspace.habits import find_check

_ANSWERS = ("description", "teammates", "model", "verify")
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_TEAM = (Group(name="builder"), Group(name="reviewer"))
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.:/@-]*", re.ASCII)
_WITH = re.compile(r"(.*?)(?:^|\s+)with\s+(\S+)\s*", re.DOTALL)
_NONE = "-"
_EXAMPLE = "write an example, which runs without a key"
_NOT_IN_A_RULE = frozenset(";&|<>$`(){}\\*\n")
T = TypeVar("T")


def init(args: Mapping[str, Any], io: Io) -> int:
    """Write a team file that runs as it is, and its schema beside it; neither is overwritten.

    All is asked before anything is written, so that whoever leaves in between has nothing to clean up.
    """
    path = _target(args["target"])
    folder = os.path.dirname(path) or "."
    _check_place(path, folder)
    wish = _wish(args, folder, io)
    name, schema_name = _name_for(folder), f"./{SCHEMA_FILE_NAME}"
    text = starter_text(name, schema=schema_name)
    _write_new(path, text if wish is None else tailored_text(name, wish, schema=schema_name), folder)
    schema = os.path.join(folder, SCHEMA_FILE_NAME)
    if not os.path.lexists(schema):
        _write_new(schema, schema_text(), folder)
    _tell(printable(path), printable(schema), io)
    if wish is not None:
        _note_what_is_missing(wish, folder, io)
    io.note(f"look at it, then: {'' if wish is None else _first(wish, io)}swarm run {printable(path)}")
    return 0


def _tell(path: str, schema: str, io: Io) -> None:
    """Print the file's name for programs; a person who sees both streams reads one sentence."""
    if io.is_terminal() and io.err.isatty() and not io.quiet:
        io.note(f"{path} is written, with {schema} for editors")
    else:
        io.print(path)
        io.note(f"written, with {schema} for editors")


def _first(wish: Wish, io: Io) -> str:
    """Return the command that has to come before the run."""
    needs_key = wish.model != SCRIPTED_MODEL and not _has_key(io)
    return f"export {_KEYS[0]}=...; " if needs_key else ""


def _note_what_is_missing(wish: Wish, folder: str, io: Io) -> None:
    if wish.model == SCRIPTED_MODEL:
        io.note(
            "nothing would be done yet: the scripted model plays only the turns that you write in the file, "
            "under script; name another model there to have the work done"
        )
    elif not _has_key(io):
        io.note(f"{printable(wish.model)} needs a key, and none is set")
    if not wish.verify:
        io.note("nothing checks the work, so that it will be reported as unverified; verify: changes that")
    if not GitWorkspace(folder, io.environ).has_git_files():
        io.note("there is no git repository here: work will not be committed, and cannot be undone")


# What is wanted


def _wish(args: Mapping[str, Any], folder: str, io: Io) -> Wish | None:
    """Return what was asked for by options or on the terminal; None for the example."""
    given = {name: args[name] for name in _ANSWERS if args[name] not in (None, ())}
    asks = not args["yes"] and not io.quiet and io.source.isatty() and io.err.isatty()
    if not asks and not given:
        return None
    if not asks and "description" not in given:
        raise ConfigError(
            "say what the team should do: --description TEXT",
            code="bad_usage",
            details={"option": "--description"},
        )
    desk = _Desk(io)
    if asks:
        desk.say(
            "A team file in three questions, or an example with Enter at the first. Enter takes what stands "
            "in brackets; Ctrl-C leaves nothing."
        )
    description = _description(given, desk)
    if description is None:
        return None
    groups, model = _workers(given, desk if asks else None)
    verify = _checks(given, folder, desk if asks else None)
    return Wish(
        description=description,
        groups=groups,
        model=model,
        verify=verify,
        allow=tuple(_rule(command) for command in verify if not _NOT_IN_A_RULE & set(command)),
        has_price=price_of(model, {}) is not None,
    )


def _description(given: Mapping[str, Any], desk: _Desk) -> str | None:
    if "description" in given:
        return _text(given["description"])
    return desk.ask(
        "What should the team do?", _EXAMPLE, lambda text: None if text == _EXAMPLE else _text(text)
    )


def _workers(given: Mapping[str, Any], desk: _Desk | None) -> tuple[tuple[Group, ...], str]:
    """Return who works, and with which model; one answer tells both."""
    groups = parse_groups(_text(given["teammates"])) if "teammates" in given else _TEAM
    model = _model(given["model"]) if "model" in given else DEFAULT_MODEL
    if desk is None or {"teammates", "model"} <= given.keys():
        return groups, model

    def read(text: str) -> tuple[tuple[Group, ...], str]:
        if text.split()[-1:] == ["with"]:
            raise ConfigError(f"write a model behind with, such as {DEFAULT_MODEL}", code="bad_value")
        found = _WITH.fullmatch(text)
        who, which = (text, model) if found is None else (found[1], _model(found[2]))
        return parse_groups(who) if who.strip() else groups, which

    hint = f"names or a number, as in: builder 2, reviewer with {DEFAULT_MODEL}"
    return desk.ask(
        f"Who works on it, with which model? ({hint})", f"{show_groups(groups)} with {model}", read
    )


def _checks(given: Mapping[str, Any], folder: str, desk: _Desk | None) -> tuple[str, ...]:
    if "verify" in given:
        return tuple(_text(command) for command in given["verify"] if command.strip() not in ("", _NONE))
    found = find_check(folder)
    if desk is None:
        return () if found is None else (found,)
    said = desk.ask(f"Which command must pass when it is done? ({_NONE} for none)", found or _NONE, _check)
    return () if said == _NONE else (said,)


class _Desk:
    """Asks a person on the terminal, and again until the answer can be used."""

    def __init__(self, io: Io) -> None:
        self._io = io

    def say(self, text: str) -> None:
        rows = [row for line in text.split("\n") for row in hanging(line, self._io.error_columns, 2)]
        self._io.err.writelines(f"{row}\n" for row in rows)
        self._io.err.flush()

    def ask(self, question: str, default: str, read: Callable[[str], T]) -> T:
        """Return the answer as `read` takes it; the end of the input is as good as Ctrl-C."""
        while True:
            self.say(f"\n{question}")
            self._io.err.write(f"[{printable(default)}] ")
            self._io.err.flush()
            line = self._io.source.readline()
            if not line:
                self.say("")
                raise SwarmError("no answer came, and nothing was written", code="interrupted")
            try:
                return read(line.strip() or default)
            except ConfigError as error:
                self.say(printable(error.message))


def _text(text: str) -> str:
    """Return what was typed; keys that a terminal sends as escapes are no part of a text."""
    if not text.strip():
        raise ConfigError("that is empty", code="bad_value", details={"value": text})
    if printable_lines(text) != text:
        raise ConfigError(
            f"{printable(text)} holds characters that cannot be seen; type it anew",
            code="bad_value",
            details={"value": text},
        )
    return text.strip()


def _check(text: str) -> str:
    """Return a command; a number would be one only by accident."""
    if text != _NONE and not any(map(str.isalpha, text)):
        raise ConfigError(f"{text} is no command; such as pytest -q, or {_NONE} for none", code="bad_value")
    return _text(text)


def _model(text: str) -> str:
    if not _MODEL_NAME.fullmatch(text):
        raise ConfigError(
            f"{text!r} is no name of a model; it is {SCRIPTED_MODEL} or reads like {DEFAULT_MODEL}",
            code="bad_value",
            details={"value": text},
        )
    return text


def _rule(command: str) -> str:
    content = quote_command(command)
    return render_rule(Rule(tool="Bash", content=content, behavior="allow", source="init"))


def _has_key(io: Io) -> bool:
    return any(io.environ.get(name, "").strip() for name in _KEYS)


# The file


def _target(given: str | None) -> str:
    """Return the file to write: the one named, or `team.yaml` in the folder named."""
    path = given or "."
    ending = os.path.splitext(path)[1]
    if os.path.isdir(path) or not ending:
        return os.path.normpath(os.path.join(path, STARTER_FILE_NAME))
    if ending not in {".yaml", ".yml"}:
        raise ConfigError(
            f"{path} would be written as YAML; name it .yaml", code="bad_value", details={"value": path}
        )
    return os.path.normpath(path)


def _name_for(folder: str) -> str:
    return suggest_name(os.path.basename(os.path.abspath(folder)), "team")


def _check_place(path: str, folder: str) -> None:
    """Refuse what could not be written anyway, before anything is asked."""
    parent = os.path.dirname(folder) or "."
    if not os.path.lexists(parent):
        raise ConfigError(
            f"there is no folder {parent}; make it first", code="bad_value", details={"value": parent}
        )
    if os.path.lexists(path):
        raise _exists(path)


def _exists(path: str) -> ConfigError:
    return ConfigError(
        f"{path} exists already and is left as it is; name another file",
        code="bad_value",
        details={"value": path},
    )


def _write_new(path: str, text: str, folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise SwarmError(
            f"{path} cannot be written: {error.strerror}",
            code="io_error",
            details={"path": path, "errno": error.errno or 0},
        ) from error
