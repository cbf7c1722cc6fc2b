"""`swarm init`: a team file for this folder, from three answers or from options."""

from __future__ import annotations

import io as text_io
import json
import os
from pathlib import Path

import pytest

from swarm.cli.entry import execute
from swarm.cli.session import Io
from swarm.errors import ConfigError
from swarm.teamfile.reader import LoadedTeamFile, load_team_file
from swarm.teamfile.tailored import parse_groups, show_groups
from swarm.workspace.habits import find_check
from tests.unit.cli.conftest import Ran, Swarm

WISH = "Rename fetch_user to load_user everywhere"


class Terminal(text_io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def asked(*answers: str, words: tuple[str, ...] = (), **environ: str) -> Ran:
    """Run `swarm init` on a terminal on which this is typed, line by line, and then Ctrl-D."""
    out, err = text_io.StringIO(), Terminal()
    own = {"CLAUDE_CONFIG_DIR": os.environ["CLAUDE_CONFIG_DIR"], "TERM": "xterm"}
    typed = Terminal("".join(f"{answer}\n" for answer in answers))
    code = execute(["init", *words], Io(out, err, typed, own | environ))
    return Ran(code=code, out=out.getvalue(), err=err.getvalue())


def made(path: str = "team.yaml") -> LoadedTeamFile:
    return load_team_file(path)


def test_three_answers_make_a_team(swarm: Swarm, here: Path) -> None:
    ran = asked(WISH, "builder 2, reviewer with claude-sonnet-5-5", "pytest -q tests")

    assert (ran.code, ran.out) == (0, "team.yaml\n")
    assert ran.err.count("?") == 3
    assert swarm("validate", "team.yaml").out == "team.yaml is right: team shop, 3 teammates, 2 tasks\n"
    assert swarm("validate").out == swarm("validate", "team.yaml").out
    assert swarm("plan").out == swarm("plan", "team.yaml").out
    assert "# builder-1, builder-2\n" in (here / "team.yaml").read_text()
    team = made().team
    assert (team.name, team.description, team.model) == ("shop", WISH, "claude-sonnet-5-5")
    assert [(one.name, one.count) for one in team.teammates] == [("builder", 2), ("reviewer", None)]
    first, last = team.tasks
    assert (first.subject, first.owner, first.verify) == (WISH, "builder", ("pytest -q tests",))
    assert first.description.startswith(WISH)
    assert (last.owner, last.blocked_by, last.verify) == ("reviewer", ("work",), ("pytest -q tests",))
    assert team.permissions.allow == ("Bash(pytest -q tests)",)
    assert team.budget is not None
    assert "needs a key" in ran.err
    assert "no git repository" in ran.err


def test_enter_takes_what_is_found_in_the_folder(here: Path) -> None:
    (here / "package.json").write_text('{"scripts": {"test": "vitest"}}')
    (here / ".git").mkdir()
    (here / ".git/HEAD").write_text("ref: refs/heads/main\n")
    ran = asked(WISH, "", "", ANTHROPIC_API_KEY="k")

    team = made().team
    assert [one.name for one in team.teammates] == ["builder", "reviewer"]
    assert team.model == "claude-sonnet-5-5"
    assert team.tasks[0].verify == ("npm test",)
    assert "[builder, reviewer with claude-sonnet-5-5]" in ran.err
    assert "[npm test]" in ran.err
    assert "needs a key" not in ran.err
    assert "git" not in ran.err.rpartition("written")[2]


def test_without_a_key_the_file_is_for_a_model_all_the_same(swarm: Swarm, here: Path) -> None:
    """One that only plays a script would do nothing of what was wished."""
    ran = asked(WISH, "", "-")

    assert made().team.model == "claude-sonnet-5-5"
    assert "needs a key, and none is set" in ran.err
    assert "then: export ANTHROPIC_API_KEY=...; swarm run team.yaml\n" in ran.err
    assert "export ANTHROPIC_API_KEY" in (here / "team.yaml").read_text()
    refused = swarm("run", "team.yaml", "--json")
    assert (refused.code, refused.error()["code"]) == (2, "no_key")


def test_the_scripted_model_is_said_to_do_nothing_yet(here: Path) -> None:
    ran = asked(WISH, "3 with scripted", "-")

    assert "nothing would be done yet" in ran.err
    team = made().team
    assert (team.model, team.budget) == ("scripted", None)
    assert [(one.name, one.count) for one in team.teammates] == [("builder", 3)]
    assert [(task.key, task.verify, bool(task.script)) for task in team.tasks] == [
        ("work", (), True),
        ("review", (), True),
    ]
    assert "unverified" in ran.err


def test_nothing_wished_is_the_example(here: Path) -> None:
    assert asked("").code == 0
    assert {task.key for task in made().team.tasks} == {"write", "read"}


def test_what_cannot_be_is_asked_again(here: Path) -> None:
    ran = asked(
        *(
            "\x1b[D",
            WISH,
            "team-lead",
            "builder 99",
            "a, a",
            "a with two words",
            "a with b c",
            "with",
            "a with",
        ),
        *("a", "9", "true"),
    )

    assert ran.code == 0
    told_of = ("cannot be seen", "is reserved", "1 to 64", "there twice", "write a name", "write a model")
    for told in (*told_of, "9 is no command"):
        assert told in ran.err
    assert "\x1b" not in ran.err
    assert [task.key for task in made().team.tasks] == ["work"]


@pytest.mark.parametrize("answers", [(), (WISH,), (WISH, "2")])
def test_the_end_of_the_input_leaves_nothing(here: Path, answers: tuple[str, ...]) -> None:
    ran = asked(*answers, words=("new",))

    assert (ran.code, ran.out) == (130, "")
    assert "nothing was written" in ran.err
    assert list(here.iterdir()) == []


def test_ctrl_c_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    source = Terminal()
    monkeypatch.setattr(source, "readline", interrupted)
    code = execute(["init"], Io(text_io.StringIO(), Terminal(), source, {}))

    assert code == 130
    assert list(here.iterdir()) == []


def test_a_file_that_is_there_ends_it_before_anything_is_asked(here: Path) -> None:
    (here / "team.yaml").write_text("mine")
    ran = asked(WISH, "2", "true")

    assert ran.code == 2
    assert "?" not in ran.err
    assert (here / "team.yaml").read_text() == "mine"


def test_options_answer_for_scripts(swarm: Swarm, here: Path) -> None:
    """What is not said is taken from the folder; nothing is asked."""
    (here / "Makefile").write_text("all:\n\ttrue\ntest: all\n\ttrue\n")
    ran = swarm("init", "--description", f"{WISH}\n\nAlso in the docs.", "--teammates", "ann, bob, reviewer")

    assert ran.code == 0
    assert "?" not in ran.err
    team = made().team
    assert [(task.key, task.owner, task.blocked_by) for task in team.tasks] == [
        ("ann", "ann", ()),
        ("bob", "bob", ()),
        ("review", "reviewer", ("ann", "bob")),
    ]
    assert team.description == WISH
    assert "Also in the docs." in team.tasks[0].description
    assert team.tasks[0].verify == ("make test",)
    assert swarm("init", "x.yaml", "--description", WISH, "--verify", "").code == 0
    assert made("x.yaml").team.tasks[0].verify == ()
    words = ("--verify", "make a", "--verify", "test -e (x)", "--model", "scripted", "--yes")
    assert swarm("init", "y.yaml", "--description", WISH, *words).code == 0
    assert made("y.yaml").team.tasks[0].verify == ("make a", "test -e (x)")
    assert made("y.yaml").team.permissions.allow == ("Bash(make a)",)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--teammates", "2"), "--description"),
        (("--description", " "), "empty"),
        (("--description", "a\x1bb"), "cannot be seen"),
        (("--description", WISH, "--teammates", "a b c d"), "write a name"),
        (("--description", WISH, "--model", "two words"), "no name of a model"),
    ],
)
def test_options_that_cannot_be_are_refused(
    swarm: Swarm, here: Path, words: tuple[str, ...], told: str
) -> None:
    ran = swarm("init", *words)

    assert ran.code == 2
    assert told in ran.err
    assert list(here.iterdir()) == []


