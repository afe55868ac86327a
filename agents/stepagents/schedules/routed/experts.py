"""What an expert computes of a tile of rows, as element functions: one product deep, or two with a hidden dimension.

A *block* is what stands in so many columns: products of rows with a matrix of the expert, vectors of it, and what is
computed of these element by element. No torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import ATOM, returning
from stepagents.schedules.indices import Atom, Index, IndexedValue, aligned, resolved
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.schedules.routed.mixture import ExpertTerm, Mixture, Share, expert_of_row, looked_up, needed_for
from stepagents.schedules.tile_ops import ELEMENTWISE, PRODUCTS, pointwise
from stepagents.traced.graph import opname, scalar_argument
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

FOLDED: Final = "folded"
_NAME: Final = re.compile(r"(?<![\w.])[a-z]\w*")
_ALL: Final = "all"  # experts lie one after the other in the tensor


class ExpertTensor(Record):
    """A tensor of which a tile is read beside the rows: that of an expert, of the ``place``-th, or of all alike (None).

    ``depth`` is what it is folded over, None for a vector. A ``turned`` matrix has a row for each column.
    """

    node: Node
    place: int | str | None
    depth: Dim | None = None
    turned: bool = False


class ExpertBlock(Record):
    """So many columns of what an expert computes: ``lines`` and ``result`` of names for products and for vectors.

    ``each`` are the FLOPs of an element besides its products; ``takes`` are the rows that products read. Where there is
    a hidden dimension, ``FOLDED`` stands for the product that folds it.
    """

    lines: tuple[str, ...]
    result: str
    products: tuple[tuple[str, ExpertTensor], ...]
    vectors: tuple[tuple[str, ExpertTensor], ...]
    columns: Dim
    each: int
    takes: IndexedValue | None

    @property
    def operands(self) -> tuple[ExpertTensor, ...]:
        """The tensors that it reads: matrices, then vectors."""
        return tuple(operand for _, operand in (*self.products, *self.vectors))

    @property
    def is_folded(self) -> bool:
        """Whether nothing is computed behind the product that folds what is hidden."""
        return not self.lines and self.result == FOLDED

    def body(self, names: Mapping[str, str], computed: Sequence[tuple[str, int]] = ()) -> str:
        """Return the text of an element function: what each name stands for, and products that are computed first.

        Those are ``input[0]`` times the input of the number beside the name.
        """
        turned = {name: operand.turned for name, operand in self.products}
        lines = [f"{name} = {product(place, turned=turned[name])}" for name, place in computed]
        lines += [_replaced(line, names) for line in self.lines]
        return returning(lines, _replaced(self.result, names))


def product(place: int, *, turned: bool) -> str:
    """Return the text of rows times the matrix that is the input ``place``."""
    return f"input[0] @ input[{place}]{'.T' if turned else ''}"


def _replaced(text: str, names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: names.get(match[0], match[0]), text)


class Expert(Record):
    """``outer`` gives the result. Where there is a hidden dimension, ``hidden`` gives it, and ``down`` folds it.

    ``shares`` say how much an expert that every row goes to counts for each.
    """

    outer: ExpertBlock
    hidden: ExpertBlock | None = None
    down: ExpertTensor | None = None
    shares: tuple[Share, ...] = ()

    @property
    def gates(self) -> tuple[IndexedValue, ...]:
        """The shares that are computed of rows."""
        return tuple(each.value for each in self.shares if isinstance(each.value, IndexedValue))


def experts_of(mixture: Mixture) -> list[Expert]:
    """Return what the expert of each term computes, in the order of the experts' numbers; one where all are in one.

    Raises:
        NoSchedule: it is no product of rows with matrices of the expert, nor two of them in a row, or experts differ.
    """
    needed = [needed_for(*(each.node for each in term.factors)) for term in mixture.terms]
    shared = set.intersection(*needed)
    terms = sorted(mixture.terms, key=_number)
    found = [expert_of(mixture, term, shared) for term in terms]
    if len({_form(each) for each in found}) != 1:
        raise NoSchedule("its experts do not compute the same", mixture.node)
    return found


def _number(term: ExpertTerm) -> int:
    assert term.expert is not None
    return term.expert.name if isinstance(term.expert.name, int) else 0


def expert_of(mixture: Mixture, term: ExpertTerm, shared: set[Node]) -> Expert:
    """Return what the expert of a term computes; ``shared`` is what rows are made of before any expert.

    Raises:
        NoSchedule: it is no product of rows with matrices of the expert, nor two of them in a row.
    """
    writing = _Writing(mixture, term, shared)
    outer, hidden, down = writing.block(term.factors, term.sums, mixture.column)
    if hidden is None or down is None:
        if outer.takes is None:
            raise NoSchedule("its experts multiply no rows by a matrix", mixture.node)
        return Expert(outer)
    left, deeper, _ = writing.block([hidden], (), (down[1],))
    if deeper is not None or left.takes is None:
        raise NoSchedule("its experts have more than two products in a row", hidden.node)
    return Expert(outer, left, down[0])


def rows_block(mixture: Mixture, node: Node, column: Index) -> ExpertBlock:
    """Return the product that scores rows before any expert is chosen; what is added to it is not part of it.

    Raises:
        NoSchedule: it is no product of rows with a matrix.
    """
    given: Any = node.args[-2:]
    *rows, _ = _rows_at(mixture, node, column)
    depth = Atom("d", shape_of(given[0])[-1])
    factors = resolved(given[0], (*rows, (depth,))), resolved(given[1], (*rows[:-1], (depth,), column))
    block, hidden, _ = _Writing(mixture, ExpertTerm(), needed_for(node)).block(factors, (depth,), column)
    if hidden is not None or block.takes is None:
        raise NoSchedule("the scores of experts are no product of rows with a matrix", node)
    return block


def _rows_at(mixture: Mixture, node: Node, column: Index) -> tuple[Index, ...]:
    dims = shape_of(node)
    if len(dims) == 2:
        return mixture.rows, column
    return (*((atom,) for atom in mixture.rows), column)


class _Writing:
    """Writes blocks of one expert."""

    def __init__(self, mixture: Mixture, term: ExpertTerm, shared: set[Node]) -> None:
        self._rows = mixture.rows
        self._choice = mixture.choice
        self._place = term.place
        self._shared = shared
        self._expert = term.expert
        self._numbers = count()

    def block(
        self, factors: Sequence[IndexedValue], sums: Sequence[Atom], column: Index
    ) -> tuple[ExpertBlock, IndexedValue | None, tuple[ExpertTensor, Atom] | None]:
        """Return the block of a product of factors, and the hidden factor with the matrix that folds it, if any."""
        if len(column) != 1 or column[0].size == 1:
            raise NoSchedule("its experts give one column", factors[0].node if factors else None)
        text = _Text(self, column[0])
        result = text.folded(factors, sums) if sums else text.multiplied([text.of(each) for each in factors])
        if text.hidden is not None and text.takes is not None:
            raise NoSchedule("its experts add products of rows to such of what is hidden", text.hidden.node)
        block = text.block(result)
        return block, text.hidden, text.down

    def label(self, size: Dim) -> Atom:
        """Return an index of its own."""
        return Atom(f"d{next(self._numbers)}", size)

    def is_rows(self, value: IndexedValue, depth: Atom) -> bool:
        """Whether a value depends on the row, and no expert."""
        if value.atoms != (*self._rows, depth) or value.node not in self._shared:
            return False
        return all(looked_up(each, self._choice) is None for each in needed_for(value.node))

    def operand(self, value: IndexedValue, column: Atom, depth: Atom | None) -> ExpertTensor | None:
        """Return the tensor of an expert that a value is; None for any other."""
        found = None if self._expert is None else expert_of_row(value, self._choice, self._expert)
        if found is not None:
            value, index = found
            if index.atoms != (*self._rows, *self._place):
                raise NoSchedule("its experts are looked up for different rows", value.node)
        if value.node.op != "placeholder":
            return None
        at = list(value.at)
        place: int | str | None = None
        wanted = 1 if depth is None else 2
        if len(at) == wanted + 1:
            first = at.pop(0)
            if first == () or self._expert is None:
                return None
            if first == (self._expert,):
                place = _ALL
            elif isinstance(first[0].name, int) and len(first) == 1:
                place = first[0].name
            else:
                return None
        if depth is None:
            return ExpertTensor(value.node, place) if at == [(column,)] else None
        if at == [(depth,), (column,)]:
            return ExpertTensor(value.node, place, depth.size)
        return ExpertTensor(value.node, place, depth.size, turned=True) if at == [(column,), (depth,)] else None


class _Text:
    """The text of one block, whose columns are ``column``."""

    def __init__(self, writing: _Writing, column: Atom) -> None:
        self._writing = writing
        self._column = column
        self._known: dict[IndexedValue, str] = {}
        self._taken = {"input", "state", "torch", FOLDED}
        self._products: dict[ExpertTensor, str] = {}
        self._vectors: dict[ExpertTensor, str] = {}
        self._lines: list[str] = []
        self._each = 0
        self.takes: IndexedValue | None = None
        self.hidden: IndexedValue | None = None
        self.down: tuple[ExpertTensor, Atom] | None = None

    def of(self, value: IndexedValue) -> str:
        """Return the text that stands for a value in a tile."""
        if value not in self._known:
            text = self._text(value)
            self._known[value] = text if ATOM.fullmatch(text) else self._keep(text, opname(value.node))
        return self._known[value]

    def _keep(self, text: str, name: str) -> str:
        name = fresh_name(name, self._taken)
        self._lines.append(f"{name} = {text}")
        return name

    def _text(self, value: IndexedValue) -> str:
        node, name = value.node, opname(value.node)
        given: Any = node.args
        vector = self._writing.operand(value, self._column, None)
        if vector is not None:
            return self._vectors.setdefault(vector, fresh_name("vector", self._taken))
        if name in PRODUCTS and not node.kwargs:
            depth = self._writing.label(shape_of(given[-2])[-1])
            left = resolved(given[-2], (*value.at[:-1], (depth,)))
            right = resolved(given[-1], (*value.at[:-2], (depth,), value.at[-1]))
            text = self.folded((left, right), (depth,))
            if name != "addmm":
                return text
            self._each += 1
            return f"{text} + {self.of(resolved(given[0], aligned(node, value.at, given[0])))}"
        if name not in ELEMENTWISE:
            raise NoSchedule(f"{name or node.name} has no form over rows of an expert yet", node)
        template, flops = pointwise(node)
        self._each += flops
        return template.format(*(self._argument(value, place) for place in range(template.count("{"))))

    def _argument(self, value: IndexedValue, place: int) -> str:
        given: Any = value.node.args[place]
        if isinstance(given, int | float):
            return scalar_argument(value.node, (place,))
        return self.of(resolved(given, aligned(value.node, value.at, given)))

    def multiplied(self, texts: Sequence[str]) -> str:
        """Return the text of a product of elements."""
        self._each += len(texts) - 1
        return " * ".join(texts)

    def folded(self, factors: Sequence[IndexedValue], sums: Sequence[Atom]) -> str:
        """Return the text of a product with a matrix: of rows, or of what is hidden, which another unit folds.

        Raises:
            NoSchedule: it is none.
        """
        node = factors[0].node
        if len(sums) != 1 or len(factors) != 2:
            raise NoSchedule("its experts fold over several dimensions, or several factors", node)
        (depth,) = sums
        found = [self._writing.operand(each, self._column, depth) for each in factors]
        if found.count(None) != 1:
            raise NoSchedule("it is no product with a matrix of an expert", node)
        operand = found[0] or found[1]
        assert operand is not None
        left = factors[found.index(None)]
        if not self._writing.is_rows(left, depth):
            return self._hidden(left, operand, depth)
        taken = IndexedValue(left.node, (*left.at[:-1], ()))
        if self.takes not in (None, taken):
            raise NoSchedule("its experts multiply different rows", left.node)
        self.takes = taken
        return self._products.setdefault(operand, fresh_name("product", self._taken))

    def _hidden(self, left: IndexedValue, operand: ExpertTensor, depth: Atom) -> str:
        if self.hidden is not None:
            raise NoSchedule("its experts fold several hidden dimensions", left.node)
        self.hidden, self.down = left, (operand, depth)
        return FOLDED

    def block(self, result: str) -> ExpertBlock:
        """Return the block whose result is this text."""
        products, vectors = (
            tuple((name, operand) for operand, name in each.items()) for each in (self._products, self._vectors)
        )
        return ExpertBlock(tuple(self._lines), result, products, vectors, self._column.size, self._each, self.takes)


def units_of(expert: Expert) -> int:
    """Return how many units the products of an expert have."""
    return len((expert.hidden or expert.outer).products) + (expert.down is not None)


def _form(expert: Expert) -> tuple[object, ...]:
    blocks = [
        (block.lines, block.result, block.columns, tuple(map(_kind, block.operands)))
        for block in (expert.outer, expert.hidden)
        if block is not None
    ]
    return (*blocks, None if expert.down is None else _kind(expert.down))


def _kind(operand: ExpertTensor) -> tuple[object, ...]:
    return operand.depth, operand.turned, operand.place is None, shape_of(operand.node)


def tile_of(operand: ExpertTensor, columns: Dim) -> tuple[Dim, Dim]:
    """Return rows and columns of a tile of a tensor that is read for so many columns of a block."""
    if operand.depth is None:
        return Dim.of(1), columns
    return (columns, operand.depth) if operand.turned else (operand.depth, columns)


def down_tile(operand: ExpertTensor, depth: Dim, columns: Dim) -> tuple[Dim, Dim]:
    """Return rows and columns of a tile of what folds so many hidden columns."""
    return (columns, depth) if operand.turned else (depth, columns)
