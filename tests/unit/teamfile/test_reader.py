"""Files on disk: which are read, what comes out, and how it is stored with the team."""

from __future__ import annotations

import json
import os

import pytest

from swarm.core.task import Requires
from swarm.errors import ConfigError
from swarm.teamfile.members import MemberSpec
from swarm.teamfile.model import ScriptCall, ScriptTurn
from swarm.teamfile.reader import (
    FILE_BYTES_MAX,
    dump_for_team,
    load_team_file,
    members,
    new_tasks,
    script_for,
)

TOML = """
name = "demo"
model = "scripted"
teammates = [{name = "builder", count = 2}, {name = "scout"}]

[[tasks]]
key = "map"
subject = "Look around"
owner = "scout"
script = [{say = "Seen it."}]

[[tasks]]
key = "build"
subject = "Build it"
owner = "builder"
blocked_by = ["map"]
files = ["src/**"]
verify = ["test -d src"]
script = [{say = "Reading.", calls = [{Read = {file_path = "src/a.py"}}]}, {say = "Done."}]
"""


def test_three_formats_hold_the_same_team(load, good) -> None:
    """YAML, TOML and JSON differ in spelling only."""
    team = load(good).team
    as_json = json.dumps(team.model_dump(mode="json", exclude_defaults=True))

    assert load(TOML, "team.toml").team == team
    assert load(as_json, "team.json").team == team
    assert load(good, "TEAM.YML").team == team


def test_loaded_file_knows_where_everything_is(load, good, tmp_path) -> None:
    """Paths are absolute, so that no later chdir changes what they mean; YAML has lines."""
    (tmp_path / "code").mkdir()
    loaded = load(good.replace("model: scripted", "model: scripted\nworkspace: ./code"))

    assert loaded.workspace == str(tmp_path / "code")
    assert loaded.path == str(tmp_path / "team.yaml")
    assert loaded.lines[("tasks", 1, "verify")] == 18
    assert load(TOML, "team.toml").lines == {}


def test_workspace_is_relative_to_the_file(tmp_path, good, monkeypatch) -> None:
    """Where the command was typed does not matter."""
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "t.yaml").write_text(good, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert load_team_file("teams/t.yaml").workspace == str(tmp_path / "teams")


def test_home_is_written_as_a_tilde(load, good, tmp_path, monkeypatch) -> None:
    """A workspace elsewhere is given as `~/code` or absolute."""
    monkeypatch.setenv("HOME", str(tmp_path))

    assert load(good.replace("model: scripted", "model: scripted\nworkspace: ~/")).workspace == str(tmp_path)


def test_bom_and_windows_line_ends_are_read(tmp_path, good) -> None:
    """Editors add both without asking."""
    for name, text in (("team.yaml", good), ("team.toml", TOML)):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())

        assert load_team_file(str(path)).team.name == "demo"


def test_count_makes_members_of_a_role(load, good) -> None:
    """builder with count 2 is builder-1 and builder-2; scout is itself and has no role."""
    text = good.replace("{name: scout}", "{name: scout, permission_mode: acceptEdits}")
    mates = members(load(text).team)

    assert mates == (
        MemberSpec(name="builder-1", role="builder", model="scripted", permission_mode=None),
        MemberSpec(name="builder-2", role="builder", model="scripted", permission_mode=None),
        MemberSpec(name="scout", role=None, model="scripted", permission_mode="acceptEdits"),
    )


def test_one_of_a_role_is_numbered_too(load, changed) -> None:
    """Changing 1 to 2 later does not rename anybody."""
    mates = members(load(changed("count: 2", "count: 1")).team)

    assert [mate.name for mate in mates] == ["builder-1", "scout"]


def test_number_of_teammates_may_come_from_outside(load, good) -> None:
    """`run --teammates 3` multiplies the only teammate of a file, or makes workers for one that has none."""
    alone = good.replace("  - {name: scout}\n", "").replace("    owner: scout\n", "")
    nobody = alone.replace("  - {name: builder, count: 2}\n", "").replace("    owner: builder\n", "")
    nobody = nobody.replace("teammates:\n", "")

    assert [m.name for m in members(load(alone, teammates=3).team)] == ["builder-1", "builder-2", "builder-3"]
    assert [m.name for m in members(load(nobody, teammates=1).team)] == ["worker-1"]


@pytest.mark.parametrize(("count", "code"), [(3, "bad_usage"), (0, "bad_value"), (65, "bad_value")])
def test_number_of_teammates_must_make_sense(refused, good, count, code) -> None:
    """Which of several to multiply nobody knows; none at all does nothing."""
    text = (
        good if code == "bad_usage" else good.replace("  - {name: scout}\n", "").replace("owner: scout", "")
    )

    assert refused(text, teammates=count).code == code


def test_owner_becomes_what_a_claim_requires(load, good) -> None:
    """A role may be any of its members; no owner is anybody."""
    lookout, build = new_tasks(load(good).team)

    assert lookout.requires == Requires(agent="scout")
    assert build.requires == Requires(role="builder")
    assert (build.key, build.blocked_by, build.files, build.verify) == (
        "build",
        ("map",),
        ("src/**",),
        ("test -d src",),
    )
    anybody = load(good.replace("    owner: scout\n", "")).team
    assert new_tasks(anybody)[0].requires is None


