"""Ways out by example: what a program writes where its author wrote PyTorch, NumPy or plain Python.

A message names what was written and the operator that does it. The tables hold names as PyTorch, NumPy and other
dataflow languages spell them; a name that stands in none gets no advice, never a wrong one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from stepcore.fn.aliases import bound_modules

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


_OTHERS_OF_PYTHON: Final = "programs call operators, helper functions, and range, len, zip and the like"
_OF_PYTHON: Final[dict[str, str]] = {
    "map": "write a comprehension: [f(x) for x in xs]",
    "filter": "write a comprehension: [x for x in xs if f(x)]",
    "sorted": "write the items in their order",
    "str": 'write a text with what it holds: f"{M_value}"',
    "dict": "write {KEY: VALUE}",
    "next": "take an item by its position: xs[0]",
    "iter": "go through the list itself",
    "any": "join the conditions with or, or go through them in a loop",
    "all": "join the conditions with and, or go through them in a loop",
}


def of_python(name: str) -> str:
    """Return the way out where a program calls a function of Python that it has not."""
    return _OF_PYTHON.get(name, _OTHERS_OF_PYTHON)


# What methods of Python's lists and dictionaries do that those of programs lack.
_OF_LISTS: Final = {"sort": "write the items in their order"}
_OF_DICTS: Final = {
    "get": "write d[KEY]",
    **dict.fromkeys(("pop", "update", "clear", "setdefault", "popitem"), "make a new one: {**d, KEY: VALUE}"),
}


def of_container(method: str, *, is_dict: bool) -> str:
    """Return the way out where a program calls a method that its lists or dictionaries lack, or an empty text."""
    return (_OF_DICTS if is_dict else _OF_LISTS).get(method, "")


_IN_SCOPE: Final = "the operators are in scope as step.NAME; remove the line"
OF_MODULES: Final = "functions and references have the line in global, or in their own text; remove it here"
_STATEMENTS: Final = "use assignments, operator calls, lists, loops, branches and one return"
_OF_STATEMENTS: Final[dict[type[ast.AST], str]] = {
    ast.Import: _IN_SCOPE,
    ast.ImportFrom: _IN_SCOPE,
    ast.AsyncFunctionDef: "write def",
    ast.AsyncFor: "write for",
    ast.AsyncWith: "remove it",
    ast.Match: "write if and else",
}


def of_statement(statement: ast.AST, *, in_task: bool) -> str:
    """Return what a program writes instead of a statement that is not part of it."""
    match statement:
        case ast.Import() | ast.ImportFrom() if not in_task:
            return "imports stand at the top of the file; remove the line here"
        case ast.Delete(targets=[ast.Subscript(), *_]):
            return "take an item out of a list by its position: xs.pop(0)"
        case ast.Delete():
            return "remove the line: a name may stay, and may be bound anew"
        case ast.Import() | ast.ImportFrom() if bound_modules(statement, {}):
            return OF_MODULES
    return _OF_STATEMENTS.get(type(statement), _STATEMENTS)
