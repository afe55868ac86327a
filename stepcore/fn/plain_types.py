"""Annotations that say nothing but a type: the only ones that may stand in code which is interpreted.

Nobody here evaluates an annotation, but Python does when it reads the file that a task is converted to. So an
annotation is one of a closed vocabulary, or it is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from stepcore.fn.allow import names
from stepcore.fn.source import dotted

BUILTIN_TYPES: Final = names("bool bytes complex dict float frozenset int list object set slice str tuple type")
_TYPING: Final = names(
    """Any Annotated Callable Dict Final Iterable Iterator List Literal Mapping MutableMapping MutableSequence None
    Optional Sequence Set Tuple Type TypeAlias Union"""
)
_STEP: Final = names(
    """Stream Param Scalar Buffer Multihot Tile STuple f32 fp32 f16 fp16 bf16 i32 int32 i64 int64 bool_"""
)
_TORCH: Final = names("Tensor FloatTensor LongTensor IntTensor BoolTensor Size dtype device float32 nn.Module")
_TYPES: Final = {"typing": _TYPING, "typing_extensions": _TYPING, "collections.abc": _TYPING} | {
    "stepcore": _STEP,
    "torch": _TORCH,
}
# What a message proposes.
WAY_OUT: Final = "write int, float, bool, str, list[torch.Tensor] or the like, or remove it"


def is_harmless(node: ast.expr, modules: Mapping[str, str]) -> bool:
    """Return whether an annotation names a type of the closed vocabulary; ``modules`` are imports by local name."""
    match node:
        case ast.Constant(value=value):
            return value is None or value is ...
        case ast.Name(id=name) if name in BUILTIN_TYPES and name not in modules:
            return True
        case ast.Name() | ast.Attribute():
            return _is_type(dotted(node), modules)
        case ast.Subscript(value=base, slice=inner):
            return is_harmless(base, modules) and is_harmless(inner, modules)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(is_harmless(part, modules) for part in parts)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return is_harmless(left, modules) and is_harmless(right, modules)
    return False


def refused(node: ast.AST, modules: Mapping[str, str]) -> list[ast.expr]:
    """Return the annotations of one statement that are no harmless types, those of its arguments included."""
    match node:
        case ast.AnnAssign(annotation=annotation):
            found: list[ast.expr | None] = [annotation]
        case ast.FunctionDef(args=args, returns=returns):
            plain = (*args.posonlyargs, *args.args, *args.kwonlyargs)
            starred = (argument for argument in (args.vararg, args.kwarg) if argument is not None)
            found = [*(argument.annotation for argument in (*plain, *starred)), returns]
        case _:
            return []
    return [item for item in found if item is not None and not is_harmless(item, modules)]


def type_parameters(node: ast.AST) -> list[ast.AST]:
    """Return the type parameters of a definition, which Python has from 3.12 on."""
    return list(getattr(node, "type_params", ()))


def _is_type(path: tuple[str, ...] | None, modules: Mapping[str, str]) -> bool:
    if path is None or path[0] not in modules:
        return False
    full = ".".join((modules[path[0]], *path[1:]))
    return any(full.startswith(f"{module}.") and full[len(module) + 1 :] in known for module, known in _TYPES.items())
