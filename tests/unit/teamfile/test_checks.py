"""Names, links, owners, globs, scripts: what only the whole file can tell."""

from __future__ import annotations

import pytest

from swarm.errors import ConfigError
from swarm.settings import DEFAULT_MODEL


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc/x",
        "a b",
        "a;touch PWNED",
        "$(touch PWNED)",
        "a'b",
        ".",
        "",
        "a" * 300,
        "日本",
        "team-lead",
        "Main",
    ],
)
@pytest.mark.parametrize("place", ["team", "teammate"])
def test_names_that_could_leave_their_folder_are_refused(refused, good, name, place) -> None:
    """A name becomes part of paths, processes and addresses; the error suggests one that would do."""
    quoted = "'" + name.replace("'", "''") + "'"
    old = "name: demo" if place == "team" else "name: scout"
    error = refused(good.replace("owner: scout", "owner: builder").replace(old, f"name: {quoted}"))

    assert error.code == "bad_name"
    assert error.details["value"] == name
    assert error.details["suggestion"]
    assert error.details["line"] == (1 if place == "team" else 5)


@pytest.mark.parametrize("second", ["builder", "Builder", "builder-2", "BUILDER-1"])
def test_teammates_that_would_share_a_name_are_refused(refused, good, second) -> None:
    """`builder` with count 2 takes three names; on some disks case makes no difference."""
    error = refused(
        good.replace("name: scout", f"name: {second}").replace("owner: scout", "owner: builder-1")
    )

    assert error.code == "bad_name"
    assert f"{second} is taken: teammates[0]" in error.message
    assert error.details["key"] == "teammates[1].name"


def test_name_that_grows_too_long_by_its_count_is_refused(refused, good) -> None:
    """The role fits into 64 characters, `role-2` does not."""
    error = refused(
        good.replace("name: scout", f"name: {'s' * 63}, count: 2").replace("owner: scout", "owner: builder")
    )

    assert (error.code, error.details["key"]) == ("bad_name", "teammates[1].name")


@pytest.mark.parametrize(
    ("workspace", "told"), [("nowhere", "there is no folder nowhere"), ("team.yaml", "is not a folder")]
)
def test_workspace_must_be_a_folder(refused, changed, workspace, told) -> None:
    """Better now than when the first teammate starts."""
    error = refused(changed("model: scripted", f"model: scripted\nworkspace: {workspace}"))

    assert told in error.message
    assert (error.details["key"], error.details["line"]) == ("workspace", 3)


def test_unknown_owner_names_the_valid_ones(refused, changed) -> None:
    """Teammates and roles may own a task, nobody else."""
    error = refused(changed("owner: scout", "owner: nosuch"))

    assert error.code == "unknown_reference"
    assert error.exit_code == 2
    assert error.details["valid"] == ["builder-1", "builder-2", "scout", "builder"]
    assert "nosuch; teammates and roles are builder-1, builder-2, scout, builder" in error.message


def test_owner_that_is_nearly_right_is_guessed(refused, changed) -> None:
    """Most wrong names are slips of a finger."""
    assert "did you mean scout?" in str(refused(changed("owner: scout", "owner: scuot")))


def test_owner_in_a_file_without_teammates_is_unknown(refused, good) -> None:
    """Teammates given by an option do not carry names of this file."""
    text = good.replace("  - {name: builder, count: 2}\n  - {name: scout}\n", "").replace(
        "teammates:", "teammates: []"
    )
    error = refused(text, require_teammates=False)

    assert "the file names no teammates" in error.message


def test_file_without_teammates_is_refused_unless_they_come_from_elsewhere(load, refused, good) -> None:
    """`run --teammates N` gives some."""
    text = "\n".join(line for line in good.splitlines() if "{name:" not in line and "owner:" not in line)
    text = text.replace("teammates:", "teammates: []")

    assert "name at least one teammate" in str(refused(text))
    assert load(text, require_teammates=False).team.teammates == ()


def test_unknown_blocker_names_the_valid_keys(refused, changed) -> None:
    """A task that waits for a name nobody has would wait for ever."""
    error = refused(changed("blocked_by: [map]", "blocked_by: [nosuch]"))

    assert (error.code, error.details["valid"]) == ("unknown_reference", ["map", "build"])
    assert error.details["key"] == "tasks[1].blocked_by[0]"
    assert "keys are map, build" in error.message


