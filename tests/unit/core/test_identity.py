from __future__ import annotations

import pytest

from swarm.core.identity import (
    COLORS,
    agent_id,
    check_name,
    color_for,
    encode_run,
    is_later_life,
    make_run_id,
    make_token,
    other_spelling,
    parse_run_id,
    project_folder_name,
    same_name,
    split_agent_id,
    suggest_name,
)
from swarm.errors import ConfigError


@pytest.mark.parametrize("name", ["a", "A-1_b", "0", "x" * 64, "session-1286a321", "users"])
def test_a_plain_name_is_accepted_as_it_is(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("../../x", "x"),
        ("a b", "a-b"),
        ("a;touch PWNED", "a-touch-PWNED"),
        ("Café Zürich", "Cafe-Zurich"),
        ("_private-", "private"),
        ("y" * 300, "y" * 64),
        ("a" * 63 + "--b", "a" * 63),
        ("a\n", "a"),
        ("team-lead", "team-lead-1"),
        ("USER", "USER-1"),
        ("runtime", "runtime-1"),
    ],
)
def test_a_refused_name_comes_with_one_that_resembles_it(name: str, suggestion: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_name(name)

    assert refused.value.code == "bad_name"
    assert refused.value.details == {"value": name, "suggestion": suggestion}
    assert str(refused.value).endswith(f"; try {suggestion}")


@pytest.mark.parametrize("name", ["team-lead", "user", "runtime", "main", "leader", "Main"])
@pytest.mark.parametrize("what", ["teammate", "team"])
def test_reserved_names_are_taken_in_any_case_for_anything(name: str, what: str) -> None:
    with pytest.raises(ConfigError, match=f"^{what} name '{name}' is reserved"):
        check_name(name, what)


def test_a_long_name_is_not_printed_whole() -> None:
    with pytest.raises(ConfigError) as refused:
        check_name("x" * 1000)

    assert len(str(refused.value)) < 300


def test_names_without_latin_letters_get_different_suggestions() -> None:
    suggestions = [suggest_name(text, "team") for text in ("測試甲", "測試乙", "", "@")]

    assert len(set(suggestions)) == 4
    assert all(text.startswith("team-") for text in suggestions)


def test_names_are_the_same_whatever_their_case() -> None:
    assert same_name("Team", "tEAM")
    assert not same_name("team", "team2")


def test_an_agent_id_splits_into_name_and_team() -> None:
    assert agent_id("w1", "demo") == "w1@demo"
    assert split_agent_id("w1@demo") == ("w1", "demo")


@pytest.mark.parametrize("text", ["", "w1", "w1@", "@demo"])
def test_half_an_agent_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="name@team"):
        split_agent_id(text)


def test_a_run_id_names_run_agent_and_life() -> None:
    run_id = make_run_id("k3v9qd7m", "builder-1", 2)
    parsed = parse_run_id(run_id)

    assert run_id == "k3v9qd7m.builder-1.2"
    assert (parsed.run, parsed.agent, parsed.life) == ("k3v9qd7m", "builder-1", "2")
    assert make_token(184, run_id) == "184/k3v9qd7m.builder-1.2"


@pytest.mark.parametrize("text", ["", "k3v9qd7m.w1", "a.b.c.d", "a..c", "k3v9qd7m."])
def test_what_is_no_run_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="run id"):
        parse_run_id(text)


def test_forty_random_bits_make_a_run() -> None:
    assert encode_run(bytes(5)) == "00000000"
    assert encode_run(b"\xff" * 5) == "zzzzzzzz"
    assert encode_run(b"\x00\x00\x00\x00\x21\xaa") == "00000011"


def test_a_project_folder_is_readable_and_its_own() -> None:
    assert project_folder_name("/srv/my app").startswith("srv-my-app-")
    assert project_folder_name("/").startswith("project-")
    assert project_folder_name("/srv/測試甲") != project_folder_name("/srv/測試乙")
    assert project_folder_name("/srv/a-b") != project_folder_name("/srv/a/b")
    assert len(project_folder_name("/" + "deep/" * 100)) <= 57


def test_colours_go_round() -> None:
    assert [color_for(index) for index in range(8)] == list(COLORS)
    assert color_for(8) == "blue"


@pytest.mark.parametrize(
    ("run_id", "than", "is_later"),
    [
        ("k3v9qd7m.w1.2", "k3v9qd7m.w1.1", True),
        ("k3v9qd7m.w1.10", "k3v9qd7m.w1.9", True),
        ("k3v9qd7m.w1.1", "k3v9qd7m.w1.1", False),
        ("k3v9qd7m.w1.1", "k3v9qd7m.w1.2", False),
        ("k3v9qd7m.w2.2", "k3v9qd7m.w1.1", False),
        ("zzzzzzzz.w1.2", "k3v9qd7m.w1.1", False),
        ("k3v9qd7m.w1.cli", "k3v9qd7m.w1.1", False),
    ],
)
def test_lives_are_counted_within_one_run_of_one_agent(run_id, than, is_later) -> None:
    assert is_later_life(run_id, than) is is_later


def test_a_name_in_another_case_has_a_right_spelling() -> None:
    assert other_spelling("BOB", ["alice", "bob"]) == "bob"
    assert other_spelling("bob", ["alice", "bob"]) is None
    assert other_spelling("carol", []) is None
