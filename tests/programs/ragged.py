"""Random well-typed programs on streams whose sizes only a run knows, as tasks."""

from __future__ import annotations

from random import Random
from typing import Literal

# What is known of a dimension before a run: its number, or its kind.
Kind = int | Literal["dynamic", "ragged"]

_FNS = """\
fns:
- {func_name: total, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}
- {func_name: later, init: [1], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] / 2 + input[0]]"}
- {func_name: plus, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] + 1]"}
- {func_name: times, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] * input[1]]"}
- {func_name: unless, input_dtype: [fp32, bool], output_dtype: fp32,
   apply: "return [torch.where(input[1], torch.full((), 2.0), input[0])]"}
"""


def ragged_task(rng: Random, moves: int = 5) -> str:
    """Return a task whose stream goes through so many operators; no finding is an error, the sizes of its output
    included: where only a run knows them they have names of their own.
    """
    maker = _Maker(rng)
    maker.choose()
    for _ in range(moves):
        maker.move()
    return maker.text()


class _Maker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.sizes: list[str] = []
        outermost: list[Kind] = [1, 3, 5, "dynamic"]
        inner: list[Kind] = [2, 4, "ragged", "ragged"]
        self.kinds: list[Kind] = rng.choices(inner, k=rng.randint(1, 2)) + rng.choices(outermost)
        self.dims = [self._size(kind) for kind in self.kinds]
        self.inputs = [f"- {{name: x, dtype: fp32, dims: {self.dims}, data_gen: torch.randn}}\n"]
        self.lines: list[str] = []
        self.stream = "x"
        self.names = 0

    def _size(self, kind: Kind) -> str | int:
        if isinstance(kind, int):
            return kind
        name = f"{'~' if kind == 'ragged' else '?'}L{len(self.sizes)}"
        self.sizes.append(f'"{name}": {{min: {self.rng.choice([0, 0, 1])}, max: {self.rng.randint(1, 4)}}}')
        return name

    def text(self) -> str:
        """Return the task."""
        counts = iter(range(9))
        given = {"dynamic": "?", "ragged": "~"}
        dims = [kind if isinstance(kind, int) else f"{given[kind]}O{next(counts)}" for kind in self.kinds]
        body = "".join(f"  {line}\n" for line in self.lines)
        sizes = f"sizes: {{{', '.join(self.sizes)}}}\n" if self.sizes else ""
        output = f'outputs:\n- {{name: S0, dtype: fp32, dims: {dims}, data_transform: ["torch.zeros(())"]}}\n'
        head = f"test_name: ragged\n{sizes}inputs:\n{''.join(self.inputs)}{_FNS}{output}"
        return f"{head}impl: |\n{body}  return {self.stream}\n"

    def _put(self, call: str, inputs: str = "") -> str:
        self.names += 1
        self.lines.append(f"S{self.names} = step.{call}.apply({inputs or self.stream})")
        self.stream = f"S{self.names}"
        return self.stream

    def _copies(self) -> tuple[str, str]:
        self.names += 2
        one, other = f"S{self.names - 1}", f"S{self.names}"
        self.lines.append(f"{one}, {other} = step.Copy().apply({self.stream})")
        return one, other

    def _fold(self) -> str:
        return self.rng.choice(["total", "later"])

    def choose(self) -> None:
        """Route the input by a selector, or do not."""
        if self.rng.random() < 0.5:
            return
        inner, least = self.rng.randint(0, len(self.kinds) - 1), self.rng.choice([0, 1])
        self.inputs.append(
            f'- {{name: s, dtype: "Multihot(fp32, 2)", dims: {self.dims[inner:]}, min: {least}, max: 2}}\n'
        )
        self.lines.append("s0, s1 = step.Copy().apply(s)")
        self.lines.append("p0, p1 = step.Partition(N=2).apply((x, s0))")
        # Where no branch is named, nothing says how long ragged lists would be.
        if ("ragged" in self.kinds[:inner] and not least) or self.rng.random() < 0.4:
            self.stream, self.kinds = "p1", [*self.kinds[:inner], "dynamic"]
        else:
            self._put("Merge(fn=total)", "([step.Map(fn=plus).apply(p0), p1], s1)")

    def move(self) -> None:
        """Apply one operator, or some that belong together."""
        moves = [self._map, self._product, self._repeat, self._promote, self._fill]
        if len(self.kinds) > 1:
            moves += [self._accum, self._accum, self._scan, self._flatten, self._flatten, self._reference]
            if self.kinds[0] != "ragged":
                moves += [self._buffers]
        if any(isinstance(kind, int) and kind % 2 == 0 for kind in self.kinds):
            moves += [self._reshape]
        if len(self.kinds) > 4:
            moves = [self._accum, self._flatten]
        self.rng.choice(moves)()

    def _map(self) -> None:
        self._put("Map(fn=plus)")

    def _product(self) -> None:
        one, other = self._copies()
        self._put("Map(fn=times)", f"({one}, step.Identity().apply({other}))")

    def _repeat(self) -> None:
        count = self.rng.randint(1, 3)
        self._put(f"Repeat(n={count})")
        self.kinds = [count, *self.kinds]

    def _promote(self) -> None:
        place = self.rng.randint(0, len(self.kinds))
        self._put(f"Promote(b={place})")
        outside_of_open = place == len(self.kinds) and not isinstance(self.kinds[-1], int)
        self.kinds = [*self.kinds[:place], "dynamic" if outside_of_open else 1, *self.kinds[place:]]

    def _accum(self) -> None:
        dims = self.rng.randint(1, len(self.kinds) - 1)
        self._put(f"Accum(fn={self._fold()}, b={dims})")
        self.kinds = self.kinds[dims:]

    def _scan(self) -> None:
        self._put(f"Scan(fn={self._fold()}, b={self.rng.randint(1, len(self.kinds) - 1)})")

    def _flatten(self) -> None:
        first = self.rng.randint(1, len(self.kinds) - 1)
        last = self.rng.randint(first, len(self.kinds) - 1)
        self._put(f"Flatten(L={list(range(first, last + 1))})")
        merged = self.kinds[first - 1 : last + 1]
        size: Kind = 1
        for kind in merged:
            size = size * kind if isinstance(size, int) and isinstance(kind, int) else "dynamic"
        if "ragged" in merged and last + 1 < len(self.kinds):
            size = "ragged"
        self.kinds = [*self.kinds[: first - 1], size, *self.kinds[last + 1 :]]

    def _reference(self) -> None:
        one, other = self._copies()
        self._put("RepeatRef()", f"(step.Accum(fn={self._fold()}, b=1).apply({one}), {other})")

    def _buffers(self) -> None:
        regular = next((place for place, kind in enumerate(self.kinds) if kind == "ragged"), len(self.kinds))
        count = self.rng.randint(1, min(regular, len(self.kinds) - 1))
        self._put(f"Bufferize(a={count})")
        self._put("Streamify()")

    def _fill(self) -> None:
        pad, chunk, first = self.rng.choice(["0", "1", "-1", '"-inf"']), self.rng.randint(1, 3), self.kinds[0]
        self.names += 1
        data, padding = f"S{self.names}", f"P{self.names}"
        self.lines.append(f"{data}, {padding} = step.Reshape(S={chunk}, L=[0], pad={pad}).apply({self.stream})")
        self.stream = data
        if self.rng.random() < 0.5:
            self._put("Map(fn=unless)", f"({data}, {padding})")
        self.kinds = [chunk, -(-first // chunk) if isinstance(first, int) else first, *self.kinds[1:]]

    def _reshape(self) -> None:
        places = [place for place, kind in enumerate(self.kinds) if isinstance(kind, int) and kind % 2 == 0]
        place = self.rng.choice(places)
        self._put(f"Reshape(S=2, L=[{place}])")
        size = self.kinds[place]
        assert isinstance(size, int)
        self.kinds = [*self.kinds[:place], 2, size // 2, *self.kinds[place + 1 :]]