def test_task_cannot_wait_for_itself(refused, changed) -> None:
    """It would never start."""
    error = refused(changed("blocked_by: [map]", "blocked_by: [build]"))

    assert "build cannot wait for itself" in error.message
    assert error.details["cycle"] == ["build", "build"]


def test_blocker_named_twice_is_refused(refused, changed) -> None:
    """One of them was probably meant to be another task."""
    assert "map is named twice" in str(refused(changed("blocked_by: [map]", "blocked_by: [map, map]")))


def a_file(*tasks):
    """A team file of these (key, blockers) alone."""
    lines = [
        f"  - {{key: {key}, subject: S, blocked_by: [{blockers}], script: [{{say: x}}]}}"
        for key, blockers in tasks
    ]
    return "\n".join(["name: t", "model: scripted", "teammates: [{name: w}]", "tasks:", *lines])


@pytest.mark.parametrize(
    ("tasks", "cycle"),
    [
        ([("a", "b"), ("b", "a")], ["a", "b", "a"]),
        (
            [("x", ""), ("a", "e"), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")],
            ["a", "e", "d", "c", "b", "a"],
        ),
        ([("a", "b"), ("b", "c"), ("c", "b, a")], ["a", "b", "c", "a"]),
    ],
)
def test_cycle_is_refused_and_named(refused, tasks, cycle) -> None:
    """All its tasks would be blocked for ever; the first in file order starts the name."""
    error = refused(a_file(*tasks))

    assert error.code == "bad_team_file"
    assert error.details["cycle"] == cycle
    assert " -> ".join(cycle) in error.message


def test_each_tangle_is_told_once(refused) -> None:
    """Two loops that do not touch are two errors."""
    error = refused(a_file(("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")))

    assert [p["key"] for p in error.details["problems"]] == ["tasks[0].blocked_by", "tasks[2].blocked_by"]


def test_keys_are_unique(refused, good) -> None:
    """`blocked_by: [map]` could mean either."""
    error = refused(good.replace("key: build", "key: map").replace("blocked_by: [map]", "blocked_by: []"))

    assert "tasks[0] has the key map already" in error.message
    assert error.details["line"] == 12


@pytest.mark.parametrize("key", ["a b", "", "-x", "a/b", "k" * 65])
def test_keys_are_plain_words(refused, good, key) -> None:
    """They stand in reports, diagrams and, later, in branch names."""
    error = refused(good.replace("key: build", f"key: '{key}'"))

    assert (error.code, error.details["value"]) == ("bad_name", key)


@pytest.mark.parametrize(
    ("glob", "told"),
    [
        ("/etc/**", "is absolute"),
        ("~/x", "is absolute"),
        ("../x", "leaves the workspace"),
        ("a/../../b", "leaves the workspace"),
        (" ", "matches nothing"),
    ],
)
def test_globs_stay_in_the_workspace(refused, changed, glob, told) -> None:
    """`files` says what a task may write; nothing outside can be meant."""
    error = refused(changed('files: ["src/**"]', f'files: ["{glob}"]'))

    assert told in error.message
    assert error.details["key"] == "tasks[1].files[0]"


def test_dots_within_a_name_are_no_way_out(load, changed) -> None:
    """`a..b` is a file name."""
    assert load(changed('files: ["src/**"]', 'files: ["a..b"]')).team.tasks[1].files == ("a..b",)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("subject: Build it", 'subject: " "', "tasks[1].subject"),
        ('verify: ["test -d src"]', 'verify: ["true", ""]', "tasks[1].verify[1]"),
        ('verify: ["test -d src"]', 'verify: ["# later"]', "tasks[1].verify[0]"),
        ("tasks:", "tasks: []\nx:", "x"),
    ],
)
def test_empty_texts_that_mean_nothing_are_refused(refused, changed, old, new, key) -> None:
    """An empty command would succeed and verify nothing."""
    assert refused(changed(old, new)).details["key"] == key


