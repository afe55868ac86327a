"""What shape inference knows of names: constants, members of modules, what a ``global`` block binds."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import assigned_names
from stepcore.fn.shapes.rules import CASTS
from stepcore.fn.shapes.values import Callee, Number
from stepcore.fn.source import BodySyntaxError, dotted, statements
from stepcore.sizes.dim import Dim

_POINTWISE_MODULES: Final = {
    "GELU": "gelu", "ReLU": "relu", "SiLU": "silu", "Sigmoid": "sigmoid", "Tanh": "tanh", "ELU": "elu", "CELU": "celu",
    "LeakyReLU": "leaky_relu", "Softplus": "softplus", "Mish": "mish", "Hardtanh": "hardtanh", "ReLU6": "relu6",
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Identity": "positive", "LayerNorm": "layer_norm",
    "RMSNorm": "rms_norm", "SELU": "selu", "Hardswish": "hardswish", "Hardsigmoid": "hardsigmoid",
}  # fmt: skip


def prelude_values(prelude: CodeBlock | None, names: Mapping[str, Any], modules: Mapping[str, str]) -> dict[str, Any]:
    """Return what is known of the names that a ``global`` block binds; None hides an outer meaning."""
    if prelude is None:
        return {}
    try:
        body = statements(prelude)
    except BodySyntaxError:
        return {}
    values: dict[str, Any] = dict.fromkeys(assigned_names(body))
    stored = Counter(
        node.id for node in ast.walk(ast.Module(list(body), [])) if isinstance(node, ast.Name) and _is_store(node)
    )
    sizes = {*_bound_sizes(body)}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                # A name bound twice may hold either value; a size is better known by its symbol than by its number.
                is_number = name.endswith("_value") and name.removesuffix("_value") in sizes
                values[name] = names.get(name) if is_number else _bound(value, modules)
    return {name: value for name, value in values.items() if name not in modules}


def _bound_sizes(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the sizes that a block binds by ``ctx[E] = ...``: only of these is ``E_value`` the number there."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name))]):
                yield name


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _bound(value: ast.expr, modules: Mapping[str, str]) -> Any:
    match value:
        case ast.Constant(value=constant):
            return constant_value(constant)
        case ast.Attribute():
            path = dotted(value)
            return member(modules[path[0]], path[1:]) if path is not None and path[0] in modules else None
        case ast.Call(func=ast.Attribute() as function):
            path = dotted(function)
            if path is not None and modules.get(path[0]) == "torch" and path[1:-1] == ("nn",):
                operation = _POINTWISE_MODULES.get(path[-1])
                return None if operation is None else Callee(operation)
    return None


def constant_value(value: object) -> Any:
    """Return a literal as shape inference sees it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return Dim.of(value)
    if isinstance(value, float):
        return Number()
    return value if isinstance(value, str) else None


def member(module: str, path: tuple[str, ...]) -> Any:
    """Return what ``module.path`` stands for."""
    name = path[-1]
    if module == "math":
        return Number() if name in allow.MATH_CONSTANTS else None
    if path[:2] == ("ops", "aten") and len(path) == 4:
        return Callee(path[2])
    if len(path) == 1 and name in CASTS and module == "torch":
        return CASTS[name]
    if len(path) == 1 and name in allow.TORCH_CONSTANTS:
        return Number()
    return None if path[0] in ("special", "fft") else Callee(name, space=".".join((module, *path[:-1])))
