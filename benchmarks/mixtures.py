"""Mixtures of experts with static and with dynamic tiles, as texts of any size, and routing traces to time them with.

Each expert is a SwiGLU of three products, whose weights are read once for each tile of rows. With static tiles the rows
of an expert are filled up to tiles of so many; with dynamic ones all of them are one tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from random import Random
from typing import Final, TypeAlias

from benchmarks.harness import checked_text
from stepcore.check.programs import Checked
from stepcore.cycles.routes import ProgramRoutes, Rows, origin_of, selectors_of

# For each row the experts that it goes to, ascending.
Trace: TypeAlias = Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class MixtureSizes:
    """Rows of a batch, experts, columns of a row and of what it becomes inside, columns of a tile of weights."""

    batch: int
    experts: int
    hidden: int
    inner: int
    columns: int
    scalar: str = "bf16"


def routing_trace(batch: int, experts: int, chosen: int, *, skew: float, seed: int) -> Trace:
    """Draw which ``chosen`` experts each row goes to.

    The expert of rank ``r`` (from 1) has popularity ``r ** -skew``; a seed says which expert has which rank. Each row
    by itself draws experts one after the other, without replacement, in proportion to their popularity (Gumbel's way:
    the ``chosen`` greatest of ``log(popularity) - log(-log(u))``). With ``skew`` 0 all are alike.
    """
    rng = Random(seed)
    ranks = list(range(1, experts + 1))
    rng.shuffle(ranks)

    def row() -> tuple[int, ...]:
        keys = [-skew * log(rank) - log(-log(1 - rng.random())) for rank in ranks]
        return tuple(sorted(sorted(range(experts), key=keys.__getitem__)[-chosen:]))

    return [row() for _ in range(batch)]


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
_TEXT: Final = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, F, M

E, TF, R, T = {experts}, {columns}, step.any_size("R"), step.Scalar("{scalar}")
ROW, ROWS = step.Tile("{scalar}", [1, D]), step.Tile("{scalar}", [R, D])
UP, DOWN, INNER = step.Tile("{scalar}", [D, TF]), step.Tile("{scalar}", [TF, D]), step.Tile("{scalar}", [R, TF])


@step.fn(input=(ROWS, UP), output=INNER)
def gate(input):
    return [torch.nn.functional.silu(input[0] @ input[1])]


@step.fn(input=(ROWS, UP, INNER), output=INNER)
def up(input):
    return [(input[0] @ input[1]) * input[2]]


@step.fn(input=(INNER, DOWN), output=ROWS, init=[0])
def down(state, input):
    return [state[0] + input[0] @ input[1]]


@step.fn(input=step.Scalar("bool"), output=step.Multihot(step.Scalar("bool"), 1))
def is_real(input):
    return [torch.logical_not(input[0]).reshape(1)]


@step.fn(input=ROW, output=ROW, init=[0])
def add(state, input):
    return [state[0] + input[0]]


{tiling}

def expert(number, rows, wg, wu, wd):  # [k] of ROW
    n = F // TF
    tiles, padding = to_tiles(rows)
    t0, t1, t2, t3 = step.Copy(n=4).apply(tiles)
    g = step.LinearOffChipLoad(tensor=wg, tile=[D, TF], shape=[n], stride=[1], base=number * n).apply(t0)
    u = step.LinearOffChipLoad(tensor=wu, tile=[D, TF], shape=[n], stride=[1], base=number * n).apply(t1)
    d = step.LinearOffChipLoad(tensor=wd, tile=[TF, D], shape=[n], stride=[1], base=number * n).apply(t2)
    x0, x1 = step.Copy().apply(step.Repeat(n=n).apply(t3))
    h = step.Map(fn=up).apply((x1, u, step.Map(fn=gate).apply((x0, g))))
    return to_rows(step.Accum(fn=down, b=1).apply((h, d)), padding)


def reference(x, route, wg, wu, wd):  # (M, 1, D), (M, E), (E, D, F), (E, D, F), (E, F, D)
    inner = [torch.nn.functional.silu(x @ wg[i]) * (x @ wu[i]) @ wd[i] for i in range(E)]
    return sum(route[:, i, None, None] * inner[i] for i in range(E))


@step.program(reference=reference, dims={{M: {batch}, D: {hidden}, F: {inner}}}, data={{"route": "binary"}})
def mixture(
    x: Annotated[step.Stream, ROW, (M,)],
    route: Annotated[step.Stream, step.Multihot(T, E), (M,)],
    *,
    wg: Annotated[step.Param, T, (F, D, E)],
    wu: Annotated[step.Param, T, (F, D, E)],
    wd: Annotated[step.Param, T, (D, F, E)],
) -> Annotated[step.Stream, ROW, (M,)]:
    s0, s1 = step.Copy(depth=M).apply(route)  # s1 waits until all rows are routed
    parts = step.Partition(N=E).apply((x, s0))
    ys = [expert(i, parts[i], wg, wu, wd) for i in range(E)]
    return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((ys, s1)))
"""


def mixture_text(sizes: MixtureSizes, tile: int) -> str:
    """Return the text of a program; ``tile`` are the rows of a static tile, 0: tiles are dynamic."""
    tiling = _STATIC.format(tile=tile) if tile else _DYNAMIC
    text = _TEXT.format(
        tiling=tiling, experts=sizes.experts, columns=sizes.columns, scalar=sizes.scalar,
        batch=sizes.batch, hidden=sizes.hidden, inner=sizes.inner,
    )  # fmt: skip
    return text


def checked_mixture(sizes: MixtureSizes, tile: int) -> Checked:
    """Return the checked program."""
    return checked_text(mixture_text(sizes, tile), "mixture.py")


def traced(checked: Checked, trace: Trace, tile: int) -> ProgramRoutes:
    """Return the routes of a program whose rows go where ``trace`` says, as a run would tell them."""
    graph, selectors = checked.typed, selectors_of(checked.typed)
    found: dict[int, Rows] = {index: trace for index in selectors if origin_of(graph, index) in graph.inputs}
    padded = [index for index in selectors if index not in found]  # what is real of each expert, in order
    for expert, index in enumerate(padded):
        count = sum(expert in row for row in trace)
        found[index] = [(0,)] * count + [()] * (-count % tile)
    return ProgramRoutes("run", found)
