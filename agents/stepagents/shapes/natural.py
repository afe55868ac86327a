"""How many dimensions the arguments of PyTorch's operations have in their definitions, and how their sizes are paired.

From the documentation of torch 2 ("Shape" of each function); of those that also take fewer dimensions (unbatched) the
batched form is the usual one. No torch here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

# Operation -> dimensions of its tensors, in the order of its arguments; None where any number will do.
RANKS: Final[Mapping[str, tuple[int | None, ...]]] = {
    "conv1d": (3, 3, 1), "conv2d": (4, 4, 1), "conv3d": (5, 5, 1),
    "conv_transpose1d": (3, 3, 1), "conv_transpose2d": (4, 4, 1), "conv_transpose3d": (5, 5, 1),
    "max_pool1d": (3,), "max_pool2d": (4,), "max_pool3d": (5,), "avg_pool1d": (3,), "avg_pool2d": (4,),
    "avg_pool3d": (5,), "adaptive_avg_pool1d": (3,), "adaptive_avg_pool2d": (4,), "adaptive_max_pool1d": (3,),
    "adaptive_max_pool2d": (4,), "lp_pool2d": (4,), "lp_pool1d": (3,), "interpolate": (4,), "upsample": (4,),
    "pixel_shuffle": (4,), "pixel_unshuffle": (4,), "fold": (3,), "grid_sample": (4, 4),
    "affine_grid": (3,), "max_pool1d_with_indices": (3,), "max_pool2d_with_indices": (4,),
    "scaled_dot_product_attention": (4, 4, 4), "embedding": (None, 2), "linear": (None, 2, 1), "bmm": (3, 3),
    "baddbmm": (3, 3, 3), "mm": (2, 2), "mv": (2, 1), "addmm": (None, 2, 2), "dot": (1, 1), "vdot": (1, 1),
    "outer": (1, 1), "ger": (1, 1), "bilinear": (2, 2, 3, 1), "batch_norm": (None, 1, 1, 1, 1),
    "instance_norm": (4, 1, 1, 1, 1), "group_norm": (None, 1, 1), "cross_entropy": (2, 1), "nll_loss": (2, 1),
    "cosine_similarity": (2, 2), "cdist": (2, 2), "pairwise_distance": (2, 2), "trace": (2,), "prelu": (None, 1),
    "triplet_margin_loss": (2, 2, 2), "cosine_embedding_loss": (2, 2, 1), "margin_ranking_loss": (1, 1, 1),
    "multi_margin_loss": (2, 1), "diag_embed": (1,), "kron": (2, 2), "inverse": (2,), "det": (2,), "cholesky": (2,),
    "one_hot": (1,), "embedding_bag": (2, 2), "addmv": (1, 2, 1), "addbmm": (2, 3, 3), "cross": (2, 2),
    "t": (2,), "index_add": (None, 1), "index_add_": (None, 1), "index_select": (None, 1), "bincount": (1,),
    "index_copy": (None, 1), "linalg_cholesky": (2,), "cholesky_solve": (2, 2),
}  # fmt: skip
_CHAINS: Final = frozenset({"linalg_multi_dot", "multi_dot", "chain_matmul"})
_ADDED: Final = frozenset({"addmm", "baddbmm", "addbmm"})
_PRODUCTS: Final = (
    _CHAINS | _ADDED | {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "vdot", "linear"}
)
JOINING: Final = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "stack"})
_SPATIAL: Final = {
    "conv1d": 1,
    "conv2d": 2,
    "conv3d": 3,
    "conv_transpose1d": 1,
    "conv_transpose2d": 2,
    "conv_transpose3d": 3,
}
_SOLVERS: Final = frozenset(
    {"linalg_solve", "solve", "linalg_solve_triangular", "solve_triangular", "cholesky_solve", "triangular_solve"}
    | {"linalg_lstsq", "lstsq"}
)
# Sums; what brings a tensor into written sizes.
TERMS: Final = frozenset({"add", "sub", "__add__", "__radd__", "__sub__", "__rsub__"})
RESHAPES: Final = frozenset({"view", "reshape"})
GATHERED: Final = frozenset({"gather", "take_along_dim"})
EXPANDING: Final = frozenset({"expand", "expand_as", "broadcast_to"})
_READING: Final = frozenset({"__getitem__", "grid_sample", "grid_sampler"})
LABELLED: Final = frozenset({"cross_entropy", "nll_loss", "multi_margin_loss"})
_NORMS: Final = frozenset({"batch_norm", "group_norm", "instance_norm"})
SPLITTING: Final = frozenset(
    {"view", "reshape", "unflatten", "chunk", "split", "tensor_split", "pixel_shuffle", "pixel_unshuffle", "group_norm"}
    | {"unfold", "channel_shuffle", "fold", "conv1d", "conv2d", "conv3d", "rearrange", "view_as", "reshape_as"}
)
# Names of what is added to one number per sample.
INTERCEPT: Final = re.compile(r"^(?:b\d*|bias\d*|[wb]_?0|beta_?0|intercept|offset|global_bias|base_value|mu)$")
# What needs whole numbers or truth values, by operation: the tensors at these positions.
INDICES: Final[Mapping[str, tuple[int, ...]]] = {
    "embedding": (0,), "__getitem__": (1, 2, 3), "gather": (1,), "index_select": (1,), "take": (1,), "one_hot": (0,),
    "scatter": (1,), "scatter_add": (1,), "scatter_": (1,), "scatter_add_": (1,), "take_along_dim": (1,),
    "nll_loss": (1,), "cross_entropy": (1,), "index_add": (1,), "index_add_": (1,), "bincount": (0,),
    "index_copy": (1,),
}  # fmt: skip


def pairs(
    name: str, shapes: Sequence[tuple[int, ...]], numbers: Sequence[int], options: Mapping[str, int], text: str
) -> Iterator[tuple[int, int]]:
    """Yield pairs of sizes that the operation wants to be equal, and that are not.

    ``shapes`` are those of its tensors in order, ``numbers`` all its integers, ``options`` those that are named,
    ``text`` its first string (an equation).
    """
    for one, other in _wanted(name, shapes, numbers, options, text):
        if one != other:
            yield one, other


def _wanted(
    name: str, shapes: Sequence[tuple[int, ...]], numbers: Sequence[int], options: Mapping[str, int], text: str
) -> Iterator[tuple[int, int]]:
    if name.startswith("affine_grid") and shapes and len(shapes[0]) == 3 and len(numbers) > 3:
        yield from zip(shapes[0], (numbers[0], len(numbers) - 2, len(numbers) - 1), strict=True)
    elif len(shapes) == 1 and name in EXPANDING:  # -1 keeps a size
        yield from ((one, two) for one, two in _aligned(shapes[0], numbers) if two > 0)
    elif len(shapes) > 1 and shapes[0] and name in GATHERED | _READING:
        yield from _read(name, shapes, numbers, options)
    elif len(shapes) > 1 and shapes[0]:
        yield from _met(name, shapes, numbers, options, text)


def _met(
    name: str, shapes: Sequence[tuple[int, ...]], numbers: Sequence[int], options: Mapping[str, int], text: str
) -> Iterator[tuple[int, int]]:
    """Yield sizes of tensors that an operation brings together."""
    first, second = shapes[0], shapes[1]
    if name in _SPATIAL and len(second) > 1 and len(first) > _SPATIAL[name]:
        groups = options.get("groups") or (numbers[-1] if numbers and not options else 1)
        yield from _convolved(first[-1 - _SPATIAL[name]], second, shapes[2:3], groups, "transpose" in name)
    elif name == "einsum":
        yield from _labels(text, shapes)
    elif name in JOINING:
        yield from _beside(shapes, options.get("dim", numbers[0] if numbers else 0), name)
    elif name in _PRODUCTS and second:
        yield from _multiplied(name, shapes)
    elif name in {"cdist", "pairwise_distance"} and second:
        yield first[-1], second[-1]
    elif name in _SOLVERS and second:
        yield from _solving(name, first, second)
    elif name in LABELLED and second:
        yield first[0], second[0]
    elif name in _NORMS and len(first) > 1:
        yield from ((first[1], other[0]) for other in shapes[1:] if len(other) == 1)
    else:
        for other in shapes[1:]:
            yield from _aligned(first, other)


def _read(
    name: str, shapes: Sequence[tuple[int, ...]], numbers: Sequence[int], options: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Yield sizes of what is read at places: a grid, the index of a gather, indices in brackets."""
    first, second = shapes[0], shapes[1]
    if name == "__getitem__":  # indices meet each other, not what they read
        for other in shapes[2:]:
            yield from _aligned(second, other)
    elif name in GATHERED and len(first) == len(second):
        axis = options.get("dim", numbers[0] if numbers else 0)
        yield from (
            (one, two) for index, (one, two) in enumerate(zip(first, second, strict=True)) if index != axis % len(first)
        )
    elif name not in GATHERED and second:
        yield first[0], second[0]
        yield second[-1], len(first) - 2


