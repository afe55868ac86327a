"""Streams of loops that carry states: a Scan for all rounds, an Accum for the last one; and what is read of them.

Where a place is no affine function of the loops, ``NotAffine`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from stepagents.lower import functions as fns
from stepagents.lower.affine import Affine, Axis, BoundSizes, Index, NotAffine, Splits
from stepagents.lower.bodies import RoundBody, RoundRead
from stepagents.lower.needs import Leaf, Needs
from stepagents.lower.program import ElementPart, Flow, PlannedProgram, element_of, unit_axis
from stepagents.lower.slices import read_template
from stepagents.lower.values import Rounds, StateOf, zero_fill

# Returns the stream of what is read, over exactly these loops, its elements holding others (both innermost first).
StreamOf: TypeAlias = Callable[[Leaf, Sequence[Axis], Sequence[Axis]], Flow]


class Looping:
    """Adds what loops need to ``program``; what they read comes from ``stream_of``."""

    def __init__(
        self, program: PlannedProgram, stream_of: StreamOf, sizes: BoundSizes, needs: Needs, splits: Splits
    ) -> None:
        self._program = program
        self._stream_of = stream_of
        self._sizes = sizes
        self._needs = needs
        self._splits = splits

    def rounds(self, value: Rounds, index: Index, axes: list[Axis]) -> Flow:
        """Return the stream of all states; ``axes`` begin with the loop's own where every round is wanted."""
        places = index if value.is_last else index[1:]
        within = [value.axis, *axes] if value.is_last else axes
        if within[0] is not value.axis:
            raise NotAffine("the loop over time is not the innermost")
        if value.is_last and value.every is not None:
            return self._last_of(value.every, index, within)
        body = RoundBody(value, places, self._needs, self._splits, self._sizes)
        flow, order = self._inputs(body.reads, within)
        starts, dtypes = body.rule
        lines, results = body.write(order)
        tiles = [*body.tiles, *([()] * (len(dtypes) - len(body.tiles)))]
        parts = [ElementPart(dtype, tile[::-1]) for dtype, tile in zip(dtypes, tiles, strict=True)]
        function = fns.state_function(lines, results, body.label, flow.element, element_of(parts), starts)
        name = value.updates[0].origin or body.label
        if value.is_last:
            return self._program.fold(function, flow, 1, parts, name, body.origins)
        return self._program.scan(function, flow, parts, name, body.origins)

    def _last_of(self, every: Rounds, index: Index, axes: list[Axis]) -> Flow:
        """Return the last of all states, where all of them are wanted anyway."""
        flow = self._stream_of(Leaf(every, (Affine.of(every.axis), *index)), axes, ())
        names = [f"input[{place}]" for place in range(len(flow.parts))]
        starts = ("0",) * len(names)
        function = fns.state_function([], names, "last", flow.element, flow.element, starts)
        return self._program.fold(function, flow, 1, flow.parts, flow.name)

    def _inputs(self, reads: Sequence[RoundRead], axes: list[Axis]) -> tuple[Flow, list[int]]:
        """Return one stream of all that a round reads, and which reads its components are.

        What is needed along the same loops is joined before it is repeated along the others.
        """
        unit = unit_axis()
        groups: dict[tuple[Axis, ...], list[tuple[int, Flow]]] = {}
        for number, read in enumerate(reads):
            needed = self._needs.of(read.value, read.index)
            start = next((place for place, axis in enumerate(axes) if axis in needed), len(axes))
            own = axes[start:] or [unit]
            if not needed.issuperset(own) and own != [unit]:
                own = (
                    axes  # around loops that it does not need: nothing that is joined with others could wait for these
                )
            flow = self._stream_of(Leaf(read.value, read.index), own, read.tile[::-1])
            groups.setdefault(tuple(own), []).append((number, flow))
        if not groups:
            raise NotAffine("Stepsmith has no streaming form of a loop that reads nothing")
        joined = [
            self._program.expanded(self._program.zipped([flow for _, flow in some]), axes) for some in groups.values()
        ]
        order = [number for some in groups.values() for number, _ in some]
        return self._program.zipped(joined), order

    def state(self, value: StateOf, index: Index, axes: list[Axis], tile: list[Axis]) -> Flow:
        """Return the stream of one component at ``index``."""
        base = value.base
        if not base.is_last and not index[0].terms and index[0].const == base.axis.size - 1:
            base, index = base.last, index[1:]
        own = index if base.is_last else index[1:]
        parallel = tuple(own[places[value.index]] for places in base.parallel)
        inner = [own[place] for place in base.inner(value.index)]
        inside = {axis for part in inner for axis in part.axes()}
        rounds = () if base.is_last else index[:1]
        passing = {axis for part in rounds for axis in part.axes()}
        outside = {axis for part in parallel for axis in part.axes()}
        if outside & (inside | passing) or inside & passing:
            raise NotAffine("two dimensions of the states of a loop are read in step")
        free = inside | passing
        count = max((place for place, axis in enumerate(axes) if axis in free), default=-1) + 1
        group, rest = axes[:count], axes[count:]
        waiting = [
            axis for axis in group if axis not in free
        ]  # what rounds do not mix, in an order that they do not have
        in_step = not passing or (bool(group) and group[-1] in passing)  # rounds inside elements are no loops
        if not waiting and _is_plain(rounds, base.axis) and in_step:
            inner_axes = group[: len(group) - len(passing)]
            flow = self._core(base, parallel, [*group[len(inner_axes) :], *rest])
            return self._read(flow, value.index, (), inner, inner_axes, tile)
        outer = rest or [unit_axis()]
        kept = [*([] if base.is_last else [base.axis]), *waiting]
        flow = self._core(base, parallel, [*kept, *outer])
        found = self._read(flow, value.index, kept, [*map(Affine.of, reversed(waiting)), *rounds, *inner], group, tile)
        return found if rest else self._program.without_unit(found)

    def _core(self, base: Rounds, parallel: Index, axes: Sequence[Axis]) -> Flow:
        """Return the stream of all components; the first of ``axes`` is that of the rounds unless it is the last."""
        index = parallel if base.is_last else (Affine.of(base.axis), *parallel)
        own = list(axes) if base.is_last else [base.axis, *axes[1:]]
        flow = self._stream_of(Leaf(base, index), own or [unit_axis()], ())
        return Flow(tuple(axes) or flow.axes, flow.parts, flow.late, flow.number, flow.name)

    def _read(
        self, flow: Flow, component: int, kept: Sequence[Axis], index: Sequence[Affine], group: Sequence[Axis],
        tile: Sequence[Axis],
    ) -> Flow:  # fmt: skip
        """Take one component, keep the innermost loops ``kept`` in a buffer, and stream its elements at ``index``."""
        program = self._program
        part = flow.parts[component]
        many = len(flow.parts) > 1
        shape = [axis.size for axis in (*reversed(kept), *reversed(part.tile))]
        wanted = [*reversed(group), *reversed(tile)]
        template, found = read_template(
            self._sizes, shape, index, {axis: place for place, axis in enumerate(wanted)}, zero_fill(part.dtype)
        )
        if list(found) != wanted:
            raise NotAffine("the states of a loop are repeated inside elements")
        result = ElementPart(part.dtype, tuple(reversed(wanted)))
        if kept and many:
            flow = self._map(flow, f"input[{component}]", part, "state")
        if kept:
            stash = ElementPart(part.dtype, (*part.tile, *kept))
            flow = program.buffered(flow, len(kept), stash)
            many, part = False, stash
        if many or template != "{0}":
            name = f"input[{component if many else 0}]"
            flow = self._map(flow, template.format(name), result, "state" if template == "{0}" else "places")
        else:
            flow = Flow(flow.axes, (result,), flow.late, flow.number, flow.name)
        if not group:
            return flow
        output = program.result("Streamify", [flow], (*result.tile, *flow.axes), [ElementPart(part.dtype)], flow.name)
        flow = program.step("Streamify", [flow], output)
        return program.buffered(flow, len(tile), ElementPart(part.dtype, tuple(tile))) if tile else flow

    def _map(self, flow: Flow, text: str, part: ElementPart, label: str) -> Flow:
        function = fns.map_function([], [text], [], label, flow.element, part.element)
        return self._program.apply(function, [flow], [part], flow.name)


def _is_plain(rounds: Sequence[Affine], axis: Axis) -> bool:
    """Whether rounds are read one after the other, all of them."""
    return all(
        len(part.terms) == 1 and part.terms[0][1] == 1 and part.const == 0 and part.terms[0][0].size == axis.size
        for part in rounds
    )
