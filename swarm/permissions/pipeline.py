"""The decision: deny rules, what is never allowed, ask rules, allow rules, the mode; what is left is asked.

In mode plan, what does more than read or use the team's records is denied before anybody is asked.

Pure but for looking at folders to resolve paths. An exception on the way is a denial.
"""

from __future__ import annotations

from swarm.permissions import globs, guard, shell
from swarm.permissions.calls import Behavior, Call, Decision, PathUse, Policy, Rule
from swarm.permissions.modes import BYPASS, PLAN, check_mode
from swarm.permissions.paths import BadPathError, Place, immune_reason, instructs, is_inside, locate
from swarm.permissions.rules import EDITORS, READERS, matches, quote_command, render_rule

__all__ = ["Behavior", "Call", "Decision", "PathUse", "Policy", "Rule", "decide"]

Places = tuple[Place, ...]


def decide(policy: Policy, call: Call) -> Decision:
    """Return what becomes of the call. Nothing is changed, nobody is asked, and nothing is raised."""
    try:
        return _decide(policy, call)
    except BadPathError as error:
        return Decision(behavior="deny", reason=f"{call.tool} is refused: {error}.", why="bad_path")
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the call has not been found harmless
        return Decision(
            behavior="deny", reason=f"{call.tool} could not be judged and is refused: {error}.", why="error"
        )


def _decide(policy: Policy, call: Call) -> Decision:
    check_mode(policy.mode)
    if not call.paths and call.tool in EDITORS | READERS:
        call = call.replace(paths=(PathUse(path=call.cwd, write=call.tool in EDITORS),))
    places = tuple(locate(use.path, call.cwd, policy.home) for use in call.paths)
    return (
        _by_rule("deny", policy, call, places)
        or _never(policy, call, places)
        or _only_read(policy, call)
        or _by_rule("ask", policy, call, places)
        or _by_rule("allow", policy, call, places)
        or _by_person(policy, call, places)
        or _by_mode(policy, call, places)
        or _ask(policy, call, places)
    )


def _by_rule(behavior: Behavior, policy: Policy, call: Call, places: Places) -> Decision | None:
    for rule in policy.rules:
        if rule.behavior == behavior and matches(rule, call, policy, places):
            text = render_rule(rule)
            reason = {
                "deny": f"The rule {text} of the {rule.source} forbids this call.",
                "ask": f"The rule {text} of the {rule.source} wants a person to decide.",
                "allow": f"The rule {text} of the {rule.source} allows it.",
            }[behavior]
            return Decision(behavior=behavior, reason=reason, why="rule", rule=text)
    return None


def _never(policy: Policy, call: Call, places: Places) -> Decision | None:
    """Return the denial of what no rule and no mode can allow."""
    for use, place in zip(call.paths, places, strict=True):
        why = immune_reason(place, policy) if use.write else None
        if why:
            return _immune(f"{use.path} is never written: {why}.")
    if call.tool == "Bash":
        why = guard.refusal(_command(call), call.cwd, policy)
        if why:
            return _immune(f"This command is never run: {why}.")
    return None


def _only_read(policy: Policy, call: Call) -> Decision | None:
    """Return the denial of what a teammate must not do before its plan is approved, whatever rules allow."""
    reads = call.read_only and call.tool != "Bash" and not any(use.write for use in call.paths)
    if policy.mode != PLAN or call.team_tool or reads:
        return None
    reason = (
        f"{call.tool} is denied in mode plan, whatever rules allow: you may only read and search until your "
        "plan is approved. Hand in a plan first."
    )
    return Decision(behavior="deny", reason=reason, why="mode")


def _by_person(policy: Policy, call: Call, places: Places) -> Decision | None:
    """Return the question that a call always is, in whichever mode."""
    if call.asks_person:
        reason = "A plan waits for approval."
        return Decision(behavior="ask", reason=reason, why="plan", suggested_rule=call.tool)
    written = (place for use, place in zip(call.paths, places, strict=True) if use.write)
    if not any(instructs(place, policy) for place in written):
        return None
    reason = "What stands in this file is told to every agent here, and no rule allows writing it."
    rule = _suggest(policy, call, places)
    return Decision(behavior="ask", reason=reason, why="instructions", suggested_rule=rule)


def _by_mode(policy: Policy, call: Call, places: Places) -> Decision | None:
    if call.team_tool:
        return _allow("team_tool", f"{call.tool} works on the team's own records.")
    if policy.mode == BYPASS:
        return _bypass(policy, call)
    if call.tool == "Bash":
        return None
    writes = any(use.write for use in call.paths)
    if call.read_only and not writes and _all_inside(places, (policy.workspace, *policy.readable)):
        return _allow("read", "Reading in the workspace needs no rule.")
    if policy.mode == "acceptEdits" and call.edit and _all_inside(places, (policy.workspace,)):
        return _allow("mode", "Mode acceptEdits allows edits in the workspace.")
    return None


def _bypass(policy: Policy, call: Call) -> Decision:
    """Allow the call, unless a rule may speak of it and nobody can tell."""
    strict: tuple[Behavior, ...] = ("deny", "ask")
    for behavior in strict:
        rules = [rule for rule in policy.rules if rule.behavior == behavior and rule.tool == "Bash"]
        if call.tool == "Bash" and rules and shell.is_compound(_command(call)):
            names = ", ".join(map(render_rule, rules))
            reason = f"Only single commands can be checked against the {behavior} rules ({names}); "
            reason += "run them one by one."
            return Decision(behavior=behavior, reason=reason, why="compound", rule=render_rule(rules[0]))
    return _allow("mode", "Mode bypassPermissions allows it.")


def _all_inside(places: Places, folders: tuple[str, ...]) -> bool:
    return bool(places) and all(any(is_inside(place, folder) for folder in folders) for place in places)


def _ask(policy: Policy, call: Call, places: Places) -> Decision:
    rule = _suggest(policy, call, places)
    reason = f"No rule allows this {call.tool} call in mode {policy.mode}."
    if rule is None and call.tool == "Bash":
        marks = " ".join(shell.SEPARATORS[:-1])
        reason += f" None can while it holds any of {marks} or a line end; run single commands."
    return Decision(behavior="ask", reason=reason, why="no_rule", suggested_rule=rule)


def _suggest(policy: Policy, call: Call, places: Places) -> str | None:
    """Return the narrowest allow rule that covers the call; None when no single rule does."""
    if call.tool == "Bash":
        content: str | None = quote_command(_command(call).strip(" \t"))
    elif call.tool in EDITORS | READERS:
        content = globs.quote_path(places[0].lexical, policy.workspace)
        if call.tool in EDITORS and not content.strip("/"):
            return None  # as a pattern, the folder that patterns start at stands for all that is in it
    else:
        content = None
    rule = Rule(tool=call.tool, content=content, behavior="allow", source="suggestion")
    return render_rule(rule) if matches(rule, call, policy, places) else None


def _command(call: Call) -> str:
    command = call.input["command"]
    if not isinstance(command, str):
        raise TypeError("the command is not a text")
    return command


def _allow(why: str, reason: str) -> Decision:
    return Decision(behavior="allow", reason=reason, why=why)  # type: ignore[arg-type]


def _immune(reason: str) -> Decision:
    return Decision(behavior="deny", reason=reason, why="immune")
