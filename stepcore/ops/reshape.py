"""Reshape: split dimensions into chunks, and fill up the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    ParamKind,
    RuleError,
    RuleSubject,
    TypingContext,
    need_choice,
    need_inputs,
    need_size,
)
from stepcore.ops.calling import Group, One, Outputs
from stepcore.ops.pace import EACH_CHUNK, Chunking, Pace, Read
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import Element, Scalar, Shape, StreamType, components, dtype_of, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


_FLOATS: Final = ("fp32", "fp16", "bf16")
_PAD: Final = Param(
    "pad",
    ParamKind.FILLING,
    'What fills up the last chunk of each innermost list: 0, 1, -1 or "-inf"; L is [0] then.',
    otherwise="nothing",
    choices=(0, 1, -1, "-inf"),
    generation=2,
)


class Reshape(Operator):
    """Split each dimension in ``L`` into chunks of ``S``; with ``pad`` the innermost one, whatever its size is."""

    S: Dim | int
    L: Sequence[int]
    pad: int | str | None = None

    summary: ClassVar[str] = "Splits dimensions into chunks of a fixed size."
    rule: ClassVar[str] = (
        "shape -> each dimension i in L becomes S, shape[i]//S; S divides the size; with pad and "
        "L=[0] -> (data, padding), both [S, ceil(shape[0]/S)] + shape[1:], data of T, padding of bool"
    )
    details: ClassVar[str] = (
        "The chunk of size S is the inner one of the two new dimensions. Reshape asserts that S divides the size, so "
        "that afterwards S*(K//S) equals K. The order of the elements stays. "
        "With pad each innermost list is filled by itself up to a multiple of S, of whatever kind its size is; the "
        "second stream is true where there is filling."
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
        _PAD,
    )
    outputs: ClassVar[Outputs] = Outputs(
        One("result"), given="pad", instead=Outputs(Group((One("data"), One("padding")), ("data", "padding")))
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), regroups=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape with two sizes in place of each split one."""
        need_inputs(self, operands, 1)
        stream = operands[0].type
        self._check_indices(operands[0])
        need_size("Reshape", "S", self.S, ctx)
        if self.pad is not None:
            return self._filled(stream)
        if any(stream.shape[index].is_open for index in self.L) and not ctx.is_published(operands[0]):
            self._need_static(stream.shape)
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

    @property
    def fills(self) -> bool:
        """Whether elements come to those that it is given."""
        return self.pad is not None

    def _filled(self, stream: StreamType) -> tuple[StreamType, StreamType]:
        from stepcore.sizes.kinds import ceil_div  # most programs have static sizes

        if tuple(self.L) != (0,):
            text = f"Reshape fills the innermost dimension alone: with pad, L is [0], found {list(self.L)}"
            raise RuleError("STEP218", text, RuleSubject.param("L"))
        self._check_filling(stream.element)
        size = Dim.of(self.S)
        shape = (size, ceil_div(stream.shape[0], size), *stream.shape[1:])
        return (StreamType(stream.element, shape), StreamType(Scalar("bool"), shape))

    def _check_filling(self, element: Element) -> None:
        assert self.pad is not None, "somebody asked for filling"
        need_choice("Reshape", _PAD, self.pad)
        dtypes = {dtype_of(part) for part in components(element)}
        if self.pad == "-inf" and not dtypes <= set(_FLOATS):
            text = f'pad="-inf" of Reshape does not fit {element}: only floating-point numbers can be it; fill with 0'
            raise RuleError("STEP206", text, RuleSubject.param("pad"))
        if self.pad == -1 and "bool" in dtypes:
            text = f"pad=-1 of Reshape does not fit {element}: truth values are 0 or 1"
            raise RuleError("STEP206", text, RuleSubject.param("pad"))

    def _need_static(self, shape: Shape) -> None:
        from stepcore.ops.open_sizes import need_static  # most programs have static sizes

        for index in self.L:
            need_static("Reshape", shape[index], f"dimension {index}")

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
        if self.pad is not None:
            return rt.pad(data, chunk, float(self.pad))
        for index in sorted(self.L, reverse=True):
            size = data.sizes[index]
            if size % chunk:
                text = f"S of Reshape must divide the size of dimension {index}, but {chunk} does not divide {size}"
                raise RuleError("STEP211", text, RuleSubject.param("S"))
            data = data.split_dim(index, (chunk, size // chunk))
        return (data,)

    def chunking(self, rank: int) -> Chunking:
        """Along the outermost dimension ``S`` chunks become one; the rest is filled at the end."""
        return Chunking(so_far=True, together=self.S) if rank in self.L else EACH_CHUNK

    def apply(self, input: Stream, name: str = "") -> Any:
        """Consume ``input`` and return the stream of higher rank; with ``pad`` a tuple of it and the padding."""
        return Operator.execute(self, input, name)


def _valued(size: Dim, value: int) -> str:
    return str(value) if size.constant is not None else f"{size} = {value}"