def test_file_without_tasks_is_refused(refused) -> None:
    """A run of it would end before it began."""
    error = refused("name: t\nmodel: scripted\nteammates: [{name: w}]\ntasks: []\n")

    assert "give at least one task" in error.message


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("- say: Done.", "- {}", "tasks[1].script[1]", "a turn says something, calls tools, or both"),
        ("- say: Done.", '- say: " "', "tasks[1].script[1]", "a turn says something"),
        ("- say: Done.", "- {say: x, expect: error}", "tasks[1].script[1].expect", "there is no call"),
        (
            "- say: Done.",
            "- {say: x, expect: success}",
            "tasks[1].script[1].expect",
            "expected 'error', got success",
        ),
        ("- Read:", "- Raed:", "tasks[1].script[0].calls[0]", "no tool is called Raed; did you mean Read?"),
        ("- Read:", "- Zap:", "tasks[1].script[0].calls[0]", "no tool is called Zap; tools are Bash, Edit"),
        (
            "    script:\n      - say: Seen it.\n",
            "",
            "tasks[0].script",
            "map has no script for the scripted model to play",
        ),
    ],
)
def test_scripts_that_could_not_be_played_are_refused(refused, changed, old, new, key, told) -> None:
    """A script that fails in the middle of a run costs more than one that is refused before."""
    error = refused(changed(old, new))

    assert told in error.message
    assert error.details["key"] == key


def test_scripts_are_needed_even_where_teammates_come_from_elsewhere(refused, good) -> None:
    """They will use the team's model."""
    text = "\n".join(line for line in good.splitlines() if "{name:" not in line and "owner:" not in line)
    text = text.replace("teammates:", "teammates: []").replace("    script:\n      - say: Seen it.\n", "")

    assert refused(text, require_teammates=False).details["key"] == "tasks[0].script"


def test_tools_that_the_caller_knows_are_callable(load, changed) -> None:
    """The set of tools is not this package's to decide."""
    text = changed("- Read:", "- Fetch:")

    assert load(text, known_tools=frozenset({"Fetch"})).team.tasks[1].script[0].calls[0].tool == "Fetch"


def _refuse_odd(text):
    if "odd" in text:
        raise ConfigError(f"{text} is odd", code="bad_value", details={"value": text})


@pytest.mark.parametrize(
    ("added", "key"),
    [
        ("permissions: {allow: ['Bash(ls)', odd]}", "permissions.allow[1]"),
        ("permissions: {deny: [odd]}", "permissions.deny[0]"),
        ("permissions: {ask: ['Bash(ls)', odd]}", "permissions.ask[1]"),
        ("permissions: {mode: odd}", "permissions.mode"),
    ],
)
def test_permissions_are_checked_by_whoever_knows_them(load, refused, good, added, key) -> None:
    """Rules and modes belong to another package; its refusal gets the line of this file."""
    text = f"{good}{added}\n"
    error = refused(text, check_rule=_refuse_odd, check_mode=_refuse_odd)

    assert (error.code, error.details["key"], error.details["line"]) == ("bad_value", key, 23)
    assert error.message.endswith("odd is odd")
    assert load(text)


def test_mode_of_one_teammate_is_checked_too(refused, changed) -> None:
    """It would be as wrong as the team's."""
    error = refused(changed("{name: scout}", "{name: scout, permission_mode: odd}"), check_mode=_refuse_odd)

    assert error.details["key"] == "teammates[1].permission_mode"


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("model: scripted", "model: scripted\nisolation: worktree", "isolation", "set isolation: shared"),
        (
            "{name: scout}",
            "{name: scout, agent: explore}",
            "teammates[1].agent",
            "(explore); leave agent out",
        ),
    ],
)
def test_what_is_not_built_is_refused_by_name(refused, changed, old, new, key, told) -> None:
    """An option that is silently ignored is worse than one that is refused."""
    error = refused(changed(old, new))

    assert (error.code, error.exit_code, error.details["key"]) == ("not_built", 2, key)
    assert told in error.message


def test_model_that_is_left_out_is_the_default(load, changed) -> None:
    assert load(changed("model: scripted\n", "")).team.model == DEFAULT_MODEL


def test_model_given_by_the_caller_takes_the_place_of_all(load, changed) -> None:
    """An option at the command line wins over the file."""
    text = changed("{name: scout}", "{name: scout, model: claude-x}").replace(
        "model: scripted", "model: claude-y"
    )
    team = load(text, model="scripted").team

    assert (team.model, team.teammates[1].model) == ("scripted", None)
