"""The permission rules that a command is given, and those of the settings files beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.cli.team_file import check_rule
from swarm.core.spawn import RuleSet
from swarm.leader.settings_policy import SettingsPolicy, read_policy
from swarm.storage.settings_files import is_trusted


def given_rules(args: Mapping[str, Any], source: str) -> RuleSet | None:
    """Return the rules of `--allow`, `--deny` and `--ask`; one that cannot be meant is refused."""
    lists = {key: tuple(args.get(key) or ()) for key in ("allow", "deny", "ask")}
    for key, texts in lists.items():
        for text in texts:
            check_rule(text, f"--{key}")
    return RuleSet(source=source, **lists) or None


def settings_policy(args: Mapping[str, Any], io: Io, workspace: str | None) -> SettingsPolicy:
    """Return what the settings files say for a team in this workspace, and tell what is not used of it."""
    trusted = bool(args.get("trust_workspace"))
    if not trusted and workspace is not None:
        trusted = is_trusted(io.environ, workspace)
    policy = read_policy(io.root, workspace, trusted=trusted)
    for note in policy.notes:
        io.note(printable(note))
    return policy
