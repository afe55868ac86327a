"""Sizes that only a run knows: drawn for inputs, or found in the streams of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from stepcore.findings.errors import SimError
from stepcore.sim.lengths import Lengths, Level, Levels, apart, positions
from stepcore.sizes.dim import OPEN, DimError
from stepcore.text.wording import counted
from stepcore.types import Shape, components, element_count, element_shape

if TYPE_CHECKING:
    from stepcore.graph.ir import Port, ProgramSpec
    from stepcore.graph.typed import TypedGraph
    from stepcore.open_types.drawn import DrawnSize
    from stepcore.sim.ragged import StreamData
    from stepcore.sizes.dim import Dim


class RunSizes(dict[str, int]):
    """The values of sizes in one run: of those that are bound, and of the dynamic ones among those drawn.

    ``lengths`` are the ragged ones.
    """

    def __init__(self, bindings: Mapping[str, int]) -> None:
        super().__init__(bindings)
        self.lengths: dict[str, Lengths] = {}


def drawn_sizes(spec: ProgramSpec, bindings: Mapping[str, int]) -> RunSizes:
    """Draw the dynamic and ragged sizes of ``spec`` from torch's generator, in the order of the file.

    A ragged size is drawn after those outside of it.

    Raises:
        SimError: STEP412 where values are given for other positions than there are.
    """
    sizes = RunSizes(bindings)
    known = {size.name: size for size in spec.drawn}

    def draw(name: str, around: Sequence[str]) -> None:
        if name in sizes or name in sizes.lengths:
            return
        outer = _outside(spec, name) if name.startswith("~") else ()
        for size in outer:
            for inner in sorted(_open_names(size) & known.keys()):
                if inner not in around:
                    draw(inner, (*around, name))
        count = positions(levels_of(outer, sizes))
        how = known[name]
        if how.values is None:
            values = torch.randint(how.minimum, how.maximum + 1, (count,))
        else:
            values = torch.tensor(how.values)
            if len(values) != count:
                text = f"{name} has {counted(len(values), 'value')}, and there are {counted(count, 'position')} outside"
                raise SimError("STEP412", f"{text}; give one for each, row by row")
        if name.startswith("~"):
            sizes.lengths[name] = Lengths(values)
        else:
            sizes[name] = int(values[0])

    for each in spec.drawn:
        draw(each.name, ())
    return sizes


def at_bounds(spec: ProgramSpec) -> list[tuple[str, ProgramSpec]]:
    """Return ``spec`` with all sizes that are drawn at their greatest, then at their least, and how messages say so.

    What one draw shows is not enough: an empty stream tells a right program from a wrong one nowhere.
    """
    found: list[tuple[str, ProgramSpec]] = []
    for most in (True, False):
        drawn = [
            each if each.values is not None else _all_at(each, each.maximum if most else each.minimum)
            for each in spec.drawn
        ]
        moved = [each for each, before in zip(drawn, spec.drawn, strict=True) if each != before]
        if moved:
            text = ", ".join(f"{each.name}={each.minimum}" for each in moved)
            found.append((text, replace(spec, drawn=tuple(drawn))))
    return found


def _all_at(size: DrawnSize, number: int) -> DrawnSize:
    return replace(size, minimum=number, maximum=number)


def _outside(spec: ProgramSpec, name: str) -> Shape:
    """Return the sizes outside of the dimension that a ragged size has, in the first input that has it."""
    for port in spec.inputs:
        for place, size in enumerate(port.type.shape):
            if name in _open_names(size):
                return port.type.shape[place + 1 :]
    return ()


def _open_names(size: Dim) -> set[str]:
    """Return the names of dynamic and ragged sizes in ``size``; those that know their positions are derived ones."""
    return {name for name in size.symbols() if name[0] in OPEN} | {made.text for made in size.derivations()}


def levels_of(shape: Iterable[Dim], bindings: Mapping[str, int]) -> Levels:
    """Return the sizes of a stream in a run.

    Raises:
        SimError: STEP225 where one has no value.
    """
    lengths = bindings.lengths if isinstance(bindings, RunSizes) else {}
    return tuple(_level(size, bindings, lengths) for size in shape)


def _level(size: Dim, bindings: Mapping[str, int], lengths: Mapping[str, Lengths]) -> Level:
    try:
        if not size.is_ragged:
            return size.bind(bindings)
        found = lengths.get(str(size))
        if found is not None:
            return found
        name = next(name for name in _open_names(size) if name in lengths)
        return Lengths(torch.tensor([size.bind({**bindings, name: one}) for one in lengths[name].values.tolist()]))
    except (DimError, StopIteration) as error:
        raise SimError("STEP225", str(error) or f"the size {size} has no value in this run") from None


def packed_shapes(port: Port, bindings: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Return the shape of each component of an input; of a ragged one that of its packed values."""
    sizes, _ = apart(levels_of(port.type.shape, bindings))
    parts = [element_shape(item) for item in components(port.type.element)]
    return [(*reversed(sizes), *(size.bind(bindings) for size in part)) for part in parts]


def nested_depth(shape: Shape) -> int:
    """Return how many dimensions there are from the innermost ragged one on, that one included; 0 without one."""
    return next((len(shape) - place for place, size in enumerate(shape) if size.is_ragged), 0)


def measured(graph: TypedGraph, streams: Iterable[tuple[int, StreamData]]) -> dict[str, int]:
    """Return the dynamic sizes of a run that stand alone in a type, by their names, from what streams hold.

    Those over all positions of ragged ones (``sum(~L)``), which metrics name, are among them.
    """
    found: dict[str, int] = {}
    for index, data in streams:
        shape = graph.streams[index].type.shape
        for place, (size, level) in enumerate(zip(shape, data.sizes, strict=True)):
            if isinstance(level, int):
                if size.is_open:
                    found.setdefault(str(size), level)
                continue
            total = element_count(shape[place:])
            if total.is_symbol:
                found.setdefault(str(total), positions(data.sizes[place:]))
    return found
