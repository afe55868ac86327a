"""Random programs in Python that fold what they load, as files: sums, products, greatest values, one or two of them."""

from __future__ import annotations

from random import Random

_HEAD = """\
from typing import Annotated

import torch

import stepcore as step

T = step.Tile("fp32", [2, 3])


@step.fn(input=(T, T), output=T, init=[{init}])
def two(state, input):
    return [{two}]


@step.fn(input=T, output=T, init=[{init}])
def one(state, input):
    return [{one}]


"""
_KINDS = (
    ("0", "state[0] + input[0] * input[1]", "input[0] + state[0]"),
    ("0", "torch.tanh(input[0]) - input[1] + state[0]", "state[0] + input[0]"),
    ("1", "state[0] * torch.tanh(input[0] + input[1])", "state[0] * input[0]"),
    ('"-inf"', "torch.maximum(state[0], input[0] * input[1])", "torch.maximum(input[0], state[0])"),
    ("1", "torch.minimum(state[0], input[0] + input[1])", "torch.minimum(state[0], input[0])"),
)
_OTHERS = (
    ("0", "state[0] / 2 + input[0] * input[1]", "state[0] / 2 + input[0]"),
    ("1", "state[0] + input[0] * input[1]", "state[0] + input[0]"),  # begins with one: not a sum of parts
    ("0", "state[0] + input[0] * state[0] + input[1]", "state[0] + torch.tanh(state[0]) * input[0]"),
)


def folded_module(rng: Random) -> tuple[str, bool]:
    """Return a file, and whether parts of what it folds may be folded apart."""
    may_split = bool(rng.randrange(4))
    init, two, one = rng.choice(_KINDS if may_split else _OTHERS)
    sizes = [rng.choice((2, 4, 8)), rng.choice((1, 2, 3)), rng.choice((1, 2))]
    count = 2 * rng.choice((1, 2))
    lines: list[str] = []
    given: list[str] = []
    names = ("x", "y")
    for name in names:
        stride = rng.choice((f"[1, {sizes[0]}, 0]", "[0, 1, 1]", f"[{sizes[1]}, 1, 0]"))
        base = rng.choice(("", f", base={count}"))
        load = f"step.LinearOffChipLoad(tensor={name}, tile=[2, 3], shape={sizes}, stride={stride}{base}).apply()"
        if rng.randrange(2):
            lines.append(f"    {name}s = {load}  # from memory")
            load = f"{name}s"
        given.append(load)
    b = rng.choice((1, 2))
    dims = sizes[b:]
    fold = f"step.Accum(fn=two, b={b}).apply(({given[0]}, {given[1]}))"
    if b == 1 and rng.randrange(2):
        dims = dims[1:]
        if rng.randrange(2):
            lines.append(f"    inner = {fold}")
            fold = "inner"
        fold = f"step.Accum(fn=one, b=1).apply({fold})"
    lines.append(f"    return {fold}")
    shape = f"({', '.join(map(str, dims))},)"
    parameters = ", ".join(f"{name}: Annotated[step.Param, step.f32, (12, 64)]" for name in names)
    head = (
        f'@step.program(data={{"x": "torch.randn", "y": "torch.randn"}})\n'
        f"def folded(*, {parameters}) -> Annotated[step.Stream, T, {shape}]:\n"
    )
    return _HEAD.format(init=init, two=two, one=one) + head + "\n".join(lines) + "\n", may_split
