"""What the operators share: the class that they extend and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from .elements import Element, Multihot, STuple, components
from .streams import Fn, OracleError, Stream, require


def streams_in(inputs: Any) -> list[Stream]:
    """Every stream of an argument, looked for inside tuples and lists, with repetitions."""
    if isinstance(inputs, Stream):
        return [inputs]
    if isinstance(inputs, (tuple, list)):
        return [stream for part in inputs for stream in streams_in(part)]
    raise OracleError(f"a stream was expected, not {type(inputs).__name__}")


def single(inputs: Any) -> Stream:
    """The argument, which has to be one stream."""
    require(isinstance(inputs, Stream), "this operator takes one stream")
    stream: Stream = inputs
    return stream


def pair(inputs: Any) -> tuple[Any, Any]:
    """The argument, which has to be a sequence of two."""
    require(isinstance(inputs, (tuple, list)) and len(inputs) == 2, "this operator takes two inputs")
    return inputs[0], inputs[1]


def zipped(streams: Sequence[Stream]) -> Stream:
    """Streams of equal sizes side by side; the components of tuples are joined flat."""
    require(len({stream.sizes for stream in streams}) == 1, "streams of different sizes cannot be zipped")
    parts = tuple(part for stream in streams for part in components(stream.element))
    rows = zip(*(stream.items for stream in streams), strict=True)
    items = [tuple(tensor for item in row for tensor in item) for row in rows]
    return Stream(streams[0].sizes, STuple(parts), items)


def selected(bits: torch.Tensor) -> list[int]:
    """The branches whose bit is set, ascending; any nonzero entry sets it."""
    return [branch for branch in range(bits.shape[0]) if bits[branch].item() != 0]


def check_selector(selector: Any, branches: int) -> Stream:
    """The selector itself, after checking that it has one bit per branch."""
    stream = single(selector)
    kind = stream.element
    require(isinstance(kind, Multihot) and kind.length == branches, f"{kind} does not select among {branches}")
    return stream


def check_input(fn: Fn, element: Element) -> None:
    """Demand that a function takes exactly this element type."""
    require(fn.input == element, f"the function takes {fn.input}, the stream carries {element}")


class Operator:
    """`apply` notes what it consumes (when somebody keeps a tape) and leaves the work to `run`."""

    tape: ClassVar[list[Stream] | None] = None

    def apply(self, inputs: Any, name: str = "") -> Any:
        """Consume the inputs and give the output stream, or a list of streams; `name` is only for people."""
        if self.tape is not None:
            self.tape.extend(streams_in(inputs))
        return self.run(inputs)

    def run(self, inputs: Any) -> Any:
        """The operator's meaning."""
        raise NotImplementedError
