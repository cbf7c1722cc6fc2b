"""The decision table: each mode, each kind of rule, each kind of call. The table is the specification."""

from __future__ import annotations

import pytest

from swarm.permissions.modes import MODES_BUILT

CALLS = {
    "read inside": ("Read", "{ws}/src/a.py"),
    "read outside": ("Read", "/etc/hostname"),
    "read own results": ("Read", "{root}/teams/demo/transcripts/w1/tool-results/1.txt"),
    "search inside": ("Grep", "{ws}"),
    "edit inside": ("Edit", "{ws}/src/a.py"),
    "write new inside": ("Write", "{ws}/src/new/b.py"),
    "write outside": ("Write", "/var/tmp/b.py"),
    "edit protected": ("Edit", "{ws}/.claude/settings.json"),
    "write protected": ("Write", "{ws}/.git/config"),
    "read control": ("Read", "{root}/teams/demo/config.json"),
    "edit control": ("Edit", "{root}/teams/demo/permissions/rules.json"),
    "write control": ("Write", "{root}/teams/demo/permissions/resolved/perm-1.json"),
    "plain command": ("Bash", "pytest -q"),
    "compound command": ("Bash", "pytest -q; ls"),
    "protected command": ("Bash", "tee .git/hooks/pre-commit"),
    "control command": ("Bash", "cat ~/.claude/teams/demo/config.json"),
    "approve command": ("Bash", "swarm approve 3"),
    "team tool": ("TaskList", ""),
    "unknown tool": ("mcp__web__fetch", ""),
}

