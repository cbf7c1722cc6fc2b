"""Health of what agents ask and are answered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from swarm.errors import CorruptStateError
from swarm.storage.finding import Finding, set_aside
from swarm.storage.team import Team


def examine_permissions(team: Team) -> Iterator[Finding]:
    """Find rules that cannot be read, and questions that nobody can answer.

    The rules stay where they are: without the file what it denies would be open.
    """
    try:
        team.permissions.load_rules()
    except CorruptStateError as error:
        what = f"its rules cannot be read, so every call is denied until somebody mends it: {error.why}"
        yield Finding(kind="damaged_rules", path=team.layout.rules, what=what)
    for path in team.permissions.unreadable():
        yield Finding(
            kind="damaged_request",
            path=path,
            what="it is no question, and nobody can answer it",
            remedy="it is set aside",
            mend=partial(set_aside, team, path),
        )
