"""A mixture of experts in a traced graph, recognized by what is computed: shares that top-k makes zero. No torch.

Each element of the result is written as a sum of products, as far as it depends on which experts were chosen: sums,
contractions and additions are taken apart, views resolved. A product has one *choice*: that the expert is among the
``k`` of the row. What else is in it depends on row, expert and place among them (a *share*), or is the expert. So loops
over experts, `one_hot`, `scatter` and contractions of weights over all experts are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.indices import VIEWS, Atom, Index, IndexedValue, aligned, resolved, whole_index
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.schedules.routed.masked import MaskedScores, masked_scores
from stepagents.schedules.tile_ops import ELEMENTWISE, PRODUCTS
from stepagents.traced.graph import FIXED, opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction

_SCATTERED: Final = frozenset({"scatter", "scatter_add"})
_SUMS: Final = frozenset({"sum", "any"})  # a row has an expert once, so that it is there or adds up to the same
_FULL: Final = frozenset({"full", "full_like", "zeros", "zeros_like"})
_SPLIT: Final = frozenset({"add", "mul", "div"})  # what is shared, or added, is no part of an expert
_MOST: Final = 4096  # products


class ExpertChoice(Record):
    """What says which ``count`` experts a row goes to: the top-k whose indices it takes, of ``scores``."""

    node: Node
    scores: Node
    count: int


class Share(Record):
    """One factor of how much an expert counts; with ``inverse`` it divides. ``value`` is a number, too.

    ``is_softmax``: a softmax of the value over the chosen experts counts.
    """

    value: IndexedValue | float
    inverse: bool = False
    is_softmax: bool = False


class ExpertTerm(Record):
    """One product: the expert (an index, or its number), its shares and what it computes, summed over ``sums``.

    ``place`` is the index among those that were chosen.
    """

    expert: Atom | None = None
    place: Index = ()
    shares: tuple[Share, ...] = ()
    factors: tuple[IndexedValue, ...] = ()
    sums: tuple[Atom, ...] = ()


class Mixture(Record):
    """The result ``node`` as terms: one for all experts, or one for each. ``rows`` and ``column`` are its indices.

    ``added`` are products that no expert computes: a residual.
    """

    node: Node
    choice: ExpertChoice
    experts: Dim
    rows: Index
    column: Index
    terms: tuple[ExpertTerm, ...]
    added: tuple[ExpertTerm, ...] = ()


def mixture_of(traced: TracedFunction) -> Mixture | None:
    """Return the mixture of experts that ``traced`` is; None for a function that chooses none.

    Raises:
        NoSchedule: rows choose experts, but the rest is another computation.
    """
    nodes: list[Node] = list(traced.graph.graph.nodes)
    choices = [choice for node in nodes for choice in _choice(node)]
    if len(choices) != 1 or len(traced.outputs) != 1:
        return None
    (choice,) = choices
    chosen = {node for node in nodes if _is_chosen(node, choice)}
    dependent: set[Node] = set()
    for node in nodes:
        if (
            node in chosen
            or looked_up(node, choice) is not None
            or any(given in dependent for given in node.all_input_nodes)
        ):
            dependent.add(node)
    result = next(node for node in nodes if node.name == traced.outputs[0].node)
    if result not in dependent:
        return None
    dims = shape_of(result)
    if len(dims) < 2:
        raise NoSchedule("its result has no rows", result)
    at = [whole_index(f"t{place}", size) for place, size in enumerate(dims[:-1])]
    column = whole_index("c", dims[-1])
    rows = tuple(chain.from_iterable(at))
    terms = _Terms(choice, chosen, dependent, rows).of(result, (*at, column))
    experts = shape_of(choice.scores)[-1]
    added = tuple(term for term in terms if term.expert is None)
    routed = tuple(_checked([term for term in terms if term.expert is not None], experts, rows, result))
    return Mixture(result, choice, experts, rows, column, routed, added)


def is_mixture(traced: TracedFunction) -> bool:
    """Whether ``traced`` is a mixture of experts."""
    try:
        return mixture_of(traced) is not None
    except NoSchedule:
        return False


def multiplies_by_choice(traced: TracedFunction) -> bool:
    """Whether a product of matrices depends on which places were chosen: what experts compute, or their weights."""
    nodes: list[Node] = list(traced.graph.graph.nodes)
    choices = {choice.node for node in nodes for choice in _choice(node)}
    return any(opname(node) in PRODUCTS and choices & needed_for(node) for node in nodes)


def _choice(node: Node) -> Iterator[ExpertChoice]:
    given: Any = node.args
    if opname(node) == "topk":
        rank = len(shape_of(given[0]))
        dim = given[2] if len(given) > 2 else -1
        largest = given[3] if len(given) > 3 else node.kwargs.get("largest", True)
        if dim % rank == rank - 1 and largest and isinstance(given[1], int):
            yield ExpertChoice(node, given[0], given[1])
    elif opname(node) == "argmax" and len(given) > 1 and given[1] is not None:
        rank = len(shape_of(given[0]))
        if given[1] % rank == rank - 1:
            yield ExpertChoice(node, given[0], 1)


def is_index(node: Node, choice: ExpertChoice) -> bool:
    """Whether a node holds the numbers of the chosen experts."""
    if node is choice.node:
        return opname(node) == "argmax"
    given: Any = node.args
    return bool(given) and given[0] is choice.node and len(given) > 1 and given[1] == 1


def looked_up(node: Node, choice: ExpertChoice) -> tuple[Node, Node] | None:
    """Return a tensor and the chosen experts' numbers that it is indexed by, ``w[best]``; None for any other node."""
    given: Any = node.args
    if opname(node) != "index" or len(given[1]) != 1 or not is_index(_behind(given[1][0]), choice):
        return None
    return given[0], given[1][0]


