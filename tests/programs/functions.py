"""Random bodies of element functions, matched to the types they take and give.

Values stay of moderate size, and conditions compare with numbers that no data hits by chance, so that rounding cannot
grow into a difference. A body writes `{W0}` for a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .model import Kind, Param, Part
from .sizes import Size, number

UNARY = (
    "torch.tanh({x})",
    "{x} * 0.5 + 0.25",
    "torch.sigmoid({x})",
    "-{x}",
    "{x}.abs()",
    "torch.relu({x}) - 0.5",
    "torch.where({x} > 0, {x}, 0.5 * {x})",
    "torch.clamp({x}, -1.0, 1.0)",
    "{x} / (1.0 + {x}.abs())",
    "{x}.clamp(min=-2.0).square() * 0.125",
    "{x}",
)
BINARY = (
    "{x} + {y}",
    "{x} - 0.5 * {y}",
    "{x} * torch.sigmoid({y})",
    "torch.maximum({x}, {y})",
    "torch.where({y} > 0.2491, {x}, -{x})",
    "torch.minimum({x}, {y} + 0.5)",
    "({x} if {s} > 0.1237 else 0.5 * {x} + {y})",
)
# (expression, constants it may start from); a state starts from the one and is folded with `u`.
FOLDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("{z} + {u}", ("0", "1", "-1")),
    ("torch.maximum({z}, {u})", ('"-inf"', "0", "-1")),
    ("torch.minimum({z}, {u})", ("1", "0")),
    ("{z} * 0.5 + {u}", ("0", "1", "-1")),
    ("{z} * torch.sigmoid({u}) + {u}", ("0", "1")),
    ("{z} * torch.tanh({u})", ("1", "-1")),
    ("{u} - 0.5 * {z}", ("0", "-1")),
    ("torch.where({u} > {z}, {u}, 0.5 * ({z} + {u}))", ('"-inf"', "0")),
    ("({u} if {s} > 0.1237 else {z})", ("0", "1")),
    ("{z} - {u} * {u} * 0.25", ("0", "1")),
)
SELECTOR_FOLDS: tuple[tuple[str, tuple[str, ...]], ...] = (("torch.maximum({z}, {u})", ("0",)), ("{z} * {u}", ("1",)))


@dataclass
class Weights:
    """The weights of a program; bodies ask for what they need."""

    found: list[Param]

    def of(self, inner: Size, outer: Size) -> str:
        """The name of a weight whose tensor has the shape `(outer, inner)`."""
        for weight in self.found:
            if weight.dims == (inner, outer):
                return weight.name
        self.found.append(Param(f"W{len(self.found)}", (inner, outer)))
        return self.found[-1].name


@dataclass
class Writer:
    """Writes bodies; `names` are the expressions of the input's components, `parts` their types."""

    rng: Random
    weights: Weights
    parts: tuple[Part, ...]
    names: tuple[str, ...]

    def scalar(self) -> str:
        """An expression of shape `()`."""
        index = self.rng.randrange(len(self.parts))
        name = self.names[index]
        if not self.parts[index].tensor_shape:
            return name
        return self.rng.choice(("{x}.mean()", "{x}.amax()", "({x}.sum() * 0.25)", "{x}.min()")).format(x=name)

    def unary(self, text: str) -> str:
        """A function of one expression, of the same shape."""
        return self.rng.choice(UNARY).format(x=text)

    def part(self, wanted: Part) -> str:
        """An expression of the type `wanted`."""
        same = [name for name, part in zip(self.names, self.parts, strict=True) if part == wanted]
        if wanted.bits is not None:
            return self._selector(wanted, same)
        if same and self.rng.randrange(5):
            text = self.unary(self.rng.choice(same))
            if self.rng.randrange(2):
                other = self.rng.choice((*same, self.scalar()))
                text = self.rng.choice(BINARY).format(x=text, y=other, s=self.scalar())
            return text
        if not wanted.sizes:
            return self.unary(self.scalar())
        return self._buffer(wanted)

    def _buffer(self, wanted: Part) -> str:
        options = [f"torch.ones({_shape(wanted)}) * {self.scalar()}", f"{self.scalar()}.expand({_shape(wanted)})"]
        vectors = [(n, p.sizes) for n, p in zip(self.names, self.parts, strict=True) if p.bits is None and p.sizes]
        if len(wanted.sizes) == 1:
            for name, sizes in vectors:
                if len(sizes) == 1:
                    options += [f"({name} @ {{{self.weights.of(wanted.sizes[0], sizes[0])}}}) * 0.25"] * 2
                elif len(sizes) == 2 and sizes[0] == wanted.sizes[0]:
                    options += [f"{name}.mean(0)", f"{name}[0]"] * 2
                elif len(sizes) == 2 and sizes[1] == wanted.sizes[0]:
                    options += [f"{name}.mean(dim=1)", f"{name}[:, 0]"] * 2
        if len(wanted.sizes) == 2:
            for row, sizes in vectors:
                for column, others in vectors:
                    if (*sizes, *others) == wanted.sizes:
                        options += [f"torch.outer({column}, {row}) * 0.5"] * 3
                if sizes == wanted.sizes[::-1]:
                    options += [f"{row}.T"] * 3
        return self.rng.choice(options)

    def _selector(self, wanted: Part, same: list[str]) -> str:
        if same and self.rng.randrange(2):
            return self.rng.choice(("{x}", "1 - {x}", "{x}.flip(-1)")).format(x=self.rng.choice(same))
        assert wanted.bits is not None
        signs = [self.rng.choice(("{s}", "-{s}", "{s} - 0.5", "0.25 - {s}")) for _ in range(wanted.bits.value)]
        bits = f"torch.stack([{', '.join(sign.format(s=self.scalar()) for sign in signs)}])"
        styles = ("({b} > 0.1237).to({s}.dtype)", "torch.where({b} > 0.0113, 1.0, 0.0)", "({b} > 0.0113).type_as({s})")
        text = self.rng.choice(styles).format(b=bits, s=self.scalar())
        return f"({text}).expand({_shape(wanted)})" if wanted.sizes else text


