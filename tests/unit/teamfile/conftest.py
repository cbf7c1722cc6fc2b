"""Short ways to load a team file and to see it refused."""

from __future__ import annotations

import pytest

from swarm.errors import ConfigError
from swarm.teamfile.reader import load_team_file

GOOD = """\
name: demo
model: scripted
teammates:
  - {name: builder, count: 2}
  - {name: scout}
tasks:
  - key: map
    subject: Look around
    owner: scout
    script:
      - say: Seen it.
  - key: build
    subject: Build it
    owner: builder
    blocked_by: [map]
    files: ["src/**"]
    verify: ["test -d src"]
    script:
      - say: Reading.
        calls:
          - Read: {file_path: src/a.py}
      - say: Done.
"""


@pytest.fixture
def good():
    """A team file that is right, line by line, for tests that break one line of it."""
    return GOOD


@pytest.fixture
def load(tmp_path):
    """Write this text into a file of this name and load it."""

    def load_text(text, name="team.yaml", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_team_file(str(path), **options)

    return load_text


@pytest.fixture
def refused(load):
    """The error with which this text is refused."""

    def refuse(text, name="team.yaml", **options):
        with pytest.raises(ConfigError) as caught:
            load(text, name, **options)
        return caught.value

    return refuse


@pytest.fixture
def changed(good):
    """The good file with one piece replaced; the piece must be there."""

    def change(old, new):
        assert good.count(old) == 1
        return good.replace(old, new)

    return change
