"""The certificate of a generated Python file: its text, its imports, its definitions, and every body.

A file is certified when each of its statements has one of the forms that Stepsmith prints, when everything inside
functions is in the closed language of functions or programs, and when checking finds no error. Nothing is run.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable
from typing import Any, Final

from stepcore.check.files import check_part
from stepcore.findings.diagnostics import Severity
from stepcore.fn import plain_types
from stepcore.fn.check import known_names
from stepcore.fn.decl import FnScope
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import dotted
from stepcore.fn.walk.finding import BodyKind
from stepcore.fn.walk.walker import Walker
from stepcore.frontend import calls, closed
from stepcore.frontend.composed import NotComposed, composed
from stepcore.frontend.functions import FN_PARAMETERS
from stepcore.frontend.python import PROGRAM_PARAMETERS, ModuleFacts
from stepcore.frontend.values import UNKNOWN, ModuleRef, Scope
from stepcore.gate.own import OwnCode
from stepcore.gate.refusal import Refusal, refusal
from stepcore.gate.suite import shape
from stepcore.printing.python import OwnReference
from stepcore.system.unwarned import unwarned
from stepcore.text.span import Embedded, SourceFile

_MODULES: Final = {"torch": "torch"}
_TYPE_NAMES: Final = frozenset({*calls.SCALARS, *calls.TYPE_MAKERS, "Stream", "Param"})
_KINDS: Final = frozenset({"fn", "program", "composition"})
_SIZE_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)


def certify(text: str, own: OwnReference | None = None) -> None:
    """Hold a whole file against what Stepsmith writes; ``own`` is how it reaches a user's function, if it does.

    Raises:
        Refusal: it holds something else, with the place.
    """
    _characters(text)
    _Certificate(_parsed(text), text, own).check()
    _findings(text)


def _characters(text: str) -> None:
    """Refuse what is hidden, what splits lines for some readers only, and an encoding that is not UTF-8."""
    for number, line in enumerate(text.split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            if not character.isprintable() and character != "\t":
                raise Refusal(f"the character {character!a} is not printable", number, column)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text.encode("utf-8")).readline)
    except SyntaxError as error:
        raise Refusal(f"the first lines name an encoding: {error}") from error
    if encoding != "utf-8":
        raise Refusal(f"the first lines name the encoding {encoding}")


def _parsed(text: str) -> ast.Module:
    try:
        with unwarned():  # of invalid escapes: no concern of ours
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "offset", None)
        raise Refusal(f"the file does not parse: {error}", line or 1, column or 1) from error


def _findings(text: str) -> None:
    result = check_part(text, "generated.py", ModuleFacts(), with_fixes=False)
    errors = sorted((d for d in result.diagnostics if d.severity is Severity.ERROR), key=lambda d: d.span)
    if errors:
        line, column = result.source.line_col(errors[0].span.start)
        raise Refusal(f"{errors[0].code} {errors[0].message}", line + 1, column + 1)
    if not result.programs:
        raise Refusal("the file holds no program")


class _Certificate:
    """One file. ``symbols`` are the sizes that it imports, ``names`` all that it binds at module level."""

    def __init__(self, tree: ast.Module, text: str, own: OwnReference | None) -> None:
        self.tree = tree
        self.code = Embedded.whole(text)
        self.own = OwnCode(own) if own is not None else None
        self.symbols: set[str] = set()
        self.types: set[str] = set()  # names of tiles, from their line on
        self.names = assigned_names(tree.body)
        self.modules = dict(_MODULES)
        self.parameters: set[str] = set()
        self.inputs: set[str] = set()
        self.programs = [n for n in tree.body if isinstance(n, ast.FunctionDef) and _decorated(n) == "program"]
        for program in self.programs:
            self.parameters |= {argument.arg for argument in program.args.kwonlyargs}
            self.inputs |= {argument.arg for argument in program.args.args}
        self.references = {_reference_of(program) for program in self.programs}

    def check(self) -> None:
        """Raise a Refusal at the first thing that is not ours."""
        prelude: list[ast.stmt] = []
        own = {shape([node]) for node in self.own.statements} if self.own is not None else set()
        for position, node in enumerate(self.tree.body):
            if position == 0 and is_text(node):
                continue
            if self.own is not None and shape([node]) in own:
                self.own.check(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.FunctionDef) and node.decorator_list:
                self._decorated(node)
            elif isinstance(node, ast.FunctionDef) and node.name in self.references:
                self._reference(node)
            elif (name := _named_type(node)) and name not in self.types:
                assert isinstance(node, ast.Assign)
                self._type(node.value)
                self.types.add(name)
            else:
                prelude.append(node)
        self._walk(BodyKind.PRELUDE, prelude, set())

    # -- imports and definitions -----------------------------------------------------------------

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        match node:
            case ast.Import(names=[ast.alias(name="math", asname=None)]):
                self.modules["math"] = "math"
                return
            case ast.Import(names=[ast.alias(name="stepcore", asname="step") | ast.alias(name="torch", asname=None)]):
                return
            case ast.ImportFrom(module="typing", names=[ast.alias(name="Annotated", asname=None)], level=0):
                return
            case ast.ImportFrom(module="stepcore.dims", names=names, level=0) if all(_is_symbol(a) for a in names):
                self.symbols |= {alias.name for alias in names}
                return
        if self.own is None or not self.own.imports(node):
            raise refusal(node, "this import is none of those that Stepsmith writes")

    def _decorated(self, node: ast.FunctionDef) -> None:
        kind = _decorated(node)
        if plain_types.type_parameters(node) or len(node.decorator_list) != 1 or kind not in _KINDS:
            raise refusal(node.decorator_list[0], "this decorator is none of those that Stepsmith writes")
        if kind == "fn":
            self._fn(node)
        elif kind == "program":
            self._program(node)
        else:
            self._composition(node)

    def _fn(self, node: ast.FunctionDef) -> None:
        decorator = node.decorator_list[0]
        assert isinstance(decorator, ast.Call)
        self._keywords(decorator, dict.fromkeys(FN_PARAMETERS, self._type))
        given = [argument.arg for argument in node.args.args]
        _plain_signature(node, types=False)
        typed = [argument for argument in node.args.args if argument.annotation is not None]
        if typed or node.args.kwonlyargs or node.returns is not None or given not in (["input"], ["state", "input"]):
            raise refusal(node, "an element function takes input, or state and input")
        self._walk(BodyKind.FUNCTION, node.body, set(given))

    def _keywords(self, call: ast.Call, known: dict[str, Callable[[ast.expr], None]]) -> None:
        if call.args:
            raise refusal(call.args[0], "a decorator takes its parameters by name")
        for keyword in call.keywords:
            if keyword.arg not in known:
                raise refusal(keyword.value, f"the parameter {keyword.arg} is none of those that Stepsmith writes")
            known[keyword.arg](keyword.value)

    def _reference(self, node: ast.FunctionDef) -> None:
        _plain_signature(node, types=True)
        arguments = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        self._walk(BodyKind.REFERENCE, node.body, arguments)

    def _program(self, node: ast.FunctionDef) -> None:
        decorator = node.decorator_list[0]
        assert isinstance(decorator, ast.Call)
        known: dict[str, Callable[[ast.expr], None]] = dict.fromkeys(PROGRAM_PARAMETERS, self._constant)
        known["reference"] = self._name
        self._keywords(decorator, known)
        _plain_signature(node, types=False)
        for argument in (*node.args.args, *node.args.kwonlyargs):
            if argument.annotation is None:
                raise refusal(argument, "an input has no type")
            self._type(argument.annotation)
        if node.returns is not None:
            self._type(node.returns)
        self._program_body(node)

    def _composition(self, node: ast.FunctionDef) -> None:
        """Accept lines that apply programs of this file to tensors, and nothing else."""
        decorator = node.decorator_list[0]
        assert isinstance(decorator, ast.Call)
        known: dict[str, Callable[[ast.expr], None]] = {
            "reference": self._name, "weights": self._name, "dims": self._constant, "name": self._constant,
        }  # fmt: skip
        self._keywords(decorator, known)
        _plain_signature(node, types=True)
        weighted = any(keyword.arg == "weights" for keyword in decorator.keywords)
        try:
            found = composed(node, weighted=weighted)
        except NotComposed as error:
            raise Refusal(str(error), error.line) from error
        programs = {program.name for program in self.programs}
        for call in found.calls:
            if call.program not in programs:
                raise Refusal(f"{call.program} is no program of this file", call.line)

    def _program_body(self, node: ast.FunctionDef) -> None:
        body: list[ast.stmt] = []
        names = dict.fromkeys(self.names | self.symbols | self.inputs | self.parameters, UNKNOWN)
        scope = Scope({**names, "step": ModuleRef("stepcore")})
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and _decorated(statement) == "fn" and not body:
                self._fn(statement)
                scope.names[statement.name] = UNKNOWN
            else:
                body.append(statement)
        fn_scope = self._scope()
        found = closed.outside(body, self.code, scope, fn_scope, strict=True)
        if found:
            line, column = SourceFile("", self.code.text).line_col(found[0].span.start)
            raise Refusal(f"{found[0].code} {found[0].message}", line + 1, column + 1)

    # -- bodies ----------------------------------------------------------------------------------

    def _scope(self) -> FnScope:
        return FnScope(
            parameters=tuple(sorted(self.parameters)),
            tensors=tuple(sorted(self.inputs)),
            symbols=tuple(sorted(self.symbols)),
            modules=tuple(self.modules.items()),
            bare_parameters=True,
        )

    def _walk(self, kind: BodyKind, body: list[ast.stmt], arguments: set[str]) -> None:
        scope = self._scope()
        names = known_names(scope) | self.names | assigned_names(body) | arguments
        walker = Walker(kind, scope, names)
        walker.statements(body)
        if walker.findings:
            found = min(walker.findings, key=lambda item: getattr(item.node, "lineno", 1))
            raise refusal(found.node, f"{found.code} {found.message}")

    # -- types and constants ---------------------------------------------------------------------

    def _type(self, node: ast.expr) -> None:
        """Accept element types, sizes and constants: what stands in annotations and in decorators of functions."""
        match node:
            case ast.Constant(value=None | int() | float() | str()):
                return
            case ast.Name(id=name) if name in self.symbols | self.types | {"tuple"}:
                return
            case ast.Attribute(value=ast.Name(id="step"), attr=name) if name in _TYPE_NAMES:
                return
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="step"), attr="Param"),
                args=[],
                keywords=[ast.keyword(arg="written", value=ast.Constant(value=True))],
            ):
                return
            case ast.Call(func=ast.Attribute(value=ast.Name(id="step"), attr=name), args=args, keywords=[]) if (
                name in calls.TYPE_MAKERS
            ):
                parts = args
            case ast.Subscript(value=ast.Name(id="Annotated" | "tuple"), slice=inner):
                parts = [inner]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pass
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                parts = [operand]
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _SIZE_OPERATORS):
                parts = [left, right]
            case _:
                raise refusal(node, "this is no type that Stepsmith writes")
        for part in parts:
            self._type(part)

    def _constant(self, node: ast.expr) -> None:
        """Accept texts, numbers, and tuples, lists and dictionaries of them; sizes stand there by name."""
        match node:
            case ast.Constant(value=None | int() | float() | str()):
                return
            case ast.Name(id=name) if name in self.symbols or name.removesuffix("_value") in self.symbols:
                return
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pass
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                parts = [operand]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                parts = [key for key in keys if key is not None] + values
            case _:
                raise refusal(node, "this is no constant that Stepsmith writes")
        for part in parts:
            self._constant(part)

    def _name(self, node: ast.expr) -> None:
        known = self.names | (self.own.names if self.own is not None else set())
        if not isinstance(node, ast.Name) or node.id not in known or node.id.startswith("__"):
            raise refusal(node, "the reference is no function of this file")


def _decorated(node: ast.FunctionDef) -> str:
    """Return ``fn``, ``program`` or ``composition`` for a function under ``step.fn(...)`` and the like alone."""
    match node.decorator_list:
        case [ast.Call(func=ast.Attribute(value=ast.Name(id="step"), attr=name))] if name in _KINDS:
            return name
    return ""


def _named_type(node: ast.stmt) -> str:
    """Return the name that a line gives to a tile, "" for any other line."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="step"), attr="Tile"), args=[_, _], keywords=[]),
        ):
            return name
    return ""


def _reference_of(program: ast.FunctionDef) -> str:
    decorator: Any = program.decorator_list[0]
    given = {keyword.arg: keyword.value for keyword in decorator.keywords}
    path = dotted(given["reference"]) if "reference" in given else None
    return path[0] if path is not None and len(path) == 1 else ""


def _plain_signature(node: ast.FunctionDef, *, types: bool) -> None:
    """Refuse defaults and stars, and annotations of another form than ``types`` says (those of programs come later)."""
    args = node.args
    starred = [argument for argument in (args.vararg, args.kwarg, *args.posonlyargs) if argument is not None]
    defaults = [default for default in (*args.defaults, *args.kw_defaults) if default is not None]
    if starred or defaults or plain_types.type_parameters(node):
        raise refusal((*starred, *defaults, node)[0], "Stepsmith writes plain arguments only")
    if types and (found := plain_types.refused(node, _MODULES)):
        raise refusal(found[0], "this annotation is none of those that Stepsmith writes")


def is_text(node: ast.stmt) -> bool:
    """True for a text that stands alone: a docstring, where it comes first."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_symbol(alias: ast.alias) -> bool:
    return alias.asname is None and alias.name != "*" and not alias.name.startswith("_")
