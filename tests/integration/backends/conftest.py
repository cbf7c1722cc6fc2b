from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backends import MAKERS, Bed
from tests.support.private_tmux import needs_tmux


@pytest.fixture(params=[pytest.param(kind, marks=needs_tmux if kind == "tmux" else ()) for kind in MAKERS])
async def bed(request: pytest.FixtureRequest, isolated_home: Path) -> AsyncIterator[Bed]:
    """A team under each backend in turn; nothing of it outlives the test."""
    made = Bed(request.param, isolated_home)
    yield made
    await made.end()


@pytest.fixture
async def process_bed(isolated_home: Path) -> AsyncIterator[Bed]:
    """The same, for what only plain processes do."""
    made = Bed("process", isolated_home)
    yield made
    await made.end()
