"""What a verb, an argument and an option are; the table is made of these."""

from __future__ import annotations

from swarm.values import Value


class Positional(Value):
    """One argument that is known by its place. `many` takes all that is left and may take none."""

    name: str
    help: str
    many: bool = False
    optional: bool = False

    @property
    def metavar(self) -> str:
        return self.name.upper()

    @property
    def usage(self) -> str:
        """How it stands in a usage line."""
        if self.many:
            return f"[{self.metavar}]..."
        return f"[{self.metavar}]" if self.optional else self.metavar


class Option(Value):
    """One option. An `int` is at least 1; a `float` is a duration: finite, 0 or more; `usd` is above 0."""

    name: str
    flags: tuple[str, ...]
    help: str
    kind: str = "flag"  # flag str int float usd path choice
    metavar: str = ""
    choices: tuple[str, ...] = ()
    not_built: tuple[str, ...] = ()  # choices that are known, and refused by name
    multiple: bool = False

    @property
    def label(self) -> str:
        """The flag that messages call it by: the long one."""
        return self.flags[-1]

    @property
    def default(self) -> object:
        """Value when the option is not given."""
        if self.kind == "flag":
            return False
        return () if self.multiple else None

    @property
    def value_name(self) -> str:
        """How its value stands in help: `--status STATUS`; empty for a flag."""
        if self.choices:
            return "|".join(self.choices)
        return "" if self.kind == "flag" else self.metavar or self.name.upper()


class Verb(Value):
    """One verb; `handler` is the `module:function` that is called with its arguments and an `Io`."""

    path: tuple[str, ...]
    help: str
    handler: str
    positionals: tuple[Positional, ...] = ()
    options: tuple[Option, ...] = ()
    fast: bool = False
    not_built: tuple[str, ...] = ()  # flags that are known, and refused by name
    detail: str = ""

    @property
    def label(self) -> str:
        """How messages call it: `swarm task list`."""
        return " ".join(("swarm", *self.path))

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Its own options and those that every verb has."""
        return (*self.options, *GLOBALS, HELP)


TEAM = Option(
    name="team",
    flags=("-t", "--team"),
    kind="str",
    metavar="TEAM",
    help="The team; default $SWARM_TEAM, then the only team there is.",
)
VERBOSE = Option(name="verbose", flags=("-v", "--verbose"), help="Say more on stderr.")
QUIET = Option(name="quiet", flags=("-q", "--quiet"), help="Say nothing but results and errors.")
HELP = Option(name="help", flags=("-h", "--help"), help="Show this help and exit.")
VERSION = Option(name="version", flags=("--version",), help="Show the version and exit.")
GLOBALS = (TEAM, VERBOSE, QUIET)
"""Options that stand before or after any verb."""