def expert_of_row(value: IndexedValue, choice: ExpertChoice, expert: Atom) -> tuple[IndexedValue, IndexedValue] | None:
    """Return what ``w[best]`` holds as the tensor of ``expert``, and the number that was chosen; None for any other."""
    found = looked_up(value.node, choice)
    if found is None:
        return None
    tensor, index = found
    rank = len(shape_of(index))
    return resolved(tensor, ((expert,), *value.at[rank:])), resolved(index, value.at[:rank])


def _behind(given: Any) -> Any:
    """Return the node behind views; none of them is looked at closely."""
    while opname(given) in VIEWS:
        given = given.args[0]
    return given


def _is_chosen(node: Node, choice: ExpertChoice) -> bool:
    """Whether a node is what is not zero where an expert was chosen."""
    given: Any = node.args
    if opname(node) == "eq":
        return any(hasattr(each, "op") and is_index(_behind(each), choice) for each in given)
    return opname(node) in _SCATTERED and is_index(_behind(given[2]), choice)


class _Terms:
    """Takes what depends on the choice apart into products."""

    def __init__(self, choice: ExpertChoice, chosen: set[Node], dependent: set[Node], rows: Index) -> None:
        self._choice = choice
        self._chosen = chosen
        self._dependent = dependent
        self._rows = rows
        self._numbers = count()

    def of(self, given: Any, at: Sequence[Index]) -> list[ExpertTerm]:
        """Return the products whose sum is a node's result there.

        Raises:
            NoSchedule: it is no such sum.
        """
        if isinstance(given, int | float):
            return [] if given == 0 else [ExpertTerm(shares=(Share(float(given)),))]
        if is_zero(given):
            return []
        value = resolved(given, at)
        node = value.node
        if is_zero(node):
            return []
        if node not in self._dependent:
            return [ExpertTerm(factors=(value,))]
        if node in self._chosen:
            return [self._eq(value) if opname(node) == "eq" else self._scattered(value)]
        if (looked := looked_up(node, self._choice)) is not None:
            return [self._looked_up(value, shape_of(looked[0])[0])]
        if (computed := self._of_expert(value)) is not None:
            return [computed]
        found = self._apart(node, value.at)
        if len(found) > _MOST:
            raise NoSchedule(f"it has more than {_MOST:,} products of what experts compute", node)
        return found

    def _apart(self, node: Node, at: tuple[Index, ...]) -> list[ExpertTerm]:
        name, given = opname(node), self._given(node)
        masked = masked_scores(node, self._chosen)
        if masked is not None:
            return self._softmax(node, at, masked)
        if name == "add" and node.kwargs.get("alpha", 1) == 1:
            return [*self._argument(node, given[0], at), *self._argument(node, given[1], at)]
        if name in ("mul", "logical_and", "bitwise_and"):
            return _products(self._argument(node, given[0], at), self._argument(node, given[1], at))
        if name == "div" and node.kwargs.get("rounding_mode") is None:
            divisor = given[1]
            by = float(divisor) if isinstance(divisor, int | float) else resolved(divisor, aligned(node, at, divisor))
            return _products(self._argument(node, given[0], at), [ExpertTerm(shares=(Share(by, inverse=True),))])
        if name == "where" and is_zero(given[2]):
            return _products(self._argument(node, given[0], at), self._argument(node, given[1], at))
        if name in _SUMS and (name == "sum" or opname(given[0]) == "eq"):
            return self._summed(node, at)
        if name in PRODUCTS and name != "addmm" and not node.kwargs:
            (label,) = self._label(shape_of(given[0])[-1])
            left, right = (*at[:-1], label), (*at[:-2], label, at[-1])
            sums = ExpertTerm(sums=label)
            return _products(_products(self.of(given[0], left), self.of(given[1], right)), [sums])
        raise NoSchedule(f"{name} is computed of what depends on the chosen experts", node)

    def _given(self, node: Node) -> Any:
        return node.args

    def _argument(self, node: Node, given: Any, at: tuple[Index, ...]) -> list[ExpertTerm]:
        return self.of(given, aligned(node, at, given) if hasattr(given, "op") else ())

    def _label(self, size: Dim) -> list[Index]:
        return [whole_index(f"s{next(self._numbers)}", size)]

    def _summed(self, node: Node, at: tuple[Index, ...]) -> list[ExpertTerm]:
        given: Any = node.args
        dims = shape_of(given[0])
        asked = given[1] if len(given) > 1 else range(len(dims))
        places = sorted(dim % len(dims) for dim in ([asked] if isinstance(asked, int) else asked))
        keeps = len(dims) == len(at)
        inner = list(at)
        sums: list[Atom] = []
        for place in places:
            (label,) = self._label(dims[place])
            sums += label
            if keeps:
                inner[place] = label
            else:
                inner.insert(place, label)
        return _products(self.of(given[0], inner), [ExpertTerm(sums=tuple(sums))])

    def _eq(self, value: IndexedValue) -> ExpertTerm:
        """Return the choice that a comparison of chosen experts with numbers of experts is."""
        given: Any = value.node.args
        sides = [
            float(each) if isinstance(each, int | float) else resolved(each, aligned(value.node, value.at, each))
            for each in given[:2]
        ]
        sides.sort(key=lambda each: not (isinstance(each, IndexedValue) and is_index(each.node, self._choice)))
        index, other = sides
        assert isinstance(index, IndexedValue)
        return self._term(index, _number(other, value.node), value.node)

    def _softmax(self, node: Node, at: tuple[Index, ...], masked: MaskedScores) -> list[ExpertTerm]:
        """Return the choice whose share is a softmax over the chosen experts alone."""
        if masked.is_scattered:
            return [self._scattered(resolved(masked.chosen, at), is_softmax=True)]
        terms = self._argument(node, masked.chosen, at)
        if len(terms) != 1 or terms[0].expert is None or terms[0].shares or terms[0].factors:
            raise NoSchedule("what masks scores says more than which experts were chosen", masked.chosen)
        scores = resolved(masked.scores, aligned(node, at, masked.scores))
        return [replace(terms[0], shares=(Share(scores, is_softmax=True),))]

    def _scattered(self, value: IndexedValue, *, is_softmax: bool = False) -> ExpertTerm:
        """Return the choice, and its share, that a scatter of shares into zeros is."""
        node = value.node
        base, dim, index, source = self._given(node)
        rank = len(value.at)
        if dim % rank != rank - 1 or not (is_softmax or is_zero(base)):
            raise NoSchedule("it scatters into what is not zero, or along another dimension than experts", node)
        (place,) = self._label(shape_of(index)[-1])
        at = (*value.at[:-1], place)
        (expert,) = value.at[-1] or (Atom(0, Dim.of(1)),)
        term = self._term(resolved(index, at), expert, node)
        share = float(source) if isinstance(source, int | float) else resolved(source, at)
        return replace(term, shares=() if share == 1 else (Share(share, is_softmax=is_softmax),), sums=place)

    def _of_expert(self, value: IndexedValue) -> ExpertTerm | None:
        """Return what an expert computes of its own ``w[best]``, None where more than that is in a value."""
        node = value.node
        operands = [each for each in self._given(node)[:2] if each in self._dependent]
        if (len(operands) == 1 and opname(node) in _SPLIT) or needed_for(node) & self._chosen:
            return None
        place = self._place(value)
        if place is None or not set(place) <= set(value.atoms):
            return None
        (expert,) = self._label(shape_of(self._choice.scores)[-1])
        return ExpertTerm(expert[0], place, factors=(value,), sums=expert)

    def _place(self, value: IndexedValue) -> Index | None:
        """Return the place, among the chosen experts, of those that a value looks up; None where it is not known."""
        node = value.node
        found = expert_of_row(value, self._choice, Atom(0, Dim.of(0)))
        if found is not None:
            return found[1].atoms[len(self._rows) :]
        given = [each for each in self._given(node) if hasattr(each, "op")]
        if opname(node) in PRODUCTS and not node.kwargs:
            (label,) = self._label(shape_of(given[-2])[-1])
            ats = [*(aligned(node, value.at, each) for each in given[:-2])]
            ats += [(*value.at[:-1], label), (*value.at[:-2], label, value.at[-1])]
        elif opname(node) in ELEMENTWISE:
            ats = [aligned(node, value.at, each) for each in given]
        else:
            return None
        places = (
            self._place(resolved(each, at)) for each, at in zip(given, ats, strict=True) if each in self._dependent
        )
        return next((place for place in places if place is not None), None)

    def _looked_up(self, value: IndexedValue, experts: Dim) -> ExpertTerm:
        """Return the sum over experts that a tensor at the chosen one is."""
        if experts != shape_of(self._choice.scores)[-1]:
            raise NoSchedule("the chosen experts are looked up in a tensor that has another number of them", value.node)
        (expert,) = self._label(experts)
        found = expert_of_row(value, self._choice, expert[0])
        assert found is not None
        term = self._term(found[1], expert[0], value.node)
        return replace(term, factors=(found[0],), sums=expert)

    def _term(self, index: IndexedValue, expert: Atom, node: Node) -> ExpertTerm:
        rows = tuple(chain.from_iterable(index.at[: len(shape_of(self._choice.scores)) - 1]))
        if rows != self._rows:
            raise NoSchedule("its rows are not those that choose experts", node)
        return ExpertTerm(expert, index.atoms[len(rows) :])


