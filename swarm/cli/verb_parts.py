"""What verbs of the table are made of: short ways to write an option, and the options that many share."""

from __future__ import annotations

from swarm.cli.grammar import Option, Positional


def text(name: str, help_text: str, metavar: str = "TEXT", *, multiple: bool = False) -> Option:
    flag = "--" + name.replace("_", "-")
    return Option(name=name, flags=(flag,), kind="str", metavar=metavar, help=help_text, multiple=multiple)


def flag(name: str, help_text: str) -> Option:
    return Option(name=name, flags=("--" + name.replace("_", "-"),), help=help_text)


def typed(name: str, kind: str, metavar: str, help_text: str) -> Option:
    return Option(name=name, flags=(f"--{name}",), kind=kind, metavar=metavar, help=help_text)


def choice(name: str, help_text: str, choices: tuple[str, ...], not_built: tuple[str, ...] = ()) -> Option:
    flags = (f"--{name}",)
    return Option(name=name, flags=flags, kind="choice", choices=choices, not_built=not_built, help=help_text)


def place(name: str, help_text: str, *, optional: bool = False, many: bool = False) -> Positional:
    return Positional(name=name, help=help_text, optional=optional, many=many)


JSON = flag("json", "Print one JSON object; errors are one too, on stderr.")
FOLLOW = Option(name="follow", flags=("-f", "--follow"), help="Go on printing what comes, until interrupted.")
AS = Option(
    name="as_agent",
    flags=("--as",),
    kind="str",
    metavar="AGENT",
    help="Act in this name; default $SWARM_AGENT, and where that is set no other.",
)
TOKEN = text("token", "Proof of the claim, as it was printed; default the live one, if it is yours.", "TOKEN")
MSG_ID = Option(
    name="msg_id",
    flags=("--id",),
    kind="str",
    metavar="ID",
    help="Id of the message, as an error said it: if it has arrived it is not sent again.",
)
REASON = text("reason", "One sentence: why.")
BACKEND = choice(
    "backend",
    "Where teammates run; default $SWARM_BACKEND, then teammateMode of settings.json, then auto.",
    ("auto", "tmux", "process", "in-process", "iterm2"),
)
RULES = (
    text(
        "allow",
        "Rule for what needs no question, such as 'Bash(make:*)'. May be repeated.",
        "RULE",
        multiple=True,
    ),
    text("deny", "Rule for what never runs. May be repeated.", "RULE", multiple=True),
    text("ask", "Rule for what a person decides each time. May be repeated.", "RULE", multiple=True),
)
TRUST = flag("trust_workspace", "Use allow rules and a looser mode of the settings files in the workspace.")
FORMAT = choice("format", "How to draw the graph; default text.", ("text", "mermaid", "dot"), ("svg",))
