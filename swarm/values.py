"""`Value`: the frozen, slotted, keyword-only base of every record.

The standard `dataclasses` module would do, but its import alone doubles the start-up time of a
one-shot command; this does the part that records need, and type checkers treat it alike.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, dataclass_transform


class _ValueMeta(type):
    """Turns the annotations of a class into slots, and its class attributes into defaults."""

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _ValueMeta:
        own = [field for field in namespace.get("__annotations__", {}) if not field.startswith("_")]
        own_defaults = {field: namespace.pop(field) for field in own if field in namespace}
        namespace["__slots__"] = tuple(own)
        parents = [base for base in bases if isinstance(base, _ValueMeta)]
        fields = [field for parent in parents for field in parent._fields]
        defaults = {f: value for parent in parents for f, value in vars(parent)["_defaults"].items()}
        made = super().__new__(cls, name, bases, namespace)
        made._fields = tuple(dict.fromkeys(fields + own))
        made._defaults = defaults | own_defaults
        return made


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=True)
class Value(metaclass=_ValueMeta):
    """Base of frozen records: keyword arguments in, equality by fields, `replace` for a changed copy."""

    _fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]

    def __init__(self, **given: Any) -> None:
        put = object.__setattr__
        for field in self._fields:
            if field in given:
                put(self, field, given.pop(field))
            elif field in self._defaults:
                put(self, field, self._defaults[field])
            else:
                raise TypeError(f"{type(self).__name__} needs {field}")
        if given:
            raise TypeError(f"{type(self).__name__} has no {', '.join(given)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in self._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, field) for field in self._fields)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._as_dict())

    def _as_dict(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self._fields}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        return type(self)(**(self._as_dict() | changes))


def _rebuild(kind: type[Value], state: dict[str, Any]) -> Value:
    return kind(**state)
