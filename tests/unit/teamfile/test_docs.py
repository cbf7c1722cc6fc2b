"""docs/team-file.md: what it shows is read, refused and drawn exactly so."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from swarm.core.identity import RESERVED_NAMES
from swarm.errors import ConfigError
from swarm.teamfile.model import KNOWN_TOOLS, Permissions, ScriptTurn, TaskSpec, TeamFile, TeammateSpec
from swarm.teamfile.plan import plan, render_graph
from swarm.teamfile.reader import load_team_file

PAGE = Path(__file__).parents[3].joinpath("docs", "team-file.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)( wrong)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
GOOD = [(kind, text) for kind, wrong, text in BLOCKS if kind != "text" and not wrong]
REFUSED = [
    (text, told)
    for (_, wrong, text), (_, _, told) in itertools.pairwise(BLOCKS)
    if wrong
]  # fmt: skip


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """Where the examples' files and their workspace are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    return tmp_path


def load_block(kind, text):
    Path(f"team.{kind}").write_text(text, encoding="utf-8")
    return load_team_file(f"team.{kind}").team


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize(("kind", "text"), GOOD)
def test_examples_are_valid(kind, text) -> None:
    """People copy them."""
    assert load_block(kind, text).tasks


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_refused_examples_are_refused_in_these_words(text, told) -> None:
    """People search for them."""
    with pytest.raises(ConfigError) as caught:
        load_block("yaml", text)

    assert f"{caught.value}\n" == told
    assert caught.value.exit_code == 2


@pytest.mark.usefixtures("in_folder")
def test_the_two_spellings_of_one_team_are_one_team() -> None:
    """As the page says."""
    toml, json = ((kind, text) for kind, text in GOOD if kind in ("toml", "json"))

    assert load_block(*toml) == load_block(*json)


@pytest.mark.usefixtures("in_folder")
def test_the_drawing_is_drawn() -> None:
    """The last example and the picture below it."""
    assert render_graph(plan(load_block(*GOOD[-1]))) == BLOCKS[-1][2]


@pytest.mark.parametrize("model", [TeamFile, Permissions, TeammateSpec, TaskSpec, ScriptTurn])
def test_every_key_has_its_row(model) -> None:
    """A new key comes with its documentation."""
    assert [key for key in model.model_fields if f"\n| `{key}` |" not in PAGE] == []


def test_every_tool_and_every_taken_name_is_listed() -> None:
    """Both are sets that may grow."""
    assert [word for word in KNOWN_TOOLS | RESERVED_NAMES if f"`{word}`" not in PAGE] == []
