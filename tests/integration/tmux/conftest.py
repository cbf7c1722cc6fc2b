"""Real tmux, on sockets of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swarm.backends.tmux_client import TmuxServer
from tests.support.private_tmux import PrivateTmux, private_tmux


@pytest.fixture
def tmux(isolated_home: Path) -> Iterator[PrivateTmux]:
    with private_tmux() as made:
        yield made


@pytest.fixture
def server_at(tmux: PrivateTmux) -> Callable[..., TmuxServer]:
    """Make the client under test for the default server; options replace parts of its environment."""

    Path(tmux.socket).parent.mkdir(mode=0o700)

    def make(socket: str | None = None, **environ: str) -> TmuxServer:
        return TmuxServer(socket or tmux.socket, {**tmux.environ, **environ}, timeout=15)

    return make
