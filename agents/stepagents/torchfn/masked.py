"""Elements that a mask picks, kept where they are: ``y[mask] += x[mask]`` has no size that depends on values then.

While a function runs on shapes, what ``x[mask]`` gives is a :class:`Picked`: the whole tensor, of which only the
elements at the mask count. Operations on single elements, and products of picked rows with a matrix, go on with it,
and ``y[mask] = picked`` is ``torch.where``. All else that is done with it needs as many elements as the mask has, and
raises :class:`PickedSizeError`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any, Final

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from stepcore.fn import allow

_ACTIVATIONS: Final = allow.names(
    """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
    softsign"""
)
_ELEMENTWISE: Final = allow.POINTWISE | _ACTIVATIONS | {"clone", "float", "to", "where"}
_OPERATORS: Final = allow.names("add sub mul truediv floordiv mod pow and or xor neg abs invert lt le gt ge eq ne")
_OF_ROWS: Final = allow.names("linear matmul mm")
_DENSE: Final = frozenset({"dtype", "device", "is_floating_point"})  # what the whole tensor says of its elements


class PickedSizeError(RuntimeError):
    """Something needs to know how many elements a mask picks."""


class Picked:
    """The elements of ``dense`` at ``mask``, which runs over its first dimensions."""

    def __init__(self, dense: Tensor, mask: Tensor) -> None:
        self._dense = dense
        self._mask = mask
        self._made = _place()

    @classmethod
    def __torch_function__(cls, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute elements of one mask from others of the same mask, and from numbers.

        Raises:
            PickedSizeError: the operation is none on single elements, or mixes masks.
        """
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        plain = name.strip("_").removeprefix("r") if name.startswith("__") else name
        picked = [each for each in _flat((*args, *kwargs.values())) if isinstance(each, Picked)]
        if plain in _OF_ROWS and isinstance(args[0], Picked) and len(picked) == 1:
            return args[0]._of_rows(func, args[1:], kwargs)
        if plain not in _ELEMENTWISE | _OPERATORS or not all(_fits(each, picked[0]) for each in _flat(args)):
            raise PickedSizeError(f"{name} of the elements that a mask picks")
        if any(isinstance(each, Picked) for each in kwargs.values()):
            raise PickedSizeError(f"{name} of the elements that a mask picks")
        dense = func(*[each._dense if isinstance(each, Picked) else each for each in args], **kwargs)
        return Picked(dense, picked[0]._mask)

    def __getattr__(self, name: str) -> Any:
        """Return a method on single elements, or what the whole tensor says of each.

        Raises:
            PickedSizeError: there is none.
        """
        if name in _DENSE:
            return getattr(self._dense, name)
        if name not in _ELEMENTWISE | _OF_ROWS or not hasattr(Tensor, name):
            raise PickedSizeError(f"{name} of the elements that a mask picks")
        function = getattr(Tensor, name)
        return lambda *args, **kwargs: Picked.__torch_function__(function, (), (self, *args), kwargs)

    def _of_rows(self, func: Any, others: Sequence[Any], kwargs: Mapping[str, Any]) -> Picked:
        """Return products of picked rows with a matrix.

        Raises:
            PickedSizeError: the mask picks single numbers, or the other factor is no matrix.
        """
        matrices = [each for each in (*others, *kwargs.values()) if isinstance(each, Tensor)]
        if self._mask.dim() >= self._dense.dim() or not all(each.dim() in (1, 2) for each in matrices):
            raise PickedSizeError("a product of the elements that a mask picks")
        found = Picked(func(self._dense, *others, **kwargs), self._mask)
        if found._dense.dim() != self._dense.dim():
            raise PickedSizeError("a product of the elements that a mask picks")
        return found

    def _refused(self, *_: Any) -> Any:
        raise PickedSizeError("the elements that a mask picks, one by one")

    __iter__ = __len__ = __bool__ = __getitem__ = __setitem__ = __float__ = __int__ = _refused

    def returned(self) -> PickedSizeError:
        """Return the error of a function that returns them, at the line that made them."""
        return PickedSizeError("a result of the elements that a mask picks").with_traceback(self._made)

    def put(self, tensor: Tensor, mask: Tensor) -> None:
        """Write the elements into ``tensor`` at ``mask``.

        Raises:
            PickedSizeError: they were picked by another mask, or out of a tensor of another shape.
        """
        if mask is not self._mask or self._dense.shape != tensor.shape:
            raise PickedSizeError("elements that another mask picks are written")
        tensor.copy_(torch.where(_spread(mask, tensor), self._dense, tensor))


def _place() -> TracebackType | None:
    """Return where one is, as an error that was raised here would tell."""
    found: TracebackType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found = TracebackType(found, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return found


def whole(found: Any) -> Any:
    """Return what a function returned.

    Raises:
        PickedSizeError: elements that a mask picks are among it.
    """
    for leaf in torch.utils._pytree.tree_leaves(found):
        if isinstance(leaf, Picked):
            raise leaf.returned()
    return found


def _operator(name: str) -> Callable[..., Any]:
    def apply(*operands: Any) -> Any:
        return Picked.__torch_function__(getattr(Tensor, name), (), operands, {})

    return apply


for _name in (*_OPERATORS, "matmul"):
    for _kind in ("", "r"):
        if hasattr(Tensor, f"__{_kind}{_name}__"):
            setattr(Picked, f"__{_kind}{_name}__", _operator(f"__{_kind}{_name}__"))


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _fits(value: Any, picked: Picked) -> bool:
    """Whether a value has one number for each element that is picked, or one for all."""
    if isinstance(value, Picked):
        return value._mask is picked._mask and value._dense.dim() == picked._dense.dim()
    return not isinstance(value, Tensor) or value.dim() == 0


def _spread(mask: Tensor, tensor: Tensor) -> Tensor:
    """Return a mask over the first dimensions of a tensor as one that is broadcast to it."""
    return mask.reshape(*mask.shape, *(1 for _ in range(tensor.dim() - mask.dim())))


def _is_mask(tensor: Any, index: Any) -> bool:
    """Whether an index is a mask whose values are not known, over the first dimensions of a tensor."""
    if not (isinstance(tensor, Tensor) and isinstance(index, Tensor)) or index.dtype != torch.bool:
        return False
    if {type(tensor), type(index)} <= {Tensor, torch.nn.Parameter}:
        return False  # with values
    return 0 < index.dim() <= tensor.dim() and index.shape == tensor.shape[: index.dim()]


class MaskedTensors(TorchFunctionMode):
    """Picks elements by masks without their number, and writes them back."""

    def __torch_function__(
        self, func: Any, _types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one operation.

        Raises:
            PickedSizeError: it needs to know how many elements a mask picks.
        """
        if func is Tensor.__getitem__ and _is_mask(*args):
            tensor, mask = args
            return Picked(tensor.clone(), mask)
        if func is Tensor.__setitem__ and _is_mask(*args[:2]):
            tensor, mask, value = args
            if isinstance(value, Picked):
                return value.put(tensor, mask)
            if not isinstance(value, Tensor) or value.dim() == 0:
                tensor.copy_(torch.where(_spread(mask, tensor), value, tensor))
                return None
        if any(isinstance(each, Picked) for each in _flat((*args, *(kwargs or {}).values()))):
            return Picked.__torch_function__(func, (), args, kwargs)
        return func(*args, **(kwargs or {}))
