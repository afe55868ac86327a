"""What a drawn call is made of: tensors, sizes and options; and how one is spoilt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

FRACTIONS = ("fp32",) * 6 + ("fp64", "bf16")
FUNCTIONAL = "torch.nn.functional"
_SPOILT = 0.3  # of the calls


class Given(NamedTuple):
    """A tensor: its sizes, its element type, and below which whole number its elements are, from 0."""

    sizes: tuple[int, ...]
    dtype: str
    below: int = 0


class Draw:
    """What one call is drawn with."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tensors: dict[str, Given] = {}
        self.kept: set[str] = set()  # tensors that are not spoilt
        self.usual = random.choice(FRACTIONS)
        self.least = 0 if random.random() < 0.07 else 1  # of a size

    def call(self, family: Callable[[Draw], str]) -> str:
        """Draw a call of a family, and spoil it now and then."""
        text = family(self)
        self.tensors = {name: given for name, given in self.tensors.items() if f"«{name}»" in text}
        open_ = [name for name in self.tensors if f"«{name}»" not in self.kept]
        if open_ and self.random.random() < _SPOILT:
            name = self.random.choice(open_)
            spoil = self.random.choice((_other_size, _other_rank, _other_dtype, None))
            if spoil is None:
                text = text.replace(f"«{name}»", f"({self.one('0.5', 2, True, 'M_value', None, repr('mean'))})")
            else:
                self.tensors[name] = spoil(self, self.tensors[name])
        return text.replace("«", "").replace("»", "")

    def tensor(self, *sizes: int, dtype: str = "", below: int = 0) -> str:
        """Return the name of a new tensor; one of fractions has the type of most, or another."""
        usual = self.usual if self.random.random() < 0.97 else self.random.choice(FRACTIONS)
        name = f"t{len(self.tensors)}"
        self.tensors[name] = Given(sizes, dtype or ("int64" if below else usual), below)
        return f"«{name}»"

    def size(self, least: int = 1, most: int = 4) -> int:
        """Draw a size; one that is 0 where such are drawn."""
        return self.random.randint(min(least, self.least) if least == 1 else least, most)

    def sizes(self, count: int, least: int = 1, most: int = 4) -> list[int]:
        """Draw sizes."""
        return [self.size(least, most) for _ in range(count)]

    def one(self, *choices: object) -> str:
        """Draw one of a few texts."""
        return str(self.random.choice(choices))

    def often(self, share: float = 0.5) -> bool:
        """Draw a truth value."""
        return self.random.random() < share

    def each(self, values: Sequence[int]) -> str:
        """Spell numbers, one for each dimension: as one number where they are equal."""
        if len(set(values)) == 1 and self.often():
            return str(values[0])
        return self.one(tuple(values), list(values))

    def options(self, *named: tuple[str, Sequence[object]], only: bool = False) -> str:
        """Spell some options: the first ones by place now and then, unless they are taken by name ``only``."""
        parts = []
        by_place = not only and self.often(0.3)
        for name, values in named:
            by_place = by_place and self.often(0.7)
            if by_place:
                parts.append(f", {self.one(*values)}")
            elif self.often(0.3):
                parts.append(f", {name}={self.one(*values)}")
        return "".join(parts)

    def reduced(self, *before: tuple[str, Sequence[object]]) -> str:
        """Spell how a loss is reduced, in the way of today or as it was, behind other options."""
        old = [*before, ("size_average", (True, False, None)), ("reduce", (True, False, None))]
        now = [("reduction", ("'mean'", "'sum'", "'none'") * 5 + ("'other'", "None"))]
        return self.options(*(old if self.often(0.3) else before), *now, only=not before or self.often(0.8))


def _other_size(draw: Draw, given: Given) -> Given:
    if not given.sizes:
        return given
    sizes, place = list(given.sizes), draw.random.randrange(len(given.sizes))
    sizes[place] = draw.random.choice((0, 1, sizes[place] + 1, sizes[place] * 2, 5))
    return given._replace(sizes=tuple(sizes))


def _other_rank(draw: Draw, given: Given) -> Given:
    sizes = given.sizes
    return given._replace(sizes=draw.random.choice((sizes[1:], sizes[:-1], (2, *sizes), (*sizes, 1), ())))


def _other_dtype(draw: Draw, given: Given) -> Given:
    dtype = draw.random.choice(("fp32", "fp64", "int64", "int32", "bool", "fp16"))
    return given._replace(dtype=dtype)
