"""Whose word decides where teammates run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swarm.backends.asked import MODES, Asked, what_is_asked
from swarm.errors import ConfigError
from tests.support.settings_bed import SettingsBed

FOREIGN = {"permissions": {"allow": ["Bash(git:*)"]}, "env": {"A": "1"}, "hooks": {}, "theme": "dark"}


class Bed(SettingsBed):
    def ask(self, given: str | None = None, **environ: str) -> Asked:
        return what_is_asked(given, environ, str(self.root), str(self.workspace))


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def sets(mode: object) -> str:
    return json.dumps({**FOREIGN, "teammateMode": mode})


def test_the_option_comes_before_the_variable_and_that_before_the_files(bed: Bed) -> None:
    for path in (bed.user, bed.project, bed.local):
        path.write_text(sets("iterm2"))

    assert bed.ask("process", SWARM_BACKEND="tmux") == Asked(backend="process", by="--backend")
    assert bed.ask(SWARM_BACKEND="tmux") == Asked(backend="tmux", by="$SWARM_BACKEND")
    assert bed.ask(SWARM_BACKEND="").backend == "iterm2"


def test_of_the_files_the_nearest_to_the_person_wins(bed: Bed) -> None:
    """What comes with a repository counts least."""
    bed.project.write_text(sets("tmux"))
    assert bed.ask() == Asked(backend="tmux", by=f"teammateMode in {bed.project}")
    bed.user.write_text(sets("in-process"))
    assert bed.ask() == Asked(backend="in-process", by=f"teammateMode in {bed.user}")
    bed.local.write_text(sets("auto"))
    assert bed.ask() == Asked(backend="auto", by=f"teammateMode in {bed.local}")


@pytest.mark.parametrize("text", ["", " \n", "{}", json.dumps(FOREIGN), '{"teammateMode": null}'])
def test_a_file_that_says_nothing_of_it_leaves_it_to_the_next(text: str, bed: Bed) -> None:
    bed.local.write_text(text)
    bed.project.write_text(sets("tmux"))

    assert bed.ask().backend == "tmux"


def test_without_any_word_it_is_auto(bed: Bed) -> None:
    assert bed.ask() == Asked(backend="auto")
    assert what_is_asked(None, {}, str(bed.root / "nowhere")) == Asked(backend="auto")


@pytest.mark.parametrize("mode", [*MODES])
def test_every_mode_of_the_settings_is_known(mode: str, bed: Bed) -> None:
    bed.user.write_text(sets(mode))

    assert bed.ask().backend == mode


@pytest.mark.parametrize("mode", ["process", "TMUX", "", 1, True, ["tmux"]])
def test_what_is_no_mode_is_an_error_that_names_file_and_key(mode: object, bed: Bed) -> None:
    bed.user.write_text(sets(mode))

    with pytest.raises(ConfigError) as caught:
        bed.ask()

    assert caught.value.message == (
        f"teammateMode in {bed.user} is {mode!r}, which is none of auto, in-process, tmux, iterm2; "
        "mend it, or say where teammates are to run by --backend or $SWARM_BACKEND"
    )
    assert caught.value.details["path"] == str(bed.user)


@pytest.mark.parametrize("text", ['{"teammateMode": "tmux"', "[]", "null", '"tmux"', "[" * 100_000, "\xff"])
def test_a_damaged_file_is_an_error_only_where_it_would_have_decided(text: str, bed: Bed) -> None:
    bed.user.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="teammateMode") as caught:
        bed.ask()
    assert str(bed.user) in caught.value.message
    assert caught.value.exit_code == 2

    assert bed.ask("tmux").backend == "tmux"
    assert bed.ask(SWARM_BACKEND="process").backend == "process"
    bed.local.write_text(sets("in-process"))
    assert bed.ask().backend == "in-process"


def test_what_is_no_file_is_not_waited_for(bed: Bed) -> None:
    """Reading a pipe that nobody writes to would last for ever."""
    os.mkfifo(bed.user)
    with pytest.raises(ConfigError, match=r"settings\.json .*teammateMode"):
        bed.ask()

    bed.user.unlink()
    bed.user.mkdir()
    with pytest.raises(ConfigError, match=r"settings\.json .*teammateMode"):
        bed.ask()


def test_a_workspace_in_which_no_settings_can_lie_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("a file\n")

    assert what_is_asked(None, {}, str(tmp_path / "root"), str(tmp_path)) == Asked(backend="auto")
