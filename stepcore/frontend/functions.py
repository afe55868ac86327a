"""Element functions of Python files: ``@step.fn(...)`` and subclasses of ``step.Fn`` become :class:`FnDecl`."""

from __future__ import annotations

import ast
from collections.abc import Container
from typing import TYPE_CHECKING

from stepcore.findings.budget import OutOfBudget
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.frontend.state import Frame
from stepcore.frontend.values import (
    UNKNOWN,
    EvaluationContext,
    FnClass,
    Scope,
    TypeMaker,
    Value,
    describe,
    holds_unknown,
)
from stepcore.ops import miscalls
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Element, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

FN_PARAMETERS = ["input", "output", "init", "name"]
ELEMENTS = (Scalar, Buffer, Multihot, Tile, STuple)


def from_decorator(el: Elaboration, node: ast.FunctionDef, decorator: ast.Call) -> FnDecl | None:
    """Return the function of ``@step.fn(input=..., output=..., init=[...])``."""
    given = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
    before = len(el.diagnostics)
    for keyword in decorator.keywords:
        if keyword.arg and keyword.arg not in FN_PARAMETERS:
            el.unknown_keyword(
                keyword, miscalls.unknown_keyword("step.fn", keyword.arg, dict.fromkeys(FN_PARAMETERS, ""), given)
            )
    by_name_only(el, "step.fn", decorator)
    plain_arguments(el, "an element function", node.args, keywords=False)
    types: dict[str, Element] = {}
    for name in ("input", "output"):
        if name not in given:
            if len(el.diagnostics) == before:  # otherwise it is there, under another name or without one
                el.report("STEP203", decorator, f"step.fn lacks {name}", f"write {name}=TYPE")
            continue
        element = element_type(el, given[name])
        if element is not None:
            types[name] = element
    init = _init_constants(el, given.get("init"))
    takes_its_own = _takes_its_arguments(el, node, "init", has_state=init is not None)
    if len(types) < 2 or not takes_its_own:
        return UNKNOWN  # type: ignore[return-value]  # the finding is given; uses stay quiet
    label = el.evaluate(given["name"]) if "name" in given else node.name
    return FnDecl(
        func_name=node.name,
        label=label if isinstance(label, str) else node.name,
        input=types["input"],
        output=types["output"],
        body=suite_block(el.frame.code, node),
        init=init,
        span=_name_span(el, node),
        input_span=el.span(given["input"]),
        output_span=el.span(given["output"]),
        init_span=el.span(given["init"]) if "init" in given else None,
    )


def by_name_only(el: Elaboration, owner: str, decorator: ast.Call) -> None:
    """Report what a decorator of ours is given without a name: nobody reads it."""
    unnamed = [*decorator.args, *(keyword.value for keyword in decorator.keywords if keyword.arg is None)]
    if unnamed:
        names = ("input", "output", "init") if owner == "step.fn" else ("reference", "dims")
        pairs = [f"{name}={el.text(argument)}" for name, argument in zip(names, decorator.args, strict=False)]
        way_out = f"write {owner}({', '.join(pairs)})" if pairs else "name it, or remove it"
        el.report("STEP203", unnamed[0], f"{owner} takes its parameters by name only", way_out)


def plain_arguments(el: Elaboration, what: str, args: ast.arguments, *, keywords: bool) -> None:
    """Report arguments that have no meaning: those with defaults, those with stars, and those by keyword only."""
    if not (args.vararg or args.kwarg or args.defaults or args.kwonlyargs):
        return
    others = [argument for argument in (args.vararg, args.kwarg, *(() if keywords else args.kwonlyargs)) if argument]
    defaults = [default for default in (*args.defaults, *args.kw_defaults) if default is not None]
    if others or defaults:
        where = (others or defaults)[0]
        el.report("STEP220", where, f"{what} takes plain arguments only", "remove defaults, stars and all others")


def element_type(el: Elaboration, node: ast.expr) -> Element | None:
    """Return the element type that an expression stands for; a tuple of types is a tuple type."""
    value = el.evaluate(node)
    if isinstance(value, tuple | list) and value and all(isinstance(item, ELEMENTS) for item in value):
        return STuple(value)
    if isinstance(value, ELEMENTS):
        return value
    if not holds_unknown(value):
        el.report("STEP222", node, f"an element type is expected, and this is {describe(value)}", "write step.f32, say")
    return None


