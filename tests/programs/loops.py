"""Random tasks with loops: what goes round, how often, and where it leaves."""

from __future__ import annotations

from random import Random

HEAD = """\
test_name: loop
inputs:
- {{name: E0, dtype: {dtype}, dims: [{dims}], data_gen: torch.rand}}
fns:
- name: grow
  func_name: grow
  input_dtype: {dtype}
  output_dtype: {dtype}
  apply: |
    return [input[0] * {factor} + 1]
- name: way
  func_name: way
  input_dtype: {dtype}
  output_dtype: Multihot(fp32, 2)
  apply: |
    x = torch.mean(input[0]) if input[0].dim() else input[0]
    return [torch.stack([x < {limit}, x >= {limit}]).to(x.dtype)]
- name: add
  func_name: add
  init: [0]
  input_dtype: {dtype}
  output_dtype: {dtype}
  apply: |
    return [state[0] + input[0]]
outputs:
- name: S9
  dtype: {dtype}
  dims: [{out}]
  data_transform:
  - torch.zeros(())
impl: |-
"""


def random_loop(rng: Random) -> str:
    """Return a task with a loop, or with one inside of another, whose reference says nothing."""
    count, inner = rng.randint(1, 5), rng.choice(([], [], [2], [3, 2]))
    dtype = rng.choice(("fp32", "fp32", '"Tile(fp32, [2, 3])"'))
    element = "step.f32" if dtype == "fp32" else 'step.Tile("fp32", [2, 3])'
    chunk = "".join(f"{size}, " for size in inner)
    lines: list[str] = []
    kind = rng.choice(("passes", "grows", "nested", "lanes"))
    if inner and kind in ("grows", "nested"):
        kind = "passes"
    match kind:
        case "passes":  # each chunk goes round a fixed number of times, told by the loops that it came from
            lines = _passes(rng, chunk, element, count, inner)
        case "grows":
            lines = _grows(rng, element)
        case "nested":
            lines = _nested(element)
        case _:
            lines = _lanes(rng, chunk, element)
    values = {
        "dtype": dtype, "dims": f"{chunk}{count}", "factor": rng.choice((2, 3)),
        "limit": rng.choice((1.5, 9, 40)), "out": f'{chunk}"?T"',
    }  # fmt: skip
    return HEAD.format(**values) + "".join(f"  {line}\n" for line in lines)


def _passes(rng: Random, chunk: str, element: str, count: int, inner: list[int]) -> list[str]:
    times = rng.randint(1, 3)
    size = rng.choice(("step.dyn('B')", str(count)))
    sizes = [f"{chunk}{size.replace('B', f'B{k}')}" for k in range(times)]
    loops = [f"l{k} = step.Feedback(element={element}, dims=[{dims}])" for k, dims in enumerate(sizes)]
    order = ["E0", *(f"l{k}.apply()" for k in range(times))]
    if rng.random() < 0.3:
        order = order[::-1]
    where = {name: place for place, name in enumerate(order)}
    names = [f"P{place}" for place in range(times + 1)]
    lines = [*loops, f"A, S = step.EagerMerge().apply([{', '.join(order)}])"]
    fn = "X = step.Map(fn=grow).apply(A)"
    if inner and rng.random() < 0.5:
        fn = "X = step.Streamify().apply(step.Bufferize(a=1).apply(step.Map(fn=grow).apply(A)))"
    if len(inner) > 1 and rng.random() < 0.5:
        fn = f"X = step.Reshape(S={inner[0]}, L=[0]).apply(step.Flatten(L=[1]).apply(step.Map(fn=grow).apply(A)))"
    lines += [fn, f"{', '.join(names)} = step.Partition(N={times + 1}).apply((X, S))"]
    stages = ["E0", *(f"l{k}.apply()" for k in range(times))]  # what came by stage k goes on by loop k
    lines += [f"l{k}.close(P{where[stages[k]]})" for k in range(times)]
    return [*lines, f"return P{where[stages[times]]}"]


def _grows(rng: Random, element: str) -> list[str]:
    order = ["E0", "loop.apply()"]
    rng.shuffle(order)
    lines = [
        f"loop = step.Feedback(element={element}, dims=[step.dyn('B')])",
        f"A, _ = step.EagerMerge().apply([{', '.join(order)}])",
        "B, C = step.Copy().apply(step.Map(fn=grow).apply(A))",
        "D, E = step.Partition(N=2).apply((B, step.Map(fn=way).apply(C)))",
        "loop.close(D)",
    ]
    if rng.random() < 0.4:
        return [*lines, "return step.Accum(fn=add, b=1).apply(step.Promote(b=1).apply(E))"]
    return [*lines, "return E"]


def _nested(element: str) -> list[str]:
    return [
        f"outer = step.Feedback(element={element}, dims=[step.dyn('B')])",
        f"inner = step.Feedback(element={element}, dims=[step.dyn('C')])",
        "A, _ = step.EagerMerge().apply([E0, outer.apply()])",
        "B, S = step.EagerMerge().apply([A, inner.apply()])",
        "C, D = step.Partition(N=2).apply((step.Map(fn=grow).apply(B), S))",
        "inner.close(C)",
        "E, F = step.Copy().apply(D)",
        "G, H = step.Partition(N=2).apply((E, step.Map(fn=way).apply(F)))",
        "outer.close(G)",
        "return H",
    ]


def _lanes(rng: Random, chunk: str, element: str) -> list[str]:
    policy = rng.choice(('"free"', '"round_robin"'))
    return [
        f"loop = step.Feedback(element={element}, dims=[{chunk}step.dyn('B')])",
        "A, S = step.EagerMerge().apply([E0, loop.apply()])",
        f"lanes, which = step.Parallelize(N=2, policy={policy}).apply(A)",
        "Y = [step.Map(fn=grow).apply(lane) for lane in lanes]",
        f"Z = step.Flatten(L=[{len(chunk.split()) + 1}]).apply(step.Reassemble(onehot=True).apply((Y, which)))",
        "C, D = step.Partition(N=2).apply((Z, S))",
        "loop.close(C)",
        "return D",
    ]
