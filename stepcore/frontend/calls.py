"""Calls in programs: builtins, list methods, operators' parameters, types, helpers and element functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from stepcore.findings.budget import OutOfBudget
from stepcore.findings.diagnostics import Edit, Fix, StepError
from stepcore.findings.near import nearest
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.fn.decl import FnDecl
from stepcore.frontend import advice, functions, sequences
from stepcore.frontend.bounds import bounded
from stepcore.frontend.state import MAX_CALL_DEPTH, MAX_WRITTEN, Abandon, Frame
from stepcore.frontend.values import (
    MADE,
    UNKNOWN,
    Alternatives,
    DictView,
    EvaluationContext,
    FnClass,
    Helper,
    LoopValue,
    Method,
    ModuleRef,
    OnePass,
    OperatorRef,
    OperatorValue,
    ProgramBuiltin,
    Scope,
    Seen,
    StreamRef,
    TypeMaker,
    UnknownSequence,
    Value,
    describe,
    is_stream,
    is_unknown,
    ready_made,
)
from stepcore.ops import miscalls
from stepcore.ops.calling import Calling, Param, ParamKind
from stepcore.ops.pace import LoopPart
from stepcore.records import make
from stepcore.sizes.dim import MARKS, SIZE_RULE, Dim, is_name, is_size
from stepcore.text.span import Span
from stepcore.text.wording import few, whole
from stepcore.types import MAX_COMPONENTS, TILE_RULE, Buffer, Element, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

MAX_NAME = 64  # characters of a size's name, which stand in each size that holds it
LIST_METHODS = frozenset({"append", "extend", "insert", "pop", "reverse", "index", "copy"})

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
    near = [] if makes else nearest(name, el.dialect.by_name) or nearest(name, (*SCALARS, *TYPE_MAKERS, *MARKERS))
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


def call(el: Elaboration, callee: Value, node: ast.Call) -> Value:
    """Return the value of a call that is not an application."""
    if isinstance(callee, OperatorRef):
        value = _operator(el, callee, node)
        el.seen.append(make(Seen, (node, el.frame.code, value, False)))
        return value
    el.hidden += 1
    if isinstance(callee, TypeMaker):
        made = _marker(el, callee, node)
        return _type(el, callee, node) if made is None else made
    if isinstance(callee, Helper):
        return _helper(el, callee, node)
    if isinstance(callee, FnClass):
        return functions.instantiate(el, callee, node)
    if isinstance(callee, Method) and isinstance(callee.owner, TypeMaker):  # step.Stream.of
        made = el.make_stream(node, of_tensors=True)
        return _no_new_stream(el, node) if made is None else made
    if isinstance(callee, ModuleRef | Method) and (tensor := el.make_tensor(callee, node)) is not None:
        return tensor
    if isinstance(callee, ProgramBuiltin) and callee.name == "print" and not el.prints:
        return _print(el, node, [])  # what it would show is part of the same mistake
    args = _arguments(el, node, keep_lambdas=callee is not UNKNOWN)
    if args is None or callee is UNKNOWN:
        el.gives_away(args)
        el.graph.complete = el.graph.complete and callee is not UNKNOWN
        el.suppress_unused = True
        return UNKNOWN
    if made_name := ready_made(callee):
        return _factory(el, made_name, node, args)
    if isinstance(callee, ProgramBuiltin):
        return _builtin(el, callee.name, node, args)
    if isinstance(callee, Method):
        return _method(el, callee, node, args)
    if isinstance(callee, ModuleRef) and callee.name.removeprefix("sympy.") in OF_SYMPY:
        return _symbols_of_sympy(callee.name, args)
    _not_called(el, callee, node)
    el.gives_away(args)
    el.graph.complete = False
    el.suppress_unused = True
    return UNKNOWN


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


def _arguments(el: Elaboration, node: ast.Call, *, keep_lambdas: bool) -> list[Value] | None:
    """Evaluate all arguments; None when a starred one cannot be taken apart.

    A lambda that is given to something forbidden is part of that mistake.
    """
    given = [arg for arg in node.args if keep_lambdas or not isinstance(arg, ast.Lambda)]
    args = sequences.items_of(el, given)
    for keyword in node.keywords:
        if not keep_lambdas and isinstance(keyword.value, ast.Lambda):
            continue
        value = el.evaluate(keyword.value)
        if args is not None and keyword.arg != "strict":
            args.append(value)
    return args


# -- operators' parameters ---------------------------------------------------------------------------


def _operator(el: Elaboration, ref: OperatorRef, node: ast.Call) -> Value:
    """Return the operator with its parameters; each parameter is checked for its kind."""
    values: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    if ref.cls is None:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            _argument(el, argument)
        return OperatorValue(ref, None, values, spans, el.span(node.func))
    usable, calling = not node.args, ref.cls.calling
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
            known = [item.arg or "" for item in node.keywords]
            el.unknown_keyword(keyword, miscalls.unknown_parameter(ref.name, calling, keyword.arg, known))
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
    unnamed = [(arg, _argument(el, arg)) for arg in node.args]
    mistake = miscalls.unnamed_parameters(name, calling, unnamed, {item.arg or "" for item in node.keywords}, el)
    first = el.span(node.args[0])
    edit = Edit(Span(first.start, first.start), f"{mistake.meant}=")
    fix = Fix(f"Name it {mistake.meant}", (edit,)) if mistake.meant else None
    is_one = is_stream(unnamed[0][1]) or not calling.own
    el.tell(mistake, first if is_one else first.cover(el.span(node.args[-1])), fix)


def _size(el: Elaboration, name: str, param: Param, node: ast.expr, value: Dim | int) -> Value:
    size = Dim.of(value)
    number = el.bound(size)
    if number is not None and not is_size(number):
        el.report("STEP217", node, f"{param.name} of {name} is {whole(number)}", SIZE_RULE)
        return UNKNOWN
    return value if isinstance(value, int) else size


# -- helpers -----------------------------------------------------------------------------------------


def helper(el: Elaboration, node: ast.FunctionDef | ast.Lambda) -> Helper:
    """Return the helper function that a definition makes; its defaults are evaluated here, once for all calls."""
    made = Helper(node, el.frame.scope, el.frame.code)
    _defaults(el, made)
    return made


def _helper(el: Elaboration, helper: Helper, node: ast.Call) -> Value:
    """Elaborate a helper function with its arguments bound; its return is the value of the call."""
    outer = el.frame
    if outer.context.depth >= MAX_CALL_DEPTH:
        el.report("STEP221", node, "helper functions call each other too deeply", "end the recursion")
        raise Abandon
    bound = _bind_parameters(el, helper, node)
    if bound is None:
        el.suppress_unused = True
        return UNKNOWN
    names, pairs = bound
    body = helper.node.body if isinstance(helper.node, ast.FunctionDef) else []
    context = EvaluationContext(
        "call", helper.code, outer.context, node, body, arguments=pairs, depth=outer.context.depth + 1
    )
    el.frame = Frame(Scope(names, helper.scope), helper.code, context)
    try:
        if isinstance(helper.node, ast.Lambda):
            return el.evaluate(helper.node.body)
        el.suite(helper.node.body)
        returned = el.frame.returned
    except OutOfBudget as error:
        raise error.at(el.span(el.at)) from None  # it stands in the helper's text
    finally:
        el.frame = outer
    return _returned(el, returned)


def _returned(el: Elaboration, returned: list[tuple[Any, ast.expr | None, Value]]) -> Value:
    if not returned:
        return None
    path, _, value = returned[-1]
    for earlier_path, _, earlier in reversed(returned[:-1]):
        branch = next((arm for arm in earlier_path if arm not in path), None)
        if branch is None:
            return earlier
        first, second = (earlier, value) if branch[1] == 0 else (value, earlier)
        value = el.join(branch[0], first, second)
    return value


def _bind_parameters(
    el: Elaboration, helper: Helper, node: ast.Call
) -> tuple[dict[str, Value], list[tuple[ast.expr, Value]]] | None:
    spec = helper.node.args
    positional = [*spec.posonlyargs, *spec.args]
    names: dict[str, Value] = {}
    pairs: list[tuple[ast.expr, Value]] = []
    given: list[tuple[ast.expr, Value]] = []
    for arg in node.args:
        value = el.evaluate(arg.value if isinstance(arg, ast.Starred) else arg)
        if not isinstance(arg, ast.Starred):
            given.append((arg, value))
            continue
        items = sequences.iterate(el, arg, value)
        if items is None or isinstance(items, UnknownSequence):
            return None
        pairs.append((arg.value, value))
        given.extend((arg.value, item) for item in items)
    for parameter, (expr, value) in zip(positional, given, strict=False):
        names[parameter.arg] = value
        pairs.append((expr, value))
    rest = [value for _, value in given[len(positional) :]]
    if spec.vararg is not None:
        names[spec.vararg.arg] = tuple(rest)
        pairs.extend(given[len(positional) :])
    known = {parameter.arg for parameter in (*spec.args, *spec.kwonlyargs)}
    wrong = bool(rest) and spec.vararg is None
    for keyword in node.keywords:
        value = el.evaluate(keyword.value)
        wrong = wrong or keyword.arg not in known or keyword.arg in names
        if keyword.arg is not None:
            names[keyword.arg] = value
            pairs.append((keyword.value, value))
    for name, value in _defaults(el, helper).items():
        names.setdefault(name, value)
    wanted = [parameter.arg for parameter in (*positional, *spec.kwonlyargs)]
    missing = [name for name in wanted if name not in names]
    if wrong or missing:
        name = el.text(node.func)
        what = f"lacks {', '.join(missing)}" if missing else f"gets {_too_much(node, rest, known)}"
        el.report("STEP224", node, f"this call of {name} {what}", f"it takes {', '.join(wanted) or 'nothing'}")
        el.graph.complete = False
        return None
    return names, pairs


def _too_much(node: ast.Call, rest: list[Value], known: set[str]) -> str:
    unknown = [keyword.arg for keyword in node.keywords if keyword.arg is not None and keyword.arg not in known]
    if unknown:
        return ", ".join(unknown)
    return f"{few(len(rest), 'argument')} too many" if rest else "an argument twice"


def _defaults(el: Elaboration, helper: Helper) -> dict[str, Value]:
    """Return the values of a helper's defaults: those of the definition, which all calls share, as in Python.

    Helpers of a module are defined before the program begins, and their defaults evaluated at the first call.
    """
    known = el.defaults.get(helper)
    if known is not None:
        return known
    names = el.defaults[helper] = {}
    spec = helper.node.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [
        *zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True),
        *((p, d) for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None),
    ]
    outer = el.frame
    # A default stands in the helper's text and sees the names there, not those of the caller.
    el.frame = Frame(Scope({}, helper.scope), helper.code, outer.context)
    try:
        for parameter, default in pairs:
            names[parameter.arg] = el.evaluate(default)
    except OutOfBudget as error:
        raise error.at(el.span(el.at)) from None
    finally:
        el.frame = outer
    return names


def decorated_function(el: Elaboration, node: ast.FunctionDef) -> FnDecl | FnClass | None:
    """Return the element function that ``@step.fn(...)`` makes, or None for a plain helper."""
    made: FnDecl | FnClass | None = None
    for decorator in node.decorator_list:
        is_call = isinstance(decorator, ast.Call)
        before = len(el.diagnostics)
        callee = el.evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if is_call and made is None and isinstance(callee, TypeMaker) and callee.name == "fn":
            assert isinstance(decorator, ast.Call)
            made = functions.from_decorator(el, node, decorator)
        elif len(el.diagnostics) == before and callee is not UNKNOWN:
            el.report("STEP220", decorator, "this decorator is not part of the program language", "remove it")
            el.graph.complete = False
    return made


# -- types -------------------------------------------------------------------------------------------


def _parts_are_usable(el: Elaboration, maker: TypeMaker, node: ast.Call, parts: list[Value]) -> bool:
    """Return whether no part of a type's arguments is a stream, and each number a size; report it otherwise."""
    el.charge(len(parts))
    others = [part for part in parts if type(part) is not Dim and type(part) is not Scalar]
    if any(map(is_unknown, others)):
        return False
    if len(parts) > MAX_COMPONENTS:
        el.report("STEP222", node, f"this type has {len(parts)} parts", f"at most {MAX_COMPONENTS} are possible")
        return False
    wrong = next((size for size in others if isinstance(size, int) and not is_size(size)), None)
    if wrong is not None:
        el.report("STEP217", node, f"a size of this type is {whole(wrong)}", SIZE_RULE)
        return False
    if any(map(is_stream, others)):
        text = f"{el.text(node)} would be a type, and a stream is none"
        zipped = f"step.Zip().apply({el.text(node.args[0])})" if maker.name == "STuple" and node.args else ""
        el.report(
            "STEP222", node, text, f"write {zipped}" if zipped else "write types: step.f32, step.Buffer(step.f32, [K])"
        )
        return False
    return True


