"""How one operator is called, as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from stepcore.ops.calling.parameters import LISTS, Param, ParamKind
from stepcore.ops.calling.streams import Inputs, Outputs
from stepcore.ops.calling.structures import value_text
from stepcore.records import Record


class Calling(Record):
    """How one operator is called. ``defaults`` are the values of the parameters that may be left out.

    What it computes depends on ``own``; ``common`` are parameters that it shares with others and that change no result.
    """

    name: str
    own: tuple[Param, ...]
    defaults: Mapping[str, Any]
    inputs: Inputs
    outputs: Outputs
    instead: str = ""  # the way out for who gives parameters to an operator without any
    common: tuple[Param, ...] = ()

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """All parameters, its own first."""
        return (*self.own, *self.common)

    def work_out(self) -> None:
        """Find out at once what is worked out when it is asked for, and kept."""
        for part in (self, self.inputs, self.outputs):
            for name, value in vars(type(part)).items():
                if isinstance(value, cached_property):
                    getattr(part, name)

    def computing(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of ``params`` on which a result depends."""
        return {name: value for name, value in params.items() if name not in self._shared}

    @cached_property
    def _shared(self) -> frozenset[str]:
        return frozenset(param.name for param in self.common)

    @cached_property
    def by_name(self) -> dict[str, Param]:
        """The parameters by their keywords."""
        return {param.name: param for param in self.params}

    @cached_property
    def holds(self) -> frozenset[str]:
        """The parameters that are memory off chip."""
        return frozenset(param.name for param in self.params if param.kind is ParamKind.MEMORY)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The parameters without a default."""
        return tuple(param.name for param in self.params if param.name not in self.defaults)

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The parameters that are lists: operators hold tuples of them, whatever was given."""
        return tuple(param.name for param in self.params if param.kind in LISTS)

    def binds(self, given: Mapping[str, Any]) -> bool:
        """Return whether ``given`` are parameters of the right kinds, and all that are required."""
        for name, value in given.items():
            param = self.by_name.get(name)
            if param is None or not (param.kind.accepts(value) or self.is_default(name, value)):
                return False
        return all(map(given.__contains__, self.required))

    def is_default(self, name: str, value: Any) -> bool:
        """Return whether ``value`` is what the parameter is when it is left out."""
        return name in self.defaults and type(value) is type(self.defaults[name]) and value == self.defaults[name]

    def head(self, written_name: str = "") -> str:
        """Return the operator with its required parameters to be filled in: ``Accum(fn=..., b=...)``."""
        return f"{written_name or self.name}({', '.join(f'{name}=...' for name in self.required)})"

    def line(self, name: str, params: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Return the assignment that applies the operator, written as ``name``, to flat ``inputs``, all given as texts.

        Raises:
            ValueError: the operator does not take so many inputs.
        """
        targets = self.outputs.of(params).write(outputs)
        given = ", ".join(f"{key}={value}" for key, value in params.items())
        return f"{targets}{' = ' if targets else ''}{name}({given}).apply({self.inputs.write(inputs)})"

    def label(self, param: Param) -> str:
        """Return how a parameter is shown: ``b=...``, with its value when it is left out."""
        value = self.defaults.get(param.name)
        return f"{param.name}={'...' if value is None else value_text(value)}"

    def kind_text(self, param: Param) -> str:
        """Return what a parameter accepts, in words."""
        is_optional = param.name in self.defaults
        otherwise = param.otherwise or str(self.defaults.get(param.name))
        return f"{param.kind.value}, {otherwise} unless given" if is_optional else param.kind.value
