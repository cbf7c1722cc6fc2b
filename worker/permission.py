"""Asks before a tool runs. Nobody can be asked yet, so a question is written down and answered with no."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from swarm.core.globs import covers
from swarm.core.identity import RUNTIME
from swarm.core.permission import PermissionRequest, Resolution, render_request, request_digest
from swarm.core.times import format_time
from swarm.permissions.calls import Call, Decision, PathUse, Policy
from swarm.permissions.paths import locate, real_path
from swarm.permissions.pipeline import decide
from swarm.permissions.rules import READERS, parse_rules
from swarm.storage.team import Team
from worker.context.agent import AgentContext
from worker.tools.contract import MayRead
from worker.tools.current import current_call

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_SUFFIX_LENGTH = 7
_RULES_FILE = "rules.json"
NOBODY_TO_ASK = "no rule allows it and nobody can be asked"


class PermissionGate:
    """Decides on the calls of one session. Rules are read for each call: a new one counts at once."""

    def __init__(
        self,
        team: Team,
        agent: AgentContext,
        policy: Policy,
        task_id: str | None,
        files: Sequence[str] = (),
    ) -> None:
        self._team = team
        self._agent = agent
        self._policy = policy
        self._task_id = task_id
        self._files = tuple(files)

    async def __call__(self, tool: object, given: object, call: Call) -> Decision:
        """Return allow or deny, never ask. The reason of a denial is a sentence that the model can act on."""
        decision = decide(self._current_policy(), call)
        if decision.behavior != "deny":
            decision = self._outside_task(call) or decision
        if decision.behavior != "ask":
            return decision
        return self._refuse(call, decision)

    def _outside_task(self, call: Call) -> Decision | None:
        """Return the denial of an edit that the task's `files` do not cover; None when it may be."""
        if not (self._files and call.edit):
            return None
        workspace = real_path(self._policy.workspace)
        for use in call.paths:
            real = locate(use.path, call.cwd, self._policy.home).real
            path = real.removeprefix(workspace.rstrip("/") + "/")
            inside = path != real and any(covers(one, path) for one in self._files)
            if use.write and not inside:
                return Decision(behavior="deny", reason=_outside(use.path, self._files), why="files")
        return None

    def denied_reads(self) -> MayRead | None:
        """Return what tells which files a search may show; None when no rule denies reading any."""
        policy = self._current_policy()
        rules = tuple(rule for rule in policy.rules if rule.behavior == "deny" and rule.tool in READERS)
        if not rules:
            return None
        narrowed = policy.replace(rules=rules)
        return lambda path: decide(narrowed, _as_read(path)).why != "rule"

    def _current_policy(self) -> Policy:
        allow, deny = self._team.permissions.load_rules()
        added = (*parse_rules(allow, "allow", _RULES_FILE), *parse_rules(deny, "deny", _RULES_FILE))
        return self._policy.replace(rules=(*self._policy.rules, *added))

    def _refuse(self, call: Call, decision: Decision) -> Decision:
        """Leave question and answer on disk, where the report finds the rule that would allow the call."""
        request = self._request(call, decision)
        self._team.permissions.request(request)
        self._tell("permission_requested", request, tool=request.tool, why=request.why)
        self._team.permissions.resolve(self._resolution(request))
        self._tell("permission_resolved", request, tool=request.tool, outcome="deny", via="runtime")
        return decision.replace(behavior="deny", reason=_refusal(decision))

    def _request(self, call: Call, decision: Decision) -> PermissionRequest:
        now = self._team.clock.now()
        return PermissionRequest(
            id=_request_id(now),
            agent=self._agent.name,
            run_id=self._agent.run_id,
            task=self._task_id,
            tool=call.tool,
            tool_use_id=current_call.get(""),
            input=call.input,
            cwd=call.cwd,
            why=decision.reason,
            suggested_rule=decision.suggested_rule,
            digest=request_digest(call.tool, call.input, call.cwd),
            created_at=format_time(now),
            deadline_at=format_time(now + self._team.settings.permission_deadline_seconds),
        )

    def _resolution(self, request: PermissionRequest) -> Resolution:
        return Resolution(
            id=request.id,
            digest=request.digest,
            outcome="deny",
            via="runtime",
            by=RUNTIME,
            note=NOBODY_TO_ASK,
            at=format_time(self._team.clock.now()),
            request=render_request(request),
        )

    def _tell(self, kind: str, request: PermissionRequest, **data: Any) -> None:
        self._team.events.emit(
            kind, self._agent.name, run_id=self._agent.run_id, task=self._task_id, request=request.id, **data
        )


def _as_read(path: str) -> Call:
    return Call(tool="Read", input={}, cwd="/", read_only=True, paths=(PathUse(path=path, write=False),))


def _outside(path: str, files: Sequence[str]) -> str:
    return f"{path} is none of the files that this task may write, which are {', '.join(files)}."


def _refusal(decision: Decision) -> str:
    hint = f"; the rule that would allow it: {decision.suggested_rule}" if decision.suggested_rule else ""
    return f"{decision.reason} {NOBODY_TO_ASK.capitalize()}{hint}."


def _request_id(now: float) -> str:
    suffix = "".join(secrets.choice(_BASE36) for _ in range(_SUFFIX_LENGTH))
    return f"perm-{round(now * 1000)}-{suffix}"
