"""Random programs in Python that fold the same rows twice, as files: greatest values, then sums that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

_HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

X, Y = {x}, {y}


@step.fn(input={x}, output={top}, init=[{init}])
def greatest(state, input):
    return [{greatest}]


@step.fn(input=({first}, {second}), output={x})
def below(input):
    return [{below}]


@step.fn(input={given}, output={out}, init=[{zeros}])
def total(state, row):
    return [{sums}]


"""


_REPEATS = {
    1: "step.Repeat(n=K).apply({})",
    2: "step.Repeat(n=K).apply(step.Repeat(n=M).apply({}))",
}


@dataclass(frozen=True)
class OnlineModule:
    """A file, what is wrong with its two folds (nothing where they can be one), and what is read of them besides."""

    text: str
    refused: str
    reader: str


def online_module(rng: Random) -> OnlineModule:
    """Return a file with two folds of the same rows."""
    return RowsTwice(rng).module()


class RowsTwice:
    """Draws a file: what kinds of elements, where the rows come from, what else is read, what is wrong with it."""

    first = "greatest"

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.refused = rng.choice(("", "", "", "function", "shape")) if rng.randrange(2) else ""
        self.kind = rng.choice(("numbers", "tiles", "rows of tiles"))
        self.from_memory = self.kind != "numbers" and rng.randrange(2) == 0
        self.b = rng.choice((1, 1, 2))
        self.swapped = rng.randrange(2)
        self.reader = rng.choice(("none", "none", "greatest", "exponentials"))
        self.several = self.reader == "none" and rng.randrange(2)
        self.lines: list[str] = []

    def module(self) -> OnlineModule:
        """Return the file."""
        rng = self.rng
        x = {"numbers": "step.f32"}.get(self.kind, 'step.Tile("fp32", [2, 3])')
        top = 'step.Tile("fp32", [2, 1])' if self.kind == "rows of tiles" else x
        out, summed = x, "E"
        if self.kind == "rows of tiles":
            out, summed = rng.choice(
                (
                    (top, "E.sum(1, keepdim=True)"),
                    (top, "torch.sum(E, -1, keepdim=True)"),
                    (x, "E @ torch.ones(3, 3)"),
                )
            )
        part = rng.choice(("", " * 0.5", " / 4"))
        base = rng.choice(("input[T]", "input[T]", "(input[T] * 2)"))
        greatest = base.replace("T", "0")
        if self.kind == "rows of tiles":
            greatest = rng.choice(
                (f"{greatest}.amax(1, keepdim=True)", f"torch.max({greatest}, -1, keepdim=True).values")
            )
        place, other = (1, 0) if self.swapped else (0, 1)
        difference = f"{base.replace('T', str(place))} - input[{other}]"
        below = f"torch.exp{rng.choice(('', '2'))}(({difference}){part})"
        if self.refused == "function":
            below, greatest, summed = self._wrong(below, greatest, summed, f"input[{place}]", f"input[{other}]")
        elif rng.randrange(3) == 0:
            below = f"{below} * input[{place}]"
        greatest = f"torch.maximum(state[0], {greatest})"
        sums = [f"state[0] + {summed.replace('E', 'row[0]')}"]
        outs, given = [out], ["X"]
        if self.several:
            given = rng.choice((["X", "Y"], ["Y", "X"]))
            at = given.index("X")
            weighed = summed.replace("E", f"(row[{at}] * row[{1 - at}])")
            sums = [f"{summed.replace('E', f'row[{at}]')} + state[0]", f"state[1] + {weighed}"]
            outs = [out, out]
            if rng.randrange(3) == 0:
                sums, outs = [sums[1].replace("state[1]", "state[0]")], [out]
        first, second = (top, x) if self.swapped else (x, top)
        head = _HEAD.format(
            x=x, y=x, top=top, init='"-inf"', greatest=greatest, first=first, second=second, below=below,
            given=f"({', '.join(given)})" if len(given) > 1 else "X", out=f"({', '.join(outs)})" if outs[1:] else out,
            zeros=", ".join("0" for _ in outs), sums=", ".join(sums),
        )  # fmt: skip
        return OnlineModule(head + self._program(x, top, outs, given), self.refused, self.reader)

    def _wrong(self, below: str, greatest: str, summed: str, x: str, top: str) -> tuple[str, str, str]:
        """Return functions of which one sum does not follow the greatest value, or could grow beyond all bounds."""
        match self.rng.randrange(6):
            case 0:
                return f"{below} + {x}", greatest, summed
            case 1:
                return f"{below} * {top}" if self.kind != "rows of tiles" else f"{below} + {top}", greatest, summed
            case 2:
                return f"torch.tanh({below})", greatest, summed
            case 3:
                return below.replace(" - ", " + "), greatest, summed
            case 4:
                return below, greatest.replace("input[0]", "torch.abs(input[0])"), summed
            case _:
                return below, greatest, f"({summed}) * ({summed})"

    # The program ---------------------------------------------------------------------------------------------------

    def _program(self, x: str, top: str, outs: list[str], given: list[str]) -> str:
        rng, b = self.rng, self.b
        rows, again, spread = self._rows()
        folded = self._centered(f"step.Accum(fn={self.first}, b={b}).apply({rows})")
        if self.reader == self.first:
            folded = self._bind("m0, m1", f"step.Copy().apply({self._named('m', folded)})")
        else:
            folded = self._named("m", folded)
        repeated = self._named("r", spread.format(folded))
        pair = f"({repeated}, {again})" if self.swapped else f"({again}, {repeated})"
        if rng.randrange(3) == 0:
            pair = self._named("z", f"step.Zip().apply({pair})")
        made = self._named("e", f"step.Map(fn=below).apply({pair})")
        if self.reader == "exponentials":
            made = self._bind("e0, e1", f"step.Copy(depth=8).apply({made})")
        items = [made if each == "X" else "values" for each in given]
        argument = f"({', '.join(items)})" if items[1:] else items[0]
        if items[1:] and rng.randrange(2):
            argument = self._named("p", f"step.Zip().apply({argument})")
        folds = 3 - b if self.refused == "shape" else b
        total = self._named("s", f"step.Accum(fn=total, b={folds}).apply({argument})")
        read = {self.first: ["m1"], "exponentials": ["e1"], "rows": ["x3"], "sums": ["s1"]}
        results = [total, *read.get(self.reader, [])]
        shape = ("K", "M", "N")
        kinds = [(f"({', '.join(outs)})" if outs[1:] else outs[0], shape[folds:])]
        if self.reader != "none":
            kinds.append((top, shape[b:]) if self.reader in (self.first, "sums") else (x, shape))
        types = [f"Annotated[step.Stream, {kind}, ({', '.join(sizes)},)]" for kind, sizes in kinds]
        result = types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"
        streams = [] if self.from_memory else [f"x: Annotated[step.Stream, {x}, (K, M, N)]"]
        streams += [f"values: Annotated[step.Stream, {x}, (K, M, N)]"] if given[1:] else []
        data = [name.partition(":")[0] for name in streams]
        if self.from_memory:
            streams += ["*", "x: Annotated[step.Param, step.f32, (3 * K, 2 * M * N)]"]
            data.append("x")
        draws = ", ".join(f'"{name}": "torch.randn"' for name in data)
        head = f"@step.program(dims={{K: 3, M: 2, N: 2}}, data={{{draws}}})\n"
        head += f"def twice({', '.join(streams)}) -> {result}:\n"
        return head + "\n".join([*self.lines, f"    return {', '.join(results)}", ""])

    def _rows(self) -> tuple[str, str, str]:
        """Return the rows for the first fold, those for the second one, and how its result is repeated for these."""
        rng, b = self.rng, self.b
        repeat = _REPEATS[b]
        if self.from_memory:
            load = "step.LinearOffChipLoad(tensor=x, tile=[2, 3], shape=[K, M, N], stride=[1, K, K * M]).apply()"
            return self._named("x0", load), self._named("x1", load), repeat
        if b == 1 and self.reader != "rows" and rng.randrange(3) == 0:
            self._bind("x0, x1, x2", "step.Copy(n=3, depth=16).apply(x)")
            return "x0", self._stashed("x1"), "step.RepeatRef().apply(({}, x2))"
        if self.reader == "rows":
            self._bind("x0, x1, x3", "step.Copy(n=3, depth=16).apply(x)")
        else:
            self._bind("x0, x1", "step.Copy(depth=16).apply(x)")
        return "x0", self._stashed("x1"), repeat

    def _centered(self, folded: str) -> str:
        """Return what stands beside the rows."""
        return folded

    def _stashed(self, rows: str) -> str:
        if self.rng.randrange(3) or self.kind != "numbers":
            return rows
        held = self._named("held", f"step.Bufferize(a={self.b}).apply({rows})")
        return self._named("again", f"step.Streamify().apply({held})")

    def _bind(self, names: str, value: str) -> str:
        """Bind names to a value, and return the first of them."""
        self.lines.append(f"    {names} = {value}{self.rng.choice(('', '', '  # once more'))}")
        return names.partition(",")[0]

    def _named(self, name: str, value: str) -> str:
        """Return a name for a value, or the value itself."""
        if self.rng.randrange(3) == 0:
            return value
        return self._bind(name, value)
