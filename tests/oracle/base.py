"""What the operators share: the class that they extend and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from .elements import Multihot, STuple, components
from .streams import OracleError, Stream, require

if TYPE_CHECKING:
    from .loops import Loops


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
    require(len({stream.sizes for stream in streams}) == 1, "streams of different sizes or lengths cannot be zipped")
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


@dataclass(frozen=True, kw_only=True)
class Operator:
    """`apply` notes what it consumes (when somebody keeps a tape) and leaves the work to `run`.

    `depth`, `bw` and `dispatch` are about hardware, and change nothing here.
    """

    depth: Any = None
    bw: Any = None
    dispatch: Any = None
    tape: ClassVar[list[Stream] | None] = None
    merges: ClassVar[bool] = False  # whether it takes of its inputs what arrives
    later: ClassVar[bool] = False  # whether generation 1 lacks it
    arrivals: ClassVar[list[tuple[int, ...]] | None] = None  # what arrival decides, one application after the other
    loops: ClassVar[Loops | None] = None  # those of the program, where it has some

    def apply(self, inputs: Any = (), name: str = "") -> Any:
        """Consume the inputs, if any, and give the output stream, or a list of streams; `name` is only for people."""
        given = streams_in(inputs) if inputs != () else []
        if self.tape is not None:
            self.tape.extend(given)
        found = self._looped(inputs, given) if self.loops is not None and given else self.run(inputs)
        later = self.later or getattr(self, "pad", None) is not None or any(stream.later for stream in given)
        for stream in [] if found is None else streams_in(found):
            stream.later = later
        return found

    def _looped(self, inputs: Any, given: list[Stream]) -> Any:
        """What comes of inputs of which some may grow."""
        assert self.loops is not None, "a program has loops"
        growing = any(stream.growing for stream in given)
        made_of = frozenset(part for stream in given for part in stream.made_of)
        usable = self.loops.usable(self, inputs) if growing and not self.merges else inputs
        if usable is None:  # what it gives, all of it tells: without any chunk
            found = self.run(self.loops.cut_to_none(inputs))
            found = self.loops.cut_to_none(found)
        else:
            found = self.run(usable)
        for stream in [] if found is None else streams_in(found):
            stream.growing |= growing
            stream.made_of |= made_of
        return found

    def run(self, inputs: Any) -> Any:
        """The operator's meaning."""
        raise NotImplementedError
