"""The verbs that start, hold and end teammates, as data; see `table`."""

from __future__ import annotations

from swarm.cli.grammar import Verb
from swarm.cli.verb_parts import JSON, flag, place, typed

_NAMES = place("names", "Names of the teammates.", many=True)
_ALL = flag("all", "All teammates of the team.")

LIFE_VERBS = (
    Verb(
        path=("stop",),
        help="End teammates: they are asked first, and killed when time is up.",
        handler="swarm.cli.life:stop",
        positionals=(_NAMES,),
        options=(
            _ALL,
            typed("timeout", "float", "SECONDS", "How long they have to end by themselves; default 10."),
            flag("force", "Kill them at once, without asking."),
            JSON,
        ),
        detail="What they run is ended, their tasks are free again. One that has ended already is no error.",
    ),
    Verb(
        path=("pause",),
        help="Let teammates take no task and ask no model until they may continue.",
        handler="swarm.cli.life:pause",
        positionals=(_NAMES,),
        options=(_ALL, JSON),
        detail="What one runs now goes on to its end; its task stays its own.",
    ),
    Verb(
        path=("undo",),
        help="Take what a team has committed off the branch: back to where its run began.",
        handler="swarm.cli.undo:undo",
        options=(
            flag("dry_run", "Only show what would be undone."),
            flag("force", "Also when others have committed since."),
            JSON,
        ),
        detail=(
            "Nothing is lost: the commits are kept under a reference, and it is refused where a change that "
            "is not committed would be touched. The tasks stay as they are. Nobody may be at work."
        ),
    ),
    Verb(
        path=("continue",),
        help="Let teammates go on that were paused.",
        handler="swarm.cli.life:go_on",
        positionals=(_NAMES,),
        options=(_ALL, JSON),
    ),
)