def needed_for(*nodes: Node) -> set[Node]:
    """Return nodes and all that they are computed from."""
    found: set[Node] = set()
    asked = [*nodes]
    while asked:
        if (each := asked.pop()) not in found:
            found.add(each)
            asked += each.all_input_nodes
    return found


def is_zero(given: Any) -> bool:
    """Whether something holds 0 everywhere."""
    if isinstance(given, int | float):
        return given == 0
    if opname(given) in _FULL:
        return opname(given).startswith("zeros") or given.args[1] == 0
    if opname(given) == "scalar_tensor":
        return bool(given.args[0] == 0)
    value = given.meta.get(FIXED)
    return value is not None and value.numel() > 0 and bool((value == 0).all())


def _number(other: IndexedValue | float, node: Node) -> Atom:
    """Return which expert a number, or one of the numbers from 0, stands for."""
    if not isinstance(other, IndexedValue):
        return Atom(int(other), Dim.of(0))
    fixed = other.node.meta.get(FIXED)
    if fixed is not None and fixed.numel() == 1:
        return Atom(int(fixed), Dim.of(0))
    if fixed is None or fixed.reshape(-1).tolist() != list(range(fixed.numel())) or len(other.atoms) != 1:
        raise NoSchedule("it compares the chosen experts with what are no numbers of experts", node)
    return other.atoms[0]


