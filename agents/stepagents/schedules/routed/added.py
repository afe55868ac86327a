"""What is added to the sum of the chosen experts: experts that every row goes to, and a residual. No torch.

A residual is an element function of one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.indices import IndexedValue, aligned, resolved
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart
from stepagents.schedules.routed.experts import Expert, expert_of
from stepagents.schedules.routed.mixture import ExpertTerm, Mixture, Share, needed_for
from stepagents.schedules.routed.router import RowFunction
from stepagents.schedules.tile_ops import PRODUCTS, TileBody, at_products
from stepagents.traced.graph import opname
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_ROW: Final = "r"


def always_of(mixture: Mixture, taken: IndexedValue) -> tuple[tuple[Expert, ...], Mixture]:
    """Return the experts that every row goes to, which multiply ``taken``, and the mixture without them.

    Raises:
        NoSchedule: what is added multiplies by matrices, but is no such expert.
    """
    experts: list[Expert] = []
    rest: list[ExpertTerm] = []
    rows = needed_for(taken.node)
    for term in chain.from_iterable(_apart(each, mixture, rows) for each in mixture.added):
        if not (products := _products_of(term.factors, rows)):
            rest.append(term)
            continue
        if len(term.factors) > 1:
            raise NoSchedule("an expert of all rows is multiplied by more than a number for each row", mixture.node)
        expert = expert_of(mixture, ExpertTerm(factors=term.factors, sums=term.sums), rows)
        block = expert.hidden or expert.outer
        if block.takes != taken:
            raise NoSchedule(
                "an expert that all rows go to multiplies other rows than those that are routed", products[0]
            )
        experts.append(replace(expert, shares=term.shares))
    return tuple(experts), replace(mixture, added=tuple(rest))


def _products_of(factors: Sequence[IndexedValue], rows: set[Node]) -> list[Node]:
    """Return the products of matrices that factors need, beside those of which the ``rows`` that experts take are."""
    return [each for each in needed_for(*(factor.node for factor in factors)) - rows if opname(each) in PRODUCTS]


def _apart(term: ExpertTerm, mixture: Mixture, rows: set[Node]) -> Iterator[ExpertTerm]:
    """Yield the terms whose sum one term is; what is a number for each row beside products is a share.

    So a gate of a shared expert, ``sigmoid(x @ g) * (x @ v)``, says how much that expert counts for each row.
    """
    if len(term.factors) > 1 and not term.sums:
        numbers = [each for each in term.factors if _is_number_of_row(each, mixture)]
        others = tuple(each for each in term.factors if each not in numbers)
        if numbers and _products_of(others, rows):
            term = replace(term, factors=others, shares=(*term.shares, *map(Share, numbers)))
    parts = _parts(term, mixture, rows) if len(term.factors) == 1 and not term.sums else ()
    if not parts:
        yield term
    for each in parts:
        yield from _apart(each, mixture, rows)


def _parts(term: ExpertTerm, mixture: Mixture, rows: set[Node]) -> tuple[ExpertTerm, ...]:
    """Return the terms of which one of a single factor consists, one level deep; none where it is no sum or product."""
    (value,) = term.factors
    node, name = value.node, opname(value.node)
    given: Any = node.args[:2]
    if name not in ("add", "mul", "div") or node.kwargs or not all(hasattr(each, "op") for each in given):
        return ()
    first, second = (resolved(each, aligned(node, value.at, each)) for each in given)
    if name == "add":
        return replace(term, factors=(first,)), replace(term, factors=(second,))
    pairs = ((first, second), (second, first)) if name == "mul" else ((first, second),)
    for other, number in pairs:
        if _is_number_of_row(number, mixture) and _products_of([other], rows):
            share = Share(number, inverse=name == "div")
            return (replace(term, factors=(other,), shares=(*term.shares, share)),)
    return ()


def _is_number_of_row(value: IndexedValue, mixture: Mixture) -> bool:
    """Whether a value depends on its row alone, and has a column for it."""
    return bool(value.at) and not value.at[-1] and set(value.atoms) <= set(mixture.rows)


def residual_of(mixture: Mixture, bound: Mapping[str, int]) -> RowFunction | None:
    """Return the function that adds what no expert computes; its last input is the sum of the experts.

    None: nothing is added.

    Raises:
        NoSchedule: it is more than operations on the elements of a row.
    """
    if not mixture.added:
        return None
    body = TileBody(Blocks({_ROW: Dim.of(1)}, bound), at_products)
    texts = [_product(body, term, mixture) for term in mixture.added]
    products = [part.node for part in body.inputs if part.bare]
    if products:
        what = "a product with a matrix is added to what the chosen experts give"
        raise NoSchedule(f"{what}; Stepsmith adds only what is computed element by element (a residual)", products[0])
    text = " + ".join([*texts, f"input[{len(body.inputs)}]"])
    return RowFunction("\n".join([*body.lines, f"return [{text}]"]), tuple(body.inputs), body.flops)


def _product(body: TileBody, term: ExpertTerm, mixture: Mixture) -> str:
    """Return the text of one product that is added."""
    if term.sums:
        raise NoSchedule("a sum is added to what the chosen experts give", mixture.node)
    text = " * ".join(_factor(body, each, mixture) for each in term.factors)
    for share in term.shares:
        factor = _factor(body, share.value, mixture) if isinstance(share.value, IndexedValue) else repr(share.value)
        text = f"{text or 1} / {factor}" if share.inverse else " * ".join(filter(None, (text, factor)))
    return text


def _factor(body: TileBody, value: IndexedValue, mixture: Mixture) -> str:
    rows = set(mixture.rows)
    is_row = [bool(index) and set(index) <= rows for index in value.at]
    if any(index and not own and index != mixture.column for index, own in zip(value.at, is_row, strict=True)):
        raise NoSchedule("what is added to the experts' results lies along other dimensions", value.node)
    if len(is_row) == 1 and is_row[0]:
        raise NoSchedule("a number for each row is added without a dimension of columns", value.node)
    return body.of(TilePart(value.node, tuple(_ROW if own else WHOLE for own in is_row)))
