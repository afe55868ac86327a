"""Bounds what one operation may allocate, before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

import torch

from stepcore.fn import allow
from stepcore.fn.placement import COMPLEX, CPU, ELSEWHERE
from stepcore.sim.fnvec.batch import common_shape, count
from stepcore.sim.fnvec.errors import EvaluationLimits, EvaluationRefused
from stepcore.sim.fnvec.measure import largest
from stepcore.sim.fnvec.shared import countable, once

Args = Sequence[Any]
Kwargs = Mapping[str, Any]


def _flat_sizes(args: Args) -> int:
    total = 1
    for item in args:
        for size in item if isinstance(item, tuple | list) else (item,):
            if isinstance(size, int) and not isinstance(size, bool):
                total *= max(size, 1)
    return total


def _numel(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else 1


def _bins(args: Args, kwargs: Kwargs) -> int:
    least = kwargs.get("minlength", args[2] if len(args) > 2 else 0)
    return max(int(least), int(args[0].max()) + 1 if _numel(args[0]) else 0)


def _span(args: Args, kwargs: Kwargs) -> int:
    start, end, step = 0, kwargs.get("end"), kwargs.get("step", 1)
    if len(args) == 1:
        end = args[0]
    elif len(args) > 1:
        start, end = args[0], args[1]
        step = args[2] if len(args) > 2 else step
    numbers = (start, end, step)
    if not all(isinstance(n, int | float) for n in numbers) or not step:
        return 0
    return int(abs((float(end or 0) - start) / step)) + 1


def _product(args: Args, kwargs: Kwargs) -> int:
    total = 1
    for value in (*args[:2], *kwargs.values()):
        total *= _numel(value)
    return total


def _matrix(args: Args, _kwargs: Kwargs) -> int:
    a, b = args[0], args[1]
    rows = a.shape[-2] if a.dim() > 1 else 1
    columns = b.shape[-1] if b.dim() > 1 else 1
    return count(common_shape((a.shape[:-2], b.shape[:-2]))) * rows * columns


def _einsum(args: Args, _kwargs: Kwargs) -> int:
    equation = args[0]
    operands = args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
    if not isinstance(equation, str) or "." in equation or "->" not in equation:
        return 0
    left, out = equation.replace(" ", "").split("->")
    sizes: dict[str, int] = {}
    for term, operand in zip(left.split(","), operands, strict=False):
        sizes.update(zip(term, operand.shape, strict=False))
    total = 1
    for letter in out:
        total *= sizes.get(letter, 1)
    return total


def _repeats(args: Args, kwargs: Kwargs) -> int:
    return _numel(args[0]) * _flat_sizes([*args[1:], *kwargs.values()])


def _one_hot(args: Args, kwargs: Kwargs) -> int:
    classes = kwargs.get("num_classes", args[1] if len(args) > 1 else -1)
    if classes == -1 and _numel(args[0]):
        classes = int(args[0].max()) + 1
    return _numel(args[0]) * max(int(classes), 1)


def _interleave(args: Args, kwargs: Kwargs) -> int:
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else 1)
    most = int(repeats.max()) if isinstance(repeats, torch.Tensor) and repeats.numel() else repeats
    return _numel(args[0]) * max(int(most), 1)


def _joined(args: Args, kwargs: Kwargs) -> int:
    return sum(_numel(tensor) for tensor in (args[0] if args else kwargs["tensors"]))


def _padded(args: Args, kwargs: Kwargs) -> int:
    pad = kwargs.get("pad", args[1] if len(args) > 1 else ())
    shape = list(args[0].shape)
    for index, amount in enumerate(pad):
        shape[-1 - index // 2] += max(int(amount), 0)
    return _flat_sizes(shape)


def _creation(args: Args, kwargs: Kwargs) -> int:
    return _flat_sizes(
        [
            *args,
            *(
                v
                for k, v in kwargs.items()
                if k in ("size", "n", "m", "in_features", "out_features", "num_embeddings", "embedding_dim")
            ),
        ]
    )


def _full(args: Args, kwargs: Kwargs) -> int:
    return _flat_sizes([*args[:1], kwargs.get("size", 1)])


def _diagonal(args: Args, kwargs: Kwargs) -> int:
    # What is read from a matrix is smaller than that.
    return _numel(args[0]) if args[0].dim() == 2 else _flat_diagonal(args, kwargs)


def _flat_diagonal(args: Args, kwargs: Kwargs) -> int:
    numbers: int = (_numel(args[0]) + _offset(args, kwargs)) ** 2
    return numbers


def _embedded(args: Args, kwargs: Kwargs) -> int:
    side: int = args[0].shape[-1]
    squares: int = (side + _offset(args, kwargs)) ** 2
    return _numel(args[0]) // max(side, 1) * squares


def _offset(args: Args, kwargs: Kwargs) -> int:
    return abs(int(kwargs.get("offset", kwargs.get("diagonal", args[1] if len(args) > 1 else 0))))


def _parts(args: Args, kwargs: Kwargs) -> int:
    """Count the parts of ``tensor_split``, which may be empty ones: each takes as much as 64 numbers, for itself."""
    sections = kwargs.get("indices_or_sections", kwargs.get("sections", args[1] if len(args) > 1 else 1))
    if isinstance(sections, torch.Tensor):
        sections = int(sections) if sections.dim() == 0 else len(sections)
    return 64 * (len(sections) if isinstance(sections, tuple | list) else int(sections))


def _lgamma_terms(args: Args, kwargs: Kwargs) -> int:
    return _numel(args[0]) * int(kwargs.get("p", args[1] if len(args) > 1 else 1))


_EXACT: dict[str, Callable[[Args, Kwargs], int]] = {
    "arange": _span,
    "linspace": lambda a, k: _flat_sizes([*a[2:3], k.get("steps", 1)]),
    "logspace": lambda a, k: _flat_sizes([*a[2:3], k.get("steps", 1)]),
    "full": _full,
    "one_hot": _one_hot,
    "repeat_interleave": _interleave,
    "pad": _padded,
    "diag": _diagonal,
    "diag_embed": _embedded,
    "diagflat": _flat_diagonal,
    "tensor_split": _parts,
    "matmul": _matrix,
    "mm": _matrix,
    "bmm": _matrix,
    "einsum": _einsum,
    "expand": lambda a, k: _flat_sizes([*a[1:], *k.values()]),
    "broadcast_to": lambda a, k: _flat_sizes([*a[1:], *k.values()]),
    "new_full": lambda a, k: _flat_sizes([*a[1:2], k.get("size", 1)]),
}
_EXACT |= dict.fromkeys(("zeros", "ones", "empty", "rand", "randn", "randperm", "eye"), _creation)
_EXACT |= dict.fromkeys(("new_zeros", "new_ones", "new_empty"), lambda a, k: _creation(a[1:], k))
_EXACT |= dict.fromkeys(("randint", "normal"), _creation)
_EXACT |= dict.fromkeys(("tril_indices", "triu_indices"), lambda a, k: 2 * _flat_sizes(a))
_EXACT |= dict.fromkeys(("repeat", "tile"), _repeats)
_EXACT |= dict.fromkeys(("cat", "stack", "hstack", "vstack", "dstack", "column_stack"), _joined)
_EXACT |= dict.fromkeys(("nn.Linear", "nn.Embedding"), _creation)
_EXACT |= dict.fromkeys(("mvlgamma", "mvlgamma_", "special.multigammaln", "multigammaln"), _lgamma_terms)
_EXACT["bincount"] = _bins
_EXACT["combinations"] = lambda a, k: min(_numel(a[0]), 1 << 30) ** min(int(k.get("r", a[1] if len(a) > 1 else 2)), 64)
_EXACT |= {f"aten.{name}": _EXACT[name] for name in ("diag", "diag_embed", "tensor_split")}
_EXACT |= dict.fromkeys(("outer", "kron", "cdist", "tensordot", "meshgrid", "block_diag", "addr"), _product)


def place(name: str, args: Args, kwargs: Kwargs) -> None:
    """Refuse an operation that would move a tensor to another device.

    Raises:
        EvaluationRefused: a device besides the CPU (STEP304).
    """
    wanted = kwargs.get("device")
    if wanted is None and name in ("to", "cpu", "cuda") and len(args) > 1:
        wanted = args[1]
    if name == "type" and len(args) > 1 and isinstance(args[1], str):
        raise EvaluationRefused(
            f"write .to(torch.float32) or another dtype of torch instead of .type({args[1]!r})", "STEP304"
        )
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        wanted = f"cuda:{wanted}"  # as torch reads it
    if isinstance(wanted, str | torch.device) and not CPU.fullmatch(str(wanted)):
        raise EvaluationRefused(ELSEWHERE.format(f"the device {str(wanted)!r}"), "STEP304")


def plain(result: Any, entered: dict[int, bool] | None = None) -> Any:
    """Return the result of an operation if its tensors are dense ones of real numbers on the CPU.

    Lists in several places are gone through once (``entered``).

    Raises:
        EvaluationRefused: they are something else (STEP304).
    """
    if isinstance(result, torch.Tensor):
        if result.device.type != "cpu":
            raise EvaluationRefused(ELSEWHERE.format(f"the device {str(result.device)!r}"), "STEP304")
        if result.layout is not torch.strided or result.is_quantized:
            raise EvaluationRefused("tensors are dense here; remove what makes this one sparse or quantized", "STEP304")
        if result.is_complex():
            raise EvaluationRefused(COMPLEX, "STEP304")
    elif isinstance(result, complex):
        raise EvaluationRefused(COMPLEX, "STEP304")
    elif isinstance(result, tuple | list):
        entered = {} if entered is None else entered
        if once(result, entered):
            for item in result:
                plain(item, entered)
            entered[id(result)] = False
    return result


def check(
    name: str, args: Args, kwargs: Kwargs, limits: EvaluationLimits, function: Callable[..., Any] | None = None
) -> None:
    """Refuse an operation whose result would hold more than ``limits.numel`` numbers, or live elsewhere.

    ``function`` is the operation itself: one that nothing here knows is measured on shapes alone.

    Raises:
        EvaluationRefused: too large (STEP406), or see :func:`place`.
    """
    place(name, args, kwargs)
    countable(*args, *kwargs.values())  # torch goes through each of their lists
    rule = _EXACT.get(name)
    if rule is not None:
        try:
            numel = rule(args, kwargs)
        except (RuntimeError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
            return  # malformed arguments: torch itself says what is wrong
        refuse(numel, limits)
        return
    if function is not None and name.removesuffix("_") not in allow.FAMILIAR:
        _unfamiliar(name, function, args, kwargs, limits)
        return
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    if len(tensors) < 2:
        return
    bound = 1
    for tensor in tensors:
        bound *= max(tensor.numel(), 1)
    if bound > limits.numel:
        try:
            shape = common_shape(tensor.shape for tensor in tensors)
        except ValueError:
            return  # torch itself says what is wrong
        refuse(count(shape), limits)


# Modules whose results are no larger than their inputs and weights broadcast together.
_PLAIN_MODULES: Final = allow.names(
    """CELU ELU GELU GLU GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh Identity LayerNorm LeakyReLU LogSigmoid
    LogSoftmax Mish PReLU RMSNorm ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign Tanh
    Tanhshrink Threshold"""
)
_OWN_SIZES: Final = ("stride", "padding", "output_padding", "output_size", "size", "scale_factor", "kernel_size")


def check_module(module: torch.nn.Module, args: Args, kwargs: Kwargs, limits: EvaluationLimits) -> None:
    """Refuse a call of a helper object whose result would be too large; its own sizes count as arguments.

    Raises:
        EvaluationRefused: too large (STEP406).
    """
    parts = [part for part in module.modules() if type(part).__name__ not in _PLAIN_MODULES]
    if not parts:
        return
    sizes = [getattr(part, name) for part in parts for name in _OWN_SIZES if hasattr(part, name)]
    weights = [weight for part in parts for weight in part.parameters(recurse=False)]
    _unfamiliar(f"nn.{type(module).__name__}()", module, args, kwargs, limits, [*sizes, *weights])


def _unfamiliar(
    name: str, plain: Callable[..., Any], args: Args, kwargs: Kwargs, limits: EvaluationLimits, own: Args = ()
) -> None:
    """Bound an operation of which nothing is known but its arguments."""
    given = [*args, *kwargs.values(), *own]
    countable(given)
    values = list(_flat(given))
    numbers = [value for value in values if type(value) in (int, float) and 1 < value < inf]  # inf is no size
    growth = _product_of(numbers)
    sizes = [max(value.numel(), 1) for value in values if isinstance(value, torch.Tensor)]
    if not sizes or any(number > limits.numel for number in numbers):
        refuse(int(min(growth, 1 << 62)), limits)
        return
    # What is made of all pairs of numbers, or of the numbers of a tensor in up to three dimensions that grow.
    if max(_product_of(sizes), max(sizes) ** 2, max(sizes) * growth**3) > limits.numel:
        measured = largest(name, plain, args, kwargs, limits.numel)
        refuse(max(sizes) if measured is None else measured, limits)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _flat(value)
        else:
            yield value


def _product_of(numbers: Iterable[float]) -> float:
    total = 1.0
    for number in numbers:
        total *= min(number, 1e15)
        if total > 1e30:
            return 1e30
    return total


def refuse(numel: int, limits: EvaluationLimits) -> None:
    """Refuse a tensor of ``numel`` numbers when that is beyond the limit.

    Raises:
        EvaluationRefused: too large (STEP406).
    """
    if numel > limits.numel:
        found = f"{numel:,}" if numel != limits.numel + 1 else f"more than {limits.numel:,}"
        raise EvaluationRefused(f"this makes a tensor of {found} numbers; the limit is {limits.numel:,}", "STEP406")
