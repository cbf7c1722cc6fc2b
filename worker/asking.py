"""One question to a person: written down, told to the leader, and waited for until there is an answer.

Only an answer that can be read, is ours and belongs to this very call is one. All else is a denial.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from swarm.core.fields import EMPTY
from swarm.core.identity import LEADER, RUNTIME
from swarm.core.message import permission_request, plan_approval_request
from swarm.core.permission import (
    PLAN_TOOL,
    PermissionRequest,
    Resolution,
    plan_request_id,
    request_digest,
)
from swarm.core.times import format_time
from swarm.errors import ConfigError, CorruptStateError, SwarmError
from swarm.permissions.calls import Call, Decision
from swarm.permissions.rules import parse_rule
from swarm.storage.mail import send
from swarm.storage.plans import keep_plan
from swarm.storage.questions import NOBODY_ANSWERED, STOPPED_WAITING, expire, settle, tell
from swarm.storage.team import Team
from worker.context.agent import AgentContext
from worker.tools.current import current_call

logger = logging.getLogger(__name__)

NOBODY_TO_ASK = "nobody can be asked"
NOT_READABLE = "the answer cannot be read"
OTHER_CALL = "the answer is for another call"

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_SUFFIX_LENGTH = 7


class Waits(Protocol):
    """Told while an agent waits for a person, so that others can see it."""

    def begin_question(self, on: str, until: str) -> None: ...

    def end_question(self, on: str) -> None: ...


class Unanswered(Exception):  # noqa: N818 - an outcome, not an error
    """There is no answer that could be used, and there will be none; the text says why."""


class Asking:
    """Asks for one agent, about any number of calls at the same time."""

    def __init__(
        self,
        team: Team,
        agent: AgentContext,
        task_id: str | None,
        waits: Waits | None = None,
        check: Callable[[], object] = lambda: None,
        mode_after: str = "default",
    ) -> None:
        self._mode_after = mode_after
        self._team = team
        self._agent = agent
        self._task_id = task_id
        self._waits = waits
        self._check = check

    def refuse(self, call: Call, decision: Decision) -> None:
        """Leave question and answer on disk, where the report finds the rule that would allow the call."""
        request = self._put(call, decision)
        try:
            self._announce(request)
        finally:
            settle(self._team, request, "deny", via="runtime", by=RUNTIME, note=NOBODY_TO_ASK)

    async def ask(self, call: Call, decision: Decision, judge: Callable[[], Decision]) -> Resolution:
        """Return the answer; `judge` tells, after rules were added, what has become of the call by them.

        Whatever ends the wait closes the question. Raises `Unanswered` for one without a usable answer.
        """
        mark = self._team.permissions.rules_mark()
        request = self._put(call, decision)
        try:
            self._announce(request)
            self._tell_leader(request)
            if self._waits is not None:
                self._waits.begin_question(request.id, request.deadline_at)
            return await self._answer(request, mark, judge)
        except BaseException:
            with suppress(SwarmError):
                expire(self._team, request, STOPPED_WAITING)
            raise
        finally:
            if self._waits is not None:
                self._waits.end_question(request.id)

    async def _answer(
        self, request: PermissionRequest, mark: object, judge: Callable[[], Decision]
    ) -> Resolution:
        team = self._team
        deadline = team.clock.monotonic() + team.settings.permission_deadline_seconds
        before: object = None  # whatever was added since the call was judged counts
        while (found := self._look(request)) is None:
            self._still_ours(request)
            if before != mark:
                before = mark
                self._apply(request, judge())
            elif team.clock.monotonic() >= deadline:
                if not expire(team, request, NOBODY_ANSWERED) and self._look(request) is None:
                    raise Unanswered(NOT_READABLE)  # there is one, but not one of ours
            else:
                await asyncio.sleep(team.settings.permission_check_seconds)
                mark = team.permissions.rules_mark()
        if found.rule is not None and team.permissions.add_rule("allow", found.rule):
            tell(team, "rule_added", request, behavior="allow", rule=found.rule, by=found.by)
        return found

    def _look(self, request: PermissionRequest) -> Resolution | None:
        """Return the answer if there is one; it must belong to what was asked, to the letter."""
        try:
            found = self._team.permissions.resolution(request.id)
        except CorruptStateError as error:
            raise Unanswered(NOT_READABLE) from error
        if found is not None and (found.id, found.digest) != (request.id, request.digest):
            raise Unanswered(OTHER_CALL)
        return found

    def _still_ours(self, request: PermissionRequest) -> None:
        """Give up where the task was taken from us meanwhile."""
        try:
            self._check()
        except Exception as error:
            expire(self._team, request, str(error))
            raise Unanswered(str(error)) from error

    def _apply(self, request: PermissionRequest, decision: Decision) -> None:
        """Answer the question where a rule has come that speaks of it."""
        if decision.behavior != "ask":
            note = decision.reason
            settle(self._team, request, decision.behavior, via="rule", by=RUNTIME, note=note)

    # The question

    def _put(self, call: Call, decision: Decision) -> PermissionRequest:
        now = self._team.clock.now()
        is_plan = call.tool == PLAN_TOOL
        request = PermissionRequest(
            id=plan_request_id(self._agent.name, self._team.name, now) if is_plan else _request_id(now),
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
            extra={"mode_after": self._mode_after} if is_plan else EMPTY,
        )
        return self._team.permissions.request(request)

    def _announce(self, request: PermissionRequest) -> None:
        tell(self._team, "permission_requested", request, tool=request.tool, why=request.why)

    def _tell_leader(self, request: PermissionRequest) -> None:
        """Send mail; a leader that cannot be reached finds the question in the team's files."""
        number = "" if request.number is None else f" (request {request.number})"
        try:
            if request.tool == PLAN_TOOL:
                text, what = self._plan_told(request), "hands in a plan"
            else:
                text = permission_request(request, suggestions(request.suggested_rule))
                what = f"asks to use {request.tool}"
            send(self._team, self._agent.name, LEADER, text, summary=f"{what}{number}")
        except SwarmError as error:
            logger.warning("question not sent to the leader", extra={"swarm_error": str(error)})

    def _plan_told(self, request: PermissionRequest) -> str:
        """Return the plan as it is told to the leader; it is kept where people look for plans, too."""
        plan = str(request.input.get("plan", ""))
        path = keep_plan(self._team.root, request.id, plan)
        return plan_approval_request(request.agent, request.id, path, plan, request.created_at)


def suggestions(rule: str | None) -> Sequence[Mapping[str, Any]]:
    """Return a suggested rule in the form in which it travels."""
    if rule is None:
        return []
    try:
        parsed = parse_rule(rule, "allow", "suggestion")
    except ConfigError:
        return []
    content = {} if parsed.content is None else {"ruleContent": parsed.content}
    rules = [{"toolName": parsed.tool, **content}]
    return [{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}]


def _request_id(now: float) -> str:
    suffix = "".join(secrets.choice(_BASE36) for _ in range(_SUFFIX_LENGTH))
    return f"perm-{round(now * 1000)}-{suffix}"
