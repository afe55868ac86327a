"""Records: values with named fields that never change, which cost next to nothing to declare.

``dataclass`` compiles methods for each class, at every start of a process: four million instructions. The methods of a
:class:`Record` are those of this module. Making one takes twice as long in return, so what is made by the thousand
(spans, sizes, types) is a ``dataclass`` with slots.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """Base of records. The fields of a subclass are what it annotates, as in a frozen ``dataclass``.

    For ``dataclasses`` it is one (``fields``, ``replace``). ``kw_only`` says that its fields are given by name.
    """

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
        made: Any = cls
        own = fields(made)
        # What has a plain default is left to the class, which holds it as an attribute.
        made._needed = tuple((each.name, each.default_factory) for each in own if each.default is MISSING)
        made._names = frozenset(each.name for each in own)
        needed = {name for name, _ in made._needed}
        given = [place for place, name in enumerate(made.__match_args__, 1) if name in needed]
        made._least = max(given, default=0) if needed <= {*made.__match_args__} else len(own) + 1
        names = [each.name for each in own if each.compare]
        made._compared = attrgetter(*names) if names else staticmethod(_nothing)

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            positional = self.__match_args__
            if len(values) > len(positional):
                raise TypeError(f"{type(self).__name__} takes {len(positional)} values, {len(values)} were given")
            held = self.__dict__
            held.update(zip(positional, values))  # noqa: B905  its keyword takes longer than a value
            if named or len(values) < self._least:
                _complete(self, held, named)

        def __setattr__(self, name: str, value: object) -> None:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise FrozenInstanceError(f"cannot delete field {name!r}")

        def __eq__(self, other: object) -> bool:
            compared = self._compared
            return compared(self) == compared(other) if type(self) is type(other) else NotImplemented

        def __hash__(self) -> int:
            return hash(self._compared(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({shown})"


def _nothing(_record: object) -> tuple[()]:
    """Return what records without fields are compared by."""
    return ()


def _complete(record: Any, held: dict[str, Any], named: dict[str, Any]) -> None:
    """Give ``record``, which holds its fields in ``held``, those that it was not given by position."""
    kind = type(record).__name__
    for name in named:
        if name not in record._names:
            raise TypeError(f"{kind} has no field {name}")
        if name in held:
            raise TypeError(f"{kind} was given {name} twice")
    held.update(named)
    for name, factory in record._needed:
        if name not in held:
            if factory is MISSING:
                raise TypeError(f"{kind} was not given {name}")
            held[name] = factory()
