"""What a script is told of a wrong call: the code and the words of the checker. Loaded with the first mistake."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.ops import miscalls
from stepcore.ops.base import Operator, RuleError, RuleSubject
from stepcore.ops.miscalls import Mistake
from stepcore.surface.callers import caller
from stepcore.surface.stream import Stream, is_stream
from stepcore.surface.written import Script, leaf_nodes


def wrong_structure(op: Operator, given: Any) -> RuleError:
    """Return what is wrong with inputs whose structure ``op`` does not take."""
    page = Script(caller(), Stream)
    call = page.call(f"{page.operator(type(op).__name__)}(...).apply", (given,), {})
    node = call.args[0] if call.args else next(item.value for item in call.keywords if item.arg == "input")
    mistake = _wrong_inputs(page, type(op), page.name(type(op), call), node, given)
    assert mistake is not None, "its structure is wrong"
    return _told(mistake)


def other_number(frame: FrameType, names: int, made: list[Any]) -> RuleError:
    """Return what is wrong with ``names`` that take ``made`` apart at ``frame``."""
    page = Script(frame, Stream)
    maker = page.maker_of_all(made) if all(map(is_stream, made)) else ""
    outputs = made[0].origin.operator.outputs.of(vars(made[0].origin.operator)) if maker else None
    return _told(miscalls.other_number(page.target(names), len(made), maker, outputs, page))


def _wrong_inputs(page: Script, operator: type[Operator], name: str, node: ast.expr, given: Any) -> Mistake | None:
    for leaf, value in leaf_nodes(node, given):
        if not isinstance(value, Stream):
            return miscalls.no_stream(f"{name} takes streams", leaf, value, page)
    if operator.inputs.fits(given, is_stream):
        return None
    return miscalls.wrong_structure(name, operator.calling, node, given, page)


def refuse(operator: type[Operator], arguments: Sequence[Any], params: Mapping[str, Any]) -> StepError:
    """Return what is wrong with ``operator(*arguments, **params)``: the first thing that the checker would say."""
    page, calling = Script(caller(), Stream), operator.calling
    call = page.call(page.operator(operator.__name__), arguments, params)
    name = page.name(operator, call)
    if arguments:
        unnamed = list(zip(call.args, arguments, strict=True))
        return _told(miscalls.unnamed_parameters(name, calling, unnamed, params, page))
    for keyword, (key, value) in zip(call.keywords, params.items(), strict=True):
        param = calling.by_name.get(key)
        if param is None:
            return _told(miscalls.unknown_parameter(name, calling, key, params), key)
        if not param.kind.accepts(value) and not calling.is_default(key, value):
            return _told(miscalls.wrong_kind(name, calling, param, keyword.value, value, page), key)
    missing = miscalls.missing_parameters(name, calling, params, page)
    assert missing is not None, "nothing else can be wrong"
    return _told(missing)


def misapply(operator: type[Operator], op: object, given: Sequence[Any], named: Mapping[str, Any]) -> StepError:
    """Return what is wrong with ``op.apply(*given, **named)``: the first thing that the checker would say."""
    page = Script(caller(), Stream)
    bare = not isinstance(op, operator)  # step.Map.apply(x): the class has no parameters, and no operator is applied
    head = page.operator(operator.__name__)
    call = page.call(
        f"{head}.apply" if bare else f"{head}(...).apply", (op, *given) if bare and op is not None else given, named
    )
    name, calling = page.name(operator, call), operator.calling
    if bare:
        return _told(miscalls.without_parameters(name, calling, page))
    values = list(zip(call.args, given, strict=True))
    keywords = list(zip(call.keywords, named.values(), strict=True))
    values += [(keyword.value, value) for keyword, value in keywords if keyword.arg == "input"]
    others = [(keyword, value) for keyword, value in keywords if keyword.arg not in ("input", "name")]
    found: list[tuple[ast.expr | ast.keyword, Mistake | None]] = []
    if others:
        found.append((others[0][0], miscalls.wrong_keywords(name, calling, call, others, page)))
    if len(values) == 1:
        found.append((values[0][0], _wrong_inputs(page, operator, name, *values[0])))
    elif values:
        node = ast.copy_location(ast.Tuple([node for node, _ in values], ast.Load()), values[0][0])
        node.end_lineno, node.end_col_offset = values[-1][0].end_lineno, values[-1][0].end_col_offset
        wrong = _wrong_inputs(page, operator, name, node, tuple(value for _, value in values))
        found.append((values[1][0], wrong or miscalls.several_arguments(name, node, page)))
    first = sorted((at.lineno, at.col_offset, mistake.message, mistake) for at, mistake in found if mistake is not None)
    return _told(first[0][-1] if first else miscalls.no_input(name))


def _told(mistake: Mistake, param: str = "") -> RuleError:
    return RuleError(mistake.code, mistake.message, RuleSubject.param(param) if param else None)
