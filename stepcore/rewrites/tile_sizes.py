"""Other tile sizes: where a file binds the size of its tiles to a name, or writes it as a number wherever it stands.

Side condition: data, parameters and results stay the same numbers. What is drawn is compared
(:func:`stepcore.rewrites.applied`); the reference may read such a name, or hold such a number, only in the `reshape` or
`view` that it returns, which gives the same numbers in the same order whatever the sizes are. Of a number that has no
name it must be plain what it counts (:mod:`stepcore.rewrites.written_sizes`). Sizes double and halve; where a tensor
cannot be cut into such tiles, the next size is taken that all tensors can be cut into.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from math import gcd, isqrt
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.ops.random_off_chip_load import RandomOffChipLoad
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.rewrites.written_sizes import SizeLiteral, written_sizes
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import element_sizes

_LARGEST: Final = 1 << 20
_NO_SIZE: Final = (
    "no size of its tiles is a name or a number that counts rows or columns of tiles alone, and that the reference "
    "reads at most in the reshape that it returns, or a read counts tiles by numbers"
)


class TileSizes(ExplainedRewrite):
    """Double or halve a number that a Python file uses as a size of tiles."""

    name: str = "tile-sizes"
    summary: str = "tiles of other sizes"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield the next larger and the next smaller size for each one."""
        code, tree = subject.code, subject.tree
        if subject.result.module is None or code is None or tree is None:
            yield RewriteRefusal(self.name, "sizes of tiles are changed in Python files only")
            return
        given = {each for port in subject.checked.spec.inputs for each in element_sizes(port.type.element)}
        sizes = list(written_sizes(tree, code, subject.name, subject.checked.spec.reference))
        if not sizes:
            yield RewriteRefusal(self.name, _NO_SIZE)
        for size in sizes:
            if not size.name and Dim.of(size.value) in given:
                what = f"tiles of {size.value} are the type of an input, which stays"
                yield RewriteRefusal(self.name, what)
                continue
            for other in _others(size.value, _cut(subject, size)):
                before = f"{size.name} was {size.value}" if size.name else f"{size.value} before"
                sentence = f"{size.used} in tiles of {other} ({before})"
                how = f"{size.used} {_change(size.value, other)}"
                params = ((size.name or str(size.value), str(other)), (HOW, how))
                edits = tuple(Edit(place, str(other)) for place in size.places)
                yield RewriteSite(self.name, sentence, edits, params, retiles=True)


def _change(value: int, other: int) -> str:
    if other in (2 * value, value // 2):
        return "doubled" if other > value else "halved"
    return "grown" if other > value else "shrunk"


def _others(value: int, whole: int) -> Iterator[int]:
    """Yield the sizes to try in place of one; ``whole`` is a multiple of all that fit, 0 where nobody knows."""
    if not whole:
        larger, smaller = 2 * value, value // 2 if value % 2 == 0 else 0
    else:
        low = [each for each in range(1, isqrt(whole) + 1) if whole % each == 0]
        sizes = {*low, *(whole // each for each in low)}
        larger = min((each for each in sizes if each >= 2 * value), default=0)
        smaller = max((each for each in sizes if each <= value // 2), default=0)
    for other in (larger, smaller):
        if 0 < other <= _LARGEST:
            yield other


def _cut(subject: RewriteSubject, size: SizeLiteral) -> int:
    """Return the greatest number that divides all that is cut into tiles of a size; 0 where nobody knows."""
    whole = 0
    for node in subject.graph.nodes:
        for extent in _extents(subject, node, size):
            whole = gcd(whole, extent)
    return whole


def _extents(subject: RewriteSubject, node: TypedNode, size: SizeLiteral) -> Iterator[int]:
    """Yield the rows or columns of a tensor that a load cuts into tiles of a size."""
    call = subject.call(node) if isinstance(node.op, LinearOffChipLoad | RandomOffChipLoad) else None
    if call is None or not isinstance(node.op, LinearOffChipLoad | RandomOffChipLoad):
        return
    match call.syntax.get("tile"):
        case ast.List(elts=[rows, columns]) | ast.Tuple(elts=[rows, columns]):
            pass
        case _:
            return
    bound = subject.checked.spec.bindings()
    with suppress(DimError):
        inner, outer, *_ = (extent.bind(bound) for extent in node.op.memory.sizes)
        for written, extent in ((rows, outer), (columns, inner)):
            if size.is_written_as(written):
                yield extent
