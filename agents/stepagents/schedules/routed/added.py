"""What is added to the sum of the chosen experts: a residual, as an element function of one row. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepagents.schedules.indices import IndexedValue
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart
from stepagents.schedules.routed.mixture import ExpertTerm, Mixture
from stepagents.schedules.routed.router import RowFunction
from stepagents.schedules.tile_ops import TileBody, at_products
from stepcore.sizes.dim import Dim

_ROW: Final = "r"


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
