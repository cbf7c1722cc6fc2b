"""Which team a command is about, and in whose name it acts."""

import io as text_io
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.cli.session import Io, acting_as, actor, claimer
from swarm.errors import ConfigError, SwarmError
from tests.unit.cli.conftest import Swarm


def an_io(out: Any = None, **environ: str) -> Io:
    return Io(out or text_io.StringIO(), text_io.StringIO(), text_io.StringIO(), environ)


class Terminal(text_io.StringIO):
    def isatty(self) -> bool:
        return True


def test_as_names_the_agent() -> None:
    assert acting_as({"as_agent": "w1"}, an_io()) == "w1"
    assert acting_as({"as_agent": None}, an_io()) is None


def test_an_agents_own_environment_is_the_default() -> None:
    """A teammate's commands need not say who they are."""
    assert acting_as({"as_agent": None}, an_io(SWARM_AGENT="w1")) == "w1"
    assert acting_as({"as_agent": "w1"}, an_io(SWARM_AGENT="w1")) == "w1"


def test_an_agent_cannot_act_as_another() -> None:
    with pytest.raises(SwarmError) as raised:
        acting_as({"as_agent": "w2"}, an_io(SWARM_AGENT="w1"))

    assert (raised.value.code, raised.value.exit_code) == ("wrong_agent", 4)
    assert raised.value.details == {"agent": "w1", "as": "w2"}


@pytest.mark.parametrize("name", ["", "a b", "../x", "$(touch PWNED)", "日本", "x" * 300, "runtime"])
def test_a_name_that_is_none_is_refused_before_anything_is_touched(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        acting_as({"as_agent": name}, an_io())

    assert raised.value.code == "bad_name"


def test_a_bad_name_in_the_environment_is_refused_as_well() -> None:
    with pytest.raises(ConfigError):
        actor(an_io(SWARM_AGENT="../x"))


def test_leader_and_person_may_act_in_their_reserved_names() -> None:
    assert acting_as({"as_agent": "team-lead"}, an_io()) == "team-lead"
    assert acting_as({"as_agent": "user"}, an_io()) == "user"


def test_who_claims_must_be_said() -> None:
    with pytest.raises(ConfigError) as raised:
        claimer({"as_agent": None}, an_io())

    assert raised.value.code == "bad_usage"


def test_without_an_agent_the_person_acts() -> None:
    assert actor(an_io()) == "user"
    assert actor(an_io(SWARM_AGENT="")) == "user"
    assert actor(an_io(SWARM_AGENT="w1")) == "w1"


def test_the_only_team_is_the_default(demo: Swarm) -> None:
    assert demo("status", "--json").json()["team"] == "demo"


def test_two_teams_need_a_choice(demo: Swarm, tmp_path: Path) -> None:
    demo("team", "create", "other", "--workspace", str(tmp_path))

    error = demo("status", "--json").error()
    assert (error["code"], error["details"]) == ("team_needed", {"valid": ["demo", "other"]})
    assert demo("status", "--json", SWARM_TEAM="other").json()["team"] == "other"
    assert demo("-t", "demo", "status", "--json", SWARM_TEAM="other").json()["team"] == "demo"


def test_a_team_of_another_program_is_never_the_default(swarm: Swarm) -> None:
    foreign = Path(os.environ["CLAUDE_CONFIG_DIR"], "teams", "session-1")
    foreign.mkdir(parents=True)
    (foreign / "config.json").write_text('{"name": "session-1", "members": []}')

    assert swarm("status", "--json").error()["code"] == "team_needed"
    assert swarm("-t", "session-1", "status", "--json").error()["code"] == "mixed_team"


def test_a_team_that_is_not_there_is_named_with_those_that_are(demo: Swarm) -> None:
    error = demo("-t", "dmeo", "status", "--json").error()

    assert (error["code"], error["details"]["valid"]) == ("no_such_team", ["demo"])


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a b", "", ".", "日本"])
def test_a_team_name_that_is_none_is_refused(swarm: Swarm, name: str) -> None:
    assert swarm("-t", name, "task", "list", "--json").error()["code"] == "bad_name"
    assert swarm("task", "list", "--json", SWARM_TEAM=name or "..").error()["code"] == "bad_name"


def test_colour_is_for_terminals_that_want_it() -> None:
    assert an_io(Terminal()).color
    assert not an_io(Terminal(), NO_COLOR="1").color
    assert an_io(Terminal(), NO_COLOR="").color
    assert not an_io(Terminal(), TERM="dumb").color
    assert not an_io().color


def test_a_terminal_without_a_size_is_not_clipped_to_one() -> None:
    assert an_io(Terminal()).columns is None
    assert an_io().columns is None


def test_notes_are_for_people() -> None:
    """`-q` and programs do without them."""
    io = an_io()
    io.note("one")
    io.apply({"quiet": True})
    io.note("two")
    io.apply({"json": True})
    io.note("three")

    assert isinstance(io.err, text_io.StringIO)
    assert io.err.getvalue() == "one\n"


def test_symbols_need_an_encoding_that_has_them() -> None:
    assert an_io().unicode
    latin = text_io.TextIOWrapper(text_io.BytesIO(), encoding="latin-1")
    assert not an_io(latin).unicode


def test_a_team_in_another_case_is_named_in_the_right_one(demo: Swarm) -> None:
    for ran in (
        demo("-t", "Demo", "task", "list", "--json"),
        demo("task", "list", "--json", SWARM_TEAM="DEMO"),
        demo("team", "show", "DEMO", "--json"),
    ):
        error = ran.error()
        assert (ran.code, error["code"], error["details"]["suggestion"]) == (3, "no_such_team", "demo")
        assert "there is demo: write it like that" in error["message"]
