"""Shapes of tensors in the text of a call, ``torch.randn(3, 4)`` or a variable bound to one. Nothing is run."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepagents.torchfn.target import last_name

_DEEPEST: Final = 40
_LARGEST: Final = 1 << 31
_FILLED: Final = frozenset({"randn", "rand", "zeros", "ones", "empty", "normal", "Tensor", "FloatTensor"})
_LIKE: Final = frozenset(
    {"randn_like", "rand_like", "zeros_like", "ones_like", "empty_like", "full_like", "clone", "Parameter"}
)
_SAME: Final = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "contiguous",
        "clone",
        "detach",
        "requires_grad_",
        "requires_grad",
        "normal_",
        "uniform_",
        "fill_",
        "zero_",
        "abs",
        "exp",
        "sigmoid",
        "tanh",
        "relu",
        "softmax",
        "double",
        "float",
        "half",
        "bfloat16",
        "pin_memory",
        "mul",
        "add",
        "sub",
        "div",
        "clamp",
        "sqrt",
        "square",
        "log",
        "neg",
        "triu",
        "tril",
        "triu_",
        "tril_",
        "abs_",
        "mul_",
        "add_",
        "clamp_",
        "masked_fill",
        "random_",
        "bernoulli_",
        "xavier_uniform_",
        "clip",
        "round",
    ]
)
_MOST_ITEMS: Final = 4096  # of a list that is put together
_CASTS: Final = {"long": "int64", "int": "int32", "bool": "bool", "float": "fp32", "half": "fp16", "bfloat16": "bf16"}
_DTYPES: Final = {
    "long": "int64", "int64": "int64", "int": "int32", "int32": "int32", "bool": "bool", "float": "fp32",
    "float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
}  # fmt: skip
_MATH: Final[Mapping[str, Callable[[float], float]]] = {
    "sqrt": math.sqrt, "ceil": math.ceil, "floor": math.floor, "int": int, "float": float,
}  # fmt: skip
_DRAWN: Final = frozenset({"randn", "rand"})  # of which one without sizes is a scalar
_MAPPED: Final = frozenset(
    {"softmax", "sigmoid", "relu", "tril", "triu", "tanh", "exp", "abs", "normalize", "bernoulli", "dropout"}
)


@dataclass(frozen=True, slots=True)
class WrittenSize:
    """One size: the name or expression that stands there, and its value where the text tells it."""

    name: str = ""
    value: int | None = None


@dataclass(frozen=True, slots=True)
class TensorShape:
    """A tensor."""

    sizes: tuple[WrittenSize, ...]
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Plain:
    """A number, a text, None, or a tuple of those; ``name`` is the expression of a size."""

    value: object
    name: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """A number that the text does not tell, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or a list of values."""

    items: tuple[Value, ...]


Value: TypeAlias = TensorShape | Plain | Name | Several
Scope: TypeAlias = Mapping[str, Value]


def result_of(name: str) -> str:
    """Return the key under which a scope holds what the function ``name`` of the file returns."""
    return f"{name}()"


def value_of(node: ast.expr, scope: Scope, depth: int = 0) -> Value | None:
    """Return what an expression is, None for what cannot be told."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Constant(value=value):
            return Plain(value) if not isinstance(value, (bytes, complex)) else None
        case ast.Name(id=name):
            return scope.get(name)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            found = [value_of(item, scope, depth + 1) for item in items]
            known = [item for item in found if item is not None]
            return Several(tuple(known)) if len(known) == len(found) else None
        case ast.Starred():
            return None
        case ast.UnaryOp(op=operator, operand=operand):
            return _unary(operator, value_of(operand, scope, depth + 1))
        case ast.BinOp(left=left, op=operator, right=right):
            return _binary(value_of(left, scope, depth + 1), operator, value_of(right, scope, depth + 1))
        case ast.Compare(left=left, comparators=others):
            shapes = [value_of(item, scope, depth + 1) for item in (left, *others)]
            return next((TensorShape(item.sizes, "bool") for item in shapes if isinstance(item, TensorShape)), None)
        case ast.Attribute(value=owner, attr=attribute):
            return _attribute(owner, attribute, scope, depth)
        case ast.Subscript(value=owner, slice=index):
            return _subscript(value_of(owner, scope, depth + 1), index, scope, depth)
        case ast.Call():
            return _call(node, scope, depth)
    return None


def _unary(operator: ast.unaryop, operand: Value | None) -> Value | None:
    if isinstance(operand, TensorShape):
        return operand
    if isinstance(operand, Plain) and isinstance(operator, ast.USub) and isinstance(operand.value, (int, float)):
        return Plain(-operand.value)
    return None


