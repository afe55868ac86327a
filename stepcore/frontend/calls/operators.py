"""The parameters of operators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.calls.helpers import helper
from stepcore.frontend.values import (
    UNKNOWN,
    LoopValue,
    OperatorRef,
    OperatorValue,
    Value,
    is_stream,
    is_unknown,
)
from stepcore.ops import miscalls
from stepcore.ops.calling import Calling, Param, ParamKind
from stepcore.ops.pace import LoopPart
from stepcore.sizes.dim import SIZE_RULE, Dim, is_size
from stepcore.text.span import Span
from stepcore.text.wording import whole
from stepcore.types import STuple

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def make_operator(el: Elaboration, ref: OperatorRef, node: ast.Call) -> Value:
    """Return the operator with its parameters; each parameter is checked for its kind."""
    values: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    if ref.cls is None:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            _argument(el, argument)
        return OperatorValue(ref, None, values, spans, el.span(node.func))
    usable, calling = not node.args, ref.cls.calling
    given = {item.arg or "" for item in node.keywords}
    if node.args:
        _without_name(el, ref.name, calling, node)
    for keyword in node.keywords:
        value = _argument(el, keyword.value)
        if keyword.arg is None:
            el.hidden += 1
            usable = False
            continue
        param = calling.by_name.get(keyword.arg)
        if param is None:
            usable = False
            el.unknown_keyword(keyword, miscalls.unknown_parameter(ref.name, calling, keyword.arg, given))
            continue
        converted = _convert(el, ref.name, calling, param, keyword.value, value)
        spans[keyword.arg] = el.span(keyword.value)
        values[keyword.arg] = converted
        usable = usable and converted is not UNKNOWN
    if usable:
        missing = miscalls.missing_parameters(ref.name, calling, values, el)
        if missing is not None:
            usable = False
            el.tell(missing, node.func)
    op = ref.cls.made(values) if usable else None
    if ref.cls.looping is not LoopPart.NOTHING:
        return el.new_loop(LoopValue(ref, op, values, spans, el.span(node.func), el.frame, el.frame.code))
    return OperatorValue(ref, op, values, spans, el.span(node.func))


def _convert(el: Elaboration, name: str, calling: Calling, param: Param, node: ast.expr, value: Value) -> Value:
    """Return ``value`` as the parameter needs it, or UNKNOWN with a finding."""
    if param.kind.accepts(value):
        if param.kind is ParamKind.SIZE:
            return _size(el, name, param, node, value)
        if param.kind.holds_sizes:
            return _sizes(el, param, value)
        if param.kind is ParamKind.ELEMENT:
            return STuple(value) if isinstance(value, (list, tuple)) else value
        return tuple(value) if param.kind is ParamKind.INDICES else value
    if calling.is_default(param.name, value):
        return value
    if is_unknown(value) or (isinstance(value, list | tuple) and any(map(is_unknown, value))):
        return UNKNOWN
    mistake = miscalls.wrong_kind(name, calling, param, node, value, el)
    el.tell(mistake, node, el.replacing(node, mistake.meant) if mistake.meant else None)
    return UNKNOWN


def _sizes(el: Elaboration, param: Param, value: Value) -> Value:
    """Return an offset, or sizes or offsets in the order of types; what they come to, the operator's rule looks at."""
    if param.kind is ParamKind.OFFSET:
        return value if isinstance(value, int) else Dim.of(value)
    sizes = tuple(map(Dim.of, value))
    return sizes if param.kind is ParamKind.TILE else el.dialect.sizes(sizes)


def _argument(el: Elaboration, node: ast.expr) -> Value:
    """Return the value of an argument of an operator; a lambda there is no helper without a name, but no function."""
    return helper(el, node) if isinstance(node, ast.Lambda) else el.evaluate(node)


def _without_name(el: Elaboration, name: str, calling: Calling, node: ast.Call) -> None:
    """Report parameters that are given without their names, once; streams belong to ``.apply``."""
    compared = next((arg for arg in node.args if _names_parameter(el, calling, arg)), None)
    if isinstance(compared, ast.Compare):
        between = Span(el.span(compared.left).end, el.span(compared.comparators[0]).start)
        fix = Fix("Write one =", (Edit(between, "="),)) if el.frame.code.verbatim else None
        text = f"a parameter of {name} is compared here, and not given"
        way_out = f"write {el.text(compared.left)}={el.text(compared.comparators[0])}"
        el.report("STEP203", compared, text, way_out, fix=fix)
        return
    told = len(el.diagnostics)
    unnamed = [(arg, _argument(el, arg)) for arg in node.args]
    if len(el.diagnostics) > told:
        return  # of an argument that is wrong itself nobody knows what it was to be
    mistake = miscalls.unnamed_parameters(name, calling, unnamed, {item.arg or "" for item in node.keywords}, el)
    first = el.span(node.args[0])
    edit = Edit(Span(first.start, first.start), f"{mistake.meant}=")
    fix = Fix(f"Name it {mistake.meant}", (edit,)) if mistake.meant else None
    is_one = is_stream(unnamed[0][1]) or not calling.own
    el.tell(mistake, first if is_one else first.cover(el.span(node.args[-1])), fix)


def _names_parameter(el: Elaboration, calling: Calling, node: ast.expr) -> bool:
    """Return whether an argument is ``fn == double``, where ``fn=double`` is meant."""
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()]):
            return name in calling.by_name and name not in el.frame.scope.visible()
    return False


def _size(el: Elaboration, name: str, param: Param, node: ast.expr, value: Dim | int) -> Value:
    size = Dim.of(value)
    number = el.bound(size)
    if number is not None and not is_size(number):
        el.report("STEP217", node, f"{param.name} of {name} is {whole(number)}", SIZE_RULE)
        return UNKNOWN
    return value if isinstance(value, int) else size
