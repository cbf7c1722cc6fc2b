"""Decides before a tool runs: by rules and mode, and where these leave it open, by asking a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from swarm.core.globs import covers
from swarm.core.identity import RUNTIME, USER
from swarm.core.permission import PLAN_TOOL, Resolution, request_digest
from swarm.core.tags import USER_NOTE, letter, trust_of
from swarm.core.task import Task
from swarm.core.untrusted import clean
from swarm.permissions.calls import Call, Decision, PathUse, Policy
from swarm.permissions.modes import NEVER_ASKS
from swarm.permissions.paths import locate, real_path
from swarm.permissions.pipeline import decide
from swarm.permissions.rules import READERS, parse_rules
from swarm.storage.team import Team
from worker.asking import NOBODY_TO_ASK, Asking, Unanswered, Waits
from worker.context.agent import AgentContext
from worker.planning import plan_mode
from worker.tools.contract import MayRead

_RULES_FILE = "rules.json"
_SENTENCE_ENDS = ".!?…:;)"


class PermissionGate:
    """Decides on the calls of one session. Rules are read for each call: a new one counts at once.

    Where nobody can be asked (`headless`, or a run in mode dontAsk) what needs asking is denied at once.
    `check` raises when the calls are no longer ours to make; then no answer is waited for.
    """

    def __init__(
        self,
        team: Team,
        agent: AgentContext,
        policy: Policy,
        task: Task | None,
        *,
        headless: bool = False,
        waits: Waits | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._team = team
        self._agent = agent
        self._policy = policy
        self._files = () if task is None else task.files
        self._asks_nobody = headless or NEVER_ASKS in (policy.mode, policy.mode_after_plan)
        task_id = None if task is None else task.id
        self.plan = plan_mode(team, policy, agent.name, task_id)
        self._asking = Asking(team, agent, task_id, waits, check, policy.mode_after_plan)
        self._denied = {} if task is None else _denied_before(team, task)
        self._notes: list[str] = []

    async def __call__(self, tool: object, given: object, call: Call) -> Decision:
        """Return allow or deny, never ask. The reason of a denial is a sentence that the model can act on."""
        decision = self._judge(call)
        if decision.behavior != "ask":
            return decision
        if call.approved:
            return decision.replace(behavior="allow", why="person")
        if self._asks_nobody:
            self._asking.refuse(call, decision)
            return decision.replace(behavior="deny", reason=_refusal(decision))
        digest = request_digest(call.tool, call.input, call.cwd)
        if digest not in self._denied:
            return await self._by_person(call, decision, digest)
        return self._denied[digest]

    @property
    def _mode(self) -> str:
        return self._policy.mode if self.plan is None else self.plan.mode

    def take_notes(self) -> list[str]:
        """Return, once, what people said who allowed calls."""
        notes, self._notes = self._notes, []
        return notes

    def _judge(self, call: Call) -> Decision:
        decision = decide(self._current_policy(), call)
        return decision if decision.behavior == "deny" else self._outside_task(call) or decision

    async def _by_person(self, call: Call, decision: Decision, digest: str) -> Decision:
        """Wait for the answer, and do what it says; what was forbidden meanwhile stays forbidden."""
        try:
            answer = await self._asking.ask(call, decision, lambda: self._judge(call))
        except Unanswered as error:
            return decision.replace(behavior="deny", reason=f"It was asked for, but {error}.", why="expired")
        if answer.outcome == "allow":
            changed = None if answer.input == call.input else answer.input
            now = self._judge(call)
            if changed is None and now.behavior == "deny":
                return now
            if answer.by != RUNTIME and answer.note:
                self._notes.append(_note(call, answer))
            if changed is None and now.behavior == "allow":
                return now
            reason = f"{_who(answer)} allowed it."
            return decision.replace(behavior="allow", reason=reason, why="person", input=changed)
        if answer.outcome == "expired":
            reason = f"It was asked for, but {answer.note}."
            return decision.replace(behavior="deny", reason=reason, why="expired")
        if answer.by == RUNTIME:
            return decision.replace(behavior="deny", reason=str(answer.note), why="rule")
        self._denied[digest] = _denial(answer)
        return self._denied[digest]

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
        allow, deny, ask = self._team.permissions.load_rules()
        added = (
            *parse_rules(allow, "allow", _RULES_FILE),
            *parse_rules(deny, "deny", _RULES_FILE),
            *parse_rules(ask, "ask", _RULES_FILE),
        )
        return self._policy.replace(mode=self._mode, rules=(*self._policy.rules, *added))


def _as_read(path: str) -> Call:
    return Call(tool="Read", input={}, cwd="/", read_only=True, paths=(PathUse(path=path, write=False),))


def _outside(path: str, files: Sequence[str]) -> str:
    return f"{path} is none of the files that this task may write, which are {', '.join(files)}."


def _who(answer: Resolution) -> str:
    return "The user" if answer.by == USER else answer.by


def _denied_before(team: Team, task: Task) -> dict[str, Decision]:
    """Return what people denied in earlier attempts at this task, by digest; the last answer to each counts.

    They are not asked again because an attempt failed. Once a person has the task retried, they are.
    """
    if not task.attempts:
        return {}
    said = [one for one in team.permissions.list_resolved() if one.by != RUNTIME and one.request is not None]
    latest = {one.digest: one for one in said if (one.request or {}).get("task") == task.id}
    return {digest: _denial(one) for digest, one in latest.items() if one.outcome == "deny"}


def _denial(answer: Resolution) -> Decision:
    said = clean(answer.note or "").rstrip()
    note = f" {said}{'' if said[-1] in _SENTENCE_ENDS else '.'}" if said else ""
    if (answer.request or {}).get("tool") == PLAN_TOOL:
        reason = f"[Plan Rejected]{note}"
    else:
        reason = f"{_who(answer)} denied it{':' + note if note else '.'}"
    return Decision(behavior="deny", reason=reason, why="person")


def _note(call: Call, answer: Resolution) -> str:
    """Return what a person said with an answer, as the model is told it."""
    number = (answer.request or {}).get("number")
    about = f"your {call.tool} call, which was allowed"
    which = about if number is None else f"{about} (permission request {number})"
    return letter(USER_NOTE, answer.note or "", from_=answer.by, about=which, trust=trust_of(answer.by))


def _refusal(decision: Decision) -> str:
    hint = f"; the rule that would allow it: {decision.suggested_rule}" if decision.suggested_rule else ""
    return f"{decision.reason} {NOBODY_TO_ASK.capitalize()}{hint}."
