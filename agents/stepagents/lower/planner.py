"""Asks values for their elements in an order of loops, and writes down the operators that deliver them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from stepagents.lower import functions as fns
from stepagents.lower.affine import Affine, Axis, BoundSizes, Index, NotAffine, ProgramTooLarge, Splits
from stepagents.lower.functions import ExpressionNode, SharedExpressions
from stepagents.lower.looping import Looping
from stepagents.lower.needs import Leaf, Needs, shifted
from stepagents.lower.program import ElementPart, Flow, PlannedProgram, element_of, unit_axis
from stepagents.lower.slices import lined_up
from stepagents.lower.values import (
    Choice,
    Component,
    Fold,
    Literal,
    Padded,
    Pointwise,
    Rounds,
    Running,
    Source,
    StateOf,
    Stuffed,
    Value,
    View,
)
from stepcore.records import Record
from stepcore.types import Element, join

MOST_POSITIONS: Final = 1 << 26  # in one stream at the smallest sizes of a check: more is no simulation of seconds


class Style(Record):
    """What a program does where there is a choice.

    ``reread``: the host streams an input again where a loop does not change it; otherwise it waits in a buffer.
    ``share``: what is needed twice is computed (or streamed in) once, copied, and buffered where one use is later.
    """

    reread: bool = True
    share: bool = True


class Planner:
    """Builds one program; see :meth:`deliver`."""

    def __init__(
        self, sizes: BoundSizes, splits: Splits, style: Style, least: BoundSizes, most: int = MOST_POSITIONS
    ) -> None:
        """``sizes`` are those of the trace, ``least`` the smallest at which the program will run.

        No stream may have more than ``most`` elements at the latter.
        """
        self._most = most
        self.program = PlannedProgram()
        self._sizes = sizes
        self._least = least
        self._style = style
        self._flows: dict[object, Flow] = {}
        self._splits = splits
        self._needs = Needs(sizes, splits)
        self._looping = Looping(self.program, self.stream, sizes, self._needs, splits)

    def needs(self, value: Value, index: Index) -> frozenset[Axis]:
        """Return the loops that the element at ``index`` depends on; raises what makes it impossible."""
        return self._needs.of(value, index)

    def deliver(self, value: Value, index: Index, axes: Sequence[Axis], tile: Sequence[Axis]) -> Flow:
        """Add the stream of ``value`` at ``index`` over ``axes`` (innermost first) as a result.

        Raises:
            NotAffine, NeedSplit: this order of loops does not work.
        """
        flow = self.stream(Leaf(value, index), axes, tile)
        if any(flow is read.flow for read in self.program.reads):
            flow = self.program.step(
                "Identity", [flow], self.program.result("Identity", [flow], flow.axes, flow.parts, flow.name)
            )
        self.program.results.append(flow)
        return flow

    # --- expressions -----------------------------------------------------------------------------------------------

    def _expression(
        self, value: Value, index: Index, full: Sequence[Axis], tree: SharedExpressions, leaves: dict[Leaf, int]
    ) -> int:
        """Return the node for one element; ``full`` are all loops around it, innermost first."""
        key = (value.number, index)
        found = tree.made.get(key)
        if found is None:
            found = tree.made[key] = self._new_expression(value, index, full, tree, leaves)
        return found

    def _new_expression(
        self, value: Value, index: Index, full: Sequence[Axis], tree: SharedExpressions, leaves: dict[Leaf, int]
    ) -> int:
        match value:
            case View():
                return self._expression(value.base, value.remap(index), full, tree, leaves)
            case Choice():
                return self._expression(self._needs.chosen(value, index), index, full, tree, leaves)
            case Literal():
                return tree.add(ExpressionNode(value.text))
            case Padded() | Stuffed():
                return self._padded(value, index, full, tree, leaves)
            case Pointwise() if not self._is_cut(value, index, full):
                tree.note(value.origin)
                args = tuple(self._expression(arg, index, full, tree, leaves) for arg in value.args)
                return tree.add(ExpressionNode(value.template, args, value.label))
            case Component() if not self._has_gap(value, index, full):
                leaf = leaves.setdefault(Leaf(value.base, index), len(leaves))
                return tree.add(ExpressionNode("", leaf=leaf, component=value.index))
        leaf = leaves.setdefault(Leaf(value, index), len(leaves))
        return tree.add(ExpressionNode("", leaf=leaf))

    def _padded(
        self,
        value: Padded | Stuffed,
        index: Index,
        full: Sequence[Axis],
        tree: SharedExpressions,
        leaves: dict[Leaf, int],
    ) -> int:
        if isinstance(value, Padded) and self._needs.inside(value, index):
            return self._expression(value.base, shifted(index, value), full, tree, leaves)
        placed = self._needs.placed(value, index)
        if placed is not None:
            return tree.add(ExpressionNode("", leaf=leaves.setdefault(placed, len(leaves))))
        assert isinstance(value, Padded)
        inner = shifted(index, value)
        risky = [(part, size) for part, size in zip(inner, value.base.shape, strict=True)
                 if not self._sizes.within(part, size)]  # fmt: skip
        mask = Source(tuple(size for _, size in risky), "bool", "inside", "ones")
        mask.number = -1  # all masks of one shape are the same
        leaf = leaves.setdefault(Leaf(mask, tuple(part for part, _ in risky), "False"), len(leaves))
        inside = tree.add(ExpressionNode("", leaf=leaf))
        body = self._expression(value.base, inner, full, tree, leaves)
        return tree.add(ExpressionNode(f"torch.where({{0}}, {{1}}, {value.fill})", (inside, body), "padded"))

    def _is_cut(self, value: Pointwise, index: Index, full: Sequence[Axis]) -> bool:
        """Whether to compute ``value`` by itself, because it will have to be repeated around inner loops."""
        return self._has_gap(value, index, full) and (not self._style.reread or self._needs.is_heavy(value))

    def _has_gap(self, value: Value, index: Index, full: Sequence[Axis]) -> bool:
        needs = self._needs.of(value, index)
        return bool(needs) and _gap(needs, full)

    # --- streams ---------------------------------------------------------------------------------------------------

    def stream(self, leaf: Leaf, axes: Sequence[Axis], tile: Sequence[Axis]) -> Flow:
        """Return the stream of ``leaf`` over exactly ``axes``."""
        value, index = leaf.value, leaf.index
        value, index = self._needs.straight(value, index)
        needs = self._needs.of(value, index)
        own = [axis for axis in axes if axis in needs]
        own_tile = [axis for axis in tile if axis in needs]
        if isinstance(value, Source) and self._style.reread and own:
            start = next(position for position, axis in enumerate(axes) if axis in needs)
            own = list(axes[start:])
        if not own:
            own = [axes[-1] if axes[-1].size == 1 else unit_axis()]
        self._check(own, own_tile)
        leaf = Leaf(value, index, leaf.fill, leaf.step)
        key = self._key(leaf, own, own_tile)
        flow = self._flows.get(key) if self._style.share else None
        if flow is None:
            flow = self._flows[key] = self._produced(leaf, own, own_tile)
        elif flow.axes != tuple(own):
            flow = _renamed(flow, own, own_tile)
        return self.program.expanded(flow, axes)

    def _produced(self, leaf: Leaf, axes: list[Axis], tile: list[Axis]) -> Flow:
        value, index = leaf.value, leaf.index
        before, self.program.origin = self.program.origin, value.origin or self.program.origin
        try:
            match value:
                case Source():
                    return self.program.read(value, index, axes, tile, leaf.step, leaf.fill)
                case Fold():
                    return self._fold(value, index, axes, tile)
                case Running():
                    return self._scan(value, index, axes, tile)
                case Rounds():
                    return self._looping.rounds(value, index, axes)
                case StateOf():
                    return self._looping.state(value, index, axes, tile)
                case _:
                    return self._map((value,), index, axes, tile, value.origin)
        except NotAffine as error:
            error.origin = error.origin or self.program.origin
            raise
        finally:
            self.program.origin = before

    def _map(self, values: Sequence[Value], index: Index, axes: list[Axis], tile: list[Axis], name: str) -> Flow:
        """Return the stream of the elements of ``values`` at ``index``, as a tuple if they are several."""
        tree, leaves, roots = self._tree(values, index, axes)
        flows, texts, head, taken = self._inputs(leaves, axes, tile)
        lines, results = tree.write(roots, texts, taken)
        results = [_as_tensor(text, value) if not tree.nodes[root].args and tree.nodes[root].leaf is None else text
                   for text, root, value in zip(results, roots, values, strict=True)]  # fmt: skip
        parts = [
            ElementPart(value.dtype, tuple(axis for axis in tile if axis in self._needs.of(value, index)))
            for value in values
        ]
        label = fns.title(tree.labels(roots))
        input_ = _element(flows)
        function = fns.map_function(lines, results, head, label, input_, element_of(parts))
        return self.program.apply(function, flows, parts, name or label, tree.origins)

    def _fold(self, value: Fold, index: Index, axes: list[Axis], tile: list[Axis]) -> Flow:
        inner, loops = self._needs.fold_loops(value)
        within = [*reversed(loops), *axes]
        self._check(within, tile)
        at = (*index, *inner)
        tree, leaves, roots = self._tree(value.bases, at, within)
        parts = [ElementPart(dtype, tuple(tile)) for dtype in value.rule.components]
        output = element_of(parts)
        label = fns.title(tree.labels(roots), value.rule.label)
        fused: Iterable[str] | None = None
        if len(leaves) > 1 or len(leaves) == 0:
            flow = self._map(value.bases, at, within, tile, "")
            names = [f"input[{i}]" for i in range(len(value.bases))]
            function = fns.fold_function(value.rule, [], names, [], value.rule.label, flow.element, output)
        else:
            flows, texts, head, taken = self._inputs(leaves, within, tile)
            lines, results = tree.write(roots, texts, taken)
            flow, fused = flows[0], tree.origins
            function = fns.fold_function(value.rule, lines, results, head, label, flow.element, output)
        origins = (*(() if fused is None else fused), value.origin or self.program.origin)
        return self.program.fold(function, flow, len(loops), parts, value.origin or value.rule.label, origins)

    def _scan(self, value: Running, index: Index, axes: list[Axis], tile: list[Axis]) -> Flow:
        scanned = self._needs.scanned(index)
        if axes[0] is not scanned:
            raise NotAffine("the loop of a running result is not the innermost")
        flow = self.stream(Leaf(value.base, index), axes, tile)
        parts = [ElementPart(dtype, flow.parts[0].tile) for dtype in value.rule.components]
        output = element_of(parts)
        function = fns.fold_function(value.rule, [], ["input[0]"], [], value.rule.label, flow.element, output)
        return self.program.scan(function, flow, parts, value.origin or value.rule.label)

    def _tree(
        self, values: Iterable[Value], index: Index, full: Sequence[Axis]
    ) -> tuple[SharedExpressions, dict[Leaf, int], list[int]]:
        tree, leaves = SharedExpressions(), dict[Leaf, int]()
        roots: list[int] = []
        for value in values:
            if isinstance(value, Component):  # asked for by itself
                leaf = leaves.setdefault(Leaf(value.base, index), len(leaves))
                roots.append(tree.add(ExpressionNode("", label="", leaf=leaf, component=value.index)))
            elif isinstance(value, Pointwise):
                tree.note(value.origin)
                args = tuple(self._expression(arg, index, full, tree, leaves) for arg in value.args)
                roots.append(tree.add(ExpressionNode(value.template, args, value.label)))
            else:
                roots.append(self._expression(value, index, full, tree, leaves))
        return tree, leaves, roots

    def _inputs(
        self, leaves: dict[Leaf, int], axes: list[Axis], tile: list[Axis]
    ) -> tuple[list[Flow], dict[tuple[int, int], str], list[str], set[str]]:
        """Return the streams of ``leaves``, the text of each component, the line that names them, and the names."""
        if not leaves:
            ones = Source((axes[0].size,), "fp32", "ones", "ones")
            leaves = {Leaf(ones, (Affine.of(axes[0]),)): 0}
        flows = [self.stream(leaf, axes, tile) for leaf in leaves]
        taken = set(fns.LOCALS)
        names: list[str] = []
        texts: dict[tuple[int, int], str] = {}
        for number, flow in enumerate(flows):
            for component, part in enumerate(flow.parts):
                name = fns.fresh_name(flow.name, taken)
                names.append(name)
                texts[number, component] = lined_up(name, part.tile, tile[::-1])
        head = [f"{names[0]} = input[0]"] if len(names) == 1 else [f"{', '.join(names)} = input"]
        return flows, texts, head, taken

    def _key(self, leaf: Leaf, axes: list[Axis], tile: list[Axis]) -> object:
        """Return what is equal for equal streams: the index in terms of the places of its loops."""
        places = {axis: place for place, axis in enumerate((*tile, *axes))}
        index = tuple(
            (frozenset((places.get(axis, axis), factor) for axis, factor in part.terms), part.const)
            for part in leaf.index
        )
        shape = leaf.value.shape if leaf.value.number < 0 else ()
        sizes = tuple(axis.size for axis in axes), tuple(axis.size for axis in tile)
        return leaf.value.number, shape, index, sizes, leaf.fill, leaf.step

    def _check(self, axes: Iterable[Axis], tile: Iterable[Axis]) -> None:
        count = prod(self._least.of(axis.size) for axis in (*axes, *tile))
        if count > self._most:
            sizes = ", ".join(f"{name}={size}" for name, size in self._least.bindings.items())
            where = f" even with {sizes}, the smallest sizes that were tried" if sizes else ""
            raise ProgramTooLarge(
                f"one stream would have {count:,} elements{where}; at most {self._most:,} can be verified"
            )


def _gap(needs: frozenset[Axis], full: Sequence[Axis]) -> bool:
    """Whether a loop that is not needed has a needed one inside it."""
    seen = False
    for axis in full:
        if axis in needs:
            seen = True
        elif seen:
            return True
    return False


def _as_tensor(text: str, value: Value) -> str:
    """Return a number as what a function has to return."""
    names = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
    return f"torch.full((), {text}, dtype=torch.{names.get(value.dtype, value.dtype)})"


def _renamed(flow: Flow, axes: list[Axis], tile: list[Axis]) -> Flow:
    """Return the same stream, its loops called as whoever asks for it calls them."""
    parts = tuple(ElementPart(part.dtype, tuple(tile)) if part.tile and tile else part for part in flow.parts)
    return Flow(tuple(axes), parts, flow.late, flow.number, flow.name)


def _element(flows: Sequence[Flow]) -> Element:
    return flows[0].element if len(flows) == 1 else join(flow.element for flow in flows)
