"""A workspace, a home and the swarm's own folders, all real, and calls as the tools describe them."""

from __future__ import annotations

import os

import pytest

from swarm.permissions.pipeline import Call, PathUse, Policy, decide
from swarm.permissions.rules import parse_rules

READERS = ("Read", "Grep", "Glob")
EDITORS = ("Write", "Edit")


class World:
    """Folders on disk and the policy of one teammate who works in `ws`."""

    def __init__(self, base):
        self.base = str(base)
        self.home = f"{base}/home"
        self.ws = f"{base}/ws"
        self.root = f"{self.home}/.claude"
        for folder in (
            f"{self.ws}/src",
            f"{self.ws}/.git/hooks",
            f"{self.root}/teams/demo",
            f"{self.root}/tasks/demo",
        ):
            os.makedirs(folder)

    def policy(self, mode="default", *, allow=(), deny=(), ask=(), **changes):
        rules = (
            *parse_rules(deny, "deny", "team file"),
            *parse_rules(ask, "ask", "team file"),
            *parse_rules(allow, "allow", "team file"),
        )
        known = {
            "mode": mode,
            "rules": rules,
            "workspace": self.ws,
            "control_roots": (f"{self.root}/teams", f"{self.root}/tasks"),
            "home": self.home,
            "readable": (f"{self.root}/teams/demo/transcripts/w1/tool-results",),
        }
        return Policy(**(known | changes))

    def call(self, tool, what="", cwd=None):
        """A call as the executor makes it: `what` is the command, or the path."""
        cwd = cwd or self.ws
        if tool == "Bash":
            return Call(tool=tool, input={"command": what}, cwd=cwd)
        if tool in READERS:
            return Call(
                tool=tool, input={}, cwd=cwd, read_only=True, paths=(PathUse(path=what, write=False),)
            )
        if tool in EDITORS:
            return Call(tool=tool, input={}, cwd=cwd, edit=True, paths=(PathUse(path=what, write=True),))
        team_tool = tool.startswith("Task") or tool == "SendMessage"
        return Call(tool=tool, input={}, cwd=cwd, team_tool=team_tool)

    def decide(self, tool, what="", mode="default", cwd=None, **rules):
        return decide(self.policy(mode, **rules), self.call(tool, what, cwd))

    def bash(self, command, mode="bypassPermissions", **more):
        return self.decide("Bash", command, mode, **more)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)