def _products(left: Sequence[ExpertTerm], right: Sequence[ExpertTerm]) -> list[ExpertTerm]:
    return [_product(first, second) for first in left for second in right]


def _product(left: ExpertTerm, right: ExpertTerm) -> ExpertTerm:
    """Return the product of two; where both name the chosen expert, the place is the same."""
    expert, place = (left.expert, left.place) if left.expert is not None else (right.expert, right.place)
    renamed = right
    if left.expert is not None and right.expert is not None:
        if left.expert.name != right.expert.name:
            raise NoSchedule("shares of different experts are multiplied")
        renamed = _renamed(right, dict(zip(right.place, left.place, strict=True)))
    sums = tuple(dict.fromkeys((*left.sums, *renamed.sums)))
    return ExpertTerm(expert, place, left.shares + renamed.shares, left.factors + renamed.factors, sums)


def _renamed(term: ExpertTerm, names: dict[Atom, Atom]) -> ExpertTerm:
    def value(given: IndexedValue) -> IndexedValue:
        return IndexedValue(given.node, tuple(tuple(names.get(atom, atom) for atom in index) for index in given.at))

    shares = tuple(
        replace(share, value=value(share.value)) if isinstance(share.value, IndexedValue) else share
        for share in term.shares
    )
    sums = tuple(names.get(atom, atom) for atom in term.sums)
    return ExpertTerm(term.expert, term.place, shares, tuple(map(value, term.factors)), sums)


def _checked(terms: Sequence[ExpertTerm], experts: Dim, rows: Index, result: Node) -> Iterator[ExpertTerm]:
    """Yield each term with its shares apart from what its expert computes.

    Raises:
        NoSchedule: it is not added up over the experts of a row, or an expert is missing.
    """
    for term in terms:
        assert term.expert is not None
        if not {*term.place} <= {*term.sums} or (isinstance(term.expert.name, str) and term.expert not in term.sums):
            raise NoSchedule("it is not added up over the experts of a row", result)
        known = {*rows, *term.place, term.expert}
        shares = [each for each in term.factors if set(each.atoms) <= known]
        factors = tuple(each for each in term.factors if each not in shares)
        sums = tuple(each for each in term.sums if each != term.expert and each not in term.place)
        yield replace(term, shares=(*term.shares, *map(Share, shares)), factors=factors, sums=sums)
    numbers = [term.expert.name for term in terms if term.expert is not None]
    vectorized = len(terms) == 1 and isinstance(numbers[0], str)
    if not vectorized and sorted(map(str, numbers)) != sorted(map(str, range(experts.constant or 0))):
        raise NoSchedule(f"its experts are not the {experts} that rows choose among, each once", result)
