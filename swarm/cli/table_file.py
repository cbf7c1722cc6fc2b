"""The verbs for a team file before it is run, as data; see `table`."""

from __future__ import annotations

from swarm.cli.grammar import Verb
from swarm.cli.verb_parts import FORMAT, JSON, flag, place, text

FILE = place("file", "The team file: YAML, TOML or JSON.")
_FILE = place("file", "The team file; default team.yaml here.", optional=True)

FILE_VERBS = (
    Verb(
        path=("init",),
        help="Write a team file to start from, with a JSON Schema for editors beside it.",
        handler="swarm.cli.init:init",
        positionals=(place("target", "Folder or file name; default team.yaml here.", optional=True),),
        options=(
            text("description", "What the team should do."),
            text("teammates", "Who does it: a number, or names such as 'builder 2, reviewer'.", "WHO"),
            text("model", "Their model: scripted, or one that the Messages API knows.", "MODEL"),
            text("verify", "Command that must pass when it is done; repeatable.", "CMD", multiple=True),
            flag("yes", "Ask nothing."),
        ),
        detail=(
            "On a terminal it asks for what no option says, with what it finds in the folder as defaults. "
            "Else what is missing is taken from there; without any answer it is an example, which runs "
            "without a key. A file that exists is never overwritten."
        ),
    ),
    Verb(
        path=("validate",),
        help="Check a team file; name the first fault with its line.",
        handler="swarm.cli.plan:validate",
        positionals=(_FILE,),
        options=(JSON,),
    ),
    Verb(
        path=("plan",),
        help="Show the task graph of a team file, its waves and its critical path.",
        handler="swarm.cli.plan:plan",
        positionals=(_FILE,),
        options=(FORMAT, JSON),
    ),
)
