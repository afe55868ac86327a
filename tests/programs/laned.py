"""Random programs whose lanes are written as a list over all of them, as tasks: their number may be another one."""

from __future__ import annotations

from random import Random
from typing import Final

MEETING: Final = "Scan(fn=later, b=2)"  # what is only there where chunks of a lane meet

_FNS = """\
fns:
- {func_name: half, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] / 2]"}
- {func_name: later, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] / 2 + input[0]]"}
- {func_name: minus, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] - input[1]]"}
"""

_TILES = 'input_dtype: ["Tile(fp32, [16, 16])", "Tile(fp32, [16, 16])"], output_dtype: "Tile(fp32, [16, 16])"'
_PRODUCTS = f"""\
fns:
- {{func_name: twice, {_TILES}, apply: "return [input[0] @ input[1] @ input[1]]"}}
- {{func_name: sums, init: [0], {_TILES}, apply: "return [state[0] / 2 + input[0] @ input[1] @ input[1]]"}}
"""


def laned_task(rng: Random) -> str:
    """Return a task with lanes, perhaps with companions, in which chunks meet others or do not."""
    inner, length = rng.choice((2, 3)), rng.choice((3, 5, 8))
    count, policy = rng.choice((1, 2, 3, 4)), rng.choice(("round_robin", "free"))
    inputs = [f"- {{name: x, dtype: fp32, dims: [{inner}, {length}], data_gen: torch.randn}}\n"]
    lines = [f'lanes, lane_of = step.Parallelize(N={count}, policy="{policy}").apply(x)']
    lane, selector, over, rounds = "lane", "lane_of", "lanes", "lane"
    if rng.randrange(2):
        inputs.append(f"- {{name: y, dtype: fp32, dims: [{inner}, {length}], data_gen: torch.randn}}\n")
        lines.append("s0, s1 = step.Copy(depth=16).apply(lane_of)")
        lines.append(f"others = step.Partition(N={count}).apply((y, s0))")
        selector, rounds, over = "s1", "lane, other", "zip(lanes, others)"
        lane = "step.Map(fn=minus).apply((lane, other))"
    for _ in range(rng.choice((1, 2))):
        lane = _work(rng, inner, lane)
    lines.append(f"outs = [{lane} for {rounds} in {over}]")
    lines.append(f"E = step.Reassemble(onehot=True).apply((outs, {selector}))")
    lines.append("return step.Flatten(L=[2]).apply(E)")
    body = "\n".join(f"  {line}" for line in lines)
    outputs = f"outputs:\n- {{name: S0, dtype: fp32, dims: [{inner}, {length}]}}\n"
    return f"test_name: laned\ninputs:\n{''.join(inputs)}{_FNS}{outputs}impl: |-\n{body}\n"


def _work(rng: Random, inner: int, lane: str) -> str:
    """Return an expression of the shape of ``lane``; the last one lets chunks of a lane meet."""
    match rng.randrange(6):
        case 0:
            return f"step.Map(fn=half).apply({lane})"
        case 1:
            return f"step.Scan(fn=later, b=1).apply({lane})"
        case 2:
            return f"step.Repeat(n={inner}).apply(step.Accum(fn=later, b=1).apply({lane}))"
        case 3:
            return f"step.Streamify().apply(step.Bufferize(a=1).apply({lane}))"
        case 4:
            return f"step.Flatten(L=[1]).apply(step.Promote(b=1).apply({lane}))"
        case _:
            return f"step.Flatten(L=[2]).apply(step.Scan(fn=later, b=2).apply(step.Promote(b=2).apply({lane})))"


def busy_task(rng: Random) -> str:
    """Return a task in which one or two units that read two streams are busy most of the time."""
    sizes = [rng.choice((1, 2, 3)), rng.choice((2, 3)), rng.choice((1, 2, 4))]
    op = rng.choice(("Map(fn=twice)", "Scan(fn=sums, b=1)", "Accum(fn=sums, b=1)", "Accum(fn=sums, b=2)"))
    dims = [16 * sizes[0], 16 * sizes[1], sizes[2]]
    kept = sizes[int(op[-2]) if op.startswith("Accum") else 0 :]
    names = "PQRS" if rng.randrange(2) else "PQ"
    parameters = "".join(f"- {{name: {name}, dtype: fp32, dims: {dims}, data_gen: torch.randn}}\n" for name in names)
    load = "step.LinearOffChipLoad(tensor={}, tile=[16, 16]).apply()"
    lines, outputs = [], "outputs:\n"
    for unit, pair in enumerate((names[:2], names[2:])[: len(names) // 2]):
        first, second = (load.format(name) for name in pair)
        lines.append(f"E{unit} = step.{op}.apply(({first}, {second}))")
        outputs += f'- {{name: S{unit}, dtype: "Tile(fp32, [16, 16])", dims: {kept}}}\n'
    lines.append(f"return {', '.join(f'E{unit}' for unit in range(len(lines)))}")
    body = "\n".join(f"  {line}" for line in lines)
    return f"test_name: busy\ninputs: []\nparameters:\n{parameters}{_PRODUCTS}{outputs}impl: |-\n{body}\n"
