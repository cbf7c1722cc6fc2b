"""The click tree, built from the table: it parses every verb that is not fast, and shows the help pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from swarm.cli import usage
from swarm.cli.grammar import GLOBALS, HELP, VERSION, Option, Verb
from swarm.cli.help import render_group, render_main, render_verb
from swarm.cli.session import Io
from swarm.cli.table import GROUPS, NOT_BUILT, VERBS
from swarm.errors import ConfigError


class ParsedVerb(Exception):  # noqa: N818 - the outcome of parsing, carried out of click
    """A verb was found and its arguments are sound."""

    def __init__(self, verb: Verb, args: dict[str, Any]) -> None:
        super().__init__(verb, args)
        self.found = verb, args


def parse(argv: Sequence[str], io: Io) -> tuple[Verb, dict[str, Any]] | None:
    """Return the verb and its arguments, or None when a help page or the version was printed.

    Raises:
        ConfigError: what is wrong with the command line.

    """
    try:
        tree().main(args=list(argv), prog_name="swarm", standalone_mode=False, obj=io)
    except ParsedVerb as found:
        return found.found
    return None


def tree() -> click.Group:
    """Build the whole tree; nothing is shared between two calls."""
    root = _Words((), [*_globals(), _page_option(VERSION, _print_version)])
    groups = {word: _Words((word,), _globals()) for word in GROUPS}
    for word, group in groups.items():
        root.add_command(group, word)
    for verb in VERBS:
        parent = groups[verb.path[0]] if len(verb.path) > 1 else root
        parent.add_command(_VerbCommand(verb), verb.path[-1])
    return root


class _Words(click.Group):
    """A word that is followed by another: `swarm` itself, `swarm task`. Alone it prints its help."""

    def __init__(self, path: tuple[str, ...], params: list[click.Parameter]) -> None:
        super().__init__(
            " ".join(path),
            params=[*params, _page_option(HELP, _print_help)],
            invoke_without_command=True,
            add_help_option=False,
            callback=self._alone,
        )
        self.path = path

    def _alone(self, **_given: object) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            _print_help(context)

    def get_help(self, ctx: click.Context) -> str:
        return render_group(self.path[0]) if self.path else render_main()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return _translated(_outer_verb(self.path), super().parse_args, ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        command = self.get_command(ctx, word)
        if command is not None:
            return word, command, args[1:]
        if (*self.path, word) in NOT_BUILT:
            raise usage.not_built(" ".join(("swarm", *self.path, word)), word)
        raise usage.unknown_verb(self.path, word, self.commands)


class _VerbCommand(click.Command):
    """One verb. Its handler is not called inside click: what click finds is handed out as `ParsedVerb`."""

    def __init__(self, verb: Verb) -> None:
        places: list[click.Parameter] = [
            click.Argument([p.name], nargs=-1 if p.many else 1, required=not (p.many or p.optional))
            for p in verb.positionals
        ]
        options = [_option(option, verb.label) for option in (*verb.options, *GLOBALS)]
        super().__init__(
            verb.path[-1],
            params=[*places, *options, _page_option(HELP, _print_help)],
            callback=self._found,
            add_help_option=False,
            context_settings={"allow_extra_args": True},
        )
        self.verb = verb

    def _found(self, **args: Any) -> None:
        raise ParsedVerb(self.verb, args | _given_before(click.get_current_context(), args))

    def get_help(self, ctx: click.Context) -> str:
        return render_verb(self.verb)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = _translated(self.verb, super().parse_args, ctx, args)
        if rest:
            raise usage.extra_argument(self.verb, rest[0])
        return rest


class _Value(click.ParamType[Any]):
    """The text of an option, converted as the fast parser does it."""

    name = "value"

    def __init__(self, option: Option, label: str) -> None:
        self._option = option
        self._label = label

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return usage.convert(self._label, self._option, value) if isinstance(value, str) else value


def _option(option: Option, label: str) -> click.Option:
    names = [*option.flags, option.name]
    if option.kind == "flag":
        return click.Option(names, is_flag=True)
    return click.Option(names, type=_Value(option, label), multiple=option.multiple)


def _globals() -> list[click.Parameter]:
    return [_option(option, "swarm") for option in GLOBALS]


def _page_option(option: Option, show: Any) -> click.Option:
    def wanted(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's protocol
        if value and not ctx.resilient_parsing:
            show(ctx)
            ctx.exit()

    return click.Option([*option.flags], is_flag=True, is_eager=True, expose_value=False, callback=wanted)


def _print_help(ctx: click.Context) -> None:
    ctx.obj.print(ctx.get_help())


def _print_version(ctx: click.Context) -> None:
    from swarm import __version__

    ctx.obj.print(f"swarm {__version__}")


def _given_before(ctx: click.Context, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that every verb has, as given before this verb and not again after it."""
    merged: dict[str, Any] = {}
    for option in GLOBALS:
        outer, values = ctx.parent, [args[option.name]]
        while outer is not None:
            values.append(outer.params.get(option.name))
            outer = outer.parent
        merged[option.name] = next((value for value in values if value), option.default)
    return merged


def _outer_verb(path: tuple[str, ...]) -> Verb:
    """Stand in for a verb in the errors of words that are followed by one."""
    return Verb(path=path, help="", handler="", options=() if path else (VERSION,))


def _translated(verb: Verb, parse_args: Any, ctx: click.Context, args: list[str]) -> list[str]:
    """Let click parse; say what it finds wrong in the words of both parsers."""
    try:
        return list(parse_args(ctx, args))
    except click.exceptions.NoSuchOption as error:
        raise usage.unknown_option(verb, error.option_name) from error
    except click.exceptions.BadOptionUsage as error:
        raise _bad_option(verb, error.option_name) from error
    except click.exceptions.MissingParameter as error:
        name = error.param.name if error.param else None
        raise usage.missing_argument(verb, next(p for p in verb.positionals if p.name == name)) from error


def _bad_option(verb: Verb, flag: str) -> ConfigError:
    is_flag = any(flag in option.flags and option.kind == "flag" for option in verb.all_options)
    return usage.needless_value(verb, flag) if is_flag else usage.missing_value(verb, flag)
