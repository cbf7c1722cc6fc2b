"""Teams that are done: put away, pruned, deleted."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest

from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.documented import example
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed


def root() -> Path:
    return Path(os.environ["CLAUDE_CONFIG_DIR"])


def test_archiving_prints_the_last_state_and_the_place(demo: Swarm) -> None:
    add(demo, "first")
    before = demo("team", "show", "--json").json()
    printed = demo("team", "archive", "demo", "--json").json()

    assert Path(printed["archive"]).is_dir()
    assert printed == before | {"archive": printed["archive"]}
    assert demo("team", "list", "--json").json() == {"teams": []}
    assert demo("team", "archive", "demo", "--json").error()["code"] == "no_such_team"


def test_archiving_says_where_it_is(demo: Swarm) -> None:
    out = demo("team", "archive", "demo").out

    (place,) = (root() / "teams/.archive").iterdir()
    assert out == f"team demo is archived in {place}\n"


def test_a_claimed_task_holds_its_team_back(demo: Swarm) -> None:
    add(demo, "first")
    claimed(demo, "1")

    for verb in ("prune", "archive"):
        assert demo("team", verb, "demo", "--json").error()["code"] == "in_progress"
        assert demo("team", verb, "demo", "--force").code == 0


@pytest.mark.parametrize(
    ("call", "folder", "meant"),
    [
        ("rename", "teams/.demo.", "teams/demo"),
        ("rename", "tasks/.demo.", "tasks/demo"),
        ("open", "teams/.locks/", "teams"),
    ],
)
def test_a_team_that_cannot_be_deleted_stays_whole_and_is_named(
    demo: Swarm, call: str, folder: str, meant: str
) -> None:
    """What is hidden on the way is nothing to a person, who looks for what is read-only."""
    add(demo, "first")
    before = demo("team", "show", "--json").json()

    def hook(name: str, at: str, size: int) -> None:
        if name == call and at.startswith(f"{root()}/{folder}"):
            raise OSError(errno.EROFS, "Read-only file system")

    with fault_hook(hook):
        ran = demo("team", "delete", "demo")

    assert (ran.code, ran.out) == (4, "")
    assert ran.err == f"error: team demo cannot be deleted: {root()}/{meant}: Read-only file system\n"
    assert demo("team", "show", "--json").json() == before
    assert demo("team", "delete", "demo", "--force").code == 0


def test_pruning_has_the_documented_shape(demo: Swarm) -> None:
    printed, shown = demo("team", "prune", "demo", "--json").json(), example("json.md", "output: team prune")

    assert list(printed) == list(shown)
    assert [group["what"] for group in printed["freed"]] == [group["what"] for group in shown["freed"]]
    assert [list(group) for group in printed["freed"]] == [list(group) for group in shown["freed"]]
    assert sum(group["bytes"] for group in printed["freed"]) == printed["freed_bytes"]


def test_pruning_says_what_is_free_again(demo: Swarm) -> None:
    (root() / "teams/demo/.spawn/w1.env").write_text("A=1\n" * 1000)
    demo("team", "prune", "demo")
    (root() / "teams/demo/.spawn/w1.env").write_text("A=1\n" * 1000)
    lines = demo("team", "prune", "demo").lines

    assert lines[0].startswith("team demo is pruned, ")
    assert lines[1] == "  1 spawn file, 3.9 KiB"


def test_an_unknown_team_is_not_found(demo: Swarm) -> None:
    for verb in ("archive", "prune"):
        assert demo("team", verb, "nosuch", "--json").error()["code"] == "no_such_team"


@pytest.mark.parametrize("verb", ["prune", "archive", "delete"])
def test_what_a_killed_leader_left_running_ends(demo: Swarm, team: Team, verb: str) -> None:
    """A command of a teammate in the leader's process goes on when that is killed."""
    gone = a_record("w1", pid=2**22 + 1)
    team.agents.save(gone)
    marked = {**os.environ, "SWARM_RUN_ID": gone.run_id}
    with subprocess.Popen(["sleep", "60"], env=marked, start_new_session=True) as command:
        try:
            assert demo("team", verb, "demo", "--force").code == 0
            assert command.wait(5) == -signal.SIGKILL
        finally:
            command.kill()
