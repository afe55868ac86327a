"""Random programs that route: by selectors, to lanes, by arrival, and by lists that are counted out, as tasks."""

from __future__ import annotations

from random import Random

_FNS = """\
fns:
- {func_name: half, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] / 2]"}
- {func_name: plus, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] + 1]"}
- {func_name: total, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}
- {func_name: later, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] / 2 + input[0]]"}
- {func_name: times, input_dtype: [fp32, int64], output_dtype: fp32, apply: "return [input[0] * input[1]]"}
- func_name: twice
  input_dtype: fp32
  output_dtype: Buffer(fp32, [2])
  apply: return [torch.stack([input[0], -input[0]])]
"""
_SMALL = """\
- func_name: small
  input_dtype: fp32
  output_dtype: int64
  apply: return [torch.clamp(torch.abs(input[0]) * 3, 0, 5).to(torch.int64)]
- {func_name: late, init: [1], input_dtype: int64, output_dtype: fp32, apply: "return [state[0] / 2 + input[0]]"}
"""


def routed_task(rng: Random, blocks: int = 3) -> str:
    """Return a task whose stream goes through so many blocks, each of which has its shape again."""
    maker = _Maker(rng)
    for _ in range(blocks):
        rng.choice((maker.route, maker.lanes, maker.arrive, maker.count, maker.unfold))()
    return maker.text()


class _Maker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.inner = rng.choice((None, None, 2, 3))  # a chunk is one element, or a list of so many
        self.length = rng.choice((1, 2, 5, 8))
        self.inputs = [self._input("x", "fp32", "data_gen: torch.randn", [self.inner] if self.inner else [])]
        self.lines: list[str] = []
        self.names = 0
        self.stream = "x"

    def _input(self, name: str, dtype: str, how: str, inner: list[int]) -> str:
        return f"- {{name: {name}, dtype: {dtype}, dims: {[*inner, self.length]}, {how}}}\n"

    def _new(self, call: str, count: int = 1) -> list[str]:
        names = [f"E{self.names + number}" for number in range(count)]
        self.names += count
        self.lines.append(f"{', '.join(names)} = step.{call}")
        return names

    def _selector(self, branches: int, least: int, most: int) -> str:
        name = f"s{len(self.inputs)}"
        self.inputs.append(self._input(name, f'"Multihot(fp32, {branches})"', f"min: {least}, max: {most}", []))
        return name

    def _worked(self, branch: str) -> str:
        """Let something happen to a branch that keeps its shape."""
        for _ in range(self.rng.choice((0, 1, 2))):
            match self.rng.randrange(4):
                case 0 | 1:
                    (branch,) = self._new(f"Map(fn={self.rng.choice(('half', 'plus'))}).apply({branch})")
                case 2:
                    (wide,) = self._new(f"Promote(b={2 if self.inner else 1}).apply({branch})")
                    (branch,) = self._new(f"Flatten(L=[{2 if self.inner else 1}]).apply({wide})")
                case _:
                    (longer,) = self._new(f"Repeat(n=2).apply({branch})")
                    (branch,) = self._new(f"Accum(fn=later, b=1).apply({longer})")
        return branch

    def _folded(self, joined: str) -> str:
        """Fold the chunks of each position, which stand outside of the elements of a chunk."""
        if not self.inner:
            return self._new(f"Accum(fn={self.rng.choice(('total', 'later'))}, b=1).apply({joined})")[0]
        (flat,) = self._new(f"Accum(fn=total, b=2).apply({joined})")
        return self._new(f"Repeat(n={self.inner}).apply({flat})")[0]

    def route(self) -> None:
        """To the branches of a selector and back, side by side."""
        count = self.rng.choice((1, 2, 3))
        first, second = self._new(f"Copy().apply({self._selector(count, 0, count)})", 2)
        self.lines.append(f"branches = step.Partition(N={count}).apply(({self.stream}, {first}))")
        branches = ", ".join([self._worked(f"branches[{number}]") for number in range(count)])
        (joined,) = self._new(f"Reassemble().apply(([{branches}], {second}))")
        self.stream = self._folded(joined)

    def lanes(self) -> None:
        """To lanes and back into their order."""
        count, policy = self.rng.choice((1, 2, 3)), self.rng.choice(("round_robin", "free"))
        self.lines.append(f'lanes, lane_of = step.Parallelize(N={count}, policy="{policy}").apply({self.stream})')
        lanes = ", ".join([self._worked(f"lanes[{number}]") for number in range(count)])
        (joined,) = self._new(f"Reassemble(onehot=True).apply(([{lanes}], lane_of))")
        self.stream = self._new(f"Flatten(L=[{2 if self.inner else 1}]).apply({joined})")[0]

    def arrive(self) -> None:
        """Merged with a copy as they come, and taken apart again by where they came from."""
        first, second = self._new(f"Copy().apply({self.stream})", 2)
        (second,) = self._new(f"Map(fn=plus).apply({second})")
        data, origin = self._new(f"EagerMerge().apply([{first}, {second}])", 2)
        self.lines.append(f"parts = step.Partition(N=2).apply(({self._worked(data)}, {origin}))")
        both = self._new(f"EagerMerge().apply([parts[{self.rng.randrange(2)}]])", 2)[0]
        selector = self._selector(1, 1, 1)
        (joined,) = self._new(f"Reassemble(onehot=True).apply(([{both}], {selector}))")
        self.stream = self._new(f"Flatten(L=[{2 if self.inner else 1}]).apply({joined})")[0]

    def count(self) -> None:
        """Lists that are as long as an input says, and what is made of them."""
        if self.inner:
            return self.unfold()
        name = f"n{len(self.inputs)}"
        self.inputs.append(self._input(name, "int64", "min: 0, max: 3", []))
        (wide,) = self._new(f"Promote(b=0).apply({name})")
        numbers, again = self._new(f"Copy().apply(step.FlatMap(fn=step.count).apply({wide}))", 2)
        (spread,) = self._new(f"RepeatRef().apply(({self.stream}, {numbers}))")
        (products,) = self._new(f"Map(fn=times).apply(({spread}, {again}))")
        if self.rng.randrange(2):
            (products,) = self._new(f"Scan(fn=later, b=1).apply({products})")
        self.stream = self._folded(products)
        return None

    def unfold(self) -> None:
        """A list of two for each element, folded again."""
        (wide,) = self._new(f"Promote(b=0).apply({self.stream})")
        (pairs,) = self._new(f"FlatMap(fn=twice).apply({wide})")
        self.stream = self._new(f"Accum(fn=later, b=1).apply({pairs})")[0]

    def text(self) -> str:
        """Return the task."""
        dims = [*([self.inner] if self.inner else []), self.length]
        lines = "\n".join(f"  {line}" for line in [*self.lines, f"return {self.stream}"])
        outputs = f"outputs:\n- {{name: S0, dtype: fp32, dims: {dims}}}\n"
        return f"test_name: routed\ninputs:\n{''.join(self.inputs)}{_FNS}{outputs}impl: |-\n{lines}\n"


