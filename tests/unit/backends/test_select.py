"""Which backend is taken, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.backends.select import FOR_ONE, FOR_RUN, select_backend
from swarm.errors import ConfigError


def path_with(folder: Path, **programs: str) -> dict[str, str]:
    """Return an environment in whose PATH only these programs are."""
    for name, script in programs.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return {"PATH": str(folder)}


def test_auto_takes_the_best_that_can_be_used_and_says_why(tmp_path: Path) -> None:
    """The choice is never silent."""
    without = path_with(tmp_path)
    assert select_backend("auto", without) == ("in-process", "tmux needs tmux, which is not installed")
    assert select_backend("auto", without, FOR_ONE)[0] == "process"

    with_tmux = path_with(tmp_path, tmux="echo tmux 3.3a")
    assert select_backend("auto", with_tmux, FOR_RUN) == ("tmux", "the best there is")


def test_a_tmux_that_does_not_work_is_as_good_as_none(tmp_path: Path) -> None:
    broken = path_with(tmp_path, tmux="echo no libevent >&2; exit 1")

    backend, reason = select_backend("auto", broken)

    assert backend == "in-process"
    assert reason == f"tmux needs tmux, and {tmp_path}/tmux fails: no libevent"


def test_auto_never_takes_what_was_not_tried_on_the_real_thing(tmp_path: Path) -> None:
    """iTerm2 is driven as its documentation says, which is less than having seen it."""
    everything = path_with(tmp_path, tmux="exit 0", osascript="exit 0")
    assert {select_backend("auto", everything, among)[0] for among in (FOR_RUN, FOR_ONE)} == {"tmux"}
    assert select_backend("iterm2", everything) == ("iterm2", "asked for by name")


@pytest.mark.parametrize("asked", ["tmux", "iterm2", "screen"])
def test_a_named_backend_is_taken_or_refused(asked: str, tmp_path: Path) -> None:
    """Asking for panes and getting none would be a lie."""
    with pytest.raises(ConfigError, match=asked) as caught:
        select_backend(asked, path_with(tmp_path))
    assert caught.value.code == "bad_value"


def test_a_refusal_says_where_it_stands_what_was_asked_for(tmp_path: Path) -> None:
    """In a settings file that nobody thinks of now; who has just typed it knows."""
    environ = path_with(tmp_path)
    where = "teammateMode in /r/settings.json"
    for asked, said in (
        ("tmux", f"the backend 'tmux', asked for by {where}, needs tmux, which is not installed; "),
        ("screen", f"there is no backend 'screen', asked for by {where}; choose one of "),
    ):
        with pytest.raises(ConfigError) as caught:
            select_backend(asked, environ, by=where)
        assert caught.value.message.startswith(said)
        with pytest.raises(ConfigError) as caught:
            select_backend(asked, environ, by="--backend")
        assert "asked for" not in caught.value.message
