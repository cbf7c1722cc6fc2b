"""Making, listing, showing and deleting teams."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import add, claimed, with_members

NO_TASKS = dict.fromkeys(
    ("pending", "ready", "blocked", "in_progress", "completed", "failed", "cancelled"), 0
)


def root() -> Path:
    return Path(os.environ["CLAUDE_CONFIG_DIR"])


def foreign(name: str, text: str) -> None:
    folder = root() / "teams" / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(text)


def test_a_new_team_is_printed_as_the_list_has_it(swarm: Swarm, tmp_path: Path) -> None:
    made = swarm(
        "team", "create", "demo", "--workspace", str(tmp_path), "--description", "a test", "--json"
    ).json()

    assert made == {
        "name": "demo",
        "native": True,
        "workspace": str(tmp_path),
        "leader": "none",
        "resumable": False,
        "agents": 0,
        "members": [{"name": "team-lead", "kind": "leader"}],
        "tasks": NO_TASKS,
    }
    assert swarm("team", "list", "--json").json() == {"teams": [made]}
    assert swarm("team", "show", "demo", "--json").json() == made
    assert swarm("team", "show", "--json").json() == made


def test_the_workspace_is_here_unless_it_is_named(
    swarm: Swarm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()

    assert swarm("team", "create", "one", "--json").json()["workspace"] == str(tmp_path)
    two = swarm("team", "create", "two", "--workspace", "below", "--json").json()
    assert two["workspace"] == str(tmp_path / "below")


def test_a_workspace_that_is_no_folder_is_refused(swarm: Swarm, tmp_path: Path) -> None:
    for path in ("nosuch", str(tmp_path / "nosuch")):
        assert swarm("team", "create", "demo", "--workspace", path, "--json").error()["code"] == "bad_value"
    assert swarm("team", "list", "--json").json() == {"teams": []}


def test_a_name_is_taken_once_in_any_case(demo: Swarm) -> None:
    for name in ("demo", "Demo"):
        assert demo("team", "create", name, "--json").error()["code"] == "name_taken"


def test_the_list_shows_teams_of_other_programs_by_name_alone(demo: Swarm) -> None:
    foreign("session-1", '{"name": "session-1", "members": []}')
    foreign("torn", '{"name": ')
    teams = demo("team", "list", "--json").json()["teams"]

    assert [team["name"] for team in teams] == ["demo", "session-1", "torn"]
    assert teams[1] == {"name": "session-1", "native": False}
    lines = demo("team", "list").lines
    assert lines[0].split()[:7] == ["demo", "0/0", "tasks", "done", "0", "agents", "no"]
    assert "made by another program" in lines[1]
    assert "damaged" in lines[2]


def test_a_team_without_its_tasks_does_not_hide_the_others(demo: Swarm, tmp_path: Path) -> None:
    demo("team", "create", "well", "--workspace", str(tmp_path))
    path = root() / "tasks/demo"
    shutil.rmtree(path)

    teams = demo("team", "list", "--json").json()["teams"]
    assert str(path) in teams[0].pop("problem")
    assert teams[0] == {"name": "demo", "native": True}
    assert (teams[1]["name"], teams[1]["agents"]) == ("well", 0)
    shown = demo("team", "list").lines[0]
    assert shown.startswith("demo  damaged ")
    assert str(path) in shown
    assert demo("team", "show", "demo", "--json").error()["code"] == "corrupt_state"


def test_a_team_without_its_tasks_is_only_deleted_by_force(demo: Swarm) -> None:
    """What it knew of results and claims is not known to be gone for good."""
    shutil.rmtree(root() / "tasks/demo")
    refused = demo("team", "delete", "demo", "--json").error()

    assert (refused["code"], "swarm team delete demo --force" in refused["message"]) == (
        "corrupt_state",
        True,
    )
    assert (root() / "teams/demo").exists()
    assert demo("team", "delete", "demo", "--force").code == 0
    assert not (root() / "teams/demo").exists()


UNREADABLE: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "no JSON": lambda path: path.write_bytes(b"\xff\xfe"),
    "nested too deeply": lambda path: path.write_text("[" * 100_000),
    "an unknown schema": lambda path: path.write_text('{"name": "bad", "swarm": {"schema": 9}}'),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_team_that_cannot_be_read_does_not_hide_the_others(demo: Swarm, kind: str) -> None:
    """Nor does it keep anybody from the one team there is."""
    config = root() / "teams/bad/config.json"
    config.parent.mkdir()
    UNREADABLE[kind](config)
    ran, teams = demo("team", "list"), demo("team", "list", "--json").json()["teams"]

    assert ran.code == 0
    assert [line.split()[:2] for line in ran.lines] == [["bad", "damaged"], ["demo", "0/0"]]
    assert str(config) in ran.lines[0]
    assert not teams[0]["native"]
    assert (teams[0]["name"], str(config) in teams[0]["problem"]) == ("bad", True)
    assert teams[1]["name"] == "demo"
    assert demo("task", "list").code == 0


def test_a_file_beside_the_teams_is_none(demo: Swarm) -> None:
    (root() / "teams/notes.txt").write_text("mine")

    assert [line.split()[0] for line in demo("team", "list").lines] == ["demo"]


def test_no_teams_is_said_on_stderr(swarm: Swarm) -> None:
    ran = swarm("team", "list")

    assert (ran.code, ran.out) == (0, "")
    assert "swarm demo" in ran.err


def test_show_lists_the_members(demo: Swarm) -> None:
    with_members(
        demo, {"name": "w1", "model": "scripted", "swarm": {"role": "builder", "permission_mode": "default"}}
    )
    out = demo("team", "show").out

    assert "  team-lead  leader" in out.splitlines()
    assert "  w1         teammate  builder  scripted  default" in out.splitlines()
    assert demo("team", "show", "--json").json()["agents"] == 1


def test_an_empty_team_is_deleted(demo: Swarm) -> None:
    before = demo("team", "show", "--json").json()

    assert demo("team", "delete", "demo", "--json").json() == before
    assert demo("team", "list", "--json").json() == {"teams": []}
    assert demo("team", "delete", "demo", "--json").error()["code"] == "no_such_team"


def test_results_are_not_lost_without_force(demo: Swarm) -> None:
    add(demo, "first")
    claimed(demo, "1")
    assert demo("team", "delete", "demo").code == 4
    demo("task", "complete", "1", "--as", "w1", "--result", "valuable")
    assert demo("team", "delete", "demo").code == 4

    assert demo("task", "show", "1", "--json").json()["status"] == "completed"
    assert demo("team", "delete", "demo", "--force").out == "team demo is deleted\n"


def test_a_team_of_another_program_is_deleted_only_by_force(swarm: Swarm) -> None:
    foreign("session-1", '{"name": "session-1", "members": []}')

    assert swarm("team", "delete", "session-1", "--json").error()["code"] == "mixed_team"
    assert swarm("team", "delete", "session-1", "--force", "--json").json() == {
        "name": "session-1",
        "native": False,
    }


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a b", "", ".", "..", "日本", "a;touch PWNED", "main"])
def test_a_name_that_is_none_is_refused(swarm: Swarm, name: str) -> None:
    error = swarm("team", "create", "--json", "--", name).error()

    assert error["code"] == "bad_name"
    assert error["details"]["suggestion"] in error["message"]
    assert swarm("team", "delete", "--force", "--", name).code == 3