def _init_constants(el: Elaboration, node: ast.expr | None) -> tuple[float, ...] | None:
    if node is None:
        return None
    before = len(el.diagnostics)
    value = el.evaluate(node)
    if value is None:
        return None
    items = value if isinstance(value, list | tuple) else [value]
    constants = [_constant(item) for item in items]
    if any(constant is None for constant in constants):
        del el.diagnostics[before:]  # what such a value is made of does not matter
        text = f'an init holds 0, 1, -1 or "-inf" for each component, and this is {el.text(node)}'
        el.report("STEP309", node, text, 'write init=["-inf"]' if "inf" in el.text(node) else "for example init=[0]")
        return (0.0,) * len(items)
    return tuple(constant for constant in constants if constant is not None)


def _takes_its_arguments(el: Elaboration, node: ast.FunctionDef, init: str, *, has_state: bool) -> bool:
    """Report a function whose arguments are not the element, or the state and the element; return whether they are.

    ``init`` is what gives such a function its state. Methods have ``self`` besides.
    """
    own = ["self"] if init == "getInit" else []
    wanted = [*own, "state", "input"] if has_state else [*own, "input"]
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if len(names) == len(wanted) or node.args.vararg or node.args.kwarg:
        return True
    takes = ", ".join(wanted)
    why = f"no {init}" if not has_state else init if own else f"an {init}"
    what = f"{node.name} has {why} and so takes ({takes}), and this takes ({', '.join(names)})"
    way_out = f"write def {node.name}({takes})"
    if not has_state and len(names) == len(wanted) + 1:
        way_out += ", or give it an init if it folds" if init == "init" else ", or define getInit(self) if it folds"
    el.report("STEP220", _name_span(el, node), what, way_out)
    return False


def _constant(value: Value) -> float | None:
    if isinstance(value, str) and value.replace(" ", "") == "-inf":
        return float("-inf")
    if isinstance(value, int | float) and not isinstance(value, bool) and value in (0, 1, -1, float("-inf")):
        return float(value)
    return None


def suite_block(code: Embedded, node: ast.FunctionDef) -> CodeBlock:
    """Return the body of ``node``, dedented, with its place in the outer file."""
    arguments = tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args) if argument.arg != "self")
    lines = code.inner
    first = node.body[0]
    first_line = first.lineno - 1
    if isinstance(first, ast.FunctionDef | ast.ClassDef) and first.decorator_list:
        first_line = first.decorator_list[0].lineno - 1  # for Python a definition begins behind its decorators
    if first_line == node.lineno - 1 or not code.verbatim:  # def f(x): return x
        start = lines.offset_from_utf8(first_line, first.col_offset)
        end = lines.offset_from_utf8(node.end_lineno - 1, node.end_col_offset)  # type: ignore[operator,arg-type]
        outer = Span(code.to_outer(start), code.to_outer(end))
        return CodeBlock(Embedded(code.text[start:end], (outer.start,), outer, code.verbatim), arguments)
    indent = first.col_offset
    pieces: list[str] = []
    offsets: list[int] = []
    for line in range(first_line, node.end_lineno or first_line + 1):
        text = lines.line_text(line)
        cut = min(indent, len(text) - len(text.lstrip(" \t")))
        pieces.append(text[cut:])
        offsets.append(code.to_outer(lines.line_starts[line] + cut))
    text = "".join(pieces)
    if text.endswith("\n"):
        offsets.append(offsets[-1] + len(pieces[-1]))
    end = code.to_outer(lines.offset_from_utf8((node.end_lineno or 1) - 1, node.end_col_offset or 0))
    return CodeBlock(Embedded(text, tuple(offsets), Span(offsets[0], end), True, " " * indent), arguments)


