"""What a delivered program writes down of its layouts: constants in full, nothing where a stream is a whole tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepcore.graph.ir import ProgramSpec
from stepcore.graph.layouts import InputLayout

if TYPE_CHECKING:
    from torch import Tensor

MOST_VALUES: Final = 4096  # of a constant that is written out


class ConstantTooLarge(ValueError):
    """A constant tensor has too many elements to be written into a program."""


def written_out(spec: ProgramSpec, constants: Mapping[str, Tensor]) -> ProgramSpec:
    """Return ``spec`` as a file has it: without layouts that say nothing, and with the values of constants.

    ``constants`` are the tensors of the function itself, by the name of their source.

    Raises:
        ConstantTooLarge: a constant cannot be written out.
    """
    reads = Counter(port.layout.source for port in spec.inputs if port.layout is not None)

    def needed(layout: InputLayout | None) -> InputLayout | None:
        if layout is None or layout.source in constants:
            return layout and replace(layout, values=_values(constants[layout.source]))
        return None if layout.places is None and reads[layout.source] == 1 else layout

    inputs = tuple(replace(port, layout=needed(port.layout)) for port in spec.inputs)
    outputs = tuple(
        replace(port, layout=None) if port.layout is not None and port.layout.is_identity else port
        for port in spec.outputs or ()
    )
    return replace(spec, inputs=inputs, outputs=outputs)


def sources(spec: ProgramSpec, constants: Mapping[str, Tensor]) -> list[str]:
    """Return the tensors that the reference gets, in the order in which the inputs name them first."""
    read = [port.layout for port in spec.inputs if port.layout is not None]
    return list(dict.fromkeys(each.source for each in read if not each.is_generated and each.source not in constants))


def _values(constant: Tensor) -> tuple[float, ...]:
    if constant.numel() > MOST_VALUES:
        raise ConstantTooLarge(f"a constant of {constant.numel():,} elements cannot be written into a program")
    return tuple(constant.double().reshape(-1).tolist())