def _binary(left: Value | None, operator: ast.operator, right: Value | None) -> Value | None:
    if isinstance(left, TensorShape) and isinstance(right, TensorShape):
        if isinstance(operator, ast.MatMult):
            both = len(left.sizes) >= 2 and len(right.sizes) >= 2
            return TensorShape((*left.sizes[:-1], right.sizes[-1])) if both else None
        return left if len(left.sizes) >= len(right.sizes) else right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, TensorShape) and not isinstance(other, Several):
            return one
    if isinstance(left, (Plain, Name)) and isinstance(right, (Plain, Name)):
        return _arithmetic(left, operator, right)
    if isinstance(left, Several) and isinstance(right, Several) and isinstance(operator, ast.Add):
        is_short = len(left.items) + len(right.items) <= _MOST_ITEMS  # `a = a + a` doubles with each line
        return Several((*left.items, *right.items)) if is_short else None
    return None


def _arithmetic(left: Plain | Name, operator: ast.operator, right: Plain | Name) -> Value | None:
    signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
    sign = signs.get(type(operator), "")
    first, second = _spelled(left), _spelled(right)
    named = any(isinstance(item, Name) or item.name for item in (left, right))
    name = f"({first}{sign}{second})" if sign and named and first and second and len(first + second) < 40 else ""
    if isinstance(left, Name) or isinstance(right, Name):
        return Name(name) if name else None
    one, other = _number(left), _number(right)
    if one is None or other is None:
        return None
    value: float
    match operator:
        case ast.Add():
            value = one + other
        case ast.Sub():
            value = one - other
        case ast.Mult():
            value = one * other
        case ast.FloorDiv() if other:
            value = one // other
        case ast.Div() if other:
            value = one / other
        case ast.Pow() if 0 <= other <= 31 and 0 <= one <= 64:
            value = one**other
        case _:
            return None
    return Plain(value, name)


def _spelled(item: Plain | Name) -> str:
    return item.name or (str(item.value) if isinstance(item, Plain) and type(item.value) is int else "")


def _attribute(owner: ast.expr, attribute: str, scope: Scope, depth: int) -> Value | None:
    if isinstance(owner, ast.Name) and owner.id in {"self", "cls"} and attribute in scope:
        return scope[attribute]
    found = value_of(owner, scope, depth + 1)
    if isinstance(found, TensorShape):
        if attribute in {"T", "mT"}:
            sizes = found.sizes
            return TensorShape(
                (*sizes[:-2], *reversed(sizes[-2:])) if attribute == "mT" else tuple(reversed(sizes)), found.dtype
            )
        if attribute == "shape":
            return Several(tuple(_plain(size) for size in found.sizes))
        return found if attribute == "data" else None
    # cfg.hidden: a size by its last name
    return Name(attribute) if isinstance(owner, (ast.Name, ast.Attribute)) and not attribute.startswith("_") else None


def _plain(size: WrittenSize) -> Plain | Name:
    return Name(size.name or "_") if size.value is None else Plain(size.value, size.name)


def _subscript(owner: Value | None, index: ast.expr, scope: Scope, depth: int) -> Value | None:
    if isinstance(owner, Several):
        place = value_of(index, scope, depth + 1)
        if (
            isinstance(place, Plain)
            and isinstance(place.value, int)
            and -len(owner.items) <= place.value < len(owner.items)
        ):
            return owner.items[place.value]
        return None
    if not isinstance(owner, TensorShape):
        return None
    sizes = list(owner.sizes)
    found: list[WrittenSize] = []
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    for item in items:
        if isinstance(item, ast.Constant) and item.value is None:
            found.append(WrittenSize(value=1))
        elif isinstance(item, ast.Slice) and item.lower is item.upper is item.step is None and sizes:
            found.append(sizes.pop(0))
        elif isinstance(item, ast.Constant) and isinstance(item.value, int) and sizes:
            sizes.pop(0)
        else:
            return None
    return TensorShape((*found, *sizes), owner.dtype)


def _call(node: ast.Call, scope: Scope, depth: int) -> Value | None:
    name = last_name(node.func)
    if isinstance(node.func, ast.Name) and result_of(name) in scope:
        return scope[result_of(name)]
    options = {item.arg: item.value for item in node.keywords if item.arg}
    dtype = _dtype(options.get("dtype"))
    values = [value_of(item, scope, depth + 1) for item in node.args]
    owner = value_of(node.func.value, scope, depth + 1) if isinstance(node.func, ast.Attribute) else None
    if isinstance(owner, TensorShape):
        return _method(owner, name, values, dtype)
    size = value_of(options["size"], scope, depth + 1) if "size" in options else None
    first = values[0] if values else None
    if name in _LIKE and isinstance(first, TensorShape):
        return TensorShape(first.sizes, dtype or first.dtype)
    if name in _MAPPED:
        return first if isinstance(first, TensorShape) else None
    if name in _FILLED:
        return (
            _filled(values if size is None else [size], dtype) if values or size is not None or name in _DRAWN else None
        )
    return _made(name, values, size, dtype) if values else None


