"""Reshape: split dimensions into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    ParamKind,
    RuleError,
    RuleSubject,
    TypingContext,
    need_inputs,
    need_size,
)
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import StreamType, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


@dataclass(frozen=True, kw_only=True)
class Reshape(Operator):
    """Split each dimension in ``L`` into chunks of ``S``."""

    S: Dim | int
    L: Sequence[int]

    summary: ClassVar[str] = "Splits dimensions into chunks of a fixed size."
    rule: ClassVar[str] = "shape -> each dimension i in L becomes S, shape[i]//S; S divides the size"
    details: ClassVar[str] = (
        "The chunk of size S is the inner one of the two new dimensions. Reshape asserts that S divides the size, so "
        "that afterwards S*(K//S) equals K. The order of the elements stays."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M


def in_chunks(x: torch.Tensor) -> torch.Tensor:  # x: (M, D)
    return x.unflatten(-1, (-1, 4))


@step.program(reference=in_chunks, dims={D: 16, M: 5})
def chunks(E0: Annotated[step.Stream, step.f32, (D, M)]) -> Annotated[step.Stream, step.f32, (4, D // 4, M)]:
    return step.Reshape(S=4, L=[0]).apply(E0)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("S", ParamKind.SIZE, "Size of a chunk; it must divide the size of each dimension in L."),
        Param("L", ParamKind.INDICES, "Indices of the dimensions to split, from 0 (innermost) to the rank."),
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), regroups=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "L", tuple(self.L))

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape with two sizes in place of each split one."""
        need_inputs(self, operands, 1)
        stream = operands[0].type
        self._check_indices(operands[0])
        need_size("Reshape", "S", self.S, ctx)
        shape: list[Dim] = []
        for index, size in enumerate(stream.shape):
            shape += (Dim.of(self.S), self._quotient(index, size, ctx)) if index in self.L else (size,)
        return (StreamType(stream.element, tuple(shape)),)

    def _check_indices(self, operand: Operand) -> None:
        rank, subject = operand.type.rank, RuleSubject.param("L")
        if not self.L:
            raise RuleError("STEP218", "L of Reshape names no dimension; give indices such as L=[0]", subject)
        if len(set(self.L)) != len(self.L):
            raise RuleError("STEP218", f"L of Reshape names a dimension twice: {list(self.L)}", subject)
        if min(self.L) < 0 or max(self.L) > rank:
            found = f"{operand.name} has rank {rank} (shape {shape_text(operand.type.shape)})"
            text = f"indices of Reshape must lie from 0 to the rank, found {list(self.L)}, but {found}"
            raise RuleError("STEP218", text, subject)

    def _quotient(self, index: int, size: Dim, ctx: TypingContext) -> Dim:
        chunk, whole = ctx.bound(Dim.of(self.S)), ctx.bound(size)
        try:
            if chunk is not None and whole is not None and whole % chunk:
                raise DimError(f"{_valued(Dim.of(self.S), chunk)} does not divide {_valued(size, whole)}")
            return ctx.facts.assert_divides(Dim.of(self.S), size)
        except DimError as error:
            text = f"S of Reshape must divide the size of dimension {index}, but {error}"
            raise RuleError("STEP211", text, RuleSubject.param("S")) from error

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Split the dimensions, outermost first so that the other indices stay valid; a view.

        Raises:
            RuleError: STEP211 where a size leaves a remainder.
        """
        data, chunk = inputs[0], rt.size(self.S)
        for index in sorted(self.L, reverse=True):
            size = data.sizes[index]
            if size % chunk:
                text = f"S of Reshape must divide the size of dimension {index}, but {chunk} does not divide {size}"
                raise RuleError("STEP211", text, RuleSubject.param("S"))
            data = data.split_dim(index, (chunk, size // chunk))
        return (data,)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of higher rank."""
        stream: Stream = Operator.execute(self, input, name)
        return stream


def _valued(size: Dim, value: int) -> str:
    return str(value) if size.constant is not None else f"{size} = {value}"
