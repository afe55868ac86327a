"""Shapes in annotations besides jaxtyping's: ``TensorType["b", "c"]``, ``Tensor["b c"]``, ``Annotated[Tensor, "b c"]``,
``"Tensor[N, 3]"``. No torch here.
"""

from __future__ import annotations

import ast

from stepagents.shapes.spelled import size_of, sizes_in
from stepagents.shapes.told import TextPlace, Told
from stepagents.torchfn.dims import resolved
from stepagents.torchfn.target import Target, last_name

_TENSORS = ("tensor", "array", "float", "int", "bool", "long", "annotated", "shaped", "ndarray")
_DTYPES = {"LongTensor": "int64", "IntTensor": "int32", "BoolTensor": "bool", "HalfTensor": "fp16"}


def annotated(target: Target) -> dict[str, Told]:
    """Return what annotations tell."""
    found = {}
    for argument in target.arguments:
        annotation = resolved(target, argument.annotation)
        place = TextPlace("annotation", target.path, argument.line)
        if isinstance(annotation, ast.Subscript):
            sizes = _sizes(annotation)
            if sizes is not None:
                found[argument.name] = Told(argument.name, place, sizes)
        elif annotation is not None:
            name = last_name(annotation)
            if name in _DTYPES:
                found[argument.name] = Told(argument.name, place, dtype=_DTYPES[name])
    return found


def _sizes(node: ast.Subscript) -> tuple[str, ...] | None:
    name = last_name(node.value)
    if not any(word in name.lower() for word in _TENSORS):
        return None
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Annotated":
        items = items[1:]
        if len(items) == 1 and isinstance(items[0], (ast.Tuple, ast.List)):
            items = list(items[0].elts)
        elif len(items) == 1 and isinstance(items[0], ast.Call):
            items = list(items[0].args)
    texts = [_text(item) for item in items]
    if len(texts) == 1 and isinstance(items[0], ast.Constant) and isinstance(items[0].value, str):
        words = texts[0].strip("()[] ")
        return sizes_in(words if "," in words else ",".join(words.split()), alone=True)
    sizes = [size_of(text) for text in texts]
    known = tuple(size for size in sizes if size is not None)
    return known if len(known) == len(sizes) else None


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return "..." if node.value is Ellipsis else str(node.value)
    return ast.unparse(node)
