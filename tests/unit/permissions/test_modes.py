"""Modes: which are known, which are built, and that a teammate's is never looser than its leader's."""

from __future__ import annotations

import itertools

import pytest

from swarm.errors import ConfigError
from swarm.permissions.modes import MODES_BUILT, check_mode, no_looser


@pytest.mark.parametrize("mode", MODES_BUILT)
def test_built_modes_are_taken_as_they_are(mode):
    assert check_mode(mode) == mode


@pytest.mark.parametrize("mode", ["auto", "bubble"])
def test_known_modes_that_are_not_built_say_so(mode):
    """Silently taking another one would be looser or stricter than the person asked for."""
    with pytest.raises(ConfigError, match=f"{mode} is not built yet") as caught:
        check_mode(mode)
    assert caught.value.code == "not_built"


@pytest.mark.parametrize("mode", ["", "accept-edits", "ACCEPTEDITS", "default ", "yolo"])
def test_anything_else_is_a_bad_value(mode):
    with pytest.raises(
        ConfigError, match="use one of plan, dontAsk, default, acceptEdits, bypassPermissions"
    ) as caught:
        check_mode(mode)
    assert caught.value.code == "bad_value"


def test_a_child_is_never_looser_than_its_parent():
    """Only a person loosens a mode; a teammate that asks for more gets what its parent has."""
    for child, parent in itertools.product(MODES_BUILT, repeat=2):
        got = no_looser(child, parent)
        assert MODES_BUILT.index(got) <= MODES_BUILT.index(parent)
        assert MODES_BUILT.index(got) <= MODES_BUILT.index(child)
        assert got in (child, parent)