def arriving_task(rng: Random) -> str:
    """Return a task whose results depend on the order of arrival: merged, in free lanes, gathered as it comes.

    One lane may make lists that are as long as the data in it say; the other one makes none.
    """
    first, second, third = (rng.randrange(1, 7) for _ in range(3))
    slow = "Accum(fn=later, b=1).apply(step.Repeat(n={}).apply({}))"
    lists = "step.FlatMap(fn=step.count).apply(step.Promote(b=0).apply(step.Map(fn=small).apply(lanes[1])))"
    lines = [
        f"E0 = step.{rng.choice(('Map(fn=half).apply(x)', slow.format(6, 'x')))}",
        "E1, came = step.EagerMerge().apply([E0, y])",
        "E2, E3 = step.Copy(depth=16).apply(E1)",
        f'lanes, lane_of = step.Parallelize(N=2, policy="free", depth={rng.randrange(1, 3)}).apply(E2)',
        f"L0 = step.{slow.format(rng.randrange(1, 9), 'lanes[0]')}",
        f"L1 = step.{rng.choice((f'Accum(fn=late, b=1).apply({lists})', 'Map(fn=plus).apply(lanes[1])'))}",
        "E4, origin = step.EagerMerge().apply([L1, L0])",
        "s0, s1 = step.Copy(depth=16).apply(s)",
        "P = step.Partition(N=2).apply((z, s0))",
        f"Q = step.{slow.format(rng.randrange(1, 9), 'P[0]')}",
        'E5 = step.Accum(fn=later, b=1).apply(step.Reassemble(order="arrival").apply(([Q, P[1]], s1)))',
        "return E3, E4, E5",
    ]
    inputs = (("x", "fp32", first, ""), ("y", "fp32", second, ""), ("z", "fp32", third, ""))
    given = "".join(
        f"- {{name: {name}, dtype: {dtype}, dims: [{size}], {how or 'data_gen: torch.randn'}}}\n"
        for name, dtype, size, how in (*inputs, ("s", '"Multihot(fp32, 2)"', third, "min: 0, max: 2"))
    )
    sizes = (first + second, '"?both"', third)  # a sum of what both lanes got is no number to the types
    outputs = "".join(f"- {{name: S{k}, dtype: fp32, dims: [{size}]}}\n" for k, size in enumerate(sizes))
    body = "\n".join(f"  {line}" for line in lines)
    return f"test_name: arriving\ninputs:\n{given}{_FNS}{_SMALL}outputs:\n{outputs}impl: |-\n{body}\n"
