"""The function of one round of a loop: expressions over the tensors inside elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from stepagents.lower import functions as fns
from stepagents.lower.affine import Affine, Axis, BoundSizes, Index, NeedSplit, NotAffine, Splits
from stepagents.lower.functions import ExpressionNode, SharedExpressions
from stepagents.lower.needs import Needs, first_working, shifted
from stepagents.lower.slices import expanded, lined_up, read_template, shape_text
from stepagents.lower.values import (
    Choice,
    Component,
    Fold,
    Literal,
    LoopState,
    Padded,
    Pointwise,
    Rounds,
    Running,
    Source,
    Value,
    View,
    is_folded,
    parts_of,
)
from stepcore.records import Record
from stepcore.sizes.dim import Dim

Term: TypeAlias = "tuple[int, tuple[Axis, ...]]"  # a node, and the dimensions of its text, outermost first
_MOST_SPLITS: Final = 16
# How a fold of the last dimension is written, for each component of its state; ``moments`` counts first.
_WHOLE: Final = {
    "add": ("torch.sum({0}, -1)",),
    "multiply": ("torch.prod({0}, -1)",),
    "maximum": ("torch.amax({0}, -1)",),
    "any": ("torch.any({0}, -1)",),
    "all": ("torch.all({0}, -1)",),
    "moments": ("", "torch.mean({0}, -1)", "torch.sum(torch.square({0} - torch.mean({0}, -1, True)), -1)"),
    "online_softmax": ("torch.amax({0}, -1)", "torch.sum(torch.exp({0} - torch.amax({0}, -1, True)), -1)"),
    "argmax": ("torch.amax({0}, -1)", "torch.argmax({0}, -1)"),
}


class RoundRead(Record):
    """A stream that rounds read: ``tile`` are the dimensions inside its elements, outermost first."""

    value: Value
    index: Index
    tile: tuple[Axis, ...]


class RoundBody:
    """One round of ``loop`` at ``index`` of its parallel dimensions: what it reads, and the text of its updates."""

    def __init__(self, loop: Rounds, index: Index, needs: Needs, splits: Splits, sizes: BoundSizes) -> None:
        self._loop = loop
        self._index = index
        self._needs = needs
        self._splits = splits
        self._sizes = sizes
        self._tree = SharedExpressions()
        self._terms: dict[tuple[int, Index], Term] = {}
        self._ranks: dict[Axis, int] = {}  # the dimensions inside elements, in the order in which texts have them
        self._reads: dict[object, RoundRead] = {}
        self._whole: dict[tuple[int, int], tuple[Affine, tuple[Axis, ...]]] = {}
        self._carries: dict[int, bool] = {}
        self.tiles: list[tuple[Axis, ...]] = []
        self._roots = [self._root(number, update) for number, update in enumerate(loop.updates)]
        self._first = {
            number: self._first_read(number, first) for number, first in enumerate(loop.firsts) if _is_given(first)
        }
        used = {self._tree.nodes[node].leaf for node in self._tree.below(self._roots)}
        numbers = {key: place for place, key in enumerate(self._reads)}
        kept = {key for key, place in numbers.items() if place in used} | set(self._first.values())
        self._places = {numbers[key]: place for place, key in enumerate(key for key in self._reads if key in kept)}
        self._numbers = numbers
        self.reads = [read for key, read in self._reads.items() if key in kept]

    @property
    def label(self) -> str:
        """A name for the function."""
        return fns.title(self._tree.labels(self._roots), "round")

    @property
    def origins(self) -> tuple[str, ...]:
        """The graph nodes that a round computes."""
        return tuple(self._tree.origins)

    @property
    def rule(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """How the state starts, and its dtypes: the components of the loop and, where one is given, a counter."""
        starts = [
            first.text if isinstance(first, Literal) and not _is_given(first) else "0" for first in self._loop.firsts
        ]
        dtypes = [update.dtype for update in self._loop.updates]
        if self._first:
            return (*starts, "0"), (*dtypes, "int64")
        return tuple(starts), tuple(dtypes)

    def write(self, order: Sequence[int]) -> tuple[list[str], list[str]]:
        """Return the statements of the function and its results; ``order`` are the reads as its input has them."""
        taken = set(fns.LOCALS)
        inputs = [fns.fresh_name(_name(self.reads[place].value), taken) for place in order]
        states = [fns.fresh_name("before", taken) for _ in self._loop.updates]
        names = [*states, *([fns.fresh_name("count", taken)] if self._first else [])]
        head = [_unpacked(names, "state"), _unpacked(inputs, "input")]
        by_place = dict(zip(order, inputs, strict=True))
        for number, key in self._first.items():
            first = by_place[self._places[self._numbers[key]]]
            head.append(f"{states[number]} = torch.where({names[-1]} == 0, {first}, {states[number]})")
        texts = {(number, 0): by_place[place] for number, place in self._places.items()}
        texts |= {(-1 - number, 0): name for number, name in enumerate(states)}
        lines, results = self._tree.write(self._roots, texts, taken)
        return [*head, *lines], [*results, *([f"{names[-1]} + 1"] if self._first else [])]

    # --- results ---------------------------------------------------------------------------------------------------

    def _root(self, number: int, update: Value) -> int:
        """Return the node of one update, with all its dimensions inside the element, in their order."""
        index: list[Affine] = [Affine()] * len(update.shape)
        for places, part in zip(self._loop.parallel, self._index, strict=True):
            index[places[number]] = part
        within: list[tuple[Axis, ...]] = []
        for place in self._loop.inner(number):
            key = ("state", self._loop.states[0].number, number, place)
            index[place], axes = self._inside(f"h{place}", update.shape[place], key)
            within.append(axes)
        wanted = [axis for axes in within for axis in axes]
        node, axes = self._term(update, tuple(index))
        if isinstance(update, Literal) or (not axes and self._tree.nodes[node].template == _text(update)):
            sizes = shape_text(axis.size for axis in wanted)
            node, axes = self._add(f"torch.full(({sizes}), {{0}})", node), tuple(wanted)
        template = expanded("{0}", axes, wanted)
        if any(len(each) > 1 for each in within):
            sizes = shape_text(update.shape[place] for place in self._loop.inner(number))
            template = f"torch.reshape({template}, ({sizes}))"
        self.tiles.append(
            tuple(Axis(f"h{place}", update.shape[place], ("kept", number, place)) for place in self._loop.inner(number))
        )
        return node if template == "{0}" else self._add(template, node)

    def _first_read(self, number: int, first: Value | None) -> object:
        """Read the state before the first round; returns the key of the read."""
        assert first is not None
        index: list[Affine] = [Affine()] * len(first.shape)
        for places, part in zip(self._loop.parallel, self._index, strict=True):
            index[places[number]] = part
        for place in self._loop.inner(number):
            index[place], _ = self._inside(f"h{place}", first.shape[place], ("first", first.number, place))
        value, found = self._needs.straight(first, tuple(index))
        wanted = [axis for place in self._loop.inner(number) for axis in index[place].axes()]
        needed = self._needs.of(value, found)
        if any(axis not in needed for axis in wanted):
            raise NotAffine("the state before the first round is the same along a dimension that rounds mix")
        key = ("first", number)
        self._reads[key] = RoundRead(value, found, tuple(wanted))
        return key

    def _inside(self, name: str, size: Dim, key: object) -> tuple[Affine, tuple[Axis, ...]]:
        index, axes = self._splits.loops(name, size, key)
        for axis in axes:
            self._ranks[axis] = len(self._ranks)
        return index, axes

    def _add(self, template: str, *args: int, label: str = "") -> int:
        return self._tree.add(ExpressionNode(template, args, label))

    # --- expressions -----------------------------------------------------------------------------------------------

    def _term(self, value: Value, index: Index) -> Term:
        key = (value.number, index)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = self._new_term(value, index)
        return found

    def _new_term(self, value: Value, index: Index) -> Term:
        match value:
            case Literal():
                return self._add(value.text), ()
            case View():
                return self._term(value.base, value.remap(index))
            case Choice():
                return first_working(value, lambda option: self._term(option, index))
            case LoopState():
                return self._state(value, index)
            case Pointwise():
                self._tree.note(value.origin)
                return self._pointwise(value, [self._term(arg, index) for arg in value.args])
            case Fold() if self._is_inside(value):
                return self._fold(value, index, 0)
            case Component(base=Fold() as base) if self._is_inside(base):
                return self._fold(base, index, value.index)
            case Padded() if self._is_carried(value):
                return self._padded(value, index)
        if self._is_carried(value):
            what = (
                "a running result" if isinstance(value, Running) else "something other than views, folds and arithmetic"
            )
            raise NotAffine(f"a round of the loop makes {what} of its state")
        return self._stream(value, index)

    def _pointwise(self, value: Pointwise, terms: Sequence[Term]) -> Term:
        full = self._sorted({axis for _, axes in terms for axis in axes})
        args = [self._lined_up(term, full) for term in terms]
        return self._add(value.template, *args, label=value.label), full

    def _sorted(self, axes: set[Axis]) -> tuple[Axis, ...]:
        return tuple(sorted(axes, key=self._ranks.__getitem__))

    def _lined_up(self, term: Term, full: Sequence[Axis]) -> int:
        template = lined_up("{0}", term[1], full)
        return term[0] if template == "{0}" else self._add(template, term[0])

    def _fold(self, value: Fold, index: Index, component: int) -> Term:
        """Fold whole dimensions of tensors, those of the fold last."""
        self._tree.note(value.origin)
        templates = _WHOLE.get(value.rule.label)
        if templates is None or len(value.bases) > 1:
            raise NotAffine(f"a round of the loop folds in a way that no function does: {value.rule.label}")
        shape = value.bases[0].shape
        lead = len(shape) - value.dims
        parts = [
            self._inside(f"r{number}", size, ("fold", value.number, number)) for number, size in enumerate(shape[lead:])
        ]
        within = [axis for _, axes in parts for axis in axes]
        node, axes = self._term(value.bases[0], (*index, *(part for part, _ in parts)))
        rest = self._sorted(set(axes) - set(within))
        template = expanded("{0}", axes, (*rest, *within))
        if len(within) > 1:
            template = f"torch.flatten({template}, {-len(within)})"
        node = node if template == "{0}" else self._add(template, node)
        if not templates[component]:
            raise NotAffine("a round of the loop counts what it folds")
        return self._add(templates[component], node, label=value.rule.label), rest

    def _padded(self, value: Padded, index: Index) -> Term:
        """Read a tensor that a round makes, with padding around it."""
        inner = [
            self._inside(f"p{place}", size, ("padded", value.number, place))
            for place, size in enumerate(value.base.shape)
        ]
        outer = shifted(index, value)
        streams = [not any(axis in self._ranks for axis in part.axes()) and bool(part.terms) for part in outer]
        own = tuple(
            part if is_stream else each for part, (each, _), is_stream in zip(outer, inner, streams, strict=True)
        )
        node, axes = self._term(value.base, own)
        wanted = [axis for (_, some), is_stream in zip(inner, streams, strict=True) if not is_stream for axis in some]
        node = node if tuple(axes) == tuple(wanted) else self._add(expanded("{0}", axes, wanted), node)
        sizes = [size for size, is_stream in zip(value.base.shape, streams, strict=True) if not is_stream]
        parts = [part for part, is_stream in zip(outer, streams, strict=True) if not is_stream]
        if any(len(some) > 1 for _, some in inner):
            text = "padding around a tensor inside an element whose dimensions are split"
            raise NotAffine(f"Stepsmith has no streaming form of {text}")
        template, found = read_template(self._sizes, sizes, parts, self._ranks, value.fill)
        return self._add(template, node), found

    def _state(self, value: LoopState, index: Index) -> Term:
        places = self._loop.inner(value.index)
        for own, part in zip(self._loop.parallel, self._index, strict=True):
            if not _is_same(index[own[value.index]], part):
                raise NotAffine("a round reads the state of another place of a parallel dimension")
        template, axes = read_template(
            self._sizes, [value.shape[place] for place in places], [index[place] for place in places], self._ranks
        )
        node = self._tree.add(ExpressionNode("", leaf=-1 - value.index))
        return (node if template == "{0}" else self._add(template, node)), axes

    def _stream(self, value: Value, index: Index) -> Term:
        """Read what is computed outside: dimensions that the round runs along are whole inside the elements."""
        value, index = self._needs.straight(value, index)
        if isinstance(value, View | Choice | Literal | Pointwise):
            return self._term(value, index)
        outer: list[Affine] = []
        tile: list[Axis] = []
        shape: list[Dim] = []
        parts: list[Affine] = []
        split = False
        for place, (part, size) in enumerate(zip(index, value.shape, strict=True)):
            inside = [axis in self._ranks for axis in part.axes()]
            if not any(inside):
                outer.append(part)
                continue
            if not all(inside):
                raise NotAffine("a round reads places that follow both the round and what it runs along")
            if (value.number, place) not in self._whole:
                loops = self._splits.loops(f"w{place}", size, ("whole", value.number, place))
                self._whole[value.number, place] = loops
            whole, axes = self._whole[value.number, place]
            outer.append(whole)
            tile += axes
            split = split or len(axes) > 1
            shape.append(size)
            parts.append(part)
        needed = self._needs.of(value, tuple(outer))
        if any(axis not in needed for axis in tile):
            raise NotAffine("a round reads what is the same along a dimension")
        key = (value.number, tuple(outer))
        self._reads.setdefault(key, RoundRead(value, tuple(outer), tuple(tile)))
        node = self._tree.add(ExpressionNode("", leaf=list(self._reads).index(key)))
        if split:
            node = self._add(f"torch.reshape({{0}}, ({shape_text(shape)}))", node)
        template, found = read_template(self._sizes, shape, parts, self._ranks)
        return (node if template == "{0}" else self._add(template, node)), found

    def _is_inside(self, fold: Fold) -> bool:
        """Whether rounds do this fold themselves: one of states, or a product of what streams in with weights."""
        return self._is_carried(fold) or not any(map(is_folded, fold.bases))

    def _is_carried(self, value: Value) -> bool:
        found = self._carries.get(value.number)
        if found is None:
            own = isinstance(value, LoopState) and value in self._loop.states
            found = self._carries[value.number] = own or any(map(self._is_carried, parts_of(value)))
        return found


def parallel_dimensions(updates: Sequence[Value], sizes: BoundSizes) -> tuple[tuple[int, ...], ...]:
    """Return the dimensions that a round does not mix, as one place in each component.

    Raises:
        NotAffine: it cannot be told.
    """
    splits = Splits()
    for _ in range(_MOST_SPLITS):
        try:
            return _parallel(updates, Needs(sizes, splits), splits)
        except NeedSplit as need:
            splits.add(need)
    raise NotAffine("the loops of a round would have to be split too often")


def _parallel(updates: Sequence[Value], needs: Needs, splits: Splits) -> tuple[tuple[int, ...], ...]:
    """Group the dimensions that every read of a state keeps; a group with one of each component is parallel."""
    groups: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for number, update in enumerate(updates):
        for place in range(len(update.shape)):
            groups[number, place] = {(number, place)}
    mixed: set[tuple[int, int]] = set()
    for number, update in enumerate(updates):
        index = tuple(
            splits.loops(f"d{place}", size, ("update", number, place))[0] for place, size in enumerate(update.shape)
        )
        for state, at in _state_reads(update, index, needs):
            for place, part in enumerate(at):
                own = next((mine for mine, each in enumerate(index) if _is_same(each, part)), None)
                if own is None or update.shape[own] != state.shape[place]:
                    mixed.add((state.index, place))
                    continue
                merged = groups[number, own] | groups[state.index, place]
                for member in merged:
                    groups[member] = merged
    found: list[tuple[int, ...]] = []
    for place in range(len(updates[0].shape)):
        group = groups[0, place]
        if not group & mixed and sorted(number for number, _ in group) == list(range(len(updates))):
            found.append(tuple(where for _, where in sorted(group)))
    return tuple(found)


def _state_reads(value: Value, index: Index, needs: Needs) -> Iterator[tuple[LoopState, Index]]:
    """Yield where ``value`` reads states at ``index``, anywhere below."""
    match value:
        case LoopState():
            yield value, index
        case View():
            yield from _state_reads(value.base, value.remap(index), needs)
        case Choice():
            yield from first_working(value, lambda option: list(_state_reads(option, index, needs)))
        case Pointwise():
            for arg in value.args:
                yield from _state_reads(arg, index, needs)
        case Component():
            yield from _state_reads(value.base, index, needs)
        case Padded():
            yield from _state_reads(value.base, shifted(index, value), needs)
        case Fold():
            inner, _ = needs.fold_loops(value)
            for base in value.bases:
                yield from _state_reads(base, (*index, *inner), needs)


def _is_same(left: Affine, right: Affine) -> bool:
    difference = left - right
    return not difference.terms and difference.const == 0


def _is_given(first: Value | None) -> bool:
    """Whether a state starts from a tensor, and not from one number that an accumulator can start from."""
    if first is None:
        return False
    if not isinstance(first, Literal):
        return True
    try:
        float(first.text)
    except ValueError:
        return True
    return False


def _text(value: Value) -> str:
    return value.text if isinstance(value, Literal) else ""


def _name(value: Value) -> str:
    return value.name if isinstance(value, Source) else value.origin or "value"


def _unpacked(names: Sequence[str], whole: str) -> str:
    return f"{names[0]} = {whole}[0]" if len(names) == 1 else f"{', '.join(names)} = {whole}"
