"""The host's layouts of a lowered program in the words of task files and Python programs. No torch here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepagents.lower.host import HostDim, InputLayout, OutputLayout
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.layouts import input_layout, output_layout
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch import Tensor

MOST_VALUES: Final = 4096  # of a constant that is written out


class TooLarge(ValueError):
    """A constant tensor has too many elements to be written into a program."""


def with_layouts(
    spec: ProgramSpec,
    inputs: Sequence[InputLayout],
    outputs: Sequence[OutputLayout],
    constants: Mapping[str, Tensor],
) -> ProgramSpec:
    """Return ``spec`` with the layouts of its inputs and outputs as text; a plain one is left out.

    ``constants`` are the tensors of the function itself, by the name of their source.

    Raises:
        TooLarge: a constant cannot be written out.
    """
    reads = Counter(layout.source for layout in inputs)
    ports = tuple(
        port
        if _is_plain(layout, reads) and layout.source not in constants
        else replace(port, layout=input_layout(input_text(layout, constants.get(layout.source))))
        for port, layout in zip(spec.inputs, inputs, strict=True)
    )
    results = tuple(
        port if layout.is_identity else replace(port, layout=output_layout(layout.text()))
        for port, layout in zip(spec.outputs or (), outputs, strict=True)
    )
    return replace(spec, inputs=ports, outputs=results)


def sources(inputs: Sequence[InputLayout], constants: Mapping[str, Tensor]) -> list[str]:
    """Return the tensors that the reference gets, in the order in which the inputs name them first."""
    names = [layout.source for layout in inputs if layout.kind == "input" and layout.source not in constants]
    return list(dict.fromkeys(names))


def _is_plain(layout: InputLayout, reads: Mapping[str, int]) -> bool:
    return layout.is_identity and reads[layout.source] == 1


def input_text(layout: InputLayout, constant: Tensor | None = None) -> str:
    """Return the layout of an input, see :mod:`stepcore.sim.layout`."""
    head = f"{layout.source if layout.kind == 'input' else layout.kind}[{_listed([d.size for d in layout.dims])}]"
    clauses: list[str] = []
    if constant is not None:
        clauses.append(f"values [{_values(constant)}]")
    if any(d.step > 1 for d in layout.dims):
        clauses.append(f"stuff [{_listed([d.step for d in layout.dims])}]")
    if any(d.before != 0 or d.after != 0 for d in layout.dims):
        ends = ", ".join(f"({d.before}, {d.after})" for d in layout.dims)
        clauses.append(f"pad [{ends}] with {_plain_number(layout.fill)}")
    if not layout.is_identity:
        clauses.append(f"read [{', '.join(_place(d) for d in layout.dims)}]")
    return f"{head}: {'; '.join(clauses)}" if clauses else head


def _place(dim: HostDim) -> str:
    pieces = [_term(loop, factor) for loop, factor in dim.factors]
    offset = dim.offset + dim.before
    if offset != 0 or not pieces:
        pieces.append(str(offset))
    return " + ".join(pieces).replace("+ -", "- ")


def _term(loop: int, factor: Dim) -> str:
    text = str(factor)
    if factor == 1:
        return f"i{loop}"
    return f"{text}*i{loop}" if text.isidentifier() or text.lstrip("-").isdecimal() else f"({text})*i{loop}"


def _plain_number(fill: str) -> str:
    return fill.replace("torch.", "").replace("math.", "")


def _values(constant: Tensor) -> str:
    if constant.numel() > MOST_VALUES:
        raise TooLarge(f"a constant of {constant.numel():,} elements cannot be written into a program")
    return ", ".join(f"{value:.9g}" for value in constant.double().reshape(-1).tolist())


def _listed(items: Sequence[object]) -> str:
    return ", ".join(map(str, items))