def _type(el: Elaboration, maker: TypeMaker, node: ast.Call) -> Value:
    """Return the element type or symbol that ``step.Buffer(...)`` and the like make."""
    args = _arguments(el, node, keep_lambdas=True)
    if args is None:
        el.suppress_unused = True
        return UNKNOWN
    parts = [part for arg in args for part in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    if not _parts_are_usable(el, maker, node, parts):
        return UNKNOWN
    try:
        made = _made(el, maker, args)
    except (ValueError, TypeError, AttributeError) as error:
        el.report(
            "STEP222", node, f"{el.text(node)} is not a type: {error}", "`stepsmith explain element-types` lists them"
        )
        return UNKNOWN
    if made is not None:
        return made if isinstance(made, Dim) else _of_known_kinds(el, node, parts, made)
    if maker.name == "Stream":
        return _no_new_stream(el, node)
    if maker.name in DECORATORS:
        text = f"{el.text(node.func)} makes {DECORATORS[maker.name]} of a def, and stands above it"
        el.report("STEP222", node, text, f"write @{el.text(node)} in a line of its own, and a def below")
        return UNKNOWN
    how = {
        "Scalar": 'step.Scalar("float")',
        "Symbol": 'step.Symbol("M")',
        "dyn": 'step.dyn("L")',
        "ragged": 'step.ragged("L")',
        "any_size": 'step.any_size("R")',
        "Multihot": "step.Multihot(step.f32, E)",
        "Buffer": "step.Buffer(step.f32, [K, D])",
        "Tile": 'step.Tile("float", [16, 16])',
        "STuple": "step.STuple((a, b))",
    }.get(maker.name)
    text = f"{el.text(node)} is no type"
    el.report("STEP222", node, text, f"write it like {how}" if how else "remove it")
    return UNKNOWN


def _no_new_stream(el: Elaboration, node: ast.Call) -> Value:
    way_out = "declare it in inputs of the task" if el.is_task else "make it an argument of the program"
    el.report("STEP222", node, "a program makes no streams but by operators", way_out)
    return UNKNOWN


def _made(el: Elaboration, maker: TypeMaker, args: list[Value]) -> Element | Dim | None:
    """Return the type or the size that a maker makes of its arguments; None where they are not its own."""
    match maker.name, args:
        case "Scalar", [str() as dtype]:
            return Scalar(dtype)
        case (("Symbol" | "dyn" | "ragged" | "any_size"), [str() as name]) if is_name(name):
            if len(name) > MAX_NAME:
                raise ValueError(f"the name of a size has at most {MAX_NAME} characters")
            return Dim.symbol(MARKS.get(maker.name, "") + name)
        case "Multihot", [Scalar() as scalar, (int() | Dim()) as length]:
            return Multihot(scalar, length)
        case "Buffer", [(Scalar() | Multihot() | Tile()) as element, (list() | tuple()) as sizes]:
            return Buffer(element, el.dialect.sizes(sizes))
        case "Tile", [(str() | Scalar()) as dtype, (list() | tuple()) as sizes]:
            return _tile_type(dtype, sizes)
        case "STuple", [(list() | tuple()) as items]:
            return _tuple_type(items)
    return None


def _of_known_kinds(el: Elaboration, node: ast.Call, parts: list[Value], made: Element) -> Value:
    """Return a type, if its sizes are of kinds that it may have; report it otherwise."""
    if not [part for part in parts if type(part) is Dim and part.is_open]:
        return made
    from stepcore.open_types.rules import fault_in  # most types have static sizes

    fault = fault_in(made)
    if fault is None:
        return made
    el.report("STEP226", node, fault.message)
    return UNKNOWN


def _tile_type(dtype: str | Scalar, sizes: list[Value] | tuple[Value, ...]) -> Tile:
    if len(sizes) != 2:
        raise ValueError(TILE_RULE)
    return Tile(dtype, sizes)


def _tuple_type(items: list[Value] | tuple[Value, ...]) -> STuple:
    if not items or not all(isinstance(item, Scalar | Multihot | Buffer | Tile) for item in items):
        raise ValueError("a tuple holds scalars, buffers, selectors and tiles")
    if len(items) > MAX_COMPONENTS:
        raise ValueError(f"a tuple has at most {MAX_COMPONENTS} components")
    return STuple(items)


def annotated(el: Elaboration, maker: TypeMaker, node: ast.Subscript) -> Value:
    """Return the parts of ``Annotated[...]`` or ``tuple[...]`` as a tuple headed by the maker."""
    if maker.name in TYPE_MAKERS:
        text = f"step.{maker.name} is called, and {el.text(node)} indexes it"
        el.report("STEP222", node, text, f"write step.{maker.name}(...) with parentheses")
        return UNKNOWN
    parts = el.evaluate(node.slice)
    return (maker, *parts) if isinstance(parts, tuple) else (maker, parts)


# -- builtins and list methods -----------------------------------------------------------------------


def _range(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    numbers = [value if isinstance(value, int) else el.integer(value) for value in args]
    wrong = next((value for value in args if not isinstance(value, int | Dim) and not is_unknown(value)), None)
    if wrong is not None:
        el.report("STEP224", node, f"{el.text(node)}: {describe(wrong)} is no integer", "write range(3)")
        return UNKNOWN
    if any(isinstance(value, Dim) and value.symbols() for value in args) or None in numbers:
        return UnknownSequence(UNKNOWN)
    bounds = [number for number in numbers if number is not None]
    if not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and bounds[2] == 0):
        el.report("STEP224", node, "range takes a stop, or start, stop and step", "write range(3)")
        return UNKNOWN
    span = range(*bounds)
    # len() of a huge range overflows, so look whether an item exists beyond the limit.
    if span[sequences.MAX_ITEMS :]:
        el.report("STEP221", node, "this range is too long to be unrolled", f"at most {sequences.MAX_ITEMS} items")
        return UNKNOWN
    return span


def _given(node: ast.Call, place: int) -> ast.expr:
    """Return the argument at ``place`` where each has an expression of its own, else the call."""
    is_plain = place < len(node.args) and not any(isinstance(argument, ast.Starred) for argument in node.args)
    return node.args[place] if is_plain else node


def _zip(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    columns = [sequences.rounds(el, _given(node, place), value) for place, value in enumerate(args)]
    if any(column is None for column in columns):
        return UNKNOWN
    known = [column for column in columns if isinstance(column, Iterator)]
    if len(known) < len(columns):
        return UnknownSequence(
            tuple(c.item if isinstance(c, UnknownSequence) else next(c, UNKNOWN) for c in columns if c is not None)
        )
    counts = {sequences.count_of(value) for value in args}
    if len(counts) > 1 and any(item.arg == "strict" and el.evaluate(item.value) is not False for item in node.keywords):
        el.report("STEP224", node, "zip(..., strict=True) is given lists of other lengths", "leave strict out")
        return UNKNOWN
    return sequences.one_pass(el, node, "zip", zip(*known, strict=False), min(counts, default=0), 1 + len(args), args)


def _enumerate(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    items = sequences.rounds(el, _given(node, 0), args[0]) if args else None
    start = el.integer(args[1]) if len(args) > 1 else 0
    if items is None or start is None:
        return UNKNOWN
    if isinstance(items, UnknownSequence):
        return UnknownSequence((UNKNOWN, items.item))
    count = sequences.count_of(args[0])
    return sequences.one_pass(el, node, "enumerate", enumerate(items, start), count, 2, args[:1])


def _reversed(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    value: Value = args[0] if args else UNKNOWN
    if isinstance(value, UnknownSequence):
        return value
    look: Any = value.look() if isinstance(value, DictView) else value
    if isinstance(value, list | tuple | dict | range | DictView):
        return sequences.one_pass(el, node, "reversed", reversed(look), len(look), 1, [])
    if value is not UNKNOWN:
        text = f"{el.what(_given(node, 0), value)} and cannot be reversed"
        el.report("STEP224", node, text, "only lists and tuples can; make one with list(...)")
        el.graph.complete = False
    return UNKNOWN


def _len(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    if len(args) == 1 and isinstance(args[0], list | tuple | dict | str | range):
        return len(args[0])
    if len(args) == 1 and isinstance(args[0], DictView):
        return len(args[0].owner)
    if len(args) == 1 and args[0] is not UNKNOWN and not isinstance(args[0], UnknownSequence):
        way_out = "write its size by name, such as M" if is_stream(args[0]) else "len is for lists and tuples"
        el.report("STEP224", node, f"{el.what(_given(node, 0), args[0])} and has no length", way_out)
    return UNKNOWN


def _sequence(make: Callable[[list[Value]], Value]) -> Callable[[Elaboration, ast.Call, list[Value]], Value]:
    def build(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
        if not args:
            return make([])
        items = sequences.iterate(el, _given(node, 0), args[0])
        return items if isinstance(items, UnknownSequence) else UNKNOWN if items is None else make(items)

    return build


_NO_NUMBERS = (StreamRef, Alternatives, str, FnDecl, list, tuple, dict, range, OnePass, DictView)


_SEQUENCES = (list, tuple, range, OnePass, DictView)


def _numeric(compute: Callable[..., int], *, of: str) -> Callable[[Elaboration, ast.Call, list[Value]], Value]:
    """Return the call of a function of one number, of a sequence, or of any of both."""

    def build(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
        values: list[Value] = args
        if of != "a number" and len(args) == 1 and isinstance(args[0], _SEQUENCES):
            taken = sequences.iterate(el, _given(node, 0), args[0])
            values = taken if isinstance(taken, list) else []
        elif of != "a number" and len(args) == 1 and isinstance(args[0], int | float | Dim):
            text = f"{el.text(node)}: {el.text(node.args[0]) if node.args else 'this'} is one number"
            el.report("STEP224", node, text, f"{el.text(node.func)} takes a list of numbers")
            return UNKNOWN
        el.charge(len(values))
        numbers = [el.integer(value) for value in values]
        if None in numbers or not numbers:
            wrong = [value for value in values if isinstance(value, _NO_NUMBERS)]
            if wrong or not numbers:
                text = f"{el.text(node)}: {describe(wrong[0]) if wrong else 'nothing'} is no number"
                way_out = (
                    "fold elements with step.Accum(fn=..., b=...)" if wrong and is_stream(wrong[0]) else "pass integers"
                )
                el.report("STEP224", node, text, way_out)
                el.graph.complete = False
            return UNKNOWN
        return bounded(el, node, compute(numbers))

    return build


def _print(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    el.report("STEP220", node, "a program cannot print", "remove the call, or use `stepsmith simulate` to see values")
    return None


_LIST_CALLS = {
    "append": "append(ITEM), with one item", "extend": "extend([...])", "insert": "insert(POSITION, ITEM)",
    "pop": "pop(), or pop(POSITION) of an item that is there", "index": "the position itself",
}  # fmt: skip

# How many arguments they take at least and at most, as far as they do not say so themselves, and which by name.
_TAKEN: Final[dict[str, tuple[int, int]]] = {
    "len": (1, 1), "list": (0, 1), "tuple": (0, 1), "reversed": (1, 1), "enumerate": (1, 2), "sum": (1, 1),
    "int": (1, 1), "abs": (1, 1),
}  # fmt: skip
_NAMED: Final = {"zip": ("strict",), "enumerate": ("start",)}


def _builtin(el: Elaboration, name: str, node: ast.Call, args: list[Value]) -> Value:
    """Return what a function of Python gives; a call that Python would refuse is reported."""
    least, most = _TAKEN.get(name, (0, len(args)))
    named = _NAMED.get(name, ())
    other = next((keyword for keyword in node.keywords if keyword.arg not in named), None)
    if other is not None and name != "print":
        text = f"{name} takes no {other.arg}" if other.arg else f"{name} takes no **"
        el.report("STEP224", other, text, "leave the name out" if other.arg else "write its arguments out")
        return UNKNOWN
    if not least <= len(args) <= most:
        wanted = f"{few(least, 'argument')}" if least == most else f"{least} to {few(most, 'argument')}"
        el.report("STEP224", node, f"{name} takes {wanted}, found {len(args)}", "write those that it takes")
        return UNKNOWN
    return _BUILTINS[name](el, node, args)


_BUILTINS: dict[str, Callable[[Any, ast.Call, list[Value]], Value]] = {
    "range": _range,
    "zip": _zip,
    "enumerate": _enumerate,
    "len": _len,
    "list": _sequence(list),
    "tuple": _sequence(tuple),
    "reversed": _reversed,
    "min": _numeric(min, of="numbers"),
    "max": _numeric(max, of="numbers"),
    "sum": _numeric(sum, of="a list"),
    "int": _numeric(lambda numbers: numbers[0], of="a number"),
    "abs": _numeric(lambda numbers: abs(numbers[0]), of="a number"),
    "print": _print,
}


def _method(el: Elaboration, method: Method, node: ast.Call, args: list[Value]) -> Value:
    owner = method.owner
    if isinstance(owner, dict):
        return DictView(owner, method.name)  # type: ignore[arg-type]  # one of the three, as an attribute of dictionaries
    more = len(args[0]) if method.name == "extend" and args and isinstance(args[0], list | tuple) else 1
    if not sequences.fits(el, node, len(owner) + more):
        return UNKNOWN
    el.charge(len(owner) if method.name in ("copy", "insert", "reverse") else more)
    match method.name, args:
        case "append", [item]:
            owner.append(item)
            return None
        case "extend", [list() | tuple() as items]:
            owner.extend(items)
            return None
        case "insert", [int() as position, item]:
            owner.insert(max(-len(owner), min(position, len(owner))), item)  # Python's own insert overflows
            return None
        case "pop", [] | [int()] if owner and -len(owner) <= (args[0] if args else -1) < len(owner):
            return owner.pop(*args)
        case "reverse", []:
            owner.reverse()
            return None
        case "copy", []:
            return list(owner)
    if UNKNOWN not in args:
        how = _LIST_CALLS.get(method.name, f"{method.name}()")
        el.report("STEP224", node, f"{el.text(node)} is no call of a list's {method.name}", f"write {how}")
    return UNKNOWN
