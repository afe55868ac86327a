"""What a run of a function on shapes alone came to: where it ended, on which tensors, and whose sizes these have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepagents.torchfn.refusals import Refused
from stepcore.records import Record


class TensorOperand(Record):
    """One tensor of an operation; ``origins`` are the arguments that its data come from."""

    shape: tuple[int, ...]
    origins: frozenset[str]
    is_argument: bool
    is_made: bool = False  # it came out of an operation: no weight
    is_spread: bool = False  # it came out of an operation on tensors that were placed
    is_placed: bool = False  # its dimensions were placed for what it meets: ``x.unsqueeze(1)``, ``x[:, None]``


@dataclass(slots=True)
class RunFailure:
    """Where and on what a run ended. ``name`` is the operation, empty for an error of the function itself."""

    name: str = ""
    message: str = ""
    error: str = ""
    line: int = 0
    operands: Sequence[TensorOperand] = ()
    numbers: Sequence[int] = ()
    options: Mapping[str, int] = field(default_factory=dict)  # those of the numbers that are named
    text: str = ""
    cut: tuple[int, int] | None = None  # the size that the last operation cut into pieces, and that of each piece
    kernels: Mapping[str, int] = field(default_factory=dict)  # argument -> size that keeps what the kernel slides over
    written: Sequence[int] = ()  # numbers of the failing line: literals and values of its variables
    # Shapes that an assertion or a loop wants to be equal.
    asserted: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = ()
    progress: int = 0
    promised: int = 0  # the line of a comment about a value that has another shape
    is_unusual: bool = False
    place: int = 0  # where dimensions are missing
    refused: Refused | None = None


class PartialUse(Record):
    """A tensor of which only parts were used; see :class:`stepagents.shapes.pieces.Piecemeal`."""

    operand: TensorOperand
    covered: tuple[int, ...]
    heads: tuple[int, ...]


@dataclass(slots=True)
class TriedRun:
    """What became of one run: ``failure`` None where it went to its end.

    ``natural`` are arguments that an operation took in its usual number of dimensions; ``variables`` the whole numbers
    of the function's variables at its end, by name; ``parts`` the tensors of which only parts were used; ``selected``
    what indices were counted in, and what they read, where the sizes of both differ.
    """

    failure: RunFailure | None
    natural: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    parts: Sequence[PartialUse] = ()
    selected: Sequence[tuple[TensorOperand, int, TensorOperand, int]] = ()
    read: Sequence[
        tuple[tuple[TensorOperand, int], tuple[TensorOperand, int]]
    ] = ()  # pairs of sizes that one index reads
    kernels: Mapping[str, int] = field(default_factory=dict)  # see :class:`RunFailure`
    letters: Sequence[
        tuple[TensorOperand, str, int]
    ] = ()  # sizes that equations name: the tensor, the letter, the size


class Unusual(RuntimeError):
    """An operation got what it mostly does not get, or a value is not what a comment says; ``failure`` tells which."""

    def __init__(self, failure: RunFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure
