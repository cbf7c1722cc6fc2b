"""`init`, `validate` and `plan`: a team file before it is run."""

import json
import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Swarm

GOOD = """\
name: rename
description: A test
workspace: .
model: scripted
permissions: {mode: default, allow: ["Bash(pytest:*)"]}
teammates:
  - {name: w1}
tasks:
  - {key: map, subject: "Find \\e[31mevery caller", script: [{say: ok}]}
  - {key: api, subject: Rename it, blocked_by: [map], owner: w1, script: [{say: ok}]}
  - {key: doc, subject: Write it up, blocked_by: [map], script: [{say: ok}]}
  - {key: end, subject: Check all, blocked_by: [api, doc], script: [{say: ok}]}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "team.yaml"
    path.write_text(GOOD)
    return path


def test_a_good_file_is_right(swarm: Swarm, file: Path) -> None:
    assert swarm("validate", "team.yaml").out == "team.yaml is right: team rename, 1 teammate, 4 tasks\n"
    assert swarm("validate", "team.yaml", "--json").out == swarm("plan", "team.yaml", "--json").out


def test_a_plan_has_waves_and_a_critical_path(swarm: Swarm, file: Path) -> None:
    plan = swarm("plan", str(file), "--json").json()

    assert plan["waves"] == [["map"], ["api", "doc"], ["end"]]
    assert plan["critical_path"] == ["map", "api", "end"]
    assert plan["tasks"][1] == {
        "key": "api",
        "subject": "Rename it",
        "owner": "w1",
        "blocked_by": ["map"],
        "wave": 2,
        "critical": True,
    }


def test_a_plan_is_drawn_harmlessly(swarm: Swarm, file: Path) -> None:
    for form in ("text", "mermaid", "dot"):
        out = swarm("plan", str(file), "--format", form).out
        assert "Rename it" in out
        assert "\x1b" not in out


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("workspace: .", "workspace: nosuch", "bad_team_file", 3),
        ("model: scripted", "modle: scripted", "bad_team_file", 4),
        ("mode: default", "mode: auto", "not_built", 5),
        ("mode: default", "mode: lenient", "bad_value", 5),
        ("Bash(pytest:*)", "bash(pytest:*)", "bad_value", 5),
        ("{name: w1}", "{name: w1, count: nought}", "bad_team_file", 7),
        ("{name: w1}", "{name: a b}", "bad_name", 7),
        ("owner: w1", "owner: w9", "unknown_reference", 10),
        ("blocked_by: [map], owner", "blocked_by: [end], owner", "bad_team_file", 10),
        ("model: scripted", "model: scripted\nmodel: scripted", "bad_team_file", 5),
    ],
)
def test_a_fault_is_named_with_its_line(
    swarm: Swarm, file: Path, old: str, new: str, code: str, line: int
) -> None:
    file.write_text(GOOD.replace(old, new))
    for verb in ("validate", "plan"):
        error = swarm(verb, "team.yaml", "--json").error()
        assert (error["code"], error["details"]["line"]) == (code, line)
    assert swarm("validate", "team.yaml").err.startswith(f"error: team.yaml:{line}: ")


def test_every_further_fault_is_named_too(swarm: Swarm, file: Path) -> None:
    """Who mends a file wants to mend it once."""
    file.write_text(GOOD.replace("workspace: .", "workspace: nosuch").replace("owner: w1", "owner: w9"))
    err = swarm("validate", "team.yaml").err.splitlines()

    assert err[0].startswith("error: team.yaml:3: workspace: ")
    assert err[1].startswith("also line 10: tasks[1].owner: ")


def test_a_file_that_is_not_there_points_to_init(swarm: Swarm, tmp_path: Path) -> None:
    error = swarm("validate", str(tmp_path / "nosuch.yaml"), "--json").error()

    assert (error["code"], "swarm init" in error["message"]) == ("bad_team_file", True)


def test_init_writes_a_file_that_is_right(
    swarm: Swarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = swarm("init")

    assert ran.out == "team.yaml\n"
    assert "swarm run team.yaml" in ran.err
    assert json.loads((tmp_path / "team.schema.json").read_text())["title"]
    assert swarm("validate", "team.yaml").code == 0


@pytest.mark.parametrize(
    ("target", "written"),
    [
        (".", "team.yaml"),
        ("new", "new/team.yaml"),
        ("mine.yml", "mine.yml"),
        ("new/mine.yaml", "new/mine.yaml"),
    ],
)
def test_init_takes_a_folder_or_a_file(
    swarm: Swarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, written: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert swarm("init", target).out == f"{written}\n"
    assert swarm("validate", written).code == 0


@pytest.mark.parametrize("target", ["nowhere/x/y", "nowhere/x/team.yaml"])
def test_init_makes_one_folder_and_no_more(
    swarm: Swarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """A path with a slip in it is no wish for folders."""
    monkeypatch.chdir(tmp_path)
    ran = swarm("init", target)

    parent = "nowhere/x" if target.endswith("y") else "nowhere"
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: there is no folder {parent}; make it first\n"
    assert not (tmp_path / "nowhere").exists()


def test_init_never_overwrites(swarm: Swarm, file: Path) -> None:
    schema = file.with_name("team.schema.json")
    schema.write_text("mine")

    assert swarm("init").code == 2
    assert file.read_text() == GOOD
    assert swarm("init", "other.yaml").code == 0
    assert schema.read_text() == "mine"


def test_init_says_when_it_cannot_write(swarm: Swarm, file: Path) -> None:
    assert swarm("init", "team.yaml/below").code == 4
    assert not os.path.exists("team.schema.json")


@pytest.mark.parametrize("ending", [".json", ".toml"])
def test_init_writes_yaml_only(swarm: Swarm, file: Path, ending: str) -> None:
    """The other formats are read, but a file of YAML under their name would not be."""
    assert swarm("init", f"x{ending}").code == 2
    assert not os.path.exists(f"x{ending}")


def test_a_folder_whose_name_is_no_team_name_gets_one_that_is(
    swarm: Swarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("my app", "日本", "main"):
        assert swarm("init", folder).code == 0
        assert swarm("validate", f"{folder}/team.yaml").code == 0
