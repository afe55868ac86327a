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
