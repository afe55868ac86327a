"""Streams that a script handles: ``step.Stream``. Typing needs no tensor.

Operators are applied by :mod:`stepcore.surface.applying`. Mistakes raise
:class:`stepcore.findings.diagnostics.StepError` with the code and the message of the checker.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from stepcore.findings.diagnostics import StepError
from stepcore.sizes.dim import DEFAULT_SIZES, SIZE_RULE, Dim, DimError, Facts, is_size
from stepcore.surface.callers import Cell, names_that_take, shown_name
from stepcore.surface.elements import as_element
from stepcore.surface.origins import Origin
from stepcore.text.wording import counted, what_is
from stepcore.types import (
    Element,
    Shape,
    StreamType,
    as_shape,
    components,
    same_shape,
    shape_text,
    tensor_shapes,
    too_large,
)

if TYPE_CHECKING:
    from torch import Tensor


_WHOLE: Final = "operators take whole streams, and element functions see the elements"


class Sizes(tuple[Dim, ...]):
    """The sizes of a stream: a tuple that equals lists, too, as published programs compare them.

    Sizes compare as the checker compares them, under the divisibility that the stream's program asserted.
    """

    facts: Facts

    def __new__(cls, sizes: Iterable[Dim], facts: Facts) -> Sizes:
        """Return ``sizes`` with what is known about them."""
        made = super().__new__(cls, sizes)
        made.facts = facts
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, tuple)):
            return NotImplemented
        try:
            return same_shape(self, as_shape(other), self.facts)
        except TypeError:  # something that is no size
            return False

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return super().__hash__()


class Stream:
    """A stream of a script: its type, and possibly its values.

    ``ctx`` binds sizes (names or symbols) to integers. ``data`` holds one tensor per tuple component: the stream sizes
    reversed, then the buffer's sizes reversed, then the length of a selector. Setting it checks number, axes and
    dtype of the tensors; their sizes are checked against ``ctx`` at the first use.

    Raises:
        StepError: STEP222 for an unusable element type, STEP207 where ``rank`` does not fit ``shape``, STEP221 for more
            dimensions or components than a stream can have.
    """

    def __init__(self, name: str, dtype: Element | Sequence[Any], rank: int, shape: Iterable[Dim | int]) -> None:
        sizes = _read_shape(shape, name or "a stream")
        type_ = StreamType(as_element(dtype), sizes)
        if rank != len(sizes) - 1:
            what = f"{name or 'a stream'} of rank {rank} has {counted(rank + 1, 'size')}"
            text = f"{what}, found {len(sizes)}: {shape_text(sizes)}"
            raise StepError("STEP207", text)
        self._begin(name, type_, dict(DEFAULT_SIZES), Facts())

    @classmethod
    def typed(cls, name: str, type_: StreamType, facts: Facts) -> Self:
        """Return a stream of a type that a rule gave under ``facts``; it binds no sizes yet.

        Raises:
            StepError: STEP221 as the constructor.
        """
        made = cls.__new__(cls)
        made._begin(name, type_, {}, facts)
        return made

    def _begin(self, name: str, type_: StreamType, ctx: dict[Any, int], facts: Facts) -> None:
        if problem := too_large(type_):
            raise StepError("STEP221", f"{name or 'a stream'} has {problem}")
        self.name = name
        self.type = type_
        self.ctx: dict[Any, int] = StreamSizes(ctx)
        self.facts = facts
        self.consumed_at: str | None = None
        self.consumed_in: Cell | None = None
        self._data: list[Tensor] | None = None
        self._origin: Origin | None = None
        self.waits: Any = None  # for loops that are not closed: the recording of :mod:`stepcore.surface.loops`

    @staticmethod
    def of(
        tensors: Tensor | Sequence[Tensor],
        dtype: Element | Sequence[Any] | None = None,
        shape: Iterable[Dim | int] | None = None,
        ctx: Mapping[Any, int] | None = None,
        name: str = "",
    ) -> Stream:
        """Return a stream that carries ``tensors``; symbols take their values from ``ctx``, then from the tensors.

        Without ``shape`` the sizes are the tensors' own, reversed: ``of(torch.zeros(3, 4))`` has the shape ``[4, 3]``.
        Without ``dtype`` the elements are scalars of the tensors' dtype, or buffers of them where ``shape`` names fewer
        sizes than the tensors have.

        Raises:
            StepError: as the constructor; STEP207 or STEP208 where the tensors do not fit the type, or have a dtype
                that no stream has.
        """
        from stepcore.sim.inferring import inferred

        dtype, sizes = inferred(tensors, dtype, None if shape is None else _read_shape(shape, name or "a stream"))
        stream = Stream(name, dtype, len(sizes) - 1, sizes)
        stream.data = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]  # type: ignore[list-item]
        stream.ctx = dict(ctx or {})
        known = size_values(stream.ctx)
        for expected, tensor in zip(tensor_shapes(stream.type), stream.data, strict=True):
            for size, found in zip(expected, tensor.shape, strict=True):
                if str(size).isidentifier():
                    known.setdefault(str(size), int(found))
        stream.ctx = StreamSizes(known)
        stream.values()
        return stream

    @property
    def dtype(self) -> Element:
        """Type of one element."""
        return self.type.element

    @property
    def shape(self) -> Sizes:
        """Sizes, innermost first; compares with lists, and with sizes that sympy writes."""
        return Sizes(self.type.shape, self.facts)

    @property
    def rank(self) -> int:
        """Number of sizes minus one."""
        return self.type.rank

    @property
    def data(self) -> list[Tensor]:
        """The values, one tensor per tuple component; None while the stream carries only its type."""
        # Said to be a list, so that scripts which set or run for the data can read them without a check.
        return self._data  # type: ignore[return-value]

    @data.setter
    def data(self, tensors: Sequence[Tensor] | None) -> None:
        if tensors is not None:
            self._check_tensors(tensors)
        self._data = None if tensors is None else list(tensors)

    @property
    def has_data(self) -> bool:
        """True where the stream carries values and not only its type."""
        return self._data is not None

    def _check_tensors(self, tensors: Sequence[Tensor]) -> None:
        items = components(self.type.element)
        if not isinstance(tensors, (list, tuple)) or len(tensors) != len(items):
            is_list = isinstance(tensors, (list, tuple))
            found = counted(len(tensors), "value") if is_list else what_is(tensors)
            wanted = counted(len(items), "tensor")
            way_out = "; put it in [ ]" if found == "a tensor" and len(items) == 1 else ""
            raise StepError("STEP208", f"data of {self.label} is a list of {wanted}, found {found}{way_out}")
        from stepcore.sim.inferring import check_dtype

        for item, expected, tensor in zip(items, tensor_shapes(self.type), tensors, strict=True):
            check_dtype(f"data of {self.label}", item, tensor)
            if tensor.dim() != len(expected):
                text = f"data of {self.label} needs the shape ({_sizes(expected)}), found ({_sizes(tensor.shape)})"
                raise StepError("STEP207", text)

    def values(self) -> list[Tensor]:
        """Return the data after checking every size against ``ctx``.

        Raises:
            StepError: STEP225 for a size without a value, STEP207 for another size.
        """
        assert self._data is not None, "only called where the stream carries data"
        known = size_values(self.ctx)
        for expected, tensor in zip(tensor_shapes(self.type), self._data, strict=True):
            if not hasattr(tensor, "shape"):
                continue  # lists of different lengths, as an operator made them
            bound = tuple(bind(size, known, self.label) for size in expected)
            if bound != tuple(tensor.shape):
                text = (
                    f"data of {self.label} needs the shape ({_sizes(expected)}) = ({_sizes(bound)}), "
                    f"found ({_sizes(tensor.shape)}); the sizes come from its ctx"
                )
                raise StepError("STEP207", text)
        return self._data

    @property
    def label(self) -> str:
        """The name for messages."""
        return self.name or "a stream"

    @property
    def origin(self) -> Origin:
        """The operators that made this stream, without their values."""
        if self._origin is None:
            self._origin = Origin(self.name, self.type)
        return self._origin

    @origin.setter
    def origin(self, made: Origin) -> None:
        self._origin = made

    def __getitem__(self, _index: object) -> NoReturn:
        """Refuse with STEP224: operators take whole streams."""
        raise StepError("STEP224", f"{self.label} is one stream and cannot be indexed; {_WHOLE}")

    def __iter__(self) -> NoReturn:
        """Refuse with STEP224: operators take whole streams."""
        frame = sys._getframe(1)
        taken = names_that_take(frame)
        if taken is not None:
            from stepcore.ops import miscalls
            from stepcore.surface.written import Script

            page = Script(frame, Stream)
            raise StepError(
                "STEP224", miscalls.one_for_several(page.target(taken[0]), page.maker_of(self), page).message
            )
        raise StepError("STEP224", f"{self.label} is one stream and cannot be taken apart; {_WHOLE}")

    def __repr__(self) -> str:
        from stepcore.surface.showing import line

        return line(shown_name(self), self.type, size_values(self.ctx), self._data)

    def _repr_html_(self) -> str:
        from stepcore.surface.showing import html

        return html(shown_name(self), self.type, size_values(self.ctx), self._data, self.origin)


def _arithmetic(sign: str) -> Callable[..., NoReturn]:
    def refuse(stream: Stream, *_other: object) -> NoReturn:
        text = f"{sign} computes with {stream.label}, and a stream is no number; do that in an element function"
        raise StepError("STEP224", f"{text}, and apply it: Map(fn=...).apply({stream.label})")

    return refuse


for _sign, _names in (
    ("+", "add radd"), ("-", "sub rsub neg"), ("*", "mul rmul"), ("/", "truediv rtruediv"), ("@", "matmul rmatmul"),
    ("**", "pow rpow"), ("//", "floordiv rfloordiv"), ("<", "lt"), (">", "gt"),
):  # fmt: skip
    for _name in _names.split():
        setattr(Stream, f"__{_name}__", _arithmetic(_sign))


def _read_shape(shape: Iterable[Any], where: str) -> Shape:
    try:
        return as_shape(shape)
    except TypeError as error:
        text = f"the shape of {where} is a list of sizes, innermost first, such as [M, N]: {error}"
        raise StepError("STEP222", text) from error


class StreamSizes(dict[Any, int]):
    """The sizes of a stream, by names and by symbols that are written so (sympy's, say).

    Whatever stands in its shape is found too: ``M*N``, and the 1 that ``Promote`` adds.
    """

    def __missing__(self, key: Any) -> int:
        if isinstance(key, str):
            raise KeyError(key)
        if str(key) in self:
            return self[str(key)]
        if isinstance(key, Dim) or is_size(key):
            try:
                return Dim.of(key).bind(self)
            except DimError as error:
                raise KeyError(key) from error
        raise KeyError(key)


def size_values(ctx: Mapping[Any, int]) -> dict[str, int]:
    """Return ``ctx`` with names instead of symbols.

    Raises:
        StepError: STEP204 for what binds no sizes.
    """
    if not isinstance(ctx, Mapping):
        raise StepError("STEP204", f"sizes are bound by a dictionary such as {{M: 5}}, and this is {what_is(ctx)}")
    return {str(key): value for key, value in ctx.items()}


def no_sizes(dims: Mapping[str, int], what: str) -> StepError | None:
    """Return the finding for what ``dims`` of ``what`` binds and is no size; None where there is none."""
    wrong = next((f"{key}={value!r}" for key, value in dims.items() if not is_size(value)), None)
    return None if wrong is None else StepError("STEP217", f"{what} binds {wrong}, and {SIZE_RULE}")


def bind(size: Dim | int, values: Mapping[str, int], where: str) -> int:
    """Return the integer that ``size`` is.

    Raises:
        StepError: STEP225 for a symbol without a value, STEP211 for a division that leaves a remainder.
    """
    size = Dim.of(size)
    missing = sorted(size.symbols() - values.keys())
    if missing:
        raise StepError("STEP225", f"the size {missing[0]} of {where} has no value; set ctx[{missing[0]}]")
    try:
        return size.bind(values)
    except DimError as error:
        raise StepError("STEP211", str(error)) from error


def _sizes(sizes: Iterable[Dim | int]) -> str:
    return ", ".join(map(str, sizes))


def is_stream(value: object) -> bool:
    """Return whether ``value`` is a stream of a script."""
    return isinstance(value, Stream)
