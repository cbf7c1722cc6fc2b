"""`Value`: the frozen, slotted, keyword-only base of every record.

The standard `dataclasses` module would do, but its import alone doubles the start-up time of a
one-shot command; this does the part that records need, and type checkers treat it alike.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, Self, dataclass_transform


class _ValueMeta(type):
    """Turns the annotations of a class into slots, and its class attributes into defaults."""

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]
    _puts: dict[str, Callable[[Any, Any], None]]
    _all: attrgetter[tuple[Any, ...]]  # ends in the class, so that it is a tuple for a single field, too

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
        made._puts = {field: getattr(made, field).__set__ for field in made._fields}
        made._all = attrgetter(*made._fields, "__class__")
        return made


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=True)
class Value(metaclass=_ValueMeta):
    """Base of frozen records: keyword arguments in, equality by fields, `replace` for a changed copy."""

    _fields: ClassVar[tuple[str, ...]]
    _defaults: ClassVar[dict[str, Any]]
    _puts: ClassVar[dict[str, Callable[[Any, Any], None]]]
    _all: ClassVar[attrgetter[tuple[Any, ...]]]

    def __init__(self, **given: Any) -> None:
        values = {**self._defaults, **given} if len(given) < len(self._puts) else given
        try:
            for field, put in self._puts.items():
                put(self, values[field])
        except KeyError as error:
            raise TypeError(f"{type(self).__name__} needs {error.args[0]}") from None
        if len(values) > len(self._puts):
            self._refuse(values)

    def _refuse(self, given: dict[str, Any]) -> None:
        unknown = [field for field in given if field not in self._puts]
        raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._all(self) == self._all(other))

    def __hash__(self) -> int:
        return hash(self._all(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{field}={getattr(self, field)!r}" for field in self._fields)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._as_dict())

    def _as_dict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self._all(self), strict=False))

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        copy = object.__new__(type(self))
        for put, value in zip(self._puts.values(), self._all(self), strict=False):
            put(copy, value)
        try:
            for field, value in changes.items():
                self._puts[field](copy, value)
        except KeyError:
            self._refuse(changes)
        return copy


def _rebuild(kind: type[Value], state: dict[str, Any]) -> Value:
    return kind(**state)
