"""The verbs that start, hold and end teammates, as data; see `table`."""

from __future__ import annotations

from swarm.cli.grammar import Verb
from swarm.cli.verb_parts import BACKEND, JSON, RULES, TRUST, flag, place, text, typed

_NAMES = place("names", "Names of the teammates.", many=True)
_ALL = flag("all", "All teammates of the team.")

_NAME = place("name", "Name of the teammate.")
_MODEL = text("model", "Its model; default the one it had, or the team file's.", "MODEL")
_MODE = text(
    "permission_mode", "What it may do unasked; default as it was, never more than its leader's.", "MODE"
)
_TIMEOUT = typed("timeout", "float", "SECONDS", "How long they have to end by themselves; default 10.")
_FORCE = flag("force", "Kill them at once, without asking.")

LIFE_VERBS = (
    Verb(
        path=("spawn",),
        help="Start a teammate in a process of its own; it works until it is stopped.",
        handler="swarm.cli.spawn:spawn",
        positionals=(_NAME,),
        options=(
            BACKEND,
            text("agent_type", "Its role: it may take tasks that are for this role.", "ROLE"),
            _MODEL,
            _MODE,
            *RULES,
            TRUST,
            text("prompt", "Message that it finds when it begins."),
            JSON,
        ),
        detail="A name that had a teammate before gets its next life. Refused while that one is alive.",
    ),
    Verb(
        path=("restart",),
        help="End a teammate, if it is there, and start it anew.",
        handler="swarm.cli.spawn:restart",
        positionals=(_NAME,),
        options=(BACKEND, _MODEL, _MODE, TRUST, _TIMEOUT, _FORCE, JSON),
        detail="It goes on with the task that it was on, if nobody else has taken it.",
    ),
    Verb(
        path=("stop",),
        help="End teammates: they are asked first, and killed when time is up.",
        handler="swarm.cli.life:stop",
        positionals=(_NAMES,),
        options=(
            _ALL,
            _TIMEOUT,
            _FORCE,
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
        path=("attach",),
        help="Show a teammate at work: its pane, or what it says if it has none.",
        handler="swarm.cli.attach:attach",
        positionals=(place("name", "Name of the teammate; default one that is alive.", optional=True),),
        detail="Where there is no terminal the command that shows the pane is printed.",
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