def _solving(name: str, first: Sequence[int], second: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the sizes of a system: its matrix is square and has as many rows as the right side."""
    matrix, side = (second, first) if name in {"cholesky_solve", "triangular_solve"} else (first, second)
    if len(matrix) > 1 and name not in {"linalg_lstsq", "lstsq"}:
        yield matrix[-2], matrix[-1]
    if len(matrix) > 1:
        yield matrix[-2], side[-2] if len(side) > 1 else side[-1]


def _multiplied(name: str, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    first, second = shapes[0], shapes[1]
    if name == "linear":
        yield first[-1], second[-1]
        yield from ((second[0], bias[0]) for bias in shapes[2:3] if bias)
    elif name in _CHAINS:
        yield from ((one[-1], two[0]) for one, two in pairwise(shapes) if one and two)
    elif name in _ADDED:
        if len(shapes) > 2 and len(shapes[2]) > 1 and len(second) > 1:
            yield second[-1], shapes[2][-2]
            yield from _aligned(first, (*second[:-1], shapes[2][-1]))
    else:
        if name == "__rmatmul__":
            first, second = second, first
        yield first[-1], second[-2] if len(second) > 1 else second[0]
        yield from _aligned(first[:-2], second[:-2])


def same_kernel(padding: object, dilation: object, stride: object, more: int = 0) -> int | None:
    """Return the size of a kernel after which a convolution of this padding keeps its size, None where none does.

    ``more`` is what was padded before, on both sides together.
    """
    first = [value[0] if isinstance(value, (list, tuple)) and value else value for value in (padding, dilation, stride)]
    pad, gap, step = (value if isinstance(value, int) else 0 for value in first)
    if step != 1 or gap < 1 or not isinstance(first[0], int):
        return None
    whole = 2 * pad + more
    return 1 + whole // gap if whole % gap == 0 else None


def _beside(shapes: Sequence[tuple[int, ...]], axis: int, name: str) -> Iterator[tuple[int, int]]:
    first = shapes[0]
    skipped = -1 if name == "stack" else axis % len(first)
    for other in shapes[1:]:
        if len(other) == len(first):
            together = enumerate(zip(first, other, strict=True))
            yield from (pair for index, pair in together if index != skipped)


def _convolved(
    channels: int, kernel: Sequence[int], bias: Sequence[tuple[int, ...]], groups: int, transposed: bool
) -> Iterator[tuple[int, int]]:
    own, out = (kernel[0], kernel[1]) if transposed else (kernel[1], kernel[0])
    if groups > 1 and out % groups and not transposed:
        yield groups, out
    yield (own, channels // groups) if groups > 1 and channels % groups == 0 and not transposed else (channels, own)
    yield from ((out, each[0]) for each in bias if each)


def _aligned(first: Sequence[int], second: Sequence[int]) -> Iterator[tuple[int, int]]:
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if 1 not in {one, other}:
            yield one, other


def _labels(equation: str, shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    seen: dict[str, int] = {}
    for labels, shape in zip(equation.partition("->")[0].replace(" ", "").split(","), shapes, strict=False):
        head, dots, tail = labels.partition("...")
        chosen = [*zip(head, shape, strict=False)]
        if dots and tail:
            chosen += zip(tail, shape[len(shape) - len(tail) :], strict=False)
        for label, size in chosen:
            if label in seen:
                yield seen[label], size
            seen.setdefault(label, size)
