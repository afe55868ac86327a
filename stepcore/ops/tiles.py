"""What the operators of generation 2 share: rules about tiles, the memory that they cut, affine reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final

from stepcore.ops.base import Operand, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_size
from stepcore.ops.memory import AffineRead, OffChipTensor, highest, in_order, lowest
from stepcore.ops.pace import OffChipUse
from stepcore.sizes.dim import SIZE_RULE, Dim, DimError, is_size, product
from stepcore.text.wording import few, whole
from stepcore.types import Buffer, Element, Scalar, Shape, StreamType, STuple, Tile, as_shape, element_bytes, shape_text

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.ops.runtime import Runtime

DISPATCH: Final = Param(
    "dispatch",
    ParamKind.SIZE,
    "Bursts per cycle that the port asks memory for; it changes no result.",
    otherwise="the chip's own",
)
_ADDRESSES: Final = (Scalar("int64"), Tile("int64", (1, 1)))


class ParameterPort:
    """What the operators share that read or write a parameter, ``tensor``: the tiles written are the last input."""

    tensor: OffChipTensor | Tensor
    off_chip: ClassVar[OffChipUse]

    @property
    def memory(self) -> OffChipTensor:
        """The parameter that is read or written."""
        assert isinstance(self.tensor, OffChipTensor), "whoever makes the operator looks a tensor up"
        return self.tensor

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return two tiles (double buffering)."""
        tiles = outputs[0] if self.off_chip is OffChipUse.LOADS else inputs[-1]
        return 2 * element_bytes(tiles.element)


def need_tile(operator: str, operand: Operand, index: int = 0) -> Tile:
    """Return the element of ``operand``; raise STEP212 unless it is a tile."""
    element = operand.type.element
    if isinstance(element, Tile):
        return element
    text = f"{operator} takes tiles, and {operand.name} holds {element}{_way_to_tiles(element)}"
    raise RuleError("STEP212", text, RuleSubject.input(index))


def need_addresses(operator: str, operand: Operand, what: str = "the number of a tile") -> None:
    """Raise STEP212 unless ``operand``, the first input, holds addresses, or counts: whole numbers, each alone."""
    element = operand.type.element
    if element not in _ADDRESSES:
        text = f"{operator} takes int64 or Tile(int64, [1, 1]), {what}, and {operand.name} holds {element}"
        raise RuleError("STEP212", text, RuleSubject.input(0))


def need_storable(operator: str, memory: OffChipTensor, operand: Operand, index: int = 0) -> Tile:
    """Return the tile that ``operand``, the input at ``index``, holds for ``memory``.

    Raises:
        RuleError: STEP212 where it holds no tiles, STEP230 where the memory may not be written, STEP208 where it holds
            other numbers.
    """
    tile = need_tile(operator, operand, index)
    if not memory.written:
        text = f"{memory.name} may not be written; declare it with written: true (Python: step.Param(written=True))"
        raise RuleError("STEP230", text, RuleSubject.param("tensor"))
    if tile.scalar != memory.scalar:
        text = f"{operand.name} holds tiles of {tile.scalar}, and {memory.name} holds {memory.scalar}"
        raise RuleError("STEP208", text, RuleSubject.input(index))
    return tile


def _way_to_tiles(element: Element) -> str:
    if isinstance(element, STuple):
        return "; apply it to each stream before the Zip" if any(isinstance(i, Tile) for i in element.items) else ""
    if isinstance(element, Buffer) and isinstance(element.element, Tile):
        return "; Streamify makes a stream of what buffers hold"
    return "; LinearOffChipLoad makes tiles of a parameter, and Map makes them of other elements"


def optional_shape(sizes: Iterable[Dim | int] | None) -> Shape | None:
    """Return what is given of sizes."""
    return None if sizes is None else as_shape(sizes)


AXES: Final = (0, 1)  # rows and columns


def need_axis(operator: str, axis: int) -> None:
    """Raise STEP206 unless ``axis`` names rows or columns."""
    if axis not in AXES:
        text = f"axis of {operator} is 0 (rows) or 1 (columns), found {axis}"
        raise RuleError("STEP206", text, RuleSubject.param("axis"))


def grid(operator: str, memory: OffChipTensor, tile: Shape, ctx: TypingContext, subject: RuleSubject) -> Shape:
    """Return how many tiles ``memory`` has along each of its dimensions, innermost first.

    Raises:
        RuleError: STEP227 where rows or columns of a tile do not divide those of the memory, STEP217 for what is no
            size.
    """
    if len(memory.sizes) < 2:
        text = (
            f"{operator} cuts {memory.text} into tiles of rows and columns, and it has "
            f"{few(len(memory.sizes), 'dimension')}; declare it with a further size of 1"
        )
        raise RuleError("STEP227", text, subject)
    try:
        return _cut(operator, memory, tile, ctx, subject)
    except RuleError as error:
        turned = f"a tile is [rows, columns]: [{tile[1]}, {tile[0]}] divides {memory.name}"
        try:
            _cut(operator, memory, tile[::-1], ctx, subject)
        except RuleError:
            raise error from None
        raise RuleError(error.code, f"{error.message}; {turned}", subject) from None


