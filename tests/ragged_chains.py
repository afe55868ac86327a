"""Random chains of operators on streams with lists of random lengths, empty ones among them, run by the library's
runtime and by the oracle. Nothing is typed here: each operator gets data, and both have to give the same lists.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import oracle
from oracle.lists import Size
from oracle.streams import literal_stream, packed_shape
from sim_helpers import F32, fn, policy, runtime
from stepcore import ops
from stepcore.sim.data import TensorData
from stepcore.sim.lengths import Lengths, Level, levels_of, positions
from stepcore.sim.nested import values_of
from stepcore.sim.ragged import arranged
from stepcore.types import Multihot, Scalar, STuple, Tile

Sizes = tuple[Level, ...]
TILE = Tile("fp32", [1, 2])


@dataclass
class Both:
    """One stream of both interpreters."""

    data: Any
    literal: oracle.Stream

    @property
    def rank(self) -> int:
        return self.literal.rank

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.literal.sizes


def _number(size: Any) -> int:
    assert isinstance(size.constant, int)
    return size.constant


def literal_element(element: Any) -> Any:
    """An element type of the library as the oracle's."""
    match element:
        case Scalar():
            return oracle.Scalar(element.dtype)
        case Tile():
            return oracle.elements.Tile(oracle.Scalar(element.scalar.dtype), [_number(size) for size in element.shape])
        case Multihot():
            return oracle.Multihot(oracle.Scalar(element.scalar.dtype), _number(element.length))
        case _:
            return oracle.STuple(tuple(literal_element(item) for item in element.items))


def assert_same(pair: Both, what: str) -> None:
    """Both hold the same lists of the same numbers."""
    found = levels_of(pair.data.sizes)
    assert found == pair.literal.sizes, f"{what}: {found} is really {pair.literal.sizes}"
    for tensor, wanted in zip(pair.data.dense(), oracle.dense(pair.literal), strict=True):
        values = values_of(tensor)
        torch.testing.assert_close(values, wanted.to(values.dtype), msg=lambda text: f"{what}: {text}")


def _pair(text: str, element: Any, init: float | None, step: Callable[..., Any]) -> tuple[Any, oracle.Fn]:
    """One function for both."""
    output = element.items[0] if isinstance(element, STuple) else element
    ours = fn(f"return [{text}]", element, output, None if init is None else (init,))
    constants = None if init is None else (init,)
    return ours, oracle.Fn(literal_element(element), literal_element(output), step, constants)


def functions(element: Any) -> dict[str, tuple[Any, oracle.Fn]]:
    """Functions on ``element`` by their kind: a sum, a fold that is no reduction, a plain one, a product of pairs."""
    return {
        "sum": _pair("state[0] + input[0]", element, 0, lambda s, x: [s[0] + x[0]]),
        "latest": _pair("state[0] * 0.5 + input[0]", element, 1, lambda s, x: [s[0] * 0.5 + x[0]]),
        "top": _pair(
            "torch.maximum(state[0], input[0])", element, float("-inf"), lambda s, x: [torch.maximum(s[0], x[0])]
        ),
        "twice": _pair("input[0] * 2 + 1", element, None, lambda x: [x[0] * 2 + 1]),
        "product": _pair("input[0] * input[1]", STuple((element, element)), None, lambda x: [x[0] * x[1]]),
    }


