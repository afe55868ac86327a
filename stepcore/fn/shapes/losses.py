"""What losses ask of the shapes and types of what they compare. A run refuses all else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from stepcore.fn import allow
from stepcore.fn.shapes.operands import FLOATS
from stepcore.fn.shapes.parts import argument
from stepcore.fn.shapes.values import AbstractTensor, Comparer, ShapeMismatch, Sizes, integer, shape_text
from stepcore.sizes.dim import Dim

Kwargs: TypeAlias = Mapping[str, Any]
FUNCTIONAL: Final = "torch.nn.functional"
_PAIRS: Final = allow.names(
    """mse_loss l1_loss smooth_l1_loss huber_loss cosine_similarity pairwise_distance kl_div soft_margin_loss
    hinge_embedding_loss poisson_nll_loss"""
)
_TRIPLES: Final = {
    "triplet_margin_loss": ("positive", "negative"), "triplet_margin_with_distance_loss": ("positive", "negative"),
    "margin_ranking_loss": ("input2", "target"),
}  # fmt: skip
# What only the functions of Python look at, and not those of torch that they call.
_IN_PYTHON: Final = allow.names("margin_ranking_loss binary_cross_entropy binary_cross_entropy_with_logits")
_INDICES: Final = ("int64", None)  # the types of classes


def losses(compare: Comparer, space: str, name: str, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at a call of one of ``LOSSES``.

    Raises:
        ShapeMismatch: torch compares no such tensors.
    """
    is_asked = space == FUNCTIONAL or name not in _IN_PYTHON
    if is_asked and args and isinstance(args[0], AbstractTensor):
        LOSSES[name](compare, name, args[0], args, kwargs)


def _pairs(compare: Comparer, name: str, first: AbstractTensor, args: Sequence[Any], kwargs: Kwargs) -> None:
    other = argument(args, kwargs, 1, "x2" if name in ("cosine_similarity", "pairwise_distance") else "target")
    if isinstance(other, AbstractTensor):
        compare.broadcast([first.shape, other.shape], f" in {name}")


def _like(compare: Comparer, name: str, first: AbstractTensor, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at a loss of numbers that stand beside each other one by one."""
    other = argument(args, kwargs, 1, "target")
    if not isinstance(other, AbstractTensor) or other.shape is None or first.shape is None:
        return
    if _certainly_unlike(compare, first.shape, other.shape):
        text = f"{name} takes two tensors of one shape"
        raise ShapeMismatch(f"{text}, and these are {shape_text(first.shape)} and {shape_text(other.shape)}")


def _triples(compare: Comparer, name: str, first: AbstractTensor, args: Sequence[Any], kwargs: Kwargs) -> None:
    others = [argument(args, kwargs, place, word) for place, word in enumerate(_TRIPLES[name], 1)]
    shapes = [each.shape for each in (first, *others) if isinstance(each, AbstractTensor) and each.shape is not None]
    if len({len(shape) for shape in shapes}) > 1:
        shown = ", ".join(map(shape_text, shapes))
        raise ShapeMismatch(f"{name} takes tensors with equally many dimensions, and these are {shown}")
    for other in shapes[1:]:
        compare.broadcast([shapes[0], other], f" in {name}")


def _classes(compare: Comparer, name: str, first: AbstractTensor, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at scores of classes, and at the classes: an index each, or what is probable of each."""
    target, shape = argument(args, kwargs, 1, "target"), first.shape
    if shape is None or not isinstance(target, AbstractTensor) or target.shape is None:
        return
    if not shape:
        raise ShapeMismatch(f"{name} takes scores of classes, and this is a tensor of {shape_text(shape)}")
    is_unlike = _certainly_unlike(compare, shape, target.shape)
    if name == "cross_entropy" and not is_unlike:
        if target.dtype not in (*FLOATS, None) and shape == target.shape:
            raise ShapeMismatch(f"{name} takes classes of {shape_text((*shape[:1], *shape[2:]))}, or what is probable")
        return
    if target.dtype not in _INDICES:
        text = f"the classes of {name} are int64, and these are {target.dtype}"
        raise ShapeMismatch(text if target.dtype in FLOATS else f"{text}; write .long()")
    wanted: Sizes = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    if len(shape) == 1 and len(target.shape) == 1:
        return  # several for one is not what is meant, but torch takes some such
    if _certainly_unlike(compare, wanted, target.shape):
        text = f"{name} of {shape_text(shape)} takes classes of {shape_text(wanted)}"
        raise ShapeMismatch(f"{text}, and these are {shape_text(target.shape)}")


def _margins(compare: Comparer, name: str, first: AbstractTensor, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at a loss of margins between classes: an index for each row, or an index for each class."""
    target, shape = argument(args, kwargs, 1, "target"), first.shape
    power = integer(argument(args, kwargs, 2, "p")) if name == "multi_margin_loss" else None
    if power is not None and power not in (1, 2):
        raise ShapeMismatch(f"{name} takes p=1 or p=2, and not {power}")
    if shape is None or not isinstance(target, AbstractTensor) or target.shape is None:
        return
    if len(shape) > 2 or compare.is_empty(shape[1:] if len(shape) > 1 else shape):
        raise ShapeMismatch(f"{name} takes rows of classes, and this is a tensor of {shape_text(shape)}")
    if compare.is_empty(shape):
        return
    if target.dtype not in _INDICES:
        raise ShapeMismatch(f"the classes of {name} are int64, and these are {target.dtype}")
    if name == "multi_margin_loss":
        wanted: Sizes = (shape[0],) if len(shape) == 2 else (Dim.of(1),)
        is_wrong = len(target.shape) > 1 or _certainly_unlike(compare, wanted, target.shape or (Dim.of(1),))
    else:
        wanted = shape
        # One number is a row of one class.
        is_wrong = _certainly_unlike(compare, shape or (Dim.of(1),), target.shape or (Dim.of(1),))
    if is_wrong:
        text = f"{name} of {shape_text(shape)} takes classes of {shape_text(wanted)}"
        raise ShapeMismatch(f"{text}, and these are {shape_text(target.shape)}")


def _certainly_unlike(compare: Comparer, left: Sizes, right: Sizes) -> bool:
    return len(left) != len(right) or any(map(compare.differ, left, right))


_Look: TypeAlias = Callable[[Comparer, str, AbstractTensor, Sequence[Any], Kwargs], None]
LOSSES: Final[Mapping[str, _Look]] = {
    **dict.fromkeys(_PAIRS, _pairs), **dict.fromkeys(_TRIPLES, _triples),
    **dict.fromkeys(("binary_cross_entropy", "binary_cross_entropy_with_logits"), _like),
    **dict.fromkeys(("nll_loss", "cross_entropy"), _classes),
    **dict.fromkeys(("multi_margin_loss", "multilabel_margin_loss"), _margins),
}  # fmt: skip
