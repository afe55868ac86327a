"""Random programs in Python that fill rows up to tiles, work on these and drop the filling, as files.

Some of them mix the rows of a tile, or use the padding otherwise.
"""

from __future__ import annotations

from random import Random
from typing import Final

from stepcore.records import Record

_HEAD: Final = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M

TM = {rows}
ROW, T, U = step.Tile("fp32", [1, 4]), step.Tile("fp32", [TM, 4]), step.Tile("fp32", [4, 2])
B = step.Tile("fp32", [1, 2])
H, V = step.Tile("fp32", [TM, 2]), step.Tile("fp32", [2, 4])
FLAG = step.Scalar("bool")


@step.fn(input=T, output=T)
def alone(input):
    {alone}


@step.fn(input=(T, U), output=H)
def up(input):
    return [{up}]


@step.fn(input=(H, B), output=H)
def shifted(input):
    scaled = input[0] * 2.0
    return [torch.relu(scaled) + input[1]]


@step.fn(input=(H, V), output=T, init=[0])
def down(state, input):
    return [state[0] + input[0] @ input[1]]


@step.fn(input=FLAG, output=step.Multihot(FLAG, 1))
def real(input):
    return [{real}]


@step.fn(input=ROW, output=ROW, init=[0])
def add(state, input):
    return [state[0] + input[0]]


"""
_ALONE: Final = (
    "return [torch.tanh(input[0])]",
    "total = input[0].sum(1, keepdim=True)\n    return [input[0] / (1.0 + total * total)]",
    "return [torch.softmax(input[0], -1)]",
    "return [torch.where(input[0] > 0.5, input[0], torch.exp(input[0]))]",
)
_UP: Final = ("input[0] @ input[1]", "torch.nn.functional.silu(input[0] @ input[1])", "torch.relu(input[0]) @ input[1]")
_REAL: Final = (
    "torch.logical_not(input[0]).reshape(1)",
    "(~input[0]).reshape(1)",
    "torch.logical_not(input[0]).view(1)",
)
_MIXED: Final = (
    "return [input[0] - input[0].sum(0, keepdim=True)]",
    "return [torch.softmax(input[0], 0)]",
    "return [input[0] @ input[0].T @ input[0]]",
    "return [input[0] + torch.arange(input[0].shape[0]).reshape(-1, 1)]",
    "return [torch.cumsum(input[0], 0)]",
    "return [torch.flip(input[0], [0])]",
)
TRAPS: Final = ("mixed", "kept filling", "copied")
FRAMES: Final = ("helper", "loop")
_ROUTED: Final = ("s0, s1 = step.Copy(depth=M).apply(route)", "parts = step.Partition(N=2).apply((x, s0))")
_JOINED: Final = "return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((ys, s1)))"


class FilledModule(Record):
    """A file, how its experts are written, and why its tiles have to stay; empty where they can be dynamic."""

    text: str
    frame: str
    refused: str


def filled_module(rng: Random) -> FilledModule:
    """Return a file whose rows are filled up to tiles."""
    frame, trap = rng.choice(FRAMES), rng.choice((*TRAPS, *[""] * 5))
    alone = rng.choice(_MIXED if trap == "mixed" else _ALONE)
    real = "input[0].reshape(1)" if trap == "kept filling" else rng.choice(_REAL)
    lines = _expert(rng, trap)
    body = [*_ROUTED, "ys = [expert(part, u, v, b) for part in parts]"]
    helper = ["def expert(rows, u, v, b):", *(f"    {line}" for line in lines), "    return kept", "", ""]
    if frame == "loop":
        helper = []
        body = [*_ROUTED, "ys = []", "for rows in parts:", *(f"    {line}" for line in (*lines, "ys.append(kept)"))]
    kinds = ("u", "(4, 4)"), ("v", "(4, 4)"), ("b", "(4, 1)")
    data = {**dict.fromkeys("xuvb", "torch.randn"), "route": "binary"}
    program = [
        f"@step.program(dims={{M: 7}}, data={data})",
        "def filled(",
        "    x: Annotated[step.Stream, ROW, (M,)],",
        "    route: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)],",
        "    *,",
        *(f"    {name}: Annotated[step.Param, step.f32, {shape}]," for name, shape in kinds),
        ") -> Annotated[step.Stream, ROW, (M,)]:",
        *(f"    {line}" for line in (*body, _JOINED)),
    ]
    head = _HEAD.format(rows=rng.choice((2, 3, 4)), alone=alone, up=rng.choice(_UP), real=real)
    return FilledModule(head + "\n".join([*helper, *program, ""]), frame, trap)


def _expert(rng: Random, trap: str) -> list[str]:
    """Return the lines that make ``kept`` of ``rows``."""
    pad = rng.choice(("0", "1", "-1"))
    lines = [
        f"data, padding = step.Reshape(S=TM, L=[0], pad={pad}).apply(rows)  # in tiles",
        "tile = step.Map(fn=alone).apply(step.Retile(axis=0).apply(data))",
    ]
    if rng.randrange(3):
        load = "step.LinearOffChipLoad(tensor={}, tile={}, shape=[2], stride=[1]).apply({})"
        has_bias, is_folded = rng.randrange(2), rng.randrange(2)
        lines += [
            f"t0, t1, *more = step.Copy(n={2 + has_bias + is_folded}).apply(tile)",
            f"cols = {load.format('u', '[4, 2]', 't0')}",
            "h = step.Map(fn=up).apply((step.Repeat(n=2).apply(t1), cols))",
        ]
        if has_bias:
            lines.append(f"h = step.Map(fn=shifted).apply((h, {load.format('b', '[1, 2]', 'more[0]')}))")
        folded = f"step.Accum(fn=down, b=1).apply((h, {load.format('v', '[2, 4]', 'more[-1]')}))"
        lines.append(f"tile = {folded if is_folded else 'step.Retile(axis=1).apply(h)'}  # all columns")
    spread = "step.RetileStreamify(axis=0).apply(tile)"
    padding = "step.Identity().apply(padding)" if trap == "copied" else "padding"
    flags = f"step.Map(fn=real, depth=M + 4).apply(step.Flatten(L=[1]).apply({padding}))"
    if rng.randrange(2):
        lines.append(f"rows_again = {spread}")
        spread = "rows_again"
    if rng.randrange(2):
        lines.append(f"flags = {flags}  # which rows are real")
        flags = "flags"
    depth = rng.choice(("", ", depth=8"))
    kept = f"step.Partition(N=1{depth}).apply(({spread}, {flags}))"
    lines.append(rng.choice((f"[kept] = {kept}", f"(kept,) = {kept}", f"kept = {kept}[0]")) + "  # without filling")
    return lines