def test_options_are_not_asked_for(here: Path) -> None:
    ran = asked("true", words=("--description", WISH, "--teammates", "2", "--model", "scripted"))

    assert ran.code == 0
    assert ran.err.count("?") == 1
    assert made().team.tasks[0].verify == ("true",)


@pytest.mark.parametrize("words", [("--yes",), ("-q",)])
def test_who_wants_no_questions_gets_the_example(here: Path, words: tuple[str, ...]) -> None:
    ran = asked(words=words)

    assert (ran.code, "?" in ran.err) == (0, False)
    assert made().team.description == "Two teammates write a greeting and check it"


@pytest.mark.parametrize(
    "wish",
    [
        'Say "hi": {a: [b]} # not a comment',
        "- a\n- b",
        "%tag &x *y !z | >",
        "tab\there \\ back",
        "日本語 🙂 'q'",
        "null",
    ],
)
def test_any_wish_makes_a_file_that_is_right(swarm: Swarm, here: Path, wish: str) -> None:
    assert swarm("init", "--description", wish, "--verify", 'grep -q "a\'b" \\x # y').code == 0

    task = made().team.tasks[0]
    assert task.description == wish
    assert task.verify == ('grep -q "a\'b" \\x # y',)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3", "builder 3"),
        (" builder 2 , reviewer", "builder 2, reviewer"),
        ("2 builder", "builder 2"),
        ("builder x2", "builder 2"),
        ("review 2", "review 2"),
    ],
)
def test_groups_are_read_as_people_write_them(text: str, shown: str) -> None:
    groups = parse_groups(text)

    assert show_groups(groups) == shown
    assert parse_groups(shown) == groups


