"""What a teammate is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import EMPTY, mapping, optional_flag, optional_text, present, text, texts, wrong
from swarm.values import Value


class TeammateSpec(Value):
    """All that a new teammate needs to know, whichever way it is started.

    `leader_run_id` is set when a leader lives that it should watch; `allow` and `deny` are permission
    rules of the team file; `environ` is the environment that its children are made from. `pace_seconds`
    is how long a scripted model waits before each turn, so that a person can follow. `headless` means that
    nobody is there to answer a question.
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
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    environ: Mapping[str, str] = EMPTY
    time_scale: float = 1.0
    pace_seconds: float = 0.0
    headless: bool = False


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
        allow=texts(obj, "allow"),
        deny=texts(obj, "deny"),
        environ={name: text(mapping(obj, "environ"), name) for name in mapping(obj, "environ")},
        time_scale=_number(obj, "time_scale"),
        pace_seconds=_number(obj, "pace_seconds"),
        headless=bool(optional_flag(obj, "headless")),
    )


def render_spec(spec: TeammateSpec) -> dict[str, Any]:
    fields = {field: getattr(spec, field) for field in spec._fields}
    return present(
        **fields | {"allow": list(spec.allow), "deny": list(spec.deny), "environ": dict(spec.environ)}
    )


def _number(obj: Mapping[str, Any], key: str) -> float:
    value = obj.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong(key, "a number", value)
    return float(value)
