"""Random programs in Python that stream numbers and buffers through Maps, folds and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

_SIZES: Final = {"K": 3, "N": 4, "M": 2, "D": 5}
_POINTS: Final = (
    "torch.tanh(input[0])", "input[0] * 2.0 - 0.5", "torch.where(input[0] > 0.1, input[0], -input[0])",
    "torch.clamp(input[0], min=-1.0)", "input[0].exp() / 7", "1 - torch.sigmoid(input[0]) ** 2",
)  # fmt: skip
_PAIRS: Final = (
    "input[0] * input[1]", "input[0] - torch.tanh(input[1])", "torch.maximum(input[0], input[1] + 1.0)",
    "input[0] / (1.0 + input[1] * input[1])",
)  # fmt: skip
_ROWS: Final = (  # of a vector: what becomes of it, and whether a number does
    ("torch.softmax(input[0], 0)", False), ("torch.softmax(input[0], dim=-1)", False), ("torch.sum(input[0])", True),
    ("input[0].amax(-1)", True), ("torch.cumsum(input[0], dim=0)", False),
    ("input[0].mean(0, keepdim=True) + input[0]", False),
    ("torch.cat([input[0][1:], -input[0][:1]])", False), ("input[0][-1] * 2.0", True),
)  # fmt: skip
_FOLDS: Final = (
    ("0", "state[{i}] + {x}"), ("0", "torch.add({x}, state[{i}])"), ("1", "state[{i}] * {x}"),
    ('"-inf"', "torch.maximum(state[{i}], {x})"), ("0", "torch.maximum({x}, state[{i}])"),
    ("1", "torch.minimum(state[{i}], {x})"), ("1", "state[{i}] / 2 + {x}"),
)  # fmt: skip


@dataclass
class _Stream:
    """A stream: its name, its sizes and those of its buffers, innermost first."""

    name: str
    shape: tuple[str, ...]
    own: tuple[str, ...] = ()

    @property
    def element(self) -> str:
        return f"step.Buffer(step.f32, [{', '.join(self.own)}])" if self.own else "step.f32"


@dataclass
class _Module:
    """The lines of a file; ``fresh`` are streams that nothing reads yet."""

    rng: Random
    functions: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    fresh: list[_Stream] = field(default_factory=list)
    count: int = 0

    def name(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def take(self, shape: tuple[str, ...] | None = None) -> _Stream | None:
        """Take a stream, of this shape where one is wanted; sometimes a copy of it stays."""
        found = [each for each in self.fresh if shape is None or each.shape == shape]
        if not found:
            return None
        stream = self.rng.choice(found)
        if self.rng.randrange(2):
            one, other = self.name("c"), self.name("c")
            depth = self.rng.choice(("", "depth=64"))
            self.body.append(f"{one}, {other} = step.Copy({depth}).apply({stream.name})")
            self.fresh[self.fresh.index(stream)] = _Stream(other, stream.shape, stream.own)
            return _Stream(one, stream.shape, stream.own)
        self.fresh.remove(stream)
        return stream

    def made(self, text: str, shape: Sequence[str], own: Sequence[str] = ()) -> None:
        name = self.name("s")
        self.body.append(f"{name} = {text}")
        self.fresh.append(_Stream(name, tuple(shape), tuple(own)))

    def function(
        self, given: Sequence[_Stream], own: Sequence[tuple[str, ...]], lines: Sequence[str], init: str = ""
    ) -> str:
        name = self.name("f")
        kinds = [each.element for each in given]
        made = [_Stream("", (), each).element for each in own]
        texts = [
            kinds[0] if len(kinds) == 1 else f"({', '.join(kinds)})",
            made[0] if len(made) == 1 else f"({', '.join(made)})",
        ]
        arguments = "state, input" if init else "input"
        self.functions += [f"@step.fn(input={texts[0]}, output={texts[1]}{f', init=[{init}]' if init else ''})"]
        self.functions += [f"def {name}({arguments}):", *(f"    {line}" for line in lines), "", ""]
        return name


def rowed_module(rng: Random) -> str:
    """Return a file with one program of one to three inputs."""
    module = _Module(rng)
    shape = rng.choice((("K", "M"), ("K", "N", "M"), ("N", "K", "M")))
    inputs = [_Stream("x", shape, rng.choice(((), (), ("D",))))]
    inputs += [_Stream("y", rng.choice((shape, shape[1:])), rng.choice(((), ("D",))))] if rng.randrange(3) else []
    module.fresh = list(inputs)
    for _ in range(rng.choice((3, 4, 5, 6, 7))):
        rng.choice((_map, _map, _pair, _pair, _fold, _fold, _back, _back, _buffers, _shapes, _other))(module)
    result = module.fresh[-1] if module.fresh else None
    if result is None:
        return rowed_module(rng)
    lines = ["from typing import Annotated", "", "import torch", "", "import stepcore as step"]
    lines += ["from stepcore.dims import D, K, M, N", "", "", *module.functions]
    bound = ", ".join(f"{name}: {value}" for name, value in _SIZES.items())
    data = ", ".join(f'"{each.name}": "torch.randn"' for each in inputs)
    arguments = ", ".join(f"{each.name}: {_annotated(each)}" for each in inputs)
    lines += [f"@step.program(dims={{{bound}}}, data={{{data}}})", f"def rowed({arguments}) -> {_annotated(result)}:"]
    return "\n".join([*lines, *(f"    {line}" for line in module.body), f"    return {result.name}", ""])


def _annotated(stream: _Stream) -> str:
    sizes = ", ".join(stream.shape)
    return f"Annotated[step.Stream, {stream.element}, ({sizes}{',' if len(stream.shape) == 1 else ''})]"


def _map(module: _Module) -> None:
    stream = module.take()
    if stream is None:
        return
    rng, own = module.rng, stream.own
    if len(own) == 1 and rng.randrange(3):
        text, is_number = rng.choice(_ROWS)
        own = () if is_number else own
    elif len(own) == 2 and rng.randrange(2):
        text, own = rng.choice(
            (("torch.sum(input[0], 0)", own[:1]), ("input[0].amax(1)", own[1:]), ("input[0].T", own[::-1]))
        )
    else:
        text = rng.choice(_POINTS)
    lines = [f"return [{text}]"]
    if rng.randrange(3) == 0:
        lines = [f"value = {text}", "return [value + value * 0.5]"]
    module.made(f"step.Map(fn={module.function([stream], [own], lines)}).apply({stream.name})", stream.shape, own)


def _pair(module: _Module) -> None:
    one = module.take()
    other = None if one is None else module.take(one.shape)
    if one is None or other is None:
        if one is not None:
            module.fresh.append(one)
        return
    rng = module.rng
    longer = max(one.own, other.own, key=len)
    if one.own and other.own and one.own[: len(other.own)] != other.own[: len(one.own)]:
        module.fresh += [one, other]
        return
    text, own = rng.choice(_PAIRS), longer
    if one.own == other.own and len(one.own) == 1 and rng.randrange(2):
        text, own = rng.choice(
            (
                ("torch.dot(input[0], input[1])", ()),
                ("input[0] @ input[1]", ()),
                ("torch.outer(input[0], input[1])", one.own * 2),
            )
        )
    elif len(one.own) == 2 and len(other.own) == 1 and rng.randrange(2):
        text, own = "input[0] @ input[1]", one.own[1:]
    lines = (
        [f"return [{text}]"]
        if rng.randrange(3)
        else ["a, b = input", f"return [{text.replace('input[0]', 'a').replace('input[1]', 'b')}]"]
    )
    argument = f"({one.name}, {other.name})"
    if rng.randrange(3) == 0:
        argument = f"step.Zip().apply({argument})"
    module.made(f"step.Map(fn={module.function([one, other], [own], lines)}).apply({argument})", one.shape, own)


def _fold(module: _Module) -> None:
    stream = module.take()
    if stream is None or len(stream.shape) < 2:
        module.fresh += [] if stream is None else [stream]
        return
    rng = module.rng
    b = rng.randrange(1, len(stream.shape))
    beside = module.take(stream.shape) if rng.randrange(2) else None
    given = [stream] if beside is None or (beside.own and stream.own not in (beside.own, ())) else [stream, beside]
    if beside is not None and len(given) == 1:
        module.fresh.append(beside)
    element = (
        "input[0] * input[1]" if len(given) > 1 else rng.choice(("input[0]", "torch.tanh(input[0])", "(input[0] ** 2)"))
    )
    own = max((each.own for each in given), key=len)
    kinds = [rng.choice(_FOLDS) for _ in range(rng.choice((1, 1, 2)))]
    parts = [text.format(i=number, x=element) for number, (_, text) in enumerate(kinds)]
    fn = module.function(
        given, [own] * len(kinds), [f"return [{', '.join(parts)}]"], ", ".join(init for init, _ in kinds)
    )
    argument = stream.name if len(given) == 1 else f"({', '.join(each.name for each in given)})"
    folded = f"step.Accum(fn={fn}, b={b}).apply({argument})"
    if len(kinds) == 2:
        two = [_Stream("", (), own)] * 2
        folded = f"step.Map(fn={module.function(two, [own], ['return [input[0] - input[1]]'])}).apply({folded})"
    module.made(folded, stream.shape[b:], own)


def _back(module: _Module) -> None:
    """Spread a stream along a dimension that it does not have."""
    stream = module.take()
    if stream is None:
        return
    refs = [each for each in module.fresh if each.shape[1:] == stream.shape]
    if refs and module.rng.randrange(4):
        ref = module.rng.choice(refs)
        one, other = module.name("c"), module.name("c")
        module.body.append(f"{one}, {other} = step.Copy().apply({ref.name})")
        module.fresh[module.fresh.index(ref)] = _Stream(one, ref.shape, ref.own)
        module.made(f"step.RepeatRef().apply(({stream.name}, {other}))", ref.shape, stream.own)
    elif len(stream.shape) < 3:
        size = module.rng.choice([each for each in ("K", "N") if each not in stream.shape])
        module.made(f"step.Repeat(n={size}).apply({stream.name})", (size, *stream.shape), stream.own)
    else:
        module.fresh.append(stream)


def _buffers(module: _Module) -> None:
    """Put numbers into buffers, or take them apart."""
    stream = module.take()
    if stream is None:
        return
    if stream.own and module.rng.randrange(2) and len(stream.shape) + len(stream.own) < 5:
        refs = [each for each in module.fresh if each.shape[1:] == stream.shape]
        if refs and module.rng.randrange(2):
            ref = module.fresh.pop(module.fresh.index(refs[0]))
            module.made(f"step.Streamify().apply(({stream.name}, {ref.name}))", (*stream.own, *ref.shape))
        else:
            module.made(f"step.Streamify().apply({stream.name})", (*stream.own, *stream.shape))
    elif len(stream.shape) > 1 and len(stream.own) < 2:
        module.made(f"step.Bufferize(a=1).apply({stream.name})", stream.shape[1:], (*stream.own, stream.shape[0]))
    else:
        module.fresh.append(stream)


def _shapes(module: _Module) -> None:
    stream = module.take()
    if stream is None:
        return
    b = module.rng.randrange(len(stream.shape))
    promoted = f"step.Promote(b={b}).apply({stream.name})"
    if module.rng.randrange(2):
        place = module.rng.choice([each for each in (b, b + 1) if 1 <= each <= len(stream.shape)])
        promoted = f"step.Flatten(L=[{place}]).apply({promoted})"
        module.made(promoted, stream.shape, stream.own)
    else:
        module.made(promoted, (*stream.shape[:b], "1", *stream.shape[b:]), stream.own)


def _other(module: _Module) -> None:
    """Something that takes single elements."""
    stream = module.take()
    if stream is None or stream.own or len(stream.shape) < 2:
        module.fresh += [] if stream is None else [stream]
        return
    fn = module.function([stream], [()], ["return [state[0] + input[0]]"], "0")
    module.made(f"step.Scan(fn={fn}, b=1).apply({stream.name})", stream.shape)