# Columns: no rule; the tool allowed, asked for, denied as a whole. In dontAsk an "ask" ends as a denial.
TABLE = """
plan               read inside        allow  allow  ask    deny
plan               read outside       ask    allow  ask    deny
plan               read own results   allow  allow  ask    deny
plan               search inside      allow  allow  ask    deny
plan               edit inside        deny   deny   deny   deny
plan               write new inside   deny   deny   deny   deny
plan               write outside      deny   deny   deny   deny
plan               edit protected     deny   deny   deny   deny
plan               write protected    deny   deny   deny   deny
plan               read control       ask    allow  ask    deny
plan               edit control       deny   deny   deny   deny
plan               write control      deny   deny   deny   deny
plan               plain command      deny   deny   deny   deny
plan               compound command   deny   deny   deny   deny
plan               protected command  deny   deny   deny   deny
plan               control command    deny   deny   deny   deny
plan               approve command    deny   deny   deny   deny
plan               team tool          allow  allow  ask    deny
plan               unknown tool       deny   deny   deny   deny
dontAsk            read inside        allow  allow  ask    deny
dontAsk            read outside       ask    allow  ask    deny
dontAsk            read own results   allow  allow  ask    deny
dontAsk            search inside      allow  allow  ask    deny
dontAsk            edit inside        ask    allow  ask    deny
dontAsk            write new inside   ask    allow  ask    deny
dontAsk            write outside      ask    allow  ask    deny
dontAsk            edit protected     deny   deny   deny   deny
dontAsk            write protected    deny   deny   deny   deny
dontAsk            read control       ask    allow  ask    deny
dontAsk            edit control       deny   deny   deny   deny
dontAsk            write control      deny   deny   deny   deny
dontAsk            plain command      ask    allow  ask    deny
dontAsk            compound command   ask    ask    ask    deny
dontAsk            protected command  deny   deny   deny   deny
dontAsk            control command    deny   deny   deny   deny
dontAsk            approve command    deny   deny   deny   deny
dontAsk            team tool          allow  allow  ask    deny
dontAsk            unknown tool       ask    allow  ask    deny
default            read inside        allow  allow  ask    deny
default            read outside       ask    allow  ask    deny
default            read own results   allow  allow  ask    deny
default            search inside      allow  allow  ask    deny
default            edit inside        ask    allow  ask    deny
default            write new inside   ask    allow  ask    deny
default            write outside      ask    allow  ask    deny
default            edit protected     deny   deny   deny   deny
default            write protected    deny   deny   deny   deny
default            read control       ask    allow  ask    deny
default            edit control       deny   deny   deny   deny
default            write control      deny   deny   deny   deny
default            plain command      ask    allow  ask    deny
default            compound command   ask    ask    ask    deny
default            protected command  deny   deny   deny   deny
default            control command    deny   deny   deny   deny
default            approve command    deny   deny   deny   deny
default            team tool          allow  allow  ask    deny
default            unknown tool       ask    allow  ask    deny
acceptEdits        read inside        allow  allow  ask    deny
acceptEdits        read outside       ask    allow  ask    deny
acceptEdits        read own results   allow  allow  ask    deny
acceptEdits        search inside      allow  allow  ask    deny
acceptEdits        edit inside        allow  allow  ask    deny
acceptEdits        write new inside   allow  allow  ask    deny
acceptEdits        write outside      ask    allow  ask    deny
acceptEdits        edit protected     deny   deny   deny   deny
acceptEdits        write protected    deny   deny   deny   deny
acceptEdits        read control       ask    allow  ask    deny
acceptEdits        edit control       deny   deny   deny   deny
acceptEdits        write control      deny   deny   deny   deny
acceptEdits        plain command      ask    allow  ask    deny
acceptEdits        compound command   ask    ask    ask    deny
acceptEdits        protected command  deny   deny   deny   deny
acceptEdits        control command    deny   deny   deny   deny
acceptEdits        approve command    deny   deny   deny   deny
acceptEdits        team tool          allow  allow  ask    deny
acceptEdits        unknown tool       ask    allow  ask    deny
bypassPermissions  read inside        allow  allow  ask    deny
bypassPermissions  read outside       allow  allow  ask    deny
bypassPermissions  read own results   allow  allow  ask    deny
bypassPermissions  search inside      allow  allow  ask    deny
bypassPermissions  edit inside        allow  allow  ask    deny
bypassPermissions  write new inside   allow  allow  ask    deny
bypassPermissions  write outside      allow  allow  ask    deny
bypassPermissions  edit protected     deny   deny   deny   deny
bypassPermissions  write protected    deny   deny   deny   deny
bypassPermissions  read control       allow  allow  ask    deny
bypassPermissions  edit control       deny   deny   deny   deny
bypassPermissions  write control      deny   deny   deny   deny
bypassPermissions  plain command      allow  allow  ask    deny
bypassPermissions  compound command   allow  allow  ask    deny
bypassPermissions  protected command  deny   deny   deny   deny
bypassPermissions  control command    deny   deny   deny   deny
bypassPermissions  approve command    deny   deny   deny   deny
bypassPermissions  team tool          allow  allow  ask    deny
bypassPermissions  unknown tool       allow  allow  ask    deny
"""

ROWS = [
    (line.split()[0], " ".join(line.split()[1:-4]), line.split()[-4:]) for line in TABLE.strip().split("\n")
]


@pytest.mark.parametrize(("mode", "kind", "expected"), ROWS, ids=[f"{mode}-{kind}" for mode, kind, _ in ROWS])
def test_decision_table(world, mode, kind, expected):
    """Modes widen what needs no rule; deny beats all, ask beats allow, and some things are never allowed."""
    tool, what = CALLS[kind]
    what = what.format(ws=world.ws, root=world.root)
    rules = [{}, {"allow": [tool]}, {"ask": [tool]}, {"deny": [tool]}]

    decisions = [world.decide(tool, what, mode, **given) for given in rules]

    assert [decision.behavior for decision in decisions] == expected


def test_every_mode_has_every_kind_of_call():
    """A row that is forgotten is a decision that nobody made."""
    assert [(mode, kind) for mode, kind, _ in ROWS] == [
        (mode, kind) for mode in MODES_BUILT for kind in CALLS
    ]
