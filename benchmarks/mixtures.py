"""Mixtures of experts with static and with dynamic tiles, as texts of any size.

Each expert is a SwiGLU of three products, whose weights are read once for each tile of rows. With static tiles the
rows of an expert are filled up to tiles of so many; with dynamic ones all of them are one tile. Experts have a region
of units each, or several share one, which takes tiles as they come (configuration time-multiplexing).
Weights lie as ``torch.nn.Linear`` keeps them, a row for each of the inner columns, so that the tiles of a few of
these are whole bursts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.harness import checked_text
from stepcore.check.programs import Checked
from stepcore.cycles.timed import Timed


@dataclass(frozen=True, slots=True)
class MixtureSizes:
    """Rows of a batch, experts, columns of a row and of what it becomes inside, columns of a tile of weights."""

    batch: int
    experts: int
    hidden: int
    inner: int
    columns: int
    scalar: str = "bf16"


MIXTRAL_CHOSEN: Final = 2  # experts of a row
QWEN_CHOSEN: Final = 8


def mixtral(batch: int, columns: int = 64) -> MixtureSizes:
    """Return the sizes of a layer of Mixtral 8x7B."""
    return MixtureSizes(batch=batch, experts=8, hidden=4096, inner=14336, columns=columns)


def qwen(batch: int, columns: int = 64) -> MixtureSizes:
    """Return the sizes of a layer of Qwen3 30B-A3B."""
    return MixtureSizes(batch=batch, experts=128, hidden=2048, inner=768, columns=columns)


_PRODUCTS: Final = ("gate", "up", "down")  # functions
_STATIC: Final = """\
def to_tiles(rows):  # [k] of ROW
    data, padding = step.Reshape(S={tile}, L=[0], pad=0).apply(rows)  # both [{tile}, ceil(k/{tile})]
    return step.Retile(axis=0).apply(data), padding


def to_rows(tiles, padding):
    real = step.Map(fn=is_real, depth=M).apply(step.Flatten(L=[1]).apply(padding))
    [kept] = step.Partition(N=1).apply((step.RetileStreamify(axis=0).apply(tiles), real))
    return step.Identity(depth=M).apply(kept)
"""
_DYNAMIC: Final = """\
def to_tiles(rows):  # [k] of ROW
    return step.Retile(axis=0).apply(step.Promote(b=1).apply(rows)), None  # [one(k)] of [k, D]


def to_rows(tiles, padding):
    return step.RetileStreamify(axis=0, depth=M).apply(tiles)
"""
_ALONE: Final = """\
def expert(number, rows, wg, wu, wd):  # [k] of ROW
    n = F // TF
    tiles, padding = to_tiles(rows)
    t0, t1, t2, t3 = step.Copy(n=4).apply(tiles)
    g = step.LinearOffChipLoad(tensor=wg, tile=[TF, D], shape=[n], stride=[1], base=number * n).apply(t0)
    u = step.LinearOffChipLoad(tensor=wu, tile=[TF, D], shape=[n], stride=[1], base=number * n).apply(t1)
    d = step.LinearOffChipLoad(tensor=wd, tile=[TF, D], shape=[n], stride=[1], base=number * n).apply(t2)
    x0, x1 = step.Copy().apply(step.Repeat(n=n).apply(t3))
    h = step.Map(fn=up).apply((x1, u, step.Map(fn=gate).apply((x0, g))))
    return to_rows(step.Accum(fn=down, b=1).apply((h, d)), padding)
"""
# One region works for several experts in turn: tiles come as they are ready, and the weights of their expert are read.
_SHARED: Final = """\
PAIR = step.STuple((step.Tile("{scalar}", [{tile}, D]), step.Buffer(step.Scalar("bool"), [{tile}])))


@step.fn(input=PAIR, output=step.Tile("{scalar}", [{tile}, D]))
def rows_of(input):
    return [input[0]]


@step.fn(input=PAIR, output=step.Buffer(step.Scalar("bool"), [{tile}]))
def padding_of(input):
    return [input[1]]

{numbers}

def region(parts, numbers, wg, wu, wd):  # of each expert [k] of ROW
    pairs = []
    for rows in parts:
        tiles, padding = to_tiles(rows)
        pairs.append(step.Zip().apply((tiles, step.Bufferize(a=1).apply(padding))))
    merged, which = step.EagerMerge().apply(pairs)
    p0, p1 = step.Copy().apply(merged)
    s0, s1, s2 = step.Copy(n=3, depth=M).apply(which)
    a0, a1, a2 = step.Copy(n=3).apply(step.Streamify().apply(step.Map(fn=numbers).apply(s0)))
    g = step.RandomOffChipLoad(tensor=wg, tile=[TF, D]).apply(a0)
    u = step.RandomOffChipLoad(tensor=wu, tile=[TF, D]).apply(a1)
    d = step.RandomOffChipLoad(tensor=wd, tile=[TF, D]).apply(a2)
    x0, x1 = step.Copy().apply(step.Repeat(n={tiles}).apply(step.Map(fn=rows_of).apply(p0)))
    h = step.Map(fn=up).apply((x1, u, step.Map(fn=gate).apply((x0, g))))
    ys = step.Partition(N={shared}).apply((step.Accum(fn=down, b=1).apply((h, d)), s1))
    fills = step.Partition(N={shared}, depth=M).apply((step.Map(fn=padding_of, depth=M).apply(p1), s2))
    return [to_rows(ys[i], step.Streamify().apply(fills[i])) for i in range({shared})]