def _made(name: str, values: Sequence[Value | None], size: Value | None, dtype: str) -> Value | None:
    """Return what a function makes that is no tensor of given sizes filled with something."""
    match name:
        case "full":
            return _filled(values[:1], dtype)
        case "randint":
            size = values[-1] if size is None else size
            return _filled([size], dtype or "int64") if isinstance(size, Several) else None
        case "randperm":
            return _filled(values[:1], dtype or "int64")
        case "arange" | "linspace":
            return _range(name, values, dtype)
        case "eye":
            return _filled([values[0], values[1] if len(values) > 1 else values[0]], dtype)
        case "tensor" | "as_tensor" | "array" | "asarray" | "from_numpy":
            return _literal(values[0], dtype)
        case "sqrt" | "ceil" | "floor" | "int" | "float":
            number = _number(values[0])
            return None if number is None or number < 0 else Plain(_MATH[name](number))
    return None


def _number(value: Value | None) -> float | None:
    """Return a number that is neither huge nor infinite."""
    if isinstance(value, Plain) and isinstance(value.value, (int, float)) and abs(value.value) <= _LARGEST:
        return value.value
    return None


def _method(owner: TensorShape, name: str, values: Sequence[Value | None], dtype: str) -> Value | None:
    if name in _CASTS and not values:
        return TensorShape(owner.sizes, _CASTS[name])
    if name in _SAME:
        return TensorShape(owner.sizes, dtype or owner.dtype)
    whole = [item.value for item in values if isinstance(item, Plain) and isinstance(item.value, int)]
    if name in {"t", "transpose", "permute", "unsqueeze", "squeeze"}:
        return _moved(owner, name, whole) if len(whole) == len(values) else None
    if name in {"view", "reshape", "expand"} and values:
        return _filled(values, owner.dtype)
    if name == "size":
        sizes = [_plain(size) for size in owner.sizes]
        if not values:
            return Several(tuple(sizes))
        return sizes[whole[0]] if whole and -len(sizes) <= whole[0] < len(sizes) else None
    return None


def _moved(owner: TensorShape, name: str, axes: Sequence[int]) -> TensorShape | None:
    sizes, rank = list(owner.sizes), len(owner.sizes)
    if any(not -rank - 1 <= axis <= rank for axis in axes):
        return None
    if name == "t" and rank <= 2:
        return TensorShape(tuple(reversed(sizes)), owner.dtype)
    if name == "unsqueeze" and len(axes) == 1:
        sizes.insert(axes[0] if axes[0] >= 0 else axes[0] + rank + 1, WrittenSize(value=1))
        return TensorShape(tuple(sizes), owner.dtype)
    inside = [axis % rank for axis in axes if rank and -rank <= axis < rank]
    if len(inside) != len(axes):
        return None
    if name == "transpose" and len(inside) == 2:
        one, other = inside
        sizes[one], sizes[other] = sizes[other], sizes[one]
        return TensorShape(tuple(sizes), owner.dtype)
    if name == "permute" and sorted(inside) == list(range(rank)):
        return TensorShape(tuple(sizes[axis] for axis in inside), owner.dtype)
    if name == "squeeze" and len(inside) == 1 and sizes[inside[0]].value == 1:
        del sizes[inside[0]]
        return TensorShape(tuple(sizes), owner.dtype)
    return None


def _filled(values: Sequence[Value | None], dtype: str) -> TensorShape | None:
    if len(values) == 1 and isinstance(values[0], Several):
        values = values[0].items
    sizes = [_size(item) for item in values]
    known = [size for size in sizes if size is not None]
    return TensorShape(tuple(known), dtype) if len(known) == len(sizes) else None


def _size(item: Value | None) -> WrittenSize | None:
    if isinstance(item, Name):
        return WrittenSize(item.name)
    if isinstance(item, Plain) and type(item.value) is int and 0 < item.value <= _LARGEST:
        return WrittenSize(item.name, item.value)
    return WrittenSize() if item is None else None


def _range(name: str, values: Sequence[Value | None], dtype: str) -> TensorShape | None:
    if name == "linspace":
        return _filled(values[2:3], dtype) if len(values) >= 3 else None
    numbers = [number for item in values if (number := _number(item)) is not None]
    kind = dtype or ("int64" if all(isinstance(number, int) for number in numbers) else "")
    if len(values) == 1:
        return _filled(values, kind)
    if len(numbers) != len(values) or len(numbers) > 3:
        return TensorShape((WrittenSize(),), kind)
    start, end, step = (*numbers, 1)[:3]
    count = math.ceil((end - start) / step) if abs(step) >= 1e-9 else 0
    return TensorShape((WrittenSize(value=count),), kind) if count > 0 else None


def _literal(value: Value | None, dtype: str) -> TensorShape | None:
    sizes: list[WrittenSize] = []
    while isinstance(value, Several):
        sizes.append(WrittenSize(value=len(value.items)))
        value = value.items[0] if value.items else None
    if any(size.value == 0 for size in sizes):
        return None
    kind = ""
    if isinstance(value, TensorShape):
        sizes += value.sizes
        kind = value.dtype
    elif isinstance(value, Plain):
        kind = "bool" if isinstance(value.value, bool) else "int64" if isinstance(value.value, int) else ""
    elif value is None and not sizes:
        return None
    return TensorShape(tuple(sizes), dtype or kind)


def _dtype(node: ast.expr | None) -> str:
    return _DTYPES.get(last_name(node), "")
