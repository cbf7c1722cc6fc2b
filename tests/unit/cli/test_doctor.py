"""`swarm doctor`: what it prints, and how it ends."""

import os
import re
import shutil
from pathlib import Path

import pytest

import swarm
from tests.support.documented import example, page_text
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import add

PACKAGE = Path(swarm.__file__).parent


def root() -> Path:
    return Path(os.environ["CLAUDE_CONFIG_DIR"])


@pytest.fixture
def sick(demo: Swarm) -> Swarm:
    """A team with one fault: an odd file among the tasks."""
    add(demo, "first")
    odd = root() / "tasks/demo/notes.txt"
    odd.write_text("mine")
    odd.chmod(0o600)
    return demo


def test_a_sound_team_is_healthy(demo: Swarm) -> None:
    printed = demo("doctor", "--json").json()

    assert (printed["outcome"], printed["exit_code"], printed["findings"]) == ("healthy", 0, [])
    assert printed["teams"] == ["demo"]
    ran = demo("doctor")
    assert (ran.code, ran.err) == (0, "nothing is wrong\n")
    assert "team demo: well" in ran.lines


def test_without_teams_only_the_installation_is_looked_at(swarm: Swarm) -> None:
    assert swarm("doctor").code == 0
    assert swarm("doctor", "--json").json()["teams"] == []


def test_a_fault_is_printed_with_what_fix_would_do(sick: Swarm) -> None:
    ran = sick("doctor")

    assert ran.code == 4
    assert ran.lines[-3:] == [
        f"  odd_file  {root()}/tasks/demo/notes.txt",
        "    it is neither a task nor a file of ours",
        "    with --fix: it is set aside",
    ]
    assert ran.err == "1 fault found; swarm doctor --fix mends it\n"
    assert (root() / "tasks/demo/notes.txt").exists()


def test_fix_mends_and_says_so(sick: Swarm) -> None:
    ran = sick("doctor", "--fix")

    assert (ran.code, ran.lines[-1], ran.err) == (0, "    fixed: it is set aside", "nothing is wrong\n")
    assert sick("doctor", "--json").json()["outcome"] == "healthy"


def test_the_object_has_the_documented_shape(sick: Swarm) -> None:
    found, shown = sick("doctor", "--json"), example("json.md", "output: doctor")
    printed = found.json()

    assert (found.code, printed["exit_code"], printed["outcome"]) == (4, 4, "corrupt_state")
    assert list(printed) == list(shown)
    assert [list(check) for check in printed["installation"][:1]] == [list(shown["installation"][0])]
    assert list(printed["findings"][0]) == list(shown["findings"][0])
    fixed = sick("doctor", "--fix", "--json").json()
    assert (fixed["exit_code"], fixed["outcome"], fixed["findings"][0]["fixed"]) == (0, "mended", True)


def test_every_kind_of_finding_is_documented() -> None:
    cli = (PACKAGE / "cli/installation.py", PACKAGE / "cli/left_panes.py")
    sources = [*(PACKAGE / "storage").glob("health*.py"), *cli]
    text = "\n".join(path.read_text() for path in sources)
    kinds = set(re.findall(r'\bkind="(\w+)"', text)) | set(re.findall(r'"(\w+_task_file)"', text))
    section = page_text("json.md").partition("## `doctor`")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == kinds


def test_a_warning_is_no_fault(demo: Swarm) -> None:
    with (root() / "teams/demo/events.jsonl").open("a") as events:
        events.write("garbage\n")
    printed = demo("doctor", "--json").json()

    assert (printed["outcome"], printed["exit_code"]) == ("healthy", 0)
    assert [(f["kind"], f["level"], f["fixed"]) for f in printed["findings"]] == [
        ("damaged_lines", "warning", False)
    ]
    assert demo("doctor").code == 0


def test_what_cannot_be_mended_remains(demo: Swarm) -> None:
    shutil.rmtree(root() / "tasks/demo")
    ran = demo("doctor", "--fix")

    assert ran.code == 4
    assert "  missing_tasks" in ran.out
    assert ran.err.endswith(" left\n")


def test_one_team_can_be_named(sick: Swarm, tmp_path: Path) -> None:
    sick("team", "create", "well", "--workspace", str(tmp_path))

    assert sick("-t", "well", "doctor", "--json").json()["teams"] == ["well"]
    assert sick("doctor", "-t", "demo").code == 4
    assert sick("doctor", "-t", "nosuch", "--json").error()["code"] == "no_such_team"


def test_teams_of_other_programs_are_left_alone(sick: Swarm) -> None:
    folder = root() / "teams/session-1"
    folder.mkdir()
    (folder / "config.json").write_text('{"name": "session-1", "members": []}')

    assert sick("doctor", "--fix", "--json").json()["teams"] == ["demo"]
    assert os.listdir(folder) == ["config.json"]


def test_a_damaged_roster_hides_no_other_team(sick: Swarm, tmp_path: Path) -> None:
    sick("team", "create", "torn", "--workspace", str(tmp_path))
    (root() / "teams/torn/config.json").write_text("{")
    printed = sick("doctor", "--fix", "--json").json()

    assert printed["teams"] == ["demo", "torn"]
    assert {(f["kind"], f["fixed"]) for f in printed["findings"]} == {
        ("damaged_roster", True),
        ("odd_file", True),
    }