def test_new_tasks_come_with_blockers_first(load) -> None:
    """Ids are given in this order, and a task can only wait for one that exists."""
    text = "name: t\nmodel: scripted\nteammates: [{name: w}]\ntasks:\n" + "".join(
        f"  - {{key: {key}, subject: S, blocked_by: [{waits}], script: [{{say: x}}]}}\n"
        for key, waits in [("d", "b, c"), ("c", "a"), ("x", ""), ("b", "a"), ("a", "")]
    )

    assert [task.key for task in new_tasks(load(text).team)] == ["x", "a", "c", "b", "d"]


def test_stored_file_reads_back_as_the_same_team(load, good, tmp_path) -> None:
    """Whatever the format was; only the workspace is absolute now."""
    for text, name in ((good, "team.yaml"), (TOML, "team.toml")):
        loaded = load(text, name)
        again = load(dump_for_team(loaded), "stored.yaml")

        assert again.team == loaded.team.model_copy(update={"workspace": str(tmp_path)})
        assert again.workspace == loaded.workspace


def test_stored_file_is_for_people_too(load, good) -> None:
    """Longer texts stand as blocks, not as escapes."""
    text = dump_for_team(load(good.replace("say: Done.", 'say: "Two\\nlines: done."')))

    assert "say: |-\n      Two\n      lines: done.\n" in text
    assert "null" not in text


def test_script_is_read_from_the_stored_file(load, good, tmp_path) -> None:
    """A worker knows its task's key and the team's folder, nothing more."""
    path = str(tmp_path / "team.yaml")
    load(good)

    assert script_for(path, "build") == (
        ScriptTurn(say="Reading.", calls=(ScriptCall(tool="Read", input={"file_path": "src/a.py"}),)),
        ScriptTurn(say="Done."),
    )


def test_script_is_read_again_only_when_the_file_changed(load, good, tmp_path) -> None:
    """Parsing costs milliseconds, and every session asks."""
    path = str(tmp_path / "team.yaml")
    load(good)
    first = script_for(path, "map")

    assert script_for(path, "map") is first
    load(good.replace("Seen it.", "Seen it twice."))
    os.utime(path, ns=(1, 1))
    assert script_for(path, "map")[0].say == "Seen it twice."


def test_script_of_an_unknown_task_names_the_known_ones(load, good, tmp_path) -> None:
    """Somebody edited the stored file."""
    load(good)
    with pytest.raises(ConfigError) as caught:
        script_for(str(tmp_path / "team.yaml"), "nosuch")

    assert (caught.value.code, caught.value.details["valid"]) == ("unknown_reference", ["map", "build"])


@pytest.mark.parametrize(("text", "told"), [(None, "No such file"), ("tasks: 3", "expected a list of tasks")])
def test_script_from_a_broken_file_is_an_error_that_names_it(load, tmp_path, text, told) -> None:
    """The session fails with a reason, not with a traceback."""
    path = tmp_path / "team.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        script_for(str(path), "map")

    assert caught.value.code == "bad_team_file"
    assert told in caught.value.message or any(told in p["message"] for p in caught.value.details["problems"])


def refusal_of(path):
    with pytest.raises(ConfigError) as caught:
        load_team_file(str(path))
    error = caught.value
    assert (error.code, error.details["file"]) == ("bad_team_file", str(path))
    return error.message


def test_missing_file(tmp_path) -> None:
    """The way out is named."""
    assert "there is no such file; `swarm init` writes one" in refusal_of(tmp_path / "team.yaml")


def test_folder_with_a_team_file_in_it_is_guessed(tmp_path, good) -> None:
    """`swarm run .` is a natural thing to type."""
    assert "is a folder; name the file in it" in refusal_of(tmp_path)
    (tmp_path / "team.yaml").write_text(good, encoding="utf-8")
    assert f"did you mean {tmp_path / 'team.yaml'}?" in refusal_of(tmp_path)


def test_pipe_is_no_team_file(tmp_path) -> None:
    """Reading one would wait for ever."""
    os.mkfifo(tmp_path / "team.yaml")

    assert "is not a regular file" in refusal_of(tmp_path / "team.yaml")


def test_file_below_a_file_cannot_be_read(tmp_path) -> None:
    """What the system says is passed on."""
    (tmp_path / "a").write_text("", encoding="utf-8")

    assert "cannot be read (Not a directory)" in refusal_of(tmp_path / "a" / "team.yaml")


def test_path_with_a_nul_is_no_path() -> None:
    """No traceback, whatever is typed or passed."""
    with pytest.raises(ConfigError, match="is no path"):
        load_team_file("team\0.yaml")


def test_file_that_is_too_large(tmp_path) -> None:
    """Somebody named a log by mistake."""
    path = tmp_path / "team.yaml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))

    assert "is larger than 4 MiB" in refusal_of(path)


def test_text_that_is_not_utf8_names_its_line(tmp_path, good) -> None:
    """Old editors still save Latin-1."""
    path = tmp_path / "team.yaml"
    path.write_bytes(good.replace("Look around", "Look at Größe").encode("latin-1"))

    assert f"{path}:8: is not UTF-8 text" in refusal_of(path)


@pytest.mark.parametrize("name", ["team.txt", "team", "team.yaml.bak"])
def test_format_is_told_by_the_name(refused, good, name) -> None:
    """Guessing would give misleading errors."""
    assert "call it .yaml, .yml, .toml or .json" in str(refused(good, name))
