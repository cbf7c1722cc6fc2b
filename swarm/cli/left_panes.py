"""What `swarm doctor` finds on a terminal: the tmux server of a team of which nobody is left."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial

from swarm.backends.leftovers import close_leftovers
from swarm.backends.tmux_socket import own_socket
from swarm.leader.ending import is_over
from swarm.storage.finding import Finding
from swarm.storage.team import Team


def examine_panes(team: Team, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the socket of a team's own server if no agent of it lives, nor its leader."""
    socket = own_socket(team.name, team.root, environ)
    if os.path.exists(socket) and all(is_over(record) for record in team.agents.list_agents()):
        yield Finding(
            kind="left_panes",
            path=socket,
            what="nobody of the team is left, but its tmux server, or the socket of that, is",
            remedy="server and socket are gone, and with them the panes of those that failed",
            warning=True,
            mend=partial(close_leftovers, team, environ),
        )
