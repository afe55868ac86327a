"""Proposals at the cursor, the likeliest first: what fits by its type and is still to be consumed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from stepcore.findings.diagnostics import Edit
from stepcore.fn import allow
from stepcore.fn.decl import FnDecl
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import (
    UNKNOWN,
    Helper,
    LoopValue,
    ModuleRef,
    OperatorRef,
    OperatorValue,
    StreamRef,
    Value,
    ready_made,
)
from stepcore.ide import declaring, members
from stepcore.ide.analysis import Analysis
from stepcore.ide.cursor import MARK, Cursor, cursor_at, quoted_at
from stepcore.ide.keys import key_completions
from stepcore.ide.marked import words
from stepcore.ide.meaning import seeing
from stepcore.ide.model import Completion, Kind
from stepcore.ide.proposals import DECORATORS, FITS, FREE, MISFITS, REST, SPENT, CompletionProposal
from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, TypingContext
from stepcore.ops.calling import ONE_INPUT, value_text
from stepcore.sizes.dim import Dim
from stepcore.text.wording import short_words
from stepcore.types import Multihot, StreamType, shape_text

_NEAR: Final = 2000  # characters before a text in which its keyword stands


def completions(
    analysis: Analysis, offset: int, *, snippets: bool = False, task: tuple[str, str] | None = None
) -> list[Completion]:
    """Return the proposals at ``offset``, best first; with tab stops where ``snippets`` are understood.

    The last ones are remembered with the state of the document, because editors ask again where nothing has changed.
    """
    place = offset, snippets, task
    known = analysis.memo.get("completions")
    if known is None or known[0] != place:
        known = analysis.memo["completions"] = place, _completions(analysis, offset, snippets, task)
    return list(known[1])


def _completions(analysis: Analysis, offset: int, snippets: bool, task: tuple[str, str] | None) -> list[Completion]:
    if analysis.kind in ("task", "impl"):
        keys = key_completions(analysis, offset)
        if keys is not None:
            return keys
    cursor = cursor_at(analysis, offset, task) or _in_quotes(analysis, offset, task)
    if cursor is None:
        return []
    unique: dict[str, CompletionProposal] = {}
    for item in sorted(_proposals(cursor, snippets), key=lambda item: item.rank):
        unique.setdefault(item.label, item)
    return [_completion(item, cursor, number) for number, item in enumerate(unique.values())]


def _in_quotes(analysis: Analysis, offset: int, task: tuple[str, str] | None) -> Cursor | None:
    """Return what is around the name of a size in quotes: a key of ``sizes=``, the one text that has proposals."""
    quoted = quoted_at(analysis.source.text, offset)
    if quoted is None or "sizes" not in analysis.source.text[max(quoted.start - _NEAR, 0) : quoted.start]:
        return None
    cursor = cursor_at(analysis, offset, task, quoted)
    return cursor if cursor is not None and declaring.wanted_at(cursor) == "drawn" else None


@lru_cache(maxsize=256)  # of the language's names, which each list of proposals shows
def _short_documentation(text: str) -> str:
    return short_words(text)


def _completion(item: CompletionProposal, cursor: Cursor, number: int) -> Completion:
    return Completion(
        short_words(item.label),
        item.kind,
        Edit(cursor.word, item.insert or item.label),
        short_words(item.detail),
        _short_documentation(item.documentation),
        f"{item.rank}{number:05}",
        item.is_snippet,
        item.rank == SPENT,
        item.is_snippet and item.asks,
    )


def _proposals(cursor: Cursor, snippets: bool) -> Iterator[CompletionProposal]:
    node, outer = cursor.nodes[0], cursor.nodes[1] if len(cursor.nodes) > 1 else None
    match node, outer:
        case ast.alias(), ast.ImportFrom(module="stepcore.dims"):
            yield from (CompletionProposal(name, Kind.SIZE, FREE) for name in allow.PREDECLARED_SYMBOLS)
        case ast.alias(), ast.ImportFrom(module="stepcore"):
            yield from members.operators(cursor.analysis.dialect, False, members.Known())
            yield from members.types(False, REST)
            yield from members.markers()
        case ast.alias(), _:
            return
        case ast.keyword(), ast.Call():
            yield from _keywords(cursor, outer)
        case ast.Attribute(), _:
            yield from _attributes(cursor, node, snippets)
        case ast.Name(), ast.keyword() | ast.List() | ast.Tuple() | ast.BinOp() | ast.UnaryOp():
            call, name = _keyword_around(cursor)
            yield from _names(cursor, snippets) if call is None else _argument(cursor, call, name, snippets)
        case ast.Name(), ast.Call() if node in outer.args and not _is_apply(outer):
            yield from _keywords(cursor, outer)
            if ready_made(cursor.value(outer.func)) and cursor.place == "program":
                yield from declaring.element_types(cursor, _visible(cursor), snippets)
            elif declaring.maker_of(cursor, outer) not in DECORATORS:  # which take nothing without its name
                yield from _names(cursor, snippets)
        case ast.Name(), _:
            yield from _names(cursor, snippets)


# -- behind a dot -------------------------------------------------------------------------------------------


def _attributes(cursor: Cursor, node: ast.Attribute, snippets: bool) -> Iterator[CompletionProposal]:
    owner = cursor.value(node.value)
    if isinstance(owner, OperatorRef | OperatorValue):
        kind = owner.cls if isinstance(owner, OperatorRef) else owner.ref.cls
        shape = (ONE_INPUT if kind is None else kind.inputs).fields(1, "$1")
        text = "apply" + shape if snippets else "apply"
        yield CompletionProposal("apply", Kind.HELPER, FITS, "", "", text, snippets, asks=True)
        if isinstance(owner, LoopValue):
            text = "close($1)" if snippets else "close"
            yield CompletionProposal("close", Kind.HELPER, FITS, "", "", text, snippets, asks=True)
        return
    path = owner.name if isinstance(owner, ModuleRef) else _dotted(node.value)
    if path == "stepcore" or (path == "step" and owner is UNKNOWN):
        yield from _members(cursor, snippets)
    elif path == "stepcore.fns" or (path == "step.fns" and owner is UNKNOWN):
        yield from members.ready_made(snippets)
    elif path == "stepcore.dims":
        yield from (CompletionProposal(name, Kind.SIZE, FREE) for name in allow.PREDECLARED_SYMBOLS)
    elif path in allow.NAMESPACES:
        functions, constants, modules = allow.NAMESPACES[path]
        yield from (CompletionProposal(name, Kind.HELPER, FREE, path) for name in sorted(functions))
        yield from (CompletionProposal(name, Kind.VALUE, REST, path) for name in sorted(constants))
        yield from (CompletionProposal(name, Kind.MODULE, REST, path) for name in sorted(modules))
    elif cursor.place == "function":
        yield from (CompletionProposal(name, Kind.HELPER, FREE) for name in sorted(allow.TENSOR_METHODS))
        yield from (CompletionProposal(name, Kind.VALUE, REST) for name in sorted(allow.TENSOR_ATTRIBUTES))


def _dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def _members(cursor: Cursor, snippets: bool) -> Iterator[CompletionProposal]:
    """What may stand behind ``step.``: in a program operators, around it decorators and types."""
    visible = _visible(cursor)
    if cursor.place == "module":
        yield from declaring.members_at(cursor, visible, snippets)
        return
    match cursor.nodes[1:3]:
        case ast.keyword(arg=str(name)), ast.Call(func=func):
            operator = operator_of(cursor.value(func))
            param = operator.calling.by_name.get(name) if operator else None
            if operator is not None and param is not None and param.kind is ParamKind.FN:
                yield from members.functions(operator)
    yield from members.operators(cursor.analysis.dialect, snippets, _known(visible) if snippets else members.Known())
    yield from members.types(snippets, REST)
    yield from members.markers()


def _known(visible: list[tuple[str, Value]]) -> members.Known:
    plain: list[str] = []
    folding: list[str] = []
    sizes: list[str] = []
    for name, value in visible:
        if isinstance(value, FnDecl):
            (folding if value.has_state else plain).append(name)
        elif isinstance(value, Dim) and name == str(value):
            sizes.append(name)
    return members.Known(tuple(plain), tuple(folding), tuple(sizes))


# -- keywords and their values ---------------------------------------------------------------------------


def _keywords(cursor: Cursor, call: ast.Call) -> Iterator[CompletionProposal]:
    given = {keyword.arg for keyword in call.keywords}
    for name, doc, kind in _parameters(cursor, call):
        if name not in given:
            yield CompletionProposal(f"{name}=", Kind.PARAMETER, FITS, kind, doc)


def _parameters(cursor: Cursor, call: ast.Call) -> list[tuple[str, str, str]]:
    operator = operator_of(cursor.value(call.func))
    if operator is not None:
        calling = operator.calling
        return [(param.name, param.doc, calling.kind_text(param)) for param in calling.params]
    name = declaring.maker_of(cursor, call)
    return [(key, doc, "") for key, doc in DECORATORS.get(name, {}).items()]


def operator_of(value: Value) -> type[Operator] | None:
    """Return the class of an operator, with parameters or without."""
    if isinstance(value, OperatorValue):
        return value.ref.cls
    return value.cls if isinstance(value, OperatorRef) else None


def _keyword_around(cursor: Cursor) -> tuple[ast.Call | None, str]:
    """Return the call and the name of the argument that the cursor is in: alone, in a list, or in a calculation."""
    for node, outer in pairwise(cursor.nodes[1:]):
        match node, outer:
            case ast.keyword(arg=str(name)), ast.Call():
                return outer, name
            case ((ast.List() | ast.Tuple() | ast.BinOp() | ast.UnaryOp()), _):
                continue
        break
    return None, ""


def _argument(cursor: Cursor, call: ast.Call, name: str, snippets: bool) -> Iterator[CompletionProposal]:
    """What may stand behind ``name=``."""
    operator = operator_of(cursor.value(call.func))
    param = operator.calling.by_name.get(name) if operator else None
    if operator is None or param is None:
        yield from _names(cursor, snippets)
        return
    yield from _of_helper(cursor)
    if param.kind is ParamKind.FN:
        for label, value in _visible(cursor):
            if isinstance(value, FnDecl):
                rank = _fn_rank(cursor, operator, call, param, value)
                yield CompletionProposal(label, Kind.FUNCTION, rank, _fn_detail(cursor, value), words(value.label))
        yield from members.functions(operator, f"{declaring.module_name(_visible(cursor))}.")
        return
    if param.kind is ParamKind.MEMORY:
        for label, value in _visible(cursor):
            if param.kind.accepts(value):
                yield CompletionProposal(label, Kind.WEIGHT, FITS, f"{value.scalar}, {shape_text(value.sizes)}")
        return
    if param.kind is ParamKind.ELEMENT:
        yield from declaring.element_types(cursor, _visible(cursor), snippets)
        return
    if param.kind is ParamKind.FLAG or param.choices:
        for text in ("True", "False") if param.kind is ParamKind.FLAG else map(value_text, param.choices):
            yield CompletionProposal(text, Kind.VALUE, FITS, param.hint)
        return
    wanted = (int, Dim) if param.kind is ParamKind.SIZE or param.kind.holds_sizes else (int,)
    for label, value in _visible(cursor):
        if isinstance(value, wanted) and not isinstance(value, bool):
            yield CompletionProposal(label, Kind.SIZE, FITS, _size_detail(cursor, value))


def _of_helper(cursor: Cursor) -> Iterator[CompletionProposal]:
    """Yield what only a call of the helper around the cursor knows: its arguments, and names of comprehensions."""
    function, module = cursor.enclosing(ast.FunctionDef), cursor.unit.result.module
    names = [
        name.id
        for node in cursor.nodes
        for each in getattr(node, "generators", ())
        for name in ast.walk(each.target)
        if isinstance(name, ast.Name)
    ]
    if isinstance(function, ast.FunctionDef) and all(
        each.node.name != function.name for each in (module.programs if module is not None else ())
    ):
        names += [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
    for name in dict.fromkeys(names):
        yield CompletionProposal(name, Kind.VARIABLE, FREE)


def _fn_detail(cursor: Cursor, value: FnDecl) -> str:
    return seeing(cursor.unit).function_text(value) + (", with state" if value.has_state else "")


def _size_detail(cursor: Cursor, value: Value) -> str:
    checked = cursor.unit.checked
    bound = None if checked is None else checked.spec.bindings().get(str(value))
    return f"= {bound}" if bound is not None else str(value)


def _fn_rank(cursor: Cursor, operator: type[Operator], call: ast.Call, param: Param, fn: FnDecl) -> int:
    """Try the function in the operator, on the stream that it is applied to, if there is one."""
    if fn.has_state != param.folds:
        return MISFITS
    operands = _given_operands(cursor, call)
    values: dict[str, Any] = {}
    known = cursor.value(call)
    if isinstance(known, OperatorValue):
        values = {key: value for key, value in known.params.items() if value is not UNKNOWN}
    values = dict.fromkeys(operator.calling.required, 1) | values | {param.name: fn}
    if operands is None:
        return FREE
    return FITS if _accepts(operator(**values), operands, cursor) else MISFITS


def _given_operands(cursor: Cursor, call: ast.Call) -> list[Operand] | None:
    """Return what the operator is applied to, if all of it is there and typed."""
    apply = next((n for n in cursor.nodes if isinstance(n, ast.Call) and _is_apply(n) and n.func.value is call), None)  # type: ignore[attr-defined]
    if apply is None or not apply.args:
        return None
    types = list(_types(cursor, apply.args[0]))
    return [Operand(item) for item in types if item is not None] if types and None not in types else None


def _types(cursor: Cursor, node: ast.expr) -> Iterator[StreamType | None]:
    if isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from _types(cursor, item)
    else:
        yield _stream_type(cursor, cursor.value(node))


def _is_apply(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "apply"


# -- names ----------------------------------------------------------------------------------------------


def _names(cursor: Cursor, snippets: bool) -> Iterator[CompletionProposal]:
    if cursor.place == "function":
        yield from _function_names(cursor)
        return
    if cursor.place == "module":
        yield from declaring.declared(cursor, _visible(cursor), snippets)
        return
    taken, here = _consumed(cursor), seeing(cursor.unit)
    inside = cursor.enclosing(ast.Call)
    in_parameters = isinstance(inside, ast.Call) and not _is_apply(inside) and operator_of(cursor.value(inside.func))
    for label, value in _visible(cursor):
        if isinstance(value, StreamRef):
            if in_parameters:
                continue
            found = _stream_type(cursor, value)
            rank = SPENT if value.index in taken else _stream_rank(cursor, found)
            spent = " (consumed already)" if rank == SPENT else ""
            yield CompletionProposal(
                label, Kind.STREAM, rank, f"{here.type_text(found)}{spent}" if found is not None else "stream"
            )
        elif isinstance(value, list | tuple):
            yield CompletionProposal(label, Kind.VARIABLE, FREE, f"{len(value)} values")
        elif isinstance(value, Helper):
            yield CompletionProposal(label, Kind.HELPER, REST)
        elif isinstance(value, FnDecl):
            yield CompletionProposal(label, Kind.FUNCTION, REST, _fn_detail(cursor, value))
        elif isinstance(value, int | Dim):
            yield CompletionProposal(label, Kind.SIZE, REST, _size_detail(cursor, value))
        elif isinstance(value, ModuleRef):
            yield CompletionProposal(label, Kind.MODULE, REST, value.name)


def _function_names(cursor: Cursor) -> Iterator[CompletionProposal]:
    function = cursor.enclosing(ast.FunctionDef)
    arguments = [item.arg for item in function.args.args] if isinstance(function, ast.FunctionDef) else []
    task = cursor.unit.result.task
    if task is not None and task.spec is not None:
        block = next((decl.body for decl in task.spec.fns if decl.body.source is cursor.code), None)
        arguments = list(block.arguments) if block is not None else []
        for port in task.spec.parameters:
            yield CompletionProposal(f"input_data['{port.name}']", Kind.WEIGHT, FREE, str(port.type))
    yield from (CompletionProposal(name, Kind.VARIABLE, FITS, "argument") for name in arguments if name != "self")
    for node in ast.walk(cursor.nodes[-1]):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != MARK:
            yield CompletionProposal(node.id, Kind.VARIABLE, FREE)
    for label, value in _visible(cursor):
        if isinstance(value, int | Dim | ModuleRef | Helper):
            yield CompletionProposal(label, Kind.VARIABLE, REST)
    yield from (CompletionProposal(name, Kind.SIZE, REST) for name in allow.PREDECLARED_SYMBOLS)
    yield from (CompletionProposal(name, Kind.HELPER, REST) for name in sorted(allow.BUILTINS))
    yield CompletionProposal("torch", Kind.MODULE, FREE)


def _visible(cursor: Cursor) -> list[tuple[str, Value]]:
    """Return the names that can be used at the cursor with what they stand for, the latest first."""
    statement = cursor.enclosing(ast.stmt)
    here = cursor.span(statement or cursor.nodes[0]).start
    module = cursor.unit.result.module
    checked = cursor.unit.checked
    outside = dict(_of_file(cursor.analysis))
    if module is not None:
        outside.update(module.scope.names)
    outside.update((name, UNKNOWN) for name in sorted(cursor.analysis.names - outside.keys()))
    inside: dict[str, tuple[int, Value]] = {}
    if checked is not None and (module is None or checked.span.start <= here <= checked.end):
        inside.update((s.name, (0, StreamRef(s.index))) for s in checked.graph.streams if s.producer is None)
        if checked.spec.parameters:
            inside.update((name, (0, value)) for name, value in checked.spec.off_chip().items())
        if module is None:
            outside.update({decl.func_name: decl for decl in checked.spec.fns})
            outside.update({name: Dim.symbol(name) for name in (*allow.PREDECLARED_SYMBOLS, *checked.spec.bindings())})
            outside["step"] = ModuleRef("stepcore")
        for item in checked.seen:
            if item.is_store and isinstance(item.node, ast.Name) and node_span(item.code, item.node).start < here:
                inside[item.node.id] = item.node.lineno, item.value
    recent = sorted(inside.items(), key=lambda entry: -entry[1][0])  # of one line: in the order of the text
    found = {name: value for name, (_, value) in recent} | {k: v for k, v in outside.items() if k not in inside}
    found.pop(MARK, None)
    return list(found.items())


def _of_file(analysis: Analysis) -> dict[str, Value]:
    """Return what the names at the top level of a Python file stand for; of one name the last counts."""
    found: dict[str, Value] | None = analysis.memo.get("scope")
    if found is None:
        found = analysis.memo["scope"] = {}
        for unit in analysis.units:
            if unit.result.module is not None:
                found.update(unit.result.module.scope.names)
    return found


def _consumed(cursor: Cursor) -> set[int]:
    """Return the streams that something other than the cursor consumes."""
    checked = cursor.unit.checked
    return set() if checked is None else {use.stream for use in checked.uses}


def _stream_type(cursor: Cursor, value: Value) -> StreamType | None:
    checked = cursor.unit.checked
    if checked is None or not isinstance(value, StreamRef) or value.index >= len(checked.graph.streams):
        return None
    return checked.graph.streams[value.index].type


# -- what fits ------------------------------------------------------------------------------------------------


def _stream_rank(cursor: Cursor, found: StreamType | None) -> int:
    """Say how well a stream of this type fits where the cursor is."""
    if found is None:
        return FREE
    returned = cursor.enclosing(ast.Return)
    call = cursor.enclosing(ast.Call)
    if isinstance(call, ast.Call) and _is_apply(call):
        return _operand_rank(cursor, call, found)
    if isinstance(returned, ast.Return):
        return _output_rank(cursor, returned, found)
    return FREE


def _output_rank(cursor: Cursor, returned: ast.Return, found: StreamType) -> int:
    outputs = cursor.unit.checked.spec.outputs if cursor.unit.checked is not None else None
    if not outputs:
        return FREE
    position = _position(cursor, returned.value)
    wanted = outputs[position].type if position < len(outputs) else None
    return FITS if found == wanted else MISFITS


def _operand_rank(cursor: Cursor, call: ast.Call, found: StreamType) -> int:
    value = cursor.value(call.func.value)  # type: ignore[attr-defined]
    operator = operator_of(value)
    argument = call.args[0] if call.args else None
    if operator is None or argument is None:
        return FREE
    position = _position(cursor, argument)
    if operator.inputs.selector is not None:
        if position != operator.inputs.selector:
            return FREE
        return FITS if isinstance(found.element, Multihot) else MISFITS
    others = list(_types(cursor, argument))
    beside = [item for at, item in enumerate(others) if at != position]
    if len(operator.inputs.parts) > 1 and (len(others) < len(operator.inputs.parts) or None in beside):
        return FREE
    others[position : position + 1] = [found]
    operands = [Operand(item) for item in others if item is not None]
    op = value.op if isinstance(value, OperatorValue) else None
    if op is None:
        return FREE
    return FITS if _accepts(op, operands, cursor) else MISFITS


def _position(cursor: Cursor, argument: ast.expr | None) -> int:
    """Return which element of a tuple the cursor is in; 0 where there is no tuple."""
    if not isinstance(argument, ast.Tuple | ast.List):
        return 0
    return next((at for at, item in enumerate(argument.elts) if item in cursor.nodes), 0)


def _accepts(op: Operator, operands: Sequence[Operand], cursor: Cursor) -> bool:
    checked = cursor.unit.checked
    try:
        op.infer(operands, TypingContext(checked.spec.bindings() if checked is not None else None))
    except RuleError:
        return False
    return True
