"""The values of a permission decision: the call, the policy it is judged by, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from swarm.values import Value

Behavior = Literal["allow", "deny", "ask"]
BEHAVIORS: tuple[Behavior, ...] = ("deny", "ask", "allow")
"""From strict to loose."""
Why = Literal[
    "rule",
    "mode",
    "read",
    "plan",
    "instructions",
    "team_tool",
    "no_rule",
    "immune",
    "bad_path",
    "compound",
    "files",
    "error",
    "person",
    "expired",
]


class PathUse(Value):
    """One path that a call reads or writes; a relative one starts at the call's cwd, `~/` at home."""

    path: str
    write: bool


class Call(Value):
    """One tool call, after its input was validated."""

    tool: str
    input: Mapping[str, Any]
    cwd: str
    read_only: bool = False
    team_tool: bool = False
    asks_person: bool = False
    edit: bool = False
    paths: tuple[PathUse, ...] = ()
    approved: bool = False
    """Whether a person has put this very call in the place of one that was asked for."""


class Rule(Value):
    """One line of a rule list; made by `rules.parse_rule`."""

    tool: str
    content: str | None
    """What the call must look like; None means every call of the tool."""
    behavior: Behavior
    source: str
    """Where it stands, for the person who reads a denial: "team file", "rules.json"."""


class Policy(Value):
    """What one teammate's calls are judged by. Folders are absolute; symlinks in them are followed."""

    mode: str
    rules: tuple[Rule, ...]
    workspace: str
    control_roots: tuple[str, ...]
    """The swarm's own folders, `R/teams` and `R/tasks`; nothing but the runtime writes there."""
    home: str
    readable: tuple[str, ...] = ()
    """Further folders whose reading needs no rule, such as the teammate's own tool results."""
    mode_after_plan: str = "default"
    """What holds in mode `plan` for the rest of a task once its plan was approved."""


class Decision(Value):
    """The answer. `reason` is a sentence for the model, `why` the same for programs."""

    behavior: Behavior
    reason: str
    why: Why
    rule: str | None = None
    """The rule that decided, as it is written."""
    suggested_rule: str | None = None
    """The narrowest rule that would allow the call; None when no single rule can."""
    input: Mapping[str, Any] | None = None
    """What a person has put in place of the input of a call that is allowed; it is judged again."""
