"""A script's element function vectorized through its source, where that surely means the same as calling it.

The source is parsed and read as the closed function language, never executed. Names have to stand for what the
language knows: arguments, locals, torch and math, tensors and numbers; anything else is left to plain calls.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.frontend.functions import suite_block
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError
from stepcore.surface.functions import NAMES, DecoratedFn, Fn
from stepcore.text.span import Embedded

_MODULES: Final[dict[int, str]] = {
    id(torch): "torch", id(torch.nn): "torch.nn", id(torch.nn.functional): "torch.nn.functional", id(math): "math",
}  # fmt: skip
_BUILTINS: Final = frozenset({"len", "range", "enumerate", "zip", "min", "max", "sum", "abs", "float", "int"})


def compiled(fn: Fn, bindings: Mapping[str, int], floating: torch.dtype) -> CompiledFn | None:
    """Return ``fn`` compiled from its source, or None where only calling it is certain to be right.

    An ``init`` that is not given by constants is left out: the caller asks ``getInit`` itself.
    """
    function: object = fn.function if isinstance(fn, DecoratedFn) else type(fn).apply
    if not isinstance(function, FunctionType):
        return None
    block = _block(function)
    if block is None:
        return None
    scope = _scope(function, block)
    if scope is None:
        return None
    modules, tensors, numbers = scope
    prelude = "".join(f"{name} = {number!r}\n" for name, number in sorted(numbers.items()))
    declared = FnScope(
        prelude=CodeBlock(Embedded.whole(prelude)) if prelude else None,
        parameters=tuple(tensors),
        modules=tuple(modules.items()),
        bare_parameters=True,
    )
    init = fn.constants or ((0.0,) if fn.has_state else None)
    decl = FnDecl(fn.func_name, fn.label, fn.input, fn.output, block, init)
    try:
        return CompiledFn(decl, FnEnv(declared, bindings, tensors, floating))
    except FnRuntimeError:
        return None


def _block(function: FunctionType) -> CodeBlock | None:
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, SyntaxError):
        return None
    node = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(node, ast.FunctionDef) or not _is_source_of(node, function):
        return None
    plain = not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults)
    return suite_block(Embedded.whole(text), node) if plain else None


def _is_source_of(node: ast.FunctionDef, function: FunctionType) -> bool:
    """Return False where the file has changed since it was imported, or the text is that of a wrapped function."""
    if hasattr(function, "__wrapped__") or node.name != function.__name__:
        return False
    module = compile(ast.Module([node], []), "<source>", "exec")  # compiled to be compared, never run
    code = next((part for part in module.co_consts if isinstance(part, CodeType) and part.co_name == node.name), None)
    return code is not None and _outline(code) == _outline(function.__code__)


def _outline(code: CodeType) -> tuple[object, ...]:
    """What two compilations of one function share; names of a closure are global in the one on its own."""
    constants = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
    return code.co_varnames, {*code.co_names, *code.co_freevars}, constants


def _scope(
    function: FunctionType, block: CodeBlock
) -> tuple[dict[str, str], dict[str, Tensor], dict[str, int | float]] | None:
    """Return what the free names stand for: modules, tensors and numbers; None where one is anything else."""
    modules: dict[str, str] = {}
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, int | float] = {}
    try:
        free = _free_names(block)
    except BodySyntaxError:
        return None
    known = _known(function)
    for name in free:
        if name not in known:
            if name not in _BUILTINS:
                return None
            continue
        value = known[name]
        if id(value) in _MODULES:
            modules[name] = _MODULES[id(value)]
        elif type(value) is Tensor:
            tensors[name] = value
        elif type(value) in (int, float) and math.isfinite(value):
            numbers[name] = value
        else:
            return None
    return modules, tensors, numbers


def _free_names(block: CodeBlock) -> set[str]:
    nodes = [node for statement in statements(block) for node in ast.walk(statement)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return names - stored - set(block.arguments)


def _known(function: FunctionType) -> dict[str, Any]:
    """Return the globals, the running program's names and the closure of ``function``, as Python would find them."""
    names = NAMES.get()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells}
    if names is None:
        return {**function.__globals__, **closed}
    return {**names.sizes, **function.__globals__, **names.parameters, **closed}
