"""What a teammate is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import (
    EMPTY,
    an_object,
    mapping,
    optional_flag,
    optional_text,
    present,
    text,
    texts,
    wrong,
)
from swarm.values import Value


class RuleSet(Value):
    """The permission rules of one source, as they are written; a denial names the `source`."""

    source: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.allow or self.deny or self.ask)


class TeammateSpec(Value):
    """All that a new teammate needs to know, whichever way it is started.

    `leader_run_id` is set when a leader lives that it should watch; `rules` are all permission rules there
    were at its start, those first whose source is named first; `environ` is the environment that its
    children are made from. `pace_seconds` is how long a scripted model waits before each turn, so that a
    person can follow. `headless` means that nobody is there to answer a question. `mode_after_plan` holds in
    mode `plan` once a plan was approved.
    """

    root: str
    team: str
    name: str
    run_id: str
    workspace: str
    model: str
    backend: str
    fallback_model: str | None = None
    permission_mode: str = "default"
    role: str | None = None
    leader_run_id: str | None = None
    color: str | None = None
    rules: tuple[RuleSet, ...] = ()
    environ: Mapping[str, str] = EMPTY
    time_scale: float = 1.0
    pace_seconds: float = 0.0
    headless: bool = False
    mode_after_plan: str = "default"


def parse_spec(obj: Mapping[str, Any]) -> TeammateSpec:
    return TeammateSpec(
        root=text(obj, "root"),
        team=text(obj, "team"),
        name=text(obj, "name"),
        run_id=text(obj, "run_id"),
        workspace=text(obj, "workspace"),
        model=text(obj, "model"),
        fallback_model=optional_text(obj, "fallback_model"),
        backend=text(obj, "backend"),
        permission_mode=text(obj, "permission_mode"),
        role=optional_text(obj, "role"),
        leader_run_id=optional_text(obj, "leader_run_id"),
        color=optional_text(obj, "color"),
        rules=_rule_sets(obj, "rules"),
        environ={name: text(mapping(obj, "environ"), name) for name in mapping(obj, "environ")},
        time_scale=_number(obj, "time_scale"),
        pace_seconds=_number(obj, "pace_seconds"),
        headless=bool(optional_flag(obj, "headless")),
        mode_after_plan=optional_text(obj, "mode_after_plan") or "default",
    )


def render_spec(spec: TeammateSpec) -> dict[str, Any]:
    fields = {field: getattr(spec, field) for field in spec._fields}
    rules = [{"source": one.source, **render_rules(one)} for one in spec.rules]
    return present(**fields | {"rules": rules, "environ": dict(spec.environ)})


def parse_rules(obj: Mapping[str, Any], source: str) -> RuleSet:
    """Return the lists `allow`, `deny` and `ask` of an object, each of which may be missing."""
    return RuleSet(source=source, allow=texts(obj, "allow"), deny=texts(obj, "deny"), ask=texts(obj, "ask"))


def render_rules(rules: RuleSet) -> dict[str, list[str]]:
    """Return the lists that are not empty, without their source."""
    lists = {"allow": rules.allow, "deny": rules.deny, "ask": rules.ask}
    return {key: list(texts) for key, texts in lists.items() if texts}


def _rule_sets(obj: Mapping[str, Any], key: str) -> tuple[RuleSet, ...]:
    given = obj.get(key, [])
    if not isinstance(given, list):
        raise wrong(key, "a list", given)
    return tuple(parse_rules(an_object(one, key), text(one, "source")) for one in given)


def _number(obj: Mapping[str, Any], key: str) -> float:
    value = obj.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong(key, "a number", value)
    return float(value)
