"""Records: values with named fields that never change, which cost next to nothing to declare.

``dataclass`` compiles methods for each class, at every start of a process: four million instructions. The methods of a
:class:`Record` are those of this module. Making one takes twice as long in return, so what is made by the thousand
(spans, sizes, types) is a ``dataclass`` with slots.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

# Makes a named tuple of all its values as its class does, at a third of the cost: for those of which checking makes one
# for every expression.
make: Final = tuple.__new__


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
        made._most = len(made.__match_args__)
        names = [each.name for each in own if each.compare]
        made._compared = attrgetter(*names) if names else staticmethod(_nothing)

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            held = self.__dict__
            held.update(zip(self.__match_args__, values))  # noqa: B905  its keyword takes longer than a value
            if named or not self._least <= len(values) <= self._most:
                _complete(self, held, len(values), named)

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


def _complete(record: Any, held: dict[str, Any], given: int, named: dict[str, Any]) -> None:
    """Give ``record``, which holds its fields in ``held``, those that are not among the ``given`` by position."""
    kind = type(record).__name__
    if given > record._most:
        raise TypeError(f"{kind} takes {record._most} values, {given} were given")
    if not named.keys() <= record._names or named.keys() & held:
        name = next(name for name in named if name not in record._names or name in held)
        raise TypeError(f"{kind} was given {name} twice" if name in held else f"{kind} has no field {name}")
    held.update(named)
    if len(held) == len(record._names):
        return
    for name, factory in record._needed:
        if name not in held:
            if factory is MISSING:
                raise TypeError(f"{kind} was not given {name}")
            held[name] = factory()