"""
_NUMBERS: Final = """

@step.fn(input=step.Multihot(step.Scalar("bool"), {shared}), output=step.Buffer(step.Scalar("int64"), [{tiles}]))
def numbers_{region}(input):
    first = torch.argmax(input[0].to(torch.int64)) + {first}
    return [first * {tiles} + torch.arange({tiles})]
"""
_TEXT: Final = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, F, M

E, TF, R, T = {experts}, {columns}, step.any_size("R"), step.Scalar("{scalar}")
ROW, ROWS = step.Tile("{scalar}", [1, D]), step.Tile("{scalar}", [R, D])
WEIGHTS, INNER = step.Tile("{scalar}", [TF, D]), step.Tile("{scalar}", [R, TF])


@step.fn(input=(ROWS, WEIGHTS), output=INNER)
def gate(input):
    return [torch.nn.functional.silu(input[0] @ input[1].T)]


@step.fn(input=(ROWS, WEIGHTS, INNER), output=INNER)
def up(input):
    return [(input[0] @ input[1].T) * input[2]]


@step.fn(input=(INNER, WEIGHTS), output=ROWS, init=[0])
def down(state, input):
    return [state[0] + input[0] @ input[1]]


@step.fn(input=step.Scalar("bool"), output=step.Multihot(step.Scalar("bool"), 1))
def is_real(input):
    return [torch.logical_not(input[0]).reshape(1)]


@step.fn(input=ROW, output=ROW, init=[0])
def add(state, input):
    return [state[0] + input[0]]


{tiling}

{regions}
def reference(x, route, wg, wu, wd):  # (M, 1, D), (M, E), and of each (E, F, D)
    inner = [torch.nn.functional.silu(x @ wg[i].T) * (x @ wu[i].T) @ wd[i] for i in range(E)]
    return sum(route[:, i, None, None] * inner[i] for i in range(E))


@step.program(reference=reference, dims={{M: {batch}, D: {hidden}, F: {inner}}}, data={{"route": "binary"}})
def mixture(
    x: Annotated[step.Stream, ROW, (M,)],
    route: Annotated[step.Stream, step.Multihot(T, E), (M,)],
    *,
    wg: Annotated[step.Param, T, (D, F, E)],
    wu: Annotated[step.Param, T, (D, F, E)],
    wd: Annotated[step.Param, T, (D, F, E)],
) -> Annotated[step.Stream, ROW, (M,)]:
    s0, s1 = step.Copy(depth=M).apply(route)  # s1 waits until all rows are routed
    parts = step.Partition(N=E).apply((x, s0))
    {outs}
    return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((ys, s1)))
"""


def mixture_text(sizes: MixtureSizes, tile: int, shared: int = 1) -> str:
    """Return the text of a program.

    ``tile`` are the rows of a static tile, 0: tiles are dynamic. ``shared`` experts have one region that works for them
    in turn; they have static tiles, since a stream holds tiles of one type, and dynamic ones differ by expert.
    """
    regions, outs = _ALONE, "ys = [expert(i, parts[i], wg, wu, wd) for i in range(E)]"
    if shared > 1:
        if not tile or sizes.experts % shared:
            raise ValueError(f"{shared} experts cannot share a region")
        firsts = range(0, sizes.experts, shared)
        known = {"shared": shared, "tiles": sizes.inner // sizes.columns}
        numbers = "".join(_NUMBERS.format(region=first // shared, first=first, **known) for first in firsts)
        regions = _SHARED.format(scalar=sizes.scalar, tile=tile, numbers=numbers, **known)
        made = (f"region(parts[{i}:{i + shared}], numbers_{i // shared}, wg, wu, wd)" for i in firsts)
        outs = f"ys = [rows for region in [{', '.join(made)}] for rows in region]"
    return _TEXT.format(
        tiling=_STATIC.format(tile=tile) if tile else _DYNAMIC, regions=regions, outs=outs,
        experts=sizes.experts, columns=sizes.columns, scalar=sizes.scalar,
        batch=sizes.batch, hidden=sizes.hidden, inner=sizes.inner,
    )  # fmt: skip


def checked_mixture(sizes: MixtureSizes, tile: int, shared: int = 1) -> Checked:
    """Return the checked program."""
    return checked_text(mixture_text(sizes, tile, shared), "mixture.py")


def product_share(timed: Timed) -> float:
    """Return the share of what the units of products could compute that they did compute."""
    nodes = timed.graph.nodes
    units = [node for node in timed.program.flops if any(f"fn={name}" in nodes[node].op.text() for name in _PRODUCTS)]
    could = sum(timed.peak(node) for node in units) * timed.timing.cycles
    return sum(timed.program.flops[node] for node in units) / could
