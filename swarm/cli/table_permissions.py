"""The verbs by which a person sees and answers the questions of a team, as data; see `table`."""

from __future__ import annotations

from swarm.cli.grammar import Verb
from swarm.cli.verb_parts import FOLLOW, JSON, flag, place, text

_REFS = place("refs", "Numbers of the questions, or their ids.", many=True)
_FOLLOW = FOLLOW.replace(help="Go on printing what comes, until the run has ended.")
_ONCE = "The first answer to a question counts. One that nobody waits for any more is refused."

PERMISSION_VERBS = (
    Verb(
        path=("permissions",),
        help="List the questions that wait for a person, or show one in full.",
        handler="swarm.cli.permissions:permissions",
        positionals=(place("ref", "Number of a question, or its id: show it in full.", optional=True),),
        options=(flag("all", "Also questions that were answered."), _FOLLOW, JSON),
        detail="Answer with swarm approve and swarm deny.",
    ),
    Verb(
        path=("approve",),
        help="Say yes to questions: each call that was asked for may run, this once.",
        handler="swarm.cli.permissions:approve",
        positionals=(_REFS,),
        options=(
            flag("always", "Also add the rule that the question suggests, for the whole team."),
            text("note", "Something that the agent is told with it."),
            JSON,
        ),
        detail=_ONCE,
    ),
    Verb(
        path=("deny",),
        help="Say no to questions: what was asked for does not run.",
        handler="swarm.cli.permissions:deny",
        positionals=(_REFS,),
        options=(text("note", "Why; the agent is told, and may find another way."), JSON),
        detail=_ONCE,
    ),
)
