"""Rules read and written for any content, and decisions that no input can make less strict."""

from __future__ import annotations

import functools
import os
import tempfile

from hypothesis import example, given
from hypothesis import strategies as st

from swarm.permissions.modes import MODES_BUILT
from swarm.permissions.pipeline import Call, PathUse, Policy, decide
from swarm.permissions.rules import parse_rule, render_rule
from swarm.permissions.shell import SEPARATORS

CONTENT = st.text(st.sampled_from("ab*:\\()\"' -/.[]?{}~#!é"), min_size=1, max_size=20)
COMMAND = st.text(st.sampled_from("rmls gitxapproveswarm;&|<>$`()\n\\'\"*?[]{}~/.=- \t\0é"), max_size=40)
VISIBLE = st.characters(exclude_characters="/", exclude_categories=["C", "Zl", "Zp", "Mn"])
NAME = st.text(VISIBLE, min_size=1, max_size=12).filter(lambda name: name not in {".", ".."})
MODE = st.sampled_from(MODES_BUILT)


@functools.cache
def folders():
    """One workspace and one home for all examples; nothing is written into them."""
    base = os.path.realpath(tempfile.mkdtemp())
    for folder in ("ws", "home/.claude/teams", "home/.claude/tasks"):
        os.makedirs(f"{base}/{folder}")
    return base


def policy(mode, *rules):
    base = folders()
    roots = (f"{base}/home/.claude/teams", f"{base}/home/.claude/tasks")
    return Policy(mode=mode, rules=rules, workspace=f"{base}/ws", control_roots=roots, home=f"{base}/home")


def bash(command):
    return Call(tool="Bash", input={"command": command}, cwd=f"{folders()}/ws")


def write(path):
    return Call(
        tool="Write", input={}, cwd=f"{folders()}/ws", edit=True, paths=(PathUse(path=path, write=True),)
    )


def parsed(text, behavior, source="test"):
    return parse_rule(text, behavior, source)


@given(CONTENT)
def test_every_rule_that_parses_is_written_so_that_it_parses_the_same(content):
    """Rules travel through files and questions; none may change its meaning on the way."""
    rule = parsed(f"Bash({content})", "allow")

    assert parsed(render_rule(rule), "allow") == rule


@given(COMMAND)
def test_the_suggested_rule_allows_exactly_the_command_that_was_asked_for(command):
    """A person who says always must get what was shown, no less and no more."""
    asked = decide(policy("default"), bash(command))
    if asked.suggested_rule is None:
        return
    rule = parsed(asked.suggested_rule, "allow")

    assert decide(policy("default", rule), bash(command)).behavior == "allow"
    if rule.content is not None:
        assert decide(policy("default", rule), bash(command + "x")).behavior != "allow"
        assert decide(policy("default", rule), bash(command + " x")).behavior != "allow"


@given(st.lists(NAME, min_size=1, max_size=3).map("/".join), st.booleans())
@example(path=".", inside=False)
@example(path=".", inside=True)
@example(path="0/\xa0", inside=False)
def test_the_suggested_rule_allows_exactly_the_path_that_was_asked_for(path, inside):
    """Whatever signs of a pattern the name holds."""
    path = path if inside else f"/{path}"
    asked = decide(policy("default"), write(path))
    if asked.behavior != "ask" or asked.suggested_rule is None:
        return
    rule = parsed(asked.suggested_rule, "allow")

    assert decide(policy("default", rule), write(path)).behavior == "allow"
    assert decide(policy("default", rule), write(f"{path}x")).behavior != "allow"


@given(COMMAND, st.sampled_from(["Bash", "Bash(git:*)", "Bash(* *)", "Bash(l*)", "Bash(r*x)"]))
def test_no_allow_rule_ever_matches_a_compound_command(command, text):
    """One such match, and the rule for one command allows any."""
    if any(one in SEPARATORS for one in command):
        assert decide(policy("default", parsed(text, "allow")), bash(command)).behavior != "allow"


@given(COMMAND, MODE, st.sampled_from(["Bash(rm:*)", "Bash(g*)"]))
def test_a_deny_rule_never_makes_anything_more_allowed(command, mode, text):
    """Adding a deny rule can only take away."""
    order = ["deny", "ask", "allow"]
    allow = parsed("Bash(l*)", "allow")
    before = decide(policy(mode, allow), bash(command)).behavior
    after = decide(policy(mode, allow, parsed(text, "deny")), bash(command)).behavior

    assert order.index(after) <= order.index(before)


@given(st.text(max_size=30), MODE)
def test_no_path_and_no_command_raises(text, mode):
    """Whatever a model sends, the answer is a decision."""
    assert decide(policy(mode), write(text)).behavior in ("allow", "deny", "ask")
    assert decide(policy(mode), bash(text)).behavior in ("allow", "deny", "ask")


@given(st.lists(st.sampled_from(["..", ".", "ws", "home", ".claude", "teams", "x", "", "link"]), max_size=8))
def test_no_chain_of_steps_reaches_a_control_folder(steps):
    """However the way winds, where it ends decides."""
    base = folders()
    path = "/".join([f"{base}/ws", *steps])
    ended = f"{os.path.normpath(path)}/"
    ends_there = any(ended.startswith(f"{base}/home/.claude/{name}/") for name in ("teams", "tasks"))
    if ends_there:
        assert decide(policy("bypassPermissions"), write(path)).why == "immune"


SOURCES = st.lists(st.sampled_from(["command line", "team file", "settings.json", "rules.json"]), max_size=4)
TOOL = st.sampled_from(["Bash", "Write", "TaskList", "mcp__web__fetch"])


@given(MODE, TOOL, SOURCES, SOURCES, SOURCES, st.randoms())
def test_a_deny_in_any_source_is_never_beaten(mode, tool, allowing, asking, denying, random):
    """However many sources allow it, and in whatever order they stand; after a deny an ask is not beaten."""
    lists = (("allow", allowing), ("ask", asking), ("deny", denying))
    rules = [parsed(tool, behavior, source) for behavior, sources in lists for source in sources]
    random.shuffle(rules)
    call = {"Bash": bash("ls"), "Write": write("a.py")}.get(
        tool, Call(tool=tool, input={}, cwd=f"{folders()}/ws", team_tool=tool == "TaskList")
    )

    decision = decide(policy(mode, *rules), call)

    if denying:
        assert (decision.behavior, decision.why) == ("deny", "rule")
    elif asking:
        assert decision.behavior in ("ask", "deny")


@given(COMMAND, st.sampled_from(["a.py", ".git/config", "/etc/passwd"]))
def test_a_stricter_mode_never_allows_more(command, path):
    """So that nobody gains anything from a mode that is not looser than the leader's."""
    order = ["deny", "ask", "allow"]
    for call in (bash(command), write(path)):
        found = [order.index(decide(policy(mode), call).behavior) for mode in MODES_BUILT]
        assert found == sorted(found)
