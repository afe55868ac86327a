"""The type of a stream that a script makes by ``step.Stream.of``, from what its text says of the tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final, Protocol

from stepcore.findings.diagnostics import StepError
from stepcore.frontend import functions
from stepcore.frontend.values import TensorValue, Value, is_unknown
from stepcore.sizes.dim import Dim, DimError, is_size
from stepcore.text.wording import counted
from stepcore.types import (
    Buffer,
    Element,
    Scalar,
    StreamType,
    STuple,
    components,
    dtype_of,
    element_shape,
    tensor_shapes,
)

_TYPES: Final = {
    "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int32": "int32", "int64": "int64", "bool": "bool",
}  # fmt: skip
_DTYPES: Final = {ours: torch for torch, ours in _TYPES.items()}


class TypeReader(Protocol):
    """What reads the parts of a stream's type, and reports those that are none."""

    def element(self, where: ast.expr | None, element: Value) -> Value:
        """Return what is given as an element type."""

    def are_sizes(self, where: ast.expr, shape: Iterable[Value]) -> bool:
        """Return whether a shape holds sizes alone; report it otherwise."""

    def stream_type(self, node: ast.AST, element: Element, sizes: Iterable[Dim | int]) -> StreamType | None:
        """Return the type of a stream; one that is beyond all bounds is reported."""


def made_of(
    el: TypeReader,
    node: ast.Call,
    given: Mapping[str, ast.expr],
    values: Mapping[str, Value],
    ctx: Mapping[str, Value] | None,
) -> tuple[StreamType, dict[str, int]] | None:
    """Return the type of the stream and the sizes that it binds; None where the text does not say its type.

    ``ctx`` holds the sizes that are given, and is None where they cannot be told; then none are bound.

    Raises:
        StepError: STEP207 or STEP208 where the tensors do not fit, as a run says it.
    """
    parts = _tensors(values.get("tensors"))
    element = el.element(given.get("dtype"), values.get("dtype"))
    shape = values.get("shape")
    if shape is None:
        shape = _outer(parts, element)
    if not isinstance(shape, list | tuple) or not shape or any(map(is_unknown, shape)):
        return None
    if not el.are_sizes(given.get("shape", node), shape):
        return None
    if element is None:
        element = _element(parts, len(shape))
    if not isinstance(element, functions.ELEMENTS):
        return None
    type_ = el.stream_type(node, element, shape)
    if type_ is None:
        return None
    name = values.get("name")
    return type_, _bound(type_, parts, ctx, name if isinstance(name, str) and name else "a stream")


def symbols_of(type_: StreamType) -> frozenset[str]:
    """Return the symbols in the sizes of a stream and of its elements."""
    return frozenset(chain.from_iterable(Dim.of(size).symbols() for shape in tensor_shapes(type_) for size in shape))


def carries(type_: StreamType, data: Value, label: str) -> None:
    """Let pass what a stream may carry as its data, as far as the text says what that is: number, dtypes and axes.

    Raises:
        StepError: STEP207 or STEP208 where a run would refuse it with the same words, as ``stream.data = ...`` does.
    """
    items, shapes = components(type_.element), tensor_shapes(type_)
    if isinstance(data, TensorValue) or (isinstance(data, list | tuple) and len(data) != len(items)):
        found = counted(len(data), "value") if isinstance(data, list | tuple) else "a tensor"
        way_out = "; put it in [ ]" if found == "a tensor" and len(items) == 1 else ""
        text = f"data of {label} is a list of {counted(len(items), 'tensor')}, found {found}{way_out}"
        raise StepError("STEP208", text)
    if not isinstance(data, list | tuple):
        return
    for item, shape, part in zip(items, shapes, data, strict=True):
        if not isinstance(part, TensorValue):
            continue
        wanted = _DTYPES[dtype_of(item)]
        if part.dtype is not None and part.dtype != wanted:
            text = f"data of {label} needs the dtype torch.{wanted} for {item}, found torch.{part.dtype}"
            raise StepError("STEP208", text)
        if part.sizes is not None and len(part.sizes) != len(shape):
            text = f"data of {label} needs the shape ({_listed(shape)}), found ({_listed(part.sizes)})"
            raise StepError("STEP207", text)


def _tensors(value: Value) -> list[TensorValue] | None:
    """Return the tensors that are given, None where a run alone tells which."""
    parts = value if isinstance(value, list | tuple) else [value]
    return list(parts) if parts and all(isinstance(part, TensorValue) for part in parts) else None


def _outer(parts: list[TensorValue] | None, element: Value) -> tuple[int, ...] | None:
    """Return the sizes of a stream that holds all axes of its first tensor but those of the elements."""
    sizes = parts[0].sizes if parts is not None else None
    if sizes is None or not (element is None or isinstance(element, functions.ELEMENTS)):
        return None
    inner = 0 if element is None else len(element_shape(components(element)[0]))
    if len(sizes) <= inner:
        text = f"a tensor of the shape {sizes} is too small for a stream, which has at least one size"
        raise StepError("STEP207", f"{text}{f' before the {inner} of its elements' if inner else ''}")
    return sizes[: len(sizes) - inner][::-1]


def _element(parts: list[TensorValue] | None, outer: int) -> Element | None:
    """Return the type of elements that the tensors say themselves: numbers, or buffers of all axes but the outer."""
    found: list[Scalar | Buffer] = []
    for part in parts or ():
        if part.dtype is None or part.sizes is None:
            return None
        if part.dtype not in _TYPES:
            known = ", ".join(_TYPES)
            text = f"no stream has elements of torch.{part.dtype}; convert the tensor to one of {known}"
            raise StepError("STEP208", text)
        inner, number = part.sizes[outer:], Scalar(_TYPES[part.dtype])
        if not all(map(is_size, inner)):
            return None
        found.append(Buffer(number, inner[::-1]) if inner else number)
    return (found[0] if len(found) == 1 else STuple(found)) if found else None


def _bound(
    type_: StreamType, parts: list[TensorValue] | None, ctx: Mapping[str, Value] | None, label: str
) -> dict[str, int]:
    """Return the sizes that ``ctx`` binds, then the tensors, which have to fit them."""
    known: dict[str, int] = {name: size for name, size in (ctx or {}).items() if is_size(size)}
    if parts is None:
        return known
    carries(type_, parts, label)
    shapes = tensor_shapes(type_)
    if ctx is None or len(known) < len(ctx):  # a size that only a run knows may be any
        return {}
    for shape, part in zip(shapes, parts, strict=True):
        for size, number in zip(shape, part.sizes or (), strict=False):
            if str(size).isidentifier():
                known.setdefault(str(size), number)
    for shape, part in zip(shapes, parts, strict=True):
        _fit(shape, part, known, label)
    return {name: size for name, size in known.items() if is_size(size)}


def _fit(shape: tuple[Any, ...], part: TensorValue, known: Mapping[str, int], label: str) -> None:
    """Raise STEP207 where a tensor has other sizes than those that are known."""
    if part.sizes is None:
        return
    try:
        bound = tuple(Dim.of(size).bind(known) for size in shape)
    except DimError:
        return
    if bound != part.sizes:
        text = f"data of {label} needs the shape ({_listed(shape)}) = ({_listed(bound)}), found ({_listed(part.sizes)})"
        raise StepError("STEP207", f"{text}; the sizes come from its ctx")


def _listed(sizes: tuple[Any, ...]) -> str:
    return ", ".join(map(str, sizes))
