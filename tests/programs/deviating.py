"""Random programs in Python that fold the same rows twice, as files: sums, then squares beside means."""

from __future__ import annotations

from random import Random

from programs.online import OnlineModule, RowsTwice

_HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

X, Y = {x}, {x}
SIX = 6


@step.fn(input={x}, output={top}, init=[{init}])
def sums(state, input):
    return [{kept}]


@step.fn(input={top}, output={top})
def mean(input):
    return [{center}]


@step.fn(input=({first}, {second}), output={x})
def below(input):
    return [{below}]


@step.fn(input={given}, output={out}, init=[{zeros}])
def total(state, row):
    return [{squares}]


"""


def deviating_module(rng: Random) -> OnlineModule:
    """Return a file with two folds of the same rows."""
    return _Deviating(rng).module()


class _Deviating(RowsTwice):
    first = "mean"

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self.reader = rng.choice(("none", "none", "mean", "sums", "exponentials", "rows"))
        if self.reader == "rows":
            self.from_memory = False
        self.several = self.reader == "none" and rng.randrange(2)
        self.has_map = self.reader in ("mean", "sums") or rng.randrange(2) == 0

    def module(self) -> OnlineModule:
        """Return the file."""
        rng = self.rng
        x = {"numbers": "step.f32"}.get(self.kind, 'step.Tile("fp32", [2, 3])')
        top = 'step.Tile("fp32", [2, 1])' if self.kind == "rows of tiles" else x
        summed = rng.choice(
            ("E.sum(1, keepdim=True)", "torch.sum(E, -1, keepdim=True)", "torch.sum(E, dim=1, keepdim=True)")
        )
        if self.kind != "rows of tiles":
            summed = "E"
        kept = rng.choice(("state[0] + S", "S + state[0]", "state[0] + S", "torch.maximum(state[0], S)"))
        kept = kept.replace("S", summed.replace("E", "input[0]"))
        center = rng.choice(
            ("input[0] / 6.0", "0.25 * input[0]", "input[0] / SIX", "input[0] / ctx[K]", "input[0] / M_value - 1")
        )
        place, other = (1, 0) if self.swapped else (0, 1)
        values = rng.choice(("T", "T", "2 * T", "(T - 0.5)")).replace("T", f"input[{place}]")
        middle = f"input[{other}]" if self.has_map else center.replace("input[0]", f"input[{other}]")
        below = rng.choice((f"{values} - ({middle})", f"({middle}) - {values}"))
        part = rng.choice(("", "", " / 6", " * SIX"))
        square = rng.choice(("(E ** 2)", "torch.square(E)", "E.square()", "(E * E)", "torch.pow(E, 2)"))
        init = "0"
        if self.refused == "function":
            init, center, below, square = self._spoiled(init, center, below, square, f"input[{place}]")
        is_inside = rng.randrange(2) == 0 and self.reader != "exponentials"
        if is_inside:
            below, square = square.replace("E", f"({below})") + part, "E"
        outs, given = [top], ["X"]
        squares = ["state[0] + " + summed.replace("E", square.replace("E", "row[0]")) + ("" if is_inside else part)]
        if self.several:
            given = rng.choice((["X", "Y"], ["Y", "X"]))
            at = given.index("X")
            squares = [
                "state[0] + " + summed.replace("E", f"(row[{1 - at}] if SIX > 5 else row[{1 - at}])"),
                summed.replace("E", square.replace("E", f"row[{at}]")) + " + state[1]",
            ]
            outs = [top, top]
        first, second = (top, x) if self.swapped else (x, top)
        head = _HEAD.format(
            x=x, top=top, init=init, kept=kept, center=center, below=below, first=first, second=second,
            out=f"({', '.join(outs)})" if outs[1:] else top, given=f"({', '.join(given)})" if given[1:] else "X",
            zeros=", ".join("0" for _ in outs), squares=", ".join(squares),
        )  # fmt: skip
        return OnlineModule(head + self._program(x, top, outs, given), self.refused, self.reader)

    def _spoiled(self, init: str, center: str, below: str, square: str, x: str) -> tuple[str, str, str, str]:
        """Return functions of which the last adds no squares beside a finite multiple of what the first one gives."""
        match self.rng.randrange(5):
            case 0:
                return init, center, f"torch.tanh({below})", square
            case 1:
                return init, center, f"({below}) * {x}", square
            case 2:
                return init, center, below, "torch.abs(E)"
            case 3:
                return '"-inf"', center, below, square
            case _:
                return init, center, f"({below}) + {x} * {x}", square

    def _centered(self, folded: str) -> str:
        folded = folded.replace("fn=mean", "fn=sums")
        if not self.has_map:
            return folded
        folded = self._named("t", folded)
        if self.reader == "sums":
            folded = self._bind("s0, s1", f"step.Copy().apply({folded})")
        return f"step.Map(fn=mean).apply({folded})"
