"""Whether a rule speaks of a call that is known only from the question about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from swarm.permissions.calls import Call, Policy, Rule
from swarm.permissions.paths import BadPathError, Place, locate
from swarm.permissions.rules import EDITORS, READERS, matches

_PATHS = ("file_path", "notebook_path", "path")


def speaks_of(
    rule: Rule, tool: str, given: Mapping[str, Any], cwd: str, *, workspace: str, home: str
) -> bool:
    """Tell whether the rule matches; in doubt one that allows does not."""
    call = Call(tool=tool, input=given, cwd=cwd, edit=tool in EDITORS)
    policy = Policy(mode="default", rules=(rule,), workspace=workspace, control_roots=(), home=home)
    try:
        return matches(rule, call, policy, _places(tool, given, cwd, home))
    except (BadPathError, KeyError, TypeError, ValueError):
        return rule.behavior != "allow" and rule.tool == tool


def _places(tool: str, given: Mapping[str, Any], cwd: str, home: str) -> tuple[Place, ...]:
    """Return where the call would look or write; nowhere where that is not plain to see."""
    if tool not in EDITORS | READERS:
        return ()
    pattern = given.get("pattern")
    if tool == "Glob" and isinstance(pattern, str) and (os.path.isabs(pattern) or pattern.startswith("~")):
        return ()
    path = next((given[key] for key in _PATHS if given.get(key)), cwd)
    return (locate(path, cwd, home),)