def _shape(part: Part) -> str:
    return ", ".join(size.values_text() for size in part.tensor_shape)


def map_body(rng: Random, weights: Weights, source: Kind, target: Kind) -> str:
    """The body of a function for `Map`."""
    names = tuple(f"input[{i}]" for i in range(len(source.parts)))
    head = ""
    if rng.randrange(3) == 0 and len(names) > 1:
        names = tuple("abcdefgh"[: len(names)])
        head = f"{', '.join(names)} = input\n"
    writer = Writer(rng, weights, source.parts, names)
    return head + _returns(writer, [writer.part(part) for part in target.parts], target)


def _returns(writer: Writer, results: list[str], target: Kind) -> str:
    """End a body: plainly, through names, or with a branch on data."""
    style = writer.rng.randrange(6)
    listed = f"[{', '.join(results)}]"
    if style == 0:
        names = [f"r{i}" for i in range(len(results))]
        lines = [f"{name} = {result}" for name, result in zip(names, results, strict=True)]
        return "\n".join([*lines, f"return [{', '.join(names)}]"])
    if style in (1, 2):
        other = f"[{', '.join(writer.part(part) for part in target.parts)}]"
        condition = f"{writer.scalar()} > {writer.rng.choice(('0.0113', '0.1237', '-0.2491'))}"
        if style == 1:
            return f"return {listed} if {condition} else {other}"
        return f"if {condition}:\n    return {listed}\nreturn {other}"
    return f"return {listed}"


def fold_body(rng: Random, weights: Weights, source: Kind, target: Kind) -> tuple[str, tuple[str, ...]]:
    """The body and the `init` of a function that folds elements of `source` into a state of `target`."""
    names = tuple(f"input[{i}]" for i in range(len(source.parts)))
    writer = Writer(rng, weights, source.parts, names)
    shapes = [(part.sizes, part.bits) for part in target.parts]
    if shapes[:2] == [((), None)] * 2 and len(shapes) <= 3 and rng.randrange(2):
        return _online_softmax(writer, target)
    results: list[str] = []
    init: list[str] = []
    for index, part in enumerate(target.parts):
        fold, starts = rng.choice(FOLDS)
        if part.bits is not None:
            fold, starts = rng.choice(SELECTOR_FOLDS)
        states = [i for i, other in enumerate(target.parts) if other == part]
        # Now and then a component looks at another one's state.
        seen = rng.choice(states) if rng.randrange(4) == 0 else index
        start = rng.choice(starts)
        results.append(fold.format(z=f"state[{seen}]", u=f"({writer.part(part)})", s=writer.scalar()))
        init.append(start)
    return _returns_state(writer, results), tuple(init)


def _returns_state(writer: Writer, results: list[str]) -> str:
    listed = f"[{', '.join(results)}]"
    style = writer.rng.randrange(5)
    if style == 0:
        return f"new = {listed}\nreturn new"
    if style == 1:
        kept = "[" + ", ".join(f"state[{i}]" for i in range(len(results))) + "]"
        return f"return {listed} if {writer.scalar()} > -0.2491 else {kept}"
    return f"return {listed}"


def _online_softmax(writer: Writer, target: Kind) -> tuple[str, tuple[str, ...]]:
    """Running maximum, denominator, and perhaps a weighted sum: what no reduction of torch stands for."""
    lines = [
        f"score = {writer.scalar()}",
        "top = torch.maximum(state[0], score)",
        "old = state[1] * torch.exp(state[0] - top)",
        "new = torch.exp(score - top)",
    ]
    results, init = ["top", "old + new"], ['"-inf"', "0"]
    for part in target.parts[2:]:
        lines.append(f"value = {writer.part(part)}")
        results.append("(state[2] * old + value * new) / (old + new)")
        init.append("0")
    return "\n".join([*lines, f"return [{', '.join(results)}]"]), tuple(init)


def map_target(rng: Random, source: Kind, sizes: tuple[Size, ...]) -> Kind:
    """A type that a function of `source` may give; `sizes` are those to make buffers of."""
    parts = source.parts
    style = rng.randrange(9)
    if style <= 2:
        return Kind(parts, source.is_tuple)
    if style == 3:
        return Kind((rng.choice(parts),))
    if style == 4 and len(parts) > 1:
        return Kind(parts[::-1], True)
    if style == 5:
        return Kind((Part((), number(rng.choice((1, 2, 3)))),))
    if style == 6:
        return Kind((Part(tuple(rng.choice(sizes) for _ in range(rng.choice((1, 1, 2))))),))
    if style == 7:
        return Kind((*parts[:2], Part()), True)
    # A tuple of one is not its component.
    return rng.choice((Kind((Part(),)), Kind((parts[0],), True), Kind((Part((rng.choice(sizes),)), Part()), True)))


def fold_target(rng: Random, source: Kind, sizes: tuple[Size, ...]) -> Kind:
    """A type of state for elements of `source`."""
    style = rng.randrange(7)
    if style <= 3:
        return source
    if style == 4:
        return Kind((Part(), Part()), True)
    if style == 5:
        return Kind((Part(), Part(), Part((rng.choice(sizes),))), True)
    return map_target(rng, source, sizes)