@pytest.mark.parametrize("text", ["", ",", "0", "65", "a 0", "2 a 3", "a b", "a/b", "main", "a, A"])
def test_groups_that_cannot_be(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_groups(text)


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, None),
        ({"README": "make test"}, None),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, "pytest -q"),
        ({"pyproject.toml": "[project]", "tests/test_a.py": ""}, "pytest -q"),
        ({"pyproject.toml": "[project]"}, None),
        ({"pyproject.toml": "pytest", "uv.lock": ""}, "uv run pytest -q"),
        ({"setup.py": "", "tests/test_a.py": ""}, "pytest -q"),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": "[" * 100_000}, None),
        ({"package.json": '{"scripts": [1]}'}, None),
        ({"Makefile": "test:\n\ttrue\n", "pyproject.toml": "pytest"}, "make test"),
        ({"Makefile": ".PHONY: check\ncheck: a b\n"}, "make check"),
        ({"Makefile": "test := a\ntests: b\n"}, None),
        ({"Cargo.toml": ""}, "cargo test -q"),
        ({"go.mod": ""}, "go test ./..."),
    ],
)
def test_how_a_project_is_checked_is_found_in_its_files(
    tmp_path: Path, files: dict[str, str], command: str | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert find_check(str(tmp_path)) == command


def test_the_schema_comes_with_it_and_stays_as_it_is(swarm: Swarm, here: Path) -> None:
    assert asked(WISH, "1", "true").code == 0
    assert json.loads((here / "team.schema.json").read_text())["title"]
    (here / "team.schema.json").write_text("mine")
    assert asked(WISH, "1", "true", words=("b.yaml",)).code == 0
    assert (here / "team.schema.json").read_text() == "mine"
