"""Calls in programs that are no applications, each by what is called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.findings.diagnostics import StepError
from stepcore.fn.decl import FnDecl
from stepcore.frontend import advice, functions
from stepcore.frontend.calls.arguments import arguments_of
from stepcore.frontend.calls.builtins import call_builtin, call_method, call_print
from stepcore.frontend.calls.helpers import call_helper
from stepcore.frontend.calls.members import OF_SYMPY
from stepcore.frontend.calls.operators import make_operator
from stepcore.frontend.calls.types import make_type, no_new_stream
from stepcore.frontend.state import MAX_WRITTEN
from stepcore.frontend.values import (
    UNKNOWN,
    FnClass,
    Helper,
    Method,
    ModuleRef,
    OperatorRef,
    OperatorValue,
    ProgramBuiltin,
    Seen,
    TypeMaker,
    Value,
    is_stream,
    is_unknown,
    ready_made,
)
from stepcore.ops import miscalls
from stepcore.records import make
from stepcore.sizes.dim import Dim
from stepcore.text.wording import few

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def call(el: Elaboration, callee: Value, node: ast.Call) -> Value:
    """Return the value of a call that is not an application."""
    if isinstance(callee, OperatorRef):
        value = make_operator(el, callee, node)
        el.seen.append(make(Seen, (node, el.frame.code, value, False)))
        return value
    el.hidden += not _evaluates_all(callee, node)
    if isinstance(callee, TypeMaker):
        made = _marker(el, callee, node)
        return make_type(el, callee, node) if made is None else made
    if isinstance(callee, Helper):
        return call_helper(el, callee, node)
    if isinstance(callee, FnClass):
        return functions.instantiate(el, callee, node)
    if isinstance(callee, Method) and isinstance(callee.owner, TypeMaker):  # step.Stream.of
        made = el.make_stream(node, of_tensors=True)
        return no_new_stream(el, node) if made is None else made
    if isinstance(callee, ModuleRef | Method) and (tensor := el.make_tensor(callee, node)) is not None:
        return tensor
    if isinstance(callee, ProgramBuiltin) and callee.name == "print" and not el.prints:
        return call_print(el, node, [])  # what it would show is part of the same mistake
    args = arguments_of(el, node, keep_lambdas=callee is not UNKNOWN)
    if args is None or callee is UNKNOWN:
        el.gives_away(args)
        el.graph.complete = el.graph.complete and callee is not UNKNOWN
        el.suppress_unused = True
        return UNKNOWN
    if made_name := ready_made(callee):
        return _factory(el, made_name, node, args)
    if isinstance(callee, ProgramBuiltin):
        return call_builtin(el, callee.name, node, args)
    if isinstance(callee, Method):
        return call_method(el, callee, node, args)
    if isinstance(callee, ModuleRef) and callee.name.removeprefix("sympy.") in OF_SYMPY:
        return _symbols_of_sympy(callee.name, args)
    _not_called(el, callee, node)
    el.gives_away(args)
    el.graph.complete = False
    el.suppress_unused = True
    return UNKNOWN


def _evaluates_all(callee: Value, node: ast.Call) -> bool:
    """Whether each argument is evaluated where it stands, by its own handler."""
    return type(callee) is ProgramBuiltin and not node.keywords and callee.name != "print"


def _factory(el: Elaboration, name: str, node: ast.Call, args: list[Value]) -> Value:
    """Return the element function that ``step.fns.NAME(types)`` makes."""
    from stepcore.fn.factories import FACTORIES

    if any(map(is_unknown, args)):
        return UNKNOWN
    make = FACTORIES[name]
    wanted = make.__code__.co_varnames[: make.__code__.co_argcount]
    least = len(wanted) - len(make.__defaults__ or ())
    if node.keywords or not least <= len(args) <= len(wanted):
        text = f"step.fns.{name} takes {few(least, 'element type')}, found {few(len(args), 'argument')}"
        el.report("STEP224", node, text, f"write step.fns.{name}({', '.join(wanted[:least])})")
        return UNKNOWN
    if any(map(is_stream, args)):
        text = f"step.fns.{name} makes a function for element types, and {el.text(node.args[0])} is a stream"
        el.report(
            "STEP222",
            node,
            text,
            f"apply the function: step.Map(fn=step.fns.{name}(TYPE)).apply({el.text(node.args[0])})",
        )
        return UNKNOWN
    try:
        return make(*args)
    except StepError as error:
        el.report(error.code, node, error.message)
        return UNKNOWN


def _marker(el: Elaboration, maker: TypeMaker, node: ast.Call) -> Value:
    """Return what a call of a marker is that is no type; None for types."""
    if maker.name == "Stream":
        return el.make_stream(node)
    if maker.name == "Param" and not maker.written:
        return _parameter(el, node)
    return None


def _parameter(el: Elaboration, node: ast.Call) -> Value:
    """Return the marker that ``step.Param(written=True)`` is."""
    if node.args:
        return _unnamed(el, node)
    for keyword in node.keywords:
        value = el.evaluate(keyword.value)
        if keyword.arg != "written":
            mistake = miscalls.unknown_keyword("step.Param", keyword.arg or "**", {"written": ""}, ())
            el.unknown_keyword(keyword, mistake)
            return UNKNOWN
        if isinstance(value, bool):
            return TypeMaker("Param", written=value)
        if not is_unknown(value):
            el.report("STEP204", keyword.value, f"written is True or False, and {el.what(keyword.value, value)}")
        return UNKNOWN
    return TypeMaker("Param")


def _unnamed(el: Elaboration, node: ast.Call) -> Value:
    """Report what ``step.Param`` is given without a name: whether it is written, or the type that stands beside it."""
    values, shown = [el.evaluate(argument) for argument in node.args], el.text(node.func)
    match values:
        case [bool(written)] if not node.keywords:
            fix = el.replacing(node.args[0], f"written={written}")
            text = f"{shown} takes written by its name"
            el.report("STEP203", node.args[0], text, f"write {shown}(written={written})", fix=fix)
            return TypeMaker("Param", written=written)
    text = f"{shown} marks a parameter, and its type stands beside it"
    el.report("STEP222", node, text, f"write Annotated[{shown}, step.f32, (COLUMNS, ROWS)]")
    return UNKNOWN


def _not_called(el: Elaboration, callee: Value, node: ast.Call) -> None:
    """Report a call of something that programs do not call."""
    function = el.text(node.func)
    arguments = ", ".join(el.text(argument) for argument in node.args)
    given = f"({arguments})" if len(node.args) > 1 else arguments or "..."
    way_out, fix = "programs call operators and helper functions only", None
    match callee:
        case ModuleRef():
            text, way_out = (
                f"a program cannot call {callee.name}",
                advice.instead(callee.name.rpartition(".")[2]) or way_out,
            )
        case OperatorValue():
            text, way_out = (
                f"{function} is an operator, and it is applied, not called",
                f"write {function}.apply({given})",
            )
            if node.args and not node.keywords:
                fix = el.replacing(node, f"{el.text(node.func, MAX_WRITTEN)}.apply{_as_one(el, node)}", "Write .apply")
        case FnDecl():
            text = f"{function} is an element function, and an operator applies it"
            name, more = ("Accum", ", b=1") if callee.has_state else ("Map", "")
            operator = f"{el.operator(name)}(fn={function}{more})"
            way_out = f"write {operator}.apply({given})"
            if node.args and not node.keywords and not callee.has_state:
                fix = el.replacing(node, f"{operator}.apply{_as_one(el, node)}", f"Apply it with {el.operator('Map')}")
        case _:
            text = f"{el.what(node.func, callee)}, and a program cannot call it"
    el.report("STEP220", node, text, way_out, fix=fix)


def _as_one(el: Elaboration, node: ast.Call) -> str:
    arguments = ", ".join(el.text(argument, MAX_WRITTEN) for argument in node.args)
    return f"({arguments})" if len(node.args) == 1 else f"(({arguments}))"


def _symbols_of_sympy(maker: str, args: list[Value]) -> Value:
    """Return the sizes that ``Symbol("M")`` and ``symbols("M N")`` of sympy are; what is no size is unknown."""
    if not args or not isinstance(args[0], str):
        return UNKNOWN
    names = [args[0]] if maker == "sympy.Symbol" else args[0].replace(",", " ").split()
    if not names or not all(name.isidentifier() for name in names):
        return UNKNOWN
    sizes = tuple(Dim.symbol(name) for name in names)
    return sizes if len(sizes) > 1 or args[0].rstrip().endswith(",") else sizes[0]