def _cut(operator: str, memory: OffChipTensor, tile: Shape, ctx: TypingContext, subject: RuleSubject) -> Shape:
    rows, columns = tile
    along = [
        _quotient(operator, what, size, of, memory, ctx, subject)
        for what, size, of in (("columns", columns, memory.sizes[0]), ("rows", rows, memory.sizes[1]))
    ]
    return (*along, *memory.sizes[2:])


def _quotient(
    operator: str,
    what: str,
    size: Dim,
    of: Dim,
    memory: OffChipTensor,
    ctx: TypingContext,
    subject: RuleSubject,
) -> Dim:
    if size.is_open:
        text = f"the {what} of the tile of {operator} are static, and only a run knows {size}"
        raise RuleError("STEP226", text, subject)
    part, whole_of = ctx.bound(size), ctx.bound(of)
    if part is not None and not is_size(part):
        raise RuleError("STEP217", f"the {what} of the tile of {operator} are {whole(part)}; {SIZE_RULE}", subject)
    try:
        if part is not None and whole_of is not None and whole_of % part:
            raise DimError(f"{_valued(size, part)} does not divide {_valued(of, whole_of)}")
        return ctx.facts.assert_divides(size, of)
    except DimError as error:
        text = f"the {what} of a tile must divide those of {memory.text}, but {error}"
        raise RuleError("STEP227", text, subject) from error


def affine(
    operator: str,
    given: tuple[Shape | None, Shape | None],
    base: Dim | None,
    memory: Shape,
    what: str,
    ctx: TypingContext,
) -> tuple[Shape, Shape]:
    """Return shape and strides of a read of ``memory`` (``what``), as far as they are given, else in its order.

    ``base`` is None for an operator that has no such parameter and begins with the first place.

    Raises:
        RuleError: STEP206 where shape and strides do not belong together, STEP217 for a size that is none, STEP228
            where the read leaves the memory at the sizes that are bound.
    """
    shape, stride = given
    if shape is None:
        if stride is not None:
            text = f"stride of {operator} belongs to a shape; give shape=, too"
            raise RuleError("STEP206", text, RuleSubject.param("stride"))
        shape = memory
    stride = as_shape(in_order(shape)) if stride is None else stride
    if len(shape) != len(stride):
        text = (
            f"{operator} has {few(len(shape), 'size')} in shape and {few(len(stride), 'number')} in stride; "
            "each size needs its stride"
        )
        raise RuleError("STEP206", text, RuleSubject.param("stride"))
    for size in shape:
        need_size(operator, "shape", size, ctx, "a size in shape")
    _need_inside(operator, shape, stride, base, memory, what, ctx)
    return shape, stride


def _need_inside(
    operator: str, shape: Shape, stride: Shape, base: Dim | None, memory: Shape, what: str, ctx: TypingContext
) -> None:
    start, count = 0 if base is None else ctx.bound(base), ctx.bound(product(memory))
    if start is None or count is None:
        return  # looked at when they are bound
    first = last = start
    for size, step in zip(map(ctx.bound, shape), map(ctx.bound, stride), strict=True):
        if size is None or step is None:
            return
        reach = (size - 1) * step
        if reach < 0:
            first += reach
        else:
            last += reach
    if first < 0 or last >= count:
        need_inside(operator, first, last, count, f"{what} of {shape_text(memory)}", _changed_by(base))


def _changed_by(base: Dim | int | None) -> str:
    """Return the parameters that say which places a read reaches."""
    return "shape or stride" if base is None else "shape, stride or base"


def need_inside(operator: str, first: int, last: int, count: int, what: str, change: str = "base") -> None:
    """Raise STEP228 unless the places ``first`` to ``last`` are among ``count``, those of ``what``.

    ``change`` names the parameters of the operator that decide about them.
    """
    if first < 0 or last >= count:
        outside = first if first < 0 else last
        has = f"0 to {count - 1}" if count > 1 else "place 0 alone"
        text = f"{operator} reaches place {outside}, and {what} has {has}; change {change}"
        raise RuleError("STEP228", text)


def _valued(size: Dim, value: int) -> str:
    return str(value) if size.constant is not None else f"{size} = {value}"


def places_of(
    operator: str,
    rt: Runtime,
    given: tuple[Sequence[Dim | int] | None, Sequence[Dim | int] | None],
    base: Dim | int | None,
    memory: tuple[int, ...],
    what: str,
) -> AffineRead:
    """Return what :func:`affine` looked at, at the sizes of a run.

    Raises:
        RuleError: STEP228 where the read leaves ``memory``, which is ``what``.
    """
    shape, stride = (None if sizes is None else tuple(map(rt.size, sizes)) for sizes in given)
    shape = memory if shape is None else shape
    places = AffineRead(shape, in_order(shape) if stride is None else stride, 0 if base is None else rt.size(base))
    reach = (places.base, places.shape, places.stride)
    need_inside(operator, lowest(*reach), highest(*reach), prod(memory), what, _changed_by(base))
    return places


def sizes_of_grid(name: str, memory: tuple[int, ...], tile: tuple[int, ...]) -> tuple[int, ...]:
    """Return the grid of a parameter at the sizes of a run, innermost first.

    Raises:
        RuleError: STEP227 where rows or columns do not divide those of the parameter.
    """
    (width, height, *outer), (rows, columns) = memory, tile
    if height % rows or width % columns:
        text = f"a tile of {rows} rows and {columns} columns does not divide {name}, which has {height} and {width}"
        raise RuleError("STEP227", text)
    return (width // columns, height // rows, *outer)