class Chain:
    """One random chain; ``steps`` says what was applied."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.rt: Any = runtime()
        self.element: Any = self.random.choice([F32, TILE])
        self.fns = functions(self.element)
        self.steps: list[str] = []

    def levels(self) -> Sizes:
        """Random sizes, outermost an integer, of at most some hundred positions."""
        levels: Sizes = (self.random.choice([0, 1, 2, 3, 4]),)
        for _ in range(self.random.randint(1, 3)):
            count = positions(levels)
            most = 3 if count < 40 else 1
            ragged = self.random.random() < 0.6
            drawn = torch.randint(0, most + 1, (count,), generator=self.generator)
            levels = (Lengths(drawn) if ragged else self.random.randint(1, most), *levels)
        return levels

    def source(self, element: Any, levels: Sizes, values: torch.Tensor) -> Both:
        """A stream of these values, packed."""
        literal = levels_of(levels)
        data = arranged(TensorData((positions(levels),), element, [values]), levels)
        kind = literal_element(element)
        return Both(data, literal_stream([values.reshape(packed_shape(literal) + kind.shape)], literal, kind))

    def start(self) -> Both:
        levels = self.levels()
        shape = (positions(levels), *((1, 2) if self.element is TILE else ()))
        return self.source(self.element, levels, torch.randn(shape, generator=self.generator))

    def bits(self, levels: Sizes, branches: int, *, least: int) -> Both:
        """A selector of these sizes, with at least so many bits at each position."""
        bits = torch.rand((positions(levels), branches), generator=self.generator)
        chosen = (bits > self.random.choice([0.3, 0.7])).float()
        if least:
            chosen[torch.arange(len(chosen)), torch.randint(0, branches, (len(chosen),), generator=self.generator)] = 1
        return self.source(Multihot(F32, branches), levels, chosen)

    def apply(self, name: str, inputs: list[Both], structure: Any = None, **parameters: Any) -> list[Both]:
        """Apply one operator to both; ``structure`` is what the oracle takes."""
        ours = {
            key: value[0] if isinstance(value, tuple) and key == "fn" else value for key, value in parameters.items()
        }
        theirs = {
            key: value[1] if isinstance(value, tuple) and key == "fn" else value for key, value in parameters.items()
        }
        text = f"{name}({', '.join(f'{k}={v}' for k, v in parameters.items() if k != 'fn')})"
        self.steps.append(f"{text} of {[pair.sizes for pair in inputs]}")
        operator: Any = getattr(ops, name)
        found = operator(**ours).run(self.rt, [pair.data for pair in inputs])
        literal: Any = oracle.OPERATORS[name]
        given = inputs[0].literal if len(inputs) == 1 else tuple(pair.literal for pair in inputs)
        wanted = literal(**theirs).run(given if structure is None else structure)
        results = [
            Both(one, other)
            for one, other in zip(found, wanted if isinstance(wanted, (list, tuple)) else [wanted], strict=True)
        ]
        for result in results:
            assert_same(result, "; ".join(self.steps))
        return results

    def run(self) -> list[str]:
        """Apply some operators; return what was done."""
        stream = self.start()
        for _ in range(self.random.randint(2, 6)):
            moves = [self.map, self.promote, self.repeat, self.zip, self.partition, self.identity]
            if stream.rank:
                moves += [self.fold, self.fold, self.scan, self.flatten, self.flatten, self.pad, self.reference]
                moves += [self.routed, self.routed]
            if all(isinstance(size, int) for size in stream.sizes[:1]) and stream.rank:
                moves += [self.buffers]
            if any(isinstance(size, int) and size and size % 2 == 0 for size in stream.sizes):
                moves += [self.reshape]
            if len(stream.literal.items) > 300:
                moves = [self.fold] if stream.rank else [self.map]
            stream = self.random.choice(moves)(stream)
        return self.steps

    def map(self, stream: Both) -> Both:
        return self.apply("Map", [stream], fn=self.fns["twice"])[0]

    def identity(self, stream: Both) -> Both:
        return self.apply("Copy", self.apply("Identity", [stream]))[0]

    def zip(self, stream: Both) -> Both:
        left, right = self.apply("Copy", [stream])
        right = self.map(right)
        return self.apply("Map", self.apply("Zip", [left, right]), fn=self.fns["product"])[0]

    def _dims(self, stream: Both) -> int:
        return self.random.randint(1, stream.rank)

    def _folding(self) -> Any:
        return self.fns[self.random.choice(["sum", "latest", "latest", "top"])]

    def fold(self, stream: Both) -> Both:
        return self.apply("Accum", [stream], fn=self._folding(), b=self._dims(stream))[0]

    def scan(self, stream: Both) -> Both:
        return self.apply("Scan", [stream], fn=self._folding(), b=self._dims(stream))[0]

    def promote(self, stream: Both) -> Both:
        return self.apply("Promote", [stream], b=self.random.randint(0, stream.rank + 1))[0]

    def repeat(self, stream: Both) -> Both:
        return self.apply("Repeat", [stream], n=self.random.randint(1, 3))[0]

    def flatten(self, stream: Both) -> Both:
        first = self.random.randint(1, stream.rank)
        last = self.random.randint(first, stream.rank)
        return self.apply("Flatten", [stream], L=list(range(first, last + 1)))[0]

    def reshape(self, stream: Both) -> Both:
        dims = [place for place, size in enumerate(stream.sizes) if isinstance(size, int) and size and size % 2 == 0]
        return self.apply("Reshape", [stream], S=2, L=[self.random.choice(dims)])[0]

    def pad(self, stream: Both) -> Both:
        chunk, value = self.random.randint(1, 3), self.random.choice([0, -1])
        self.steps.append(f"pad to {chunk} of {stream.sizes}")
        found = self.rt.pad(stream.data, chunk, value)
        wanted = oracle.OPERATORS["Reshape"](S=chunk, L=[0], pad=value).run(stream.literal)  # type: ignore[call-arg]
        for one, other in zip(found, wanted, strict=True):
            assert_same(Both(one, other), "; ".join(self.steps))
        return Both(found[0], wanted[0])

    def buffers(self, stream: Both) -> Both:
        """Lists of some length as buffers, and back."""
        whole = next((place for place, size in enumerate(stream.sizes) if not isinstance(size, int)), stream.rank)
        count = self.random.randint(1, min(whole, stream.rank)) if min(whole, stream.rank) else 0
        if not count:
            return stream
        return self.apply("Streamify", self.apply("Bufferize", [stream], a=count))[0]

    def reference(self, stream: Both) -> Both:
        """Each result of a fold for all elements that it was made of, or of a longer list."""
        data = self.apply("Accum", [stream], fn=self._folding(), b=1)[0]
        return self.apply("RepeatRef", [data, stream])[0]

    def partition(self, stream: Both) -> Both:
        branches = self._partitioned(stream, least=0)[0]
        return self.random.choice(branches)

    def _partitioned(self, stream: Both, *, least: int) -> tuple[list[Both], Both]:
        inner = self.random.randint(0, stream.rank)
        selector = self.bits(stream.data.sizes[inner:], self.random.randint(1, 3), least=least)
        branches = selector.literal.element.length  # type: ignore[union-attr]
        return self.apply("Partition", [stream, selector], N=branches), selector

    def routed(self, stream: Both) -> Both:
        """Routed and merged again, or put side by side."""
        branches, selector = self._partitioned(stream, least=1)
        branches = [self.map(branch) if self.random.random() < 0.5 else branch for branch in branches]
        structure = ([branch.literal for branch in branches], selector.literal)
        if self.random.random() < 0.5:
            return self.apply("Merge", [*branches, selector], structure, fn=self._folding())[0]
        self.steps.append(f"Reassemble of {[branch.sizes for branch in branches]} by {selector.sizes}")
        flat = selector.data.merge_dims(0, selector.rank)
        found = self.rt.reassemble([branch.data for branch in branches], flat, onehot=False)
        found = self.rt.split(found, selector.data.sizes)
        result = Both(found, oracle.OPERATORS["Reassemble"]().run(structure))
        assert_same(result, "; ".join(self.steps))
        return result

    def count(self) -> None:
        """Numbers up to those of a stream with lists."""
        levels = self.levels()
        numbers = torch.randint(0, 4, (positions(levels),), generator=self.generator)
        stream = self.source(Scalar("int64"), levels, numbers)
        found = self.rt.count_each(stream.data).merge_dims(0, 1)
        assert_same(Both(found, oracle.OPERATORS["FlatMap"](fn="count").run(stream.literal)), f"count of {levels}")  # type: ignore[call-arg]


def run_chain(seed: int) -> list[str]:
    """Run one chain, half of them with tiny limits, so that Maps stay lazy and work is cut in pieces."""
    limits = {"lazy": 0, "chunk": 64, "reduce": 16, "chain": 3} if seed % 2 else {}
    with policy(**limits):
        chain = Chain(seed)
        chain.count()
        return chain.run()
