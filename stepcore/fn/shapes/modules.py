"""Modules of ``torch.nn``: what they are called with, and what they compute (``forwards``)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from stepcore.fn.shapes.parts import OLD_REDUCTION
from stepcore.fn.shapes.values import ShapeMismatch, TorchModule
from stepcore.sizes.dim import Dim


def made(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TorchModule | None:
    """Return a module by the arguments of its constructor, None where nothing is known of it."""
    from stepcore.fn.forwards import LISTS  # only what makes modules needs it

    node = _forward(name)
    names = None if node is None else arguments_of(node, args, kwargs)
    if names is None or node is None or not isinstance(node.body, ast.Lambda):
        return None
    for each in LISTS.get(name, ()):
        if isinstance(names[each], Dim):
            names[each] = [names[each]]
    words = [each.arg for each in node.args.args]
    if "reduction" in names and not OLD_REDUCTION.isdisjoint((*words[: len(args)], *kwargs)):
        names["reduction"] = None  # nobody reads it where one of these is told
    if "stride" in names and len(args) < 2 and "stride" not in kwargs and names["stride"] is None:
        names["stride"] = []  # nothing was said, which is not the same as nothing known
    return TorchModule(name, node.body, names)


def called(module: TorchModule, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that a module computes with when it is called.

    Raises:
        ShapeMismatch: it is not called so.
    """
    names = arguments_of(module.forward, args, kwargs)
    if names is None:
        wanted = ", ".join(each.arg for each in module.forward.args.args)
        raise ShapeMismatch(f"a module {module.name} is called with ({wanted}), and not so")
    return {**module.names, **names}


@lru_cache(maxsize=256)
def _forward(name: str) -> ast.Lambda | None:
    from stepcore.fn.forwards import FORWARDS

    text = FORWARDS.get(name, "")
    node = ast.parse(text, mode="eval").body if text else None
    return node if isinstance(node, ast.Lambda) else None


def arguments_of(
    node: ast.FunctionDef | ast.Lambda, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return what the parameters of a function are bound to, None where they are given in other ways."""
    from stepcore.fn.shapes.names import constant_value

    spec = node.args
    places = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    named = {*places, *(each.arg for each in spec.kwonlyargs)}
    if spec.vararg or spec.kwarg or len(args) > len(places) or not kwargs.keys() <= named - {*places[: len(args)]}:
        return None
    defaults = dict(zip(reversed(places), reversed(spec.defaults), strict=False))
    defaults |= {each.arg: value for each, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value}
    usual = {
        name: constant_value(value.value) if isinstance(value, ast.Constant) else None
        for name, value in defaults.items()
    }
    given = usual | dict(zip(places, args, strict=False)) | dict(kwargs)
    return given if given.keys() == named else None
