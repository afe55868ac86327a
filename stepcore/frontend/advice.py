"""Ways out by example: what a program writes where its author wrote PyTorch, NumPy or plain Python.

A message names what was written and the operator that does it. The tables hold names as PyTorch, NumPy and other
dataflow languages spell them; a name that stands in none gets no advice, never a wrong one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

_FOLD: Final = "step.Accum(fn=..., b=...) folds the innermost b dimensions with a function of yours"
_SCAN: Final = "step.Scan(fn=..., b=...) emits the state of a fold after each element"
_COMPUTE: Final = "compute in an element function, and apply that with step.Map(fn=...)"
_MULTIPLY: Final = "multiply in an element function; step.Map applies it, step.Accum sums what it gives"
_REPEAT: Final = "step.Repeat(n=...) repeats each element, step.RepeatRef() as often as another stream has some"
_TURN: Final = "step.Bufferize(a=...) makes tensors of dimensions, and an element function may turn these"
_RESHAPE: Final = "step.Flatten(L=[...]) merges dimensions, and step.Reshape(S=..., L=[...]) splits one"
_JOIN: Final = "step.Zip() pairs two streams, and step.Merge(fn=...) joins branches by a selector"
_ROUTE: Final = "step.Partition(N=...) routes elements to branches by a selector"
_CYCLE: Final = "step.Feedback(element=..., dims=[...]) brings a stream back"
_SIZES: Final = "write the size by its name, as in step.Repeat(n=M)"
_SEE: Final = "only element functions see elements; `stepsmith simulate` shows them"


def _table(*rows: tuple[str, str]) -> dict[str, str]:
    return {name: way_out for names, way_out in rows for name in names.split()}


# In lower case and without underscores.
_INSTEAD: Final[dict[str, str]] = _table(
    (
        "sum mean max min amax amin prod all any argmax argmin norm logsumexp reduce reducesum reducemax reducemean "
        "fold foldl aggregate accumulate accumulator",
        _FOLD,
    ),
    ("cumsum cumprod cummax cummin prefixsum", _SCAN),
    (
        "relu gelu silu sigmoid tanh exp log sqrt rsqrt softmax abs neg square pow add sub mul div truediv multiply "
        "subtract divide clamp clip where elementwise pointwise apply foreach to float half double int long type "
        "layernorm rmsnorm normalize",
        _COMPUTE,
    ),
    ("matmul mm bmm dot linear einsum gemm outer tensordot mv", _MULTIPLY),
    ("repeat repeatinterleave expand expandas tile broadcast broadcastto duplicate replicate", _REPEAT),
    ("unsqueeze expanddims newaxis", "step.Promote(b=...) adds a dimension of size 1"),
    ("reshape view unflatten squeeze viewas flat ravel", _RESHAPE),
    ("permute transpose t mt swapaxes movedim swapdims", _TURN),
    ("cat concat concatenate stack vstack hstack join combine", _JOIN),
    ("split chunk unbind select filter gather scatter indexselect route dispatch switch maskedselect", _ROUTE),
    ("clone fork tee dup", "step.Copy() makes two streams of one"),
    ("shape size ndim dim rank numel", _SIZES),
    ("item numpy tolist data values detach cpu cuda print show", _SEE),
    ("loop cycle feed feedbackloop feedbackqueue", _CYCLE),
    ("buffer tobuffer", "step.Bufferize(a=...) makes buffers, and step.Streamify() streams of them"),
    (
        "load loadtile loadtiles read dma",
        "step.LinearOffChipLoad(tensor=..., tile=[r, c]) reads a parameter by tiles, and element functions by its name",
    ),
    (
        "store storetile storetiles write",
        "step.LinearOffChipStore(tensor=...) writes tiles to a parameter that is declared as written",
    ),
)
# Types as PyTorch and NumPy name them, and ours.
_SCALARS: Final[dict[str, str]] = _table(
    ("float32 float single", "f32"), ("float16 half", "f16"), ("bfloat16", "bf16"), ("int int32", "i32"),
    ("int64 long", "i64"), ("bool", "bool_"),
)  # fmt: skip
# How people call libraries of functions on arrays.
LIBRARIES: Final = frozenset({"torch", "np", "numpy", "jnp", "jax", "math", "F", "nn", "tf", "scipy"})


def instead(name: str) -> str:
    """Return what does in STeP what ``name`` does elsewhere, or an empty text."""
    return _INSTEAD.get(name.replace("_", "").lower(), "")


def scalar_for(name: str) -> str:
    """Return our name of a type that PyTorch or NumPy calls ``name``, or an empty text."""
    return _SCALARS.get(name.lower(), "")


def of_library(name: str) -> str:
    """Return the way out where a program calls ``torch.sum`` or the like, whose last part is ``name``."""
    return instead(name) or _COMPUTE


def of_arithmetic(op: ast.operator | ast.unaryop, streams: Sequence[str], written: Callable[[str], str]) -> str:
    """Return the way out where streams stand in arithmetic, by their texts; ``written``: how the file writes a name."""
    given = streams[0] if len(streams) == 1 else f"({', '.join(streams)})"
    if isinstance(op, ast.BitOr):
        return f"operators are applied to streams: {written('OPERATOR')}(...).apply({streams[0]})"
    return f"do that in an element function, and apply it: {written('Map')}(fn=...).apply({given})"
