"""`Value`: the frozen, slotted, keyword-only base of every record.

The standard `dataclasses` module would do, but its import alone doubles the start-up time of a
one-shot command; this does the part that records need, and type checkers treat it alike.
"""

from __future__ import annotations

from typing import Any, Self, dataclass_transform


class _ValueMeta(type):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _ValueMeta:
        fields = [f for f in namespace.get("__annotations__", {}) if not f.startswith("_")]
        defaults = {f: namespace.pop(f) for f in fields if f in namespace}
        namespace["__slots__"] = tuple(fields)
        made = super().__new__(cls, name, bases, namespace)
        inherited = [b for b in made.__mro__[1:] if isinstance(b, _ValueMeta)]
        made._fields = tuple(dict.fromkeys([f for b in reversed(inherited) for f in b.__slots__] + fields))  # type: ignore[attr-defined]
        made._defaults = {k: v for b in reversed(inherited) for k, v in b._defaults.items()} | defaults  # type: ignore[attr-defined]
        return made


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=True)
class Value(metaclass=_ValueMeta):
    """Base of frozen records: keyword arguments in, equality by fields, `replace` for a changed copy."""

    def __init__(self, **given: Any) -> None:
        put = object.__setattr__
        defaults: dict[str, Any] = self._defaults  # type: ignore[attr-defined]
        for field in self._fields:  # type: ignore[attr-defined]
            if field in given:
                put(self, field, given.pop(field))
            elif field in defaults:
                put(self, field, defaults[field])
            else:
                raise TypeError(f"{type(self).__name__} needs {field}")
        if given:
            raise TypeError(f"{type(self).__name__} has no {', '.join(given)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f) for f in self._fields)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._state() == other._state()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._state()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{f}={getattr(self, f)!r}' for f in self._fields)})"  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(zip(self._fields, self._state(), strict=True)))  # type: ignore[attr-defined]

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        return type(self)(**(dict(zip(self._fields, self._state(), strict=True)) | changes))  # type: ignore[attr-defined]


def _rebuild(kind: type[Value], state: dict[str, Any]) -> Value:
    return kind(**state)
