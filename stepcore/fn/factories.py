"""``step.fns``: element functions that many programs need, written for the types that they are asked for.

Each is an ordinary function in the closed language: its body is text like any other, so it is checked, costed and
converted like one that somebody wrote. A function of the same types is the same function.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, TypeAlias

from stepcore.findings.diagnostics import StepError
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import Buffer, Element, Multihot, Scalar, Single, STuple, Tile, dtype_of, element_shape

Plain: TypeAlias = Scalar | Tile | Buffer
_WORDS: Final = (("//", "div"), ("*", "x"), ("+", "plus"), ("-", "minus"), ("?", "dyn"), ("~", "ragged"))


def matmul(x: Tile, w: Tile) -> FnDecl:
    """``x @ w`` of tiles ``[r, k]`` and ``[k, c]``."""
    (rows, inner), (other, columns) = _tiles("matmul", x, w)
    _need("matmul", inner == other, "tiles [r, k] and [k, c]", x, w)
    return _made("matmul", (x, w), Tile(x.scalar, (rows, columns)), "input[0] @ input[1]")


def matmul_acc(x: Tile, w: Tile) -> FnDecl:
    """The sum of ``x @ w``, for Accum and Scan."""
    (rows, inner), (other, columns) = _tiles("matmul_acc", x, w)
    _need("matmul_acc", inner == other, "tiles [r, k] and [k, c]", x, w)
    return _made("matmul_acc", (x, w), Tile(x.scalar, (rows, columns)), "state[0] + input[0] @ input[1]", 0)


def matmul_t(x: Tile, w: Tile) -> FnDecl:
    """``x @ w.T`` of tiles ``[r, k]`` and ``[c, k]``."""
    (rows, inner), (columns, other) = _tiles("matmul_t", x, w)
    _need("matmul_t", inner == other, "tiles [r, k] and [c, k]", x, w)
    return _made("matmul_t", (x, w), Tile(x.scalar, (rows, columns)), "input[0] @ input[1].T")


def add(x: Plain, y: Plain | None = None) -> FnDecl:
    """``x + y``; ``y`` is of the type of ``x`` unless given, or has sizes of 1 in it."""
    return _both("add", x, y, "input[0] + input[1]")


def sub(x: Plain, y: Plain | None = None) -> FnDecl:
    """``x - y``, as :func:`add`."""
    return _both("sub", x, y, "input[0] - input[1]")


def mul(x: Plain, y: Plain | None = None) -> FnDecl:
    """``x * y``, as :func:`add`."""
    return _both("mul", x, y, "input[0] * input[1]")


def div(x: Plain, y: Plain | None = None) -> FnDecl:
    """``x / y``, as :func:`add`."""
    return _both("div", x, y, "input[0] / input[1]")


def add_acc(x: Plain) -> FnDecl:
    """The sum of elements, for Accum, Scan and Merge."""
    return _made("add_acc", (x,), x, "state[0] + input[0]", 0)


def max_acc(x: Plain) -> FnDecl:
    """The greatest of elements, number by number, for Accum, Scan and Merge."""
    return _made("max_acc", (x,), x, "torch.maximum(state[0], input[0])", float("-inf"))


def silu(x: Plain) -> FnDecl:
    """``silu`` of each number."""
    return _made("silu", (x,), x, "torch.nn.functional.silu(input[0])")


def gelu(x: Plain) -> FnDecl:
    """``gelu`` of each number."""
    return _made("gelu", (x,), x, "torch.nn.functional.gelu(input[0])")


def relu(x: Plain) -> FnDecl:
    """``relu`` of each number."""
    return _made("relu", (x,), x, "torch.nn.functional.relu(input[0])")


def exp(x: Plain) -> FnDecl:
    """``exp`` of each number."""
    return _made("exp", (x,), x, "torch.exp(input[0])")


def sigmoid(x: Plain) -> FnDecl:
    """``sigmoid`` of each number."""
    return _made("sigmoid", (x,), x, "torch.sigmoid(input[0])")


def rsqrt(x: Plain) -> FnDecl:
    """One over the square root of each number."""
    return _made("rsqrt", (x,), x, "torch.rsqrt(input[0])")


def row_sum(x: Tile) -> FnDecl:
    """The sum of each row of a tile: ``[r, c]`` becomes ``[r, 1]``."""
    ((rows, _),) = _tiles("row_sum", x)
    return _made("row_sum", (x,), Tile(x.scalar, (rows, Dim.of(1))), "torch.sum(input[0], 1, keepdim=True)")


def row_max(x: Tile) -> FnDecl:
    """The greatest number of each row of a tile: ``[r, c]`` becomes ``[r, 1]``."""
    ((rows, _),) = _tiles("row_max", x)
    return _made("row_max", (x,), Tile(x.scalar, (rows, Dim.of(1))), "torch.amax(input[0], 1, keepdim=True)")


# -- how they are made -------------------------------------------------------------------------------------------------


def _both(name: str, x: Plain, y: Plain | None, body: str) -> FnDecl:
    other = x if y is None else y
    _plain(name, x, other)
    wide, narrow = element_shape(x), element_shape(other)
    fits = len(wide) == len(narrow) and all(b in (a, Dim.of(1)) for a, b in zip(wide, narrow, strict=True))
    _need(name, fits and dtype_of(x) == dtype_of(other), "elements of one type, or sizes of 1 in the second", x, other)
    return _made(name, (x, other), x, body)


def _plain(name: str, *types: object) -> None:
    for each in types:
        if not isinstance(each, Scalar | Tile | Buffer) or (
            isinstance(each, Buffer) and isinstance(each.element, Multihot)
        ):
            raise StepError("STEP222", f"step.fns.{name} takes numbers, tiles and buffers of them, found {each}")


def _tiles(name: str, *types: object) -> list[tuple[Dim, Dim]]:
    found = [(each.shape[0], each.shape[1]) for each in types if isinstance(each, Tile)]
    if len(found) < len(types):
        shown = ", ".join(str(each) for each in types if not isinstance(each, Tile))
        raise StepError("STEP222", f"step.fns.{name} takes tiles, found {shown}")
    return found


def _need(name: str, holds: bool, wanted: str, *types: Single) -> None:
    if not holds:
        raise StepError("STEP222", f"step.fns.{name} takes {wanted}, found {', '.join(map(str, types))}")


@cache
def _made(name: str, inputs: tuple[Single, ...], output: Single, body: str, init: float | None = None) -> FnDecl:
    """Return the function, whose name tells its types: ``matmul_4xD_DxK``."""
    _plain(name, *inputs)
    element: Element = inputs[0] if len(inputs) == 1 else STuple(inputs)
    own = "_".join([name, *dict.fromkeys(map(_short, inputs))])
    arguments = ("input",) if init is None else ("state", "input")
    block = CodeBlock(Embedded.whole(f"return [{body}]\n"), arguments)
    return FnDecl(own, name, element, output, block, None if init is None else (init,))


def _short(element: Single) -> str:
    sizes = "x".join(map(str, element_shape(element))) or dtype_of(element)
    for old, new in _WORDS:
        sizes = sizes.replace(old, new)
    kind = "" if dtype_of(element) == "fp32" else f"{dtype_of(element)}_"
    return re.sub(r"\W", "_", sizes if sizes == dtype_of(element) else f"{kind}{sizes}")


FACTORIES: Final = {
    made.__name__: made
    for made in (
        matmul, matmul_acc, matmul_t, add, sub, mul, div, add_acc, max_acc, silu, gelu, relu, exp, sigmoid, rsqrt,
        row_sum, row_max,
    )
}  # fmt: skip
