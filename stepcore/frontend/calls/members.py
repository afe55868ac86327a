"""What names of stepcore and other modules stand for in programs."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.findings.near import nearest
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.frontend import advice
from stepcore.frontend.values import MADE, UNKNOWN, ModuleRef, OperatorRef, ProgramBuiltin, TypeMaker, Value
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span
from stepcore.types import Scalar

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

MAX_NAME = 64  # characters of a size's name, which stand in each size that holds it
LIST_METHODS = frozenset({
    "append", "extend", "insert", "pop", "reverse", "index", "copy", "clear", "remove", "count",
})  # fmt: skip

TYPE_MAKERS = frozenset({
    "Scalar", "Buffer", "Multihot", "Tile", "STuple", "Symbol", "dyn", "ragged", "any_size",
})  # fmt: skip
SYMBOLS = frozenset({"stepcore.dims", "sympy.abc"})  # modules of nothing but symbols, each a size
OF_SYMPY = ("Symbol", "symbols")  # what makes sizes
FUNCTIONS = frozenset({"count"})  # element functions that no body can say
# Names of stepcore that stand for themselves in annotations and decorators.
MARKERS = frozenset({
    "Stream", "Param", "fn", "program", "composition", "Fn", "dims", "Program", "Composition", "StepError",
})  # fmt: skip
DECORATORS = {"program": "a program", "fn": "an element function", "composition": "a composition"}
SCALARS = {
    "f32": "fp32", "fp32": "fp32", "f16": "fp16", "fp16": "fp16", "bf16": "bf16", "i32": "int32", "int32": "int32",
    "i64": "int64", "int64": "int64", "bool_": "bool",
}  # fmt: skip


def module_member(el: Elaboration, module: ModuleRef, node: ast.Attribute) -> Value:
    """Return ``module.attr`` for the modules that programs use."""
    if module.name == "stepcore":
        return step_member(el, node.attr, node)
    if module.name in ("typing", "typing_extensions") and node.attr == "Annotated":
        return TypeMaker("Annotated")
    if module.name in SYMBOLS:
        return Dim.symbol(node.attr)
    if module.name == "stepcore.fns":
        from stepcore.fn.factories import FACTORIES  # few programs have functions made

        if node.attr in FACTORIES:
            return ProgramBuiltin(f"{MADE}{node.attr}")
        el.unknown_name(
            "STEP202",
            "the function",
            node.attr,
            nearest(node.attr, FACTORIES, closed=True),
            el.span(node),
            "`stepsmith ops fns` lists them",
        )
        return UNKNOWN
    return ModuleRef(f"{module.name}.{node.attr}")


def step_member(el: Elaboration, name: str, node: ast.AST) -> Value:
    """Return what ``step.NAME`` is; an unknown name is reported as an unknown operator."""
    if name in _WORDS:
        return _WORDS[name]
    operator = el.dialect.by_name.get(name)
    if operator is not None:
        return _operator_ref(name, operator)
    if name in FUNCTIONS:
        from stepcore.ops.counting import COUNT  # few programs count

        return COUNT
    span = el.span(node)
    _unknown_member(el, name, Span(span.end - len(name), span.end))
    el.graph.complete = False
    return OperatorRef(name, None)


# Programs name these in each line.
_operator_ref: Final = cache(OperatorRef)
_WORDS: Final[Mapping[str, Value]] = {
    **{name: Scalar(dtype) for name, dtype in SCALARS.items()},
    **{name: TypeMaker(name) for name in TYPE_MAKERS | MARKERS},
    "dims": ModuleRef("stepcore.dims"),
    "fns": ModuleRef("stepcore.fns"),
}


def _unknown_member(el: Elaboration, name: str, span: Span) -> None:
    if name == "step":
        el.report("STEP201", span, "stepcore has no member step", "write import stepcore as step")
        return
    scalar = advice.scalar_for(name)
    if scalar:
        fix = Fix(f"Change to {scalar}", (Edit(span, scalar),))
        el.report("STEP201", span, f"the type {name} is called {scalar} here", f"write step.{scalar}", fix=fix)
        return
    makes = advice.instead(name)
    near = [] if makes else nearest(name, (*el.dialect.by_name, *SCALARS, *TYPE_MAKERS, *MARKERS))
    same = el.dialect.in_any_case(name)
    if near or same:
        el.unknown_name("STEP201", "the operator", name, same or near, span, "")
    else:
        el.report("STEP201", span, f"the operator {name} is not known", makes or "`stepsmith ops` lists them all")


def star_members(el: Elaboration, module: str) -> dict[str, Value]:
    """Return what ``from MODULE import *`` binds, for stepcore and its symbols."""
    if module in SYMBOLS:
        return {name: Dim.symbol(name) for name in PREDECLARED_SYMBOLS}
    if module == "sympy":
        return {name: ModuleRef(f"sympy.{name}") for name in OF_SYMPY}
    names = (*el.dialect.by_name, *SCALARS, *TYPE_MAKERS, *MARKERS, *FUNCTIONS, "fns")
    return {name: step_member(el, name, ast.Pass()) for name in names}