def _name_span(el: Elaboration, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Span:
    line = el.frame.code.inner.line_text(node.lineno - 1)
    column = line.find(node.name, node.col_offset)
    start = el.frame.code.to_outer(el.frame.code.inner.offset(node.lineno - 1, max(column, 0)))
    return Span(start, start + len(node.name))


def instantiate(el: Elaboration, cls: FnClass, call: ast.Call) -> Value:
    """Return the function that ``Sum(...)`` makes, from the class's ``super().__init__(name, input, output)``."""
    methods = {item.name: item for item in cls.node.body if isinstance(item, ast.FunctionDef)}
    apply_method = methods.get("apply")
    if apply_method is None or "__init__" not in methods:
        missing = "apply" if apply_method is None else "__init__"
        how = "apply(self, input)" if apply_method is None else "__init__ with super().__init__(name, input, output)"
        el.report("STEP309", call, f"the function class {cls.node.name} has no {missing}", f"define {how}")
        return UNKNOWN
    names = _init_arguments(el, methods["__init__"], call)
    outer = el.frame
    context = EvaluationContext("call", cls.code, outer.context, call, depth=outer.context.depth + 1)
    el.frame = Frame(Scope(names, cls.scope), cls.code, context)
    try:
        parts = _super_arguments(el, methods["__init__"], cls.node)
        takes_its_own = _takes_its_arguments(el, apply_method, "getInit", has_state="getInit" in methods)
        if parts is None or not takes_its_own:
            return UNKNOWN
        label, input_type, output_type = parts
        init = methods.get("getInit")
        return FnDecl(
            func_name=cls.node.name,
            label=label,
            input=input_type[0],
            output=output_type[0],
            body=suite_block(cls.code, apply_method),
            init_body=suite_block(cls.code, init) if init is not None else None,
            span=_name_span(el, cls.node),
            input_span=input_type[1],
            output_span=output_type[1],
            init_span=el.span(init) if init is not None else None,
        )
    except OutOfBudget as error:
        raise error.at(el.span(el.at)) from None  # it stands in the class's text
    finally:
        el.frame = outer


def _init_arguments(el: Elaboration, init: ast.FunctionDef, call: ast.Call) -> dict[str, Value]:
    names = [argument.arg for argument in init.args.args[1:]]
    found: dict[str, Value] = {}
    for name, default in zip(reversed(names), reversed(init.args.defaults), strict=False):
        found[name] = el.evaluate(default)
    for name, arg in zip(names, call.args, strict=False):
        found[name] = el.evaluate(arg)
    for keyword in call.keywords:
        if keyword.arg:
            found[keyword.arg] = el.evaluate(keyword.value)
    missing = [name for name in names if name not in found]
    if missing:
        el.report("STEP224", call, f"this call lacks {', '.join(missing)}", f"it takes {', '.join(names)}")
    return {name: found.get(name, UNKNOWN) for name in names}


def _super_arguments(
    el: Elaboration, init: ast.FunctionDef, cls: ast.ClassDef
) -> tuple[str, tuple[Element, Span], tuple[Element, Span]] | None:
    bases = set(map(ast.unparse, cls.bases))
    call = next((node for node in ast.walk(init) if _is_super_init(node, bases)), None)
    assert call is None or isinstance(call, ast.Call)
    names = ("name", "input", "output") if call is None or _is_of_super(call) else ("self", "name", "input", "output")
    given = {} if call is None else {
        **dict(zip(names, call.args, strict=False)),
        **{keyword.arg: keyword.value for keyword in call.keywords if keyword.arg},
    }  # fmt: skip
    if not {"name", "input", "output"} <= given.keys():
        el.report(
            "STEP309", init, "__init__ does not declare the function", "call super().__init__(NAME, INPUT, OUTPUT)"
        )
        return None
    for statement in init.body:  # locals that the types are built from
        if isinstance(statement, ast.Assign):
            el.suite([statement])
    label = el.evaluate(given["name"])
    input_type, output_type = element_type(el, given["input"]), element_type(el, given["output"])
    if input_type is None or output_type is None:
        return None
    spans = el.span(given["input"]), el.span(given["output"])
    return label if isinstance(label, str) else init.name, (input_type, spans[0]), (output_type, spans[1])


def _is_super_init(node: ast.AST, bases: Container[str]) -> bool:
    """Whether a call is one of the constructor of the class's base: through ``super()``, or by the base's name."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr="__init__")):
            return ast.unparse(owner) in bases
    return _is_of_super(node)


def _is_of_super(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
            return True
    return False


__all__ = ["Dim", "TypeMaker", "element_type", "from_decorator", "instantiate", "suite_block"]
