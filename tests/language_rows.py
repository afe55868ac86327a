"""The rows of the language matrix: a program for each operator, and one for each further thing of generation 2.

An operator brings its own row, the example of its documentation, so a new one stands in every column from its first
day. :data:`FURTHER` holds what no operator is: types, kinds of sizes, and the wider rules of operators of before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepcore.ops import OPERATORS

ROOT: Final = Path(__file__).parents[1]
_HEAD: Final = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import B, D, K, M, N

T = step.Tile("fp32", [2, D])
ROW = step.Tile("fp32", [1, D])
R = step.any_size("R")
ROWS = step.Tile("fp32", [R, D])
WAY = step.Multihot(step.f32, 2)


@step.fn(input=T, output=T)
def double(input):
    return [input[0] * 2]


@step.fn(input=ROWS, output=ROWS)
def grow(input):
    return [input[0] * 2]


@step.fn(input=T, output=T, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=step.f32, output=step.f32, init=[0])
def total(state, input):
    return [state[0] + input[0]]


@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]


@step.fn(input=step.bool_, output=step.Multihot(step.bool_, 1))
def there(input):
    return [torch.logical_not(input[0]).reshape(1)]


"""
# What a program is compared with, the arguments of its decorator, and the program.
_BODIES: Final[dict[str, tuple[str, str, str]]] = {
    "buffers of tiles": (
        "def reference(x):  # (M, K, 2, D)\n    return x * 2",
        "dims={M: 3, K: 2, D: 4}",
        """\
def program(x: Annotated[step.Stream, T, (K, M)]) -> Annotated[step.Stream, T, (K, M)]:
    held = step.Bufferize(a=1, depth=2).apply(step.Map(fn=double, bw=64).apply(x))
    return step.Streamify().apply(held)
""",
    ),
    "a buffer read for each element": (
        "def reference(x, ref):  # (M, K, 2, D), (M, 3)\n    return x.repeat_interleave(3, 0)",
        "dims={M: 2, K: 2, D: 4}",
        """\
def program(
    x: Annotated[step.Stream, T, (K, M)], ref: Annotated[step.Stream, step.f32, (3, M)]
) -> Annotated[step.Stream, T, (K, 3 * M)]:
    held = step.Bufferize(a=1).apply(x)
    found = step.Streamify(shape=[K], stride=[1]).apply((held, ref))
    return step.Flatten(L=[2]).apply(found)
""",
    ),
    "a dynamic size": (
        "def reference(x):\n    return x * 2",
        'dims={K: 2, D: 4}, sizes={"?L": (0, 5)}',
        """\
def program(x: Annotated[step.Stream, T, (K, step.dyn("L"))]) -> Annotated[step.Stream, T, (K, step.dyn("L"))]:
    return step.Map(fn=double).apply(x)
""",
    ),
    "a ragged size": (
        "def reference(x):  # M lists\n    return torch.stack([2 * row.sum() for row in x])",
        'dims={M: 3}, sizes={"~L": [3, 0, 2]}',
        """\
def program(x: Annotated[step.Stream, step.f32, (step.ragged("L"), M)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Accum(fn=total, b=1).apply(step.Map(fn=twice).apply(x))
""",
    ),
    "buffers of ragged lists": (
        "def reference(x):  # M lists\n    return torch.cat(list(x))",
        'dims={M: 3}, sizes={"~L": [3, 0, 2]}',
        """\
def program(
    x: Annotated[step.Stream, step.f32, (step.ragged("L"), M)],
) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    held = step.Bufferize(a=1).apply(x)
    return step.Flatten(L=[1]).apply(step.Streamify().apply(held))
""",
    ),
    "buffers that differ come together": (
        "def reference(x, y):  # M lists, N lists\n    return torch.cat([*x, *y]).sum().reshape(1)",
        'dims={M: 3, N: 2}, sizes={"~L": [3, 0, 2], "~K": [1, 4]}',
        """\
def program(
    x: Annotated[step.Stream, step.f32, (step.ragged("L"), M)],
    y: Annotated[step.Stream, step.f32, (step.ragged("K"), N)],
) -> Annotated[step.Stream, step.f32, (step.dyn("P"),)]:
    both, which = step.EagerMerge().apply([step.Bufferize(a=1).apply(x), step.Bufferize(a=1).apply(y)])
    flat = step.Flatten(L=[1]).apply(step.Streamify().apply(both))
    return step.Accum(fn=total, b=1).apply(step.Promote(b=1).apply(flat))
""",
    ),
    "a dynamic tile": (
        "def reference(x, way):  # (M, 1, D), (M, 2)\n    return 2 * x[way[:, 0] > 0]",
        'dims={M: 6, D: 4}, data={"way": "binary"}',
        """\
def program(
    x: Annotated[step.Stream, ROW, (M,)], way: Annotated[step.Stream, WAY, (M,)]
) -> Annotated[step.Stream, ROW, (step.dyn("P"),)]:
    rows = step.Partition(N=2).apply((x, way))[0]
    tile = step.Retile(axis=0).apply(step.Promote(b=1).apply(rows))
    return step.RetileStreamify(axis=0).apply(step.Map(fn=grow).apply(tile))
""",
    ),
    "filled chunks": (
        "def reference(x):  # (M,)\n    return x",
        "dims={M: 5}",
        """\
def program(x: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (step.dyn("P"),)]:
    chunks, padding = step.Reshape(S=2, L=[0], pad=0).apply(x)
    flags = step.Map(fn=there).apply(step.Flatten(L=[1]).apply(padding))
    return step.Partition(N=1).apply((step.Flatten(L=[1]).apply(chunks), flags))[0]
""",
    ),
    "memory, rates and depths": (
        "def reference(x, y):  # (M, D), (M, D)\n    return x * 2",
        "dims={M: 6, D: 4}",
        """\
def program(
    *, x: Annotated[step.Param, step.f32, (D, M)], y: Annotated[step.Param(written=True), step.f32, (D, M)]
) -> None:
    tiles = step.LinearOffChipLoad(tensor=x, tile=[2, D], dispatch=2, depth=3).apply()
    step.LinearOffChipStore(tensor=y, dispatch=1).apply(step.Map(fn=double, bw=16).apply(tiles))
""",
    ),
    "numbers and what they count": (
        "def reference(n):  # (M,)\n    return torch.cat([torch.arange(int(k)) for k in n])",
        'dims={M: 4}, data={"n": (1, 3)}',
        """\
def program(n: Annotated[step.Stream, step.i64, (M,)]) -> Annotated[step.Stream, step.i64, (step.dyn("P"),)]:
    counted = step.FlatMap(fn=step.count).apply(step.Promote(b=0).apply(n))
    return step.Flatten(L=[1]).apply(counted)
""",
    ),
    "a loop in a helper": (
        "def reference(x):  # (M,)\n    return x * 4",
        "dims={M: 4}",
        """\
def program(x: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (step.dyn("P"),)]:
    def again(one):
        ring = step.Feedback(element=step.f32, dims=[M], depth=M)
        merged, way = step.EagerMerge().apply([one, ring.apply()])
        back, out = step.Partition(N=2).apply((step.Map(fn=twice).apply(merged), way))
        ring.close(back)
        return out

    return again(x)
""",
    ),
}
_EXAMPLES: Final = ("decode_attention", "moe_dynamic_tiles", "swiglu_tiles")


def _program(reference: str, given: str, body: str) -> str:
    return f"{_HEAD}{reference}\n\n\n@step.program(reference=reference, {given})\n{body}"


FURTHER: Final[dict[str, str]] = {
    **{name: _program(*parts) for name, parts in _BODIES.items()},
    **{name: (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8") for name in _EXAMPLES},
}
ROWS: Final[dict[str, str]] = {**{each.__name__: each.example for each in OPERATORS}, **FURTHER}
