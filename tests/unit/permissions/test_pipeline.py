"""The order of the decision, its reasons, and what becomes of doubt: a denial."""

from __future__ import annotations

import os

import pytest

from swarm.permissions import pipeline
from swarm.permissions.pipeline import Call, PathUse, decide


def test_deny_beats_ask_beats_allow(world):
    """Whatever the order in which the rules stand."""
    every = {"allow": ["Bash(ls:*)"], "ask": ["Bash(ls:*)"], "deny": ["Bash(ls:*)"]}

    assert world.decide("Bash", "ls -l", **every).behavior == "deny"
    del every["deny"]
    assert world.decide("Bash", "ls -l", **every).behavior == "ask"
    del every["ask"]
    assert world.decide("Bash", "ls -l", **every).behavior == "allow"


def test_a_decision_names_its_rule_and_where_it_stands(world):
    """The model, and the person after it, must be able to find what to change."""
    decision = world.decide("Bash", "git push", deny=["Bash(git push:*)"])

    assert decision.rule == "Bash(git push:*)"
    assert decision.why == "rule"
    assert decision.reason == "The rule Bash(git push:*) of the team file forbids this call."


def test_a_question_names_the_narrowest_rule_that_would_do(world):
    """It is what `--always` adds, so it must not open more than was asked for."""
    assert world.decide("Bash", "pip install x").suggested_rule == "Bash(pip install x)"
    assert world.decide("Write", f"{world.ws}/src/a.py").suggested_rule == "Write(/src/a.py)"
    assert world.decide("Read", "/etc/hostname").suggested_rule == "Read(//etc/hostname)"
    assert world.decide("mcp__web__fetch").suggested_rule == "mcp__web__fetch"


def test_no_rule_is_suggested_where_none_would_do(world):
    """A compound command cannot be allowed; the model is told to take it apart."""
    decision = world.decide("Bash", "make && make test")

    assert decision.suggested_rule is None
    assert "run single commands" in decision.reason


def test_an_allowed_command_does_not_open_the_door_for_another(world):
    """`ls; rm x` is not `ls`; the deny rule is found in its second part, in bypass as well."""
    rules = {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"]}

    assert world.decide("Bash", "ls -l", **rules).behavior == "allow"
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        assert world.decide("Bash", "rm x", mode, **rules).behavior == "deny"
        assert world.decide("Bash", "ls; rm x", mode, **rules).behavior == "deny"
        assert world.decide("Bash", "ls; touch x", mode, **rules).behavior != "allow"


def test_in_bypass_a_compound_command_is_denied_when_a_command_is_denied(world):
    """What cannot be taken apart reliably cannot be checked; without deny rules there is nothing to check."""
    assert world.bash("echo $(date)").behavior == "allow"
    denied = world.bash("echo $(date)", deny=["Bash(git push:*)"])
    assert (denied.behavior, denied.why) == ("deny", "compound")
    assert world.bash("echo $(date)", deny=["Write(/x)"]).behavior == "allow"
    assert world.bash("date", deny=["Bash(git push:*)"]).behavior == "allow"


@pytest.mark.parametrize("sign", [*";&|<>$`()", "\n"])
def test_in_bypass_none_of_the_signs_slips_past_a_rule(world, sign):
    """A deny rule ends it; an ask rule makes it a question, since the program asked about may be in it."""
    command = f"echo a{sign}b"
    assert world.bash(command).behavior == "allow"
    assert world.bash(command, deny=["Bash(git push:*)"]).why == "compound"
    asked = world.bash(command, ask=["Bash(git push:*)"])
    assert (asked.behavior, asked.why, asked.suggested_rule) == ("ask", "compound", None)
    assert "Bash(git push:*)" in asked.reason
    both = world.bash(command, deny=["Bash(rm:*)"], ask=["Bash(git push:*)"])
    assert both.behavior == "deny"
    assert world.bash("echo a b", ask=["Bash(git push:*)"]).behavior == "allow"
    assert world.bash(command, ask=["Write"]).behavior == "allow"


def test_bash_is_never_taken_for_reading(world):
    """Even when its tool should say so."""
    call = Call(tool="Bash", input={"command": "ls"}, cwd=world.ws, read_only=True)

    assert decide(world.policy(), call).behavior == "ask"


def test_a_search_without_a_path_searches_where_the_agent_is(world):
    """No path is not no place."""
    inside = Call(tool="Grep", input={}, cwd=world.ws, read_only=True)
    outside = inside.replace(cwd="/etc")

    assert decide(world.policy(), inside).behavior == "allow"
    assert decide(world.policy(), outside).behavior == "ask"
    assert decide(world.policy(deny=["Read(//etc/**)"]), outside).behavior == "deny"


def test_all_paths_of_a_call_count(world):
    """One of them outside, and the call is not inside."""
    uses = (PathUse(path=f"{world.ws}/a", write=True), PathUse(path="/var/tmp/b", write=True))
    call = Call(tool="Edit", input={}, cwd=world.ws, edit=True, paths=uses)

    assert decide(world.policy("acceptEdits"), call).behavior == "ask"
    assert decide(world.policy(deny=["Edit(//var/tmp/**)"]), call).behavior == "deny"
    assert decide(world.policy(allow=["Edit(/a)"]), call).behavior == "ask"


@pytest.mark.parametrize("tool", ["Bash", "Write", "Edit", "mcp__web__fetch"])
def test_in_plan_nothing_is_done_whatever_rules_say(world, tool):
    """Neither may a person be asked to let it through: what is to be agreed to is the plan."""
    what = "ls" if tool == "Bash" else f"{world.ws}/src/a.py"
    for rules in ({}, {"allow": [tool]}, {"ask": [tool]}):
        decision = world.decide(tool, what, "plan", **rules)
        assert (decision.behavior, decision.why) == ("deny", "mode")
        assert "Hand in a plan first." in decision.reason


def test_in_plan_a_tool_that_says_that_it_reads_must_not_write(world):
    """What a tool says of itself is believed only where nothing speaks against it."""
    call = Call(tool="Read", input={}, cwd=world.ws, read_only=True, paths=(PathUse(path="a", write=True),))

    assert decide(world.policy("plan", allow=["Read"]), call).behavior == "deny"
    command = Call(tool="Bash", input={"command": "ls"}, cwd=world.ws, read_only=True)
    assert decide(world.policy("plan", allow=["Bash"]), command).behavior == "deny"


@pytest.mark.parametrize("mode", ["auto", "bubble", "", "Default", "Plan"])
def test_a_mode_that_is_not_built_allows_nothing(world, mode):
    """A mode that reached here unchecked is a bug; the call is not its victim."""
    assert world.decide("Read", f"{world.ws}/src", mode).behavior == "deny"


def test_any_exception_is_a_denial(world, monkeypatch):
    """A net with a hole is no net."""

    def explode(*_):
        raise RuntimeError("surprise")

    for name in ("_by_rule", "_never", "_only_read", "_by_mode"):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, name, explode)
            decision = world.decide("Read", f"{world.ws}/src")
        assert (decision.behavior, decision.why) == ("deny", "error")
        assert "surprise" in decision.reason


@pytest.mark.parametrize("given", [{}, {"command": None}, {"command": ["ls"]}, {"command": 3}])
def test_a_command_that_is_no_text_is_denied(world, given):
    """Validation comes first, but the decision does not rely on it."""
    call = Call(tool="Bash", input=given, cwd=world.ws)

    assert decide(world.policy("bypassPermissions"), call).behavior == "deny"


def test_deciding_changes_nothing(world):
    """Asking about a path must not make it."""
    before = sorted(os.walk(world.base))

    world.decide("Write", f"{world.ws}/new/deep/file.py", "acceptEdits")
    world.bash("mkdir -p new/deep && touch new/deep/x")

    assert sorted(os.walk(world.base)) == before
