"""The whole text of a program is in its language, also what elaboration never evaluates.

Elaboration follows values, so it sees neither the arm that is not taken nor a helper that nobody calls, neither
annotations nor what stands behind ``return``. Here every node is looked at once, by a table of all node types:
a node that stands in no table is refused. Findings that evaluation gave already are not given again.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from itertools import accumulate
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.fn import compiled, plain_types
from stepcore.fn.check import known_names
from stepcore.fn.decl import FnScope
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import dotted, node_span
from stepcore.fn.walk.calls import CONSUMERS
from stepcore.fn.walk.finding import BodyKind
from stepcore.fn.walk.walker import Walker
from stepcore.frontend import advice, calls
from stepcore.frontend.expressions import BUILTINS, word_of
from stepcore.frontend.values import UNKNOWN, ModuleRef, Scope, TypeMaker, Value
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.records import Record
from stepcore.text.span import Embedded, Span

_DICT_METHODS: Final = frozenset({"keys", "values", "items"})
_METHODS: Final = calls.LIST_METHODS | _DICT_METHODS | {"apply", "close", "ctx"}
_CALLED: Final = calls.TYPE_MAKERS | {"fn", "fns"}  # besides operators, as is what follows
_MEMBERS: Final = frozenset({*calls.SCALARS, *calls.TYPE_MAKERS, *calls.MARKERS, *calls.FUNCTIONS})
_AT_ONCE: Final = CONSUMERS - {("zip",), ("enumerate",)}  # these take an item when somebody asks for one
_ONLY_LISTS: Final = "write it with lists and calls"


def outside(
    body: Sequence[ast.stmt],
    code: Embedded,
    scope: Scope,
    fn_scope: FnScope,
    found: Iterable[Diagnostic] = (),
    *,
    strict: bool = False,
    refused: Collection[str] = (),
    whole: Container[int] = (),
    dialect: Dialect = GENERATION_1,
) -> list[Diagnostic]:
    """Return what of a program's body is not in the language, as far as ``found`` does not say so.

    Args:
        body: the statements of the program.
        code: where they stand in the file.
        scope: the names of the program, as elaboration left them.
        fn_scope: what element functions that are defined inside may use.
        found: the findings of elaboration.
        refused: names that were bound by what a finding refuses, so that using them is no further mistake.
        whole: the identities of the statements of which elaboration has evaluated every part.
        strict: nothing but STeP is in scope: attributes of a value that is not known are refused, and other modules.
        dialect: the operators that there are.
    """
    found = list(found)
    evaluated = [each for each in body if id(each) in whole]
    # Most programs are of this kind, and the walk through their nodes would take a sixth of the time of their check.
    if not found and body and len(evaluated) == len(body) and _is_public(body, code):
        return []
    if _was_clean(body, scope, strict, dialect):
        return []
    told = _Given(found)
    clear = [each for each in evaluated if not told.overlaps(node_span(code, each)) and _is_public([each], code)]
    walk = _Walk(body, scope, fn_scope, strict, refused, dialect)
    walk.leave_out(clear)
    walk.visit()
    if not walk.found:
        is_sound = body and all(item.severity is not Severity.ERROR for item in found)
        error = compiled.refused(body) if is_sound else None
        if error is not None:
            return [Diagnostic("STEP902", node_span(code, error[0]), f"this is no program of Python: {error[1]}")]
        if not walk.hangs_on_functions and not refused:
            kinds = {name: _kind(scope, name) for name in walk.looked}
            _CLEAN[body[0]] = _Clean(tuple(map(ref, body[1:])), strict, dialect, kinds)
        return []
    given = _Given(item for item in found if item.severity is Severity.ERROR)
    return [item for item in walk.diagnostics(code) if not given.says(item)]


def _is_public(body: Sequence[ast.stmt], code: Embedded) -> bool:
    """Whether no name in these statements, which follow each other, can begin with two underscores.

    Their own lines alone are searched: the text may hold thousands of statements, each of which is asked for.
    """
    starts, end = code.inner.line_starts, body[-1].end_lineno or 0
    text = code.text
    return text.find("__", starts[body[0].lineno - 1], starts[end] if end < len(starts) else len(text)) < 0


class _Clean(Record):
    """That a body was in the language, and what that hung on: of each name that it reads, what :func:`_kind` says."""

    rest: tuple[ref[ast.stmt], ...]  # the statements behind the first: whoever holds that one would never be forgotten
    strict: bool
    dialect: Dialect
    kinds: dict[str, object]


# By the first statement: of a text that was seen before, the parser's cache returns the same nodes. Only bodies without
# functions are here, so that nothing hangs on what element functions may use.
_CLEAN: Final[WeakKeyDictionary[ast.stmt, _Clean]] = WeakKeyDictionary()


def _was_clean(body: Sequence[ast.stmt], scope: Scope, strict: bool, dialect: Dialect) -> bool:
    before = _CLEAN.get(body[0]) if body else None
    if before is None or before.strict is not strict or before.dialect is not dialect:
        return False
    if [each() for each in before.rest] != body[1:]:
        return False
    return all(_kind(scope, name) == kind for name, kind in before.kinds.items())


def _kind(scope: Scope, name: str) -> object:
    """Return all that the walk asks of a name's value: the module, the marker, that nothing is known, or that it is."""
    try:
        value = scope.find(name)
    except KeyError:
        return None
    return value if value is UNKNOWN or isinstance(value, ModuleRef | TypeMaker) else ""


class _Given:
    """The errors that were given already. A body may have thousands, so none is compared with all others."""

    def __init__(self, errors: Iterable[Diagnostic]) -> None:
        ordered = sorted(errors, key=lambda item: item.span.start)
        self._starts = [item.span.start for item in ordered]
        self._ends = list(accumulate((item.span.end for item in ordered), max))  # the furthest end up to each
        self._texts = {_text(item) for item in ordered}

    def says(self, item: Diagnostic) -> bool:
        """Whether a finding was given already: at its place, or before for the same name."""
        return self.overlaps(item.span) or _text(item) in self._texts

    def overlaps(self, span: Span) -> bool:
        """Whether one of them speaks of a part of ``span``."""
        before = bisect_left(self._starts, span.end)
        return before > 0 and span.start < self._ends[before - 1]


def _text(item: Diagnostic) -> tuple[str, str]:
    return item.code, item.message.split(";")[0]


def _root(node: ast.expr) -> ast.expr:
    """Return where a chain of attributes, calls and items begins."""
    while True:  # each attribute of each program asks
        if type(node) is ast.Call:
            node = node.func
        elif type(node) is ast.Attribute or type(node) is ast.Subscript:
            node = node.value
        else:
            return node


class _Walk:
    def __init__(
        self,
        body: Sequence[ast.stmt],
        scope: Scope,
        fn_scope: FnScope,
        strict: bool,
        refused: Collection[str] = (),
        dialect: Dialect = GENERATION_1,
    ) -> None:
        self.found: list[tuple[str, ast.AST, str]] = []
        self._pending: list[ast.AST] = list(body)
        self._scope = scope
        self._fn_scope = fn_scope
        self._strict = strict
        self._refused = refused
        self._dialect = dialect
        self._operators = dialect.by_name
        self._bound: set[str] | None = None
        self._bound_so_far: set[str] = set()
        self._open: list[ast.Name] = []  # names that are known only if the body binds them somewhere
        self._body = body
        self.looked: set[str] = set()  # names whose values were asked for
        self._fine: set[str] = set()  # names that may stand wherever one is read
        self.hangs_on_functions = False

    def leave_out(self, clear: Sequence[ast.stmt]) -> None:
        """Look at nothing of these statements but the names that they bind."""
        if not clear:
            return
        skipped = set(map(id, clear))
        self._pending = [node for node in self._pending if id(node) not in skipped]
        stored: list[ast.AST] = [target for each in clear if type(each) is ast.Assign for target in each.targets]
        for node in stored:  # which grows
            if type(node) is ast.Name:
                if type(node.ctx) is ast.Store:
                    self._bound_so_far.add(node.id)
            elif type(node) is ast.Tuple:
                stored += node.elts
            else:
                stored += ast.iter_child_nodes(node)

    def visit(self) -> None:
        """Look at every node; an own stack, because a body may be nested as deeply as the parser allows."""
        pending = self._pending
        while pending:  # the most frequent kinds without a call: this runs at each keystroke
            node = pending.pop()
            kind = type(node)
            fields = _PARTS.get(kind)
            if fields is not None:
                for name in fields:
                    value = getattr(node, name)
                    if type(value) is list:
                        pending += value
                    elif value is not None:
                        pending.append(value)
                continue
            handler = _NODES.get(kind)
            if handler is None:
                self._refuse(node)
            else:
                handler(self, node)
        for read in self._open:
            if read.id not in self._bound_so_far and read.id not in self._names():
                self._unknown(read)

    def diagnostics(self, code: Embedded) -> list[Diagnostic]:
        """Return the findings in the order of the text."""
        made = {(code_, node_span(code, node)): message for code_, node, message in self.found}
        return sorted((Diagnostic(name, span, text) for (name, span), text in made.items()), key=lambda d: d.span)

    def _report(self, code: str, node: ast.AST, message: str, way_out: str) -> None:
        self.found.append((code, node, f"{message}; {way_out}"))

    def _refuse(self, node: ast.AST) -> None:
        text = f"`{word_of(node)}` is not part of the program language"
        self._report("STEP220", node, text, advice.of_statement(node, in_task=self._strict))

    # -- statements ------------------------------------------------------------------------------

    def _annotated(self, node: ast.AnnAssign) -> None:
        self.hangs_on_functions = True  # an annotation hangs on the modules that these may use
        self._types(node)
        self._pending.append(node.target)
        if node.value is not None:
            self._pending.append(node.value)

    def _types(self, node: ast.AnnAssign | ast.FunctionDef) -> None:
        for annotation in plain_types.refused(node, self._modules()):
            text = "this annotation is no plain type"
            self._report("STEP220", annotation, text, plain_types.WAY_OUT)
        for parameter in plain_types.type_parameters(node):
            self._report("STEP220", parameter, "type parameters are not part of the program language", "remove them")

    def _modules(self) -> dict[str, str]:
        return dict(self._fn_scope.modules) | self._step_names()

    def _step_names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        scope: Scope | None = self._scope
        while scope is not None:
            found |= {name: v.name for name, v in scope.names.items() if isinstance(v, ModuleRef) and name not in found}
            scope = scope.parent
        return found

    def _function(self, node: ast.FunctionDef) -> None:
        self.hangs_on_functions = True
        self._private(node, node.name)
        self._types(node)
        self._arguments(node.args)
        self._pending.extend(node.decorator_list)
        ours = [decorator for decorator in node.decorator_list if self._makes_function(decorator)]
        for decorator in node.decorator_list:
            if decorator not in ours[:1]:
                self._report("STEP220", decorator, "this decorator is not part of the program language", "remove it")
        if ours:
            self._element_function(node)
        else:
            self._pending.extend(node.body)

    def _makes_function(self, decorator: ast.expr) -> bool:
        if not isinstance(decorator, ast.Call):
            return False
        path = dotted(decorator.func)
        if path is not None and len(path) == 1:
            return bool(self._value(path[0]) == TypeMaker("fn"))
        return path is not None and path[1:] == ("fn",) and self._module(path) == "stepcore"

    def _element_function(self, node: ast.FunctionDef) -> None:
        """The body of an element function is in the language of these."""
        walker = Walker(BodyKind.FUNCTION, self._fn_scope, known_names(self._fn_scope) | self._names())
        walker.names |= assigned_names(node.body) | {argument.arg for argument in node.args.args}
        walker.statements(node.body)
        self.found.extend((finding.code, finding.node, finding.message) for finding in walker.findings)

    def _lambda(self, node: ast.Lambda) -> None:
        self._arguments(node.args)
        self._pending.append(node.body)

    def _arguments(self, args: ast.arguments) -> None:
        starred = (argument for argument in (args.vararg, args.kwarg) if argument is not None)
        for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs, *starred):
            self._private(argument, argument.arg)
            self._bound_so_far.add(argument.arg)
        self._pending.extend(default for default in (*args.defaults, *args.kw_defaults) if default is not None)

    # -- expressions -----------------------------------------------------------------------------

    def _private(self, node: ast.AST, name: str) -> bool:
        if not name.startswith("__"):
            return False
        self._report("STEP220", node, f"{name} is not part of the program language", "choose another name")
        return True

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if name in self._fine:
            return
        if type(node.ctx) is not ast.Load:
            self._bound_so_far.add(name)
            self._private(node, name)
            return
        if name.startswith("__"):
            self._unknown(node)
            return
        self.looked.add(name)
        try:
            value = self._scope.find(name)
        except KeyError:
            if name == "print":
                self._report("STEP220", node, "a program cannot print", "remove the call")
            elif name not in BUILTINS:
                self._open.append(node)
            return
        if self._strict and isinstance(value, ModuleRef) and not value.name.startswith("stepcore"):
            self._unknown(node)
        else:
            self._fine.add(name)

    def _is_forbidden(self, name: str) -> bool:
        self.looked.add(name)
        try:
            self._scope.find(name)
        except KeyError:
            return name.startswith("__")
        return False

    def _unknown(self, node: ast.Name) -> None:
        import builtins

        if hasattr(builtins, node.id):
            text = f"{node.id} of Python is not part of the program language"
            self._report("STEP220", node, text, advice.of_python(node.id))
        else:
            self._report("STEP202", node, f"the name {node.id} is not known", "assign it before")

    def _names(self) -> set[str]:
        """Return the names that the body binds anywhere: an arm that is not taken binds some, too."""
        if self._bound is None:
            self._bound = set()
            for statement in self._body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                        self._bound.add(node.id)
                    elif isinstance(node, ast.FunctionDef):
                        self._bound.add(node.name)
                    elif isinstance(node, ast.arg):
                        self._bound.add(node.arg)
        return self._bound

    def _any_attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._report("STEP220", node, "a program assigns to names only", "use a plain name")
            return
        path = dotted(node)
        self._attribute(node, path, self._module(path))

    def _attribute(self, node: ast.Attribute, path: tuple[str, ...] | None, module: str | None) -> None:
        if path is not None and module is not None:
            self._member(node, path, module)
            return
        root = _root(node)
        if path is not None and path[0] in self._refused:
            return
        if isinstance(root, ast.Name) and self._is_forbidden(root.id):  # the name is the mistake
            self._pending.append(root)
            return
        is_known = node.attr in _METHODS or node.attr in self._dialect.result_names
        if node.attr.startswith("_") or not (is_known or self._may_have_any(path)):
            text = f"no value of a program has the attribute {node.attr}"
            self._report("STEP224", node, text, "streams are only passed to operators")
        self._pending.append(node.value)

    def _may_have_any(self, path: tuple[str, ...] | None) -> bool:
        """Whether nothing is known about the value: a weight, say, whose shape a program of a Python file may read."""
        return not self._strict and path is not None and self._value(path[0]) is UNKNOWN

    def _module(self, path: tuple[str, ...] | None) -> str | None:
        value = None if path is None else self._value(path[0])
        return value.name if isinstance(value, ModuleRef) else None

    def _value(self, name: str) -> Value:
        self.looked.add(name)
        try:
            return self._scope.find(name)
        except KeyError:
            return None

    def _member(self, node: ast.Attribute, path: tuple[str, ...], module: str) -> None:
        name = path[1]
        if module.startswith("stepcore"):
            is_symbol = module == "stepcore.dims" or name == "dims"
            member = path[-1]
            if name == "fns" and len(path) == 3 and not member.startswith("_"):
                return  # whether there is such a function, its call tells
            if not is_symbol and len(path) == 3 and name in self._operators and member == "apply":
                return
            is_known = is_symbol or name in self._operators or name in _MEMBERS
            if member.startswith("_") or len(path) > 2 + is_symbol or not is_known:
                self._report("STEP201", node, f"the operator {'.'.join(path[1:])} is not known", "see `stepsmith ops`")
        elif self._strict or any(part.startswith("_") for part in path):
            self._report("STEP220", node, f"{'.'.join(path)} is not part of the program language", _ONLY_LISTS)

    def _call(self, node: ast.Call) -> None:
        func = node.func
        path = dotted(func)
        module = self._module(path)
        is_no_operator = path is not None and module is not None and self._is_unknown(path, module)  # told as such
        if path is not None and module is not None and not is_no_operator and not self._may_be_called(path, module):
            text = f"a program cannot call {'.'.join(path)}"
            self._report("STEP220", node, text, "programs call operators and helper functions only")
        if not isinstance(func, ast.Attribute):
            self._pending.append(func)
        else:
            self._attribute(func, path, module)
        for part in node.args:
            # What takes all items at once may take a generator.
            if type(part) is ast.GeneratorExp and self._uses_up(path):
                self._pending.extend(ast.iter_child_nodes(part))
            else:
                self._pending.append(part)
        for keyword in node.keywords:
            self._pending.append(keyword.value)

    def _uses_up(self, path: tuple[str, ...] | None) -> bool:
        """Whether a call is one of Python's own that takes all items before anything else happens."""
        return path in _AT_ONCE and path[0] not in self._names() and self._value(path[0]) is None

    def _generator(self, node: ast.GeneratorExp) -> None:
        text = "a generator is not part of the program language except as the argument of a function of Python"
        self._report("STEP220", node, text, "write a list")

    def _may_be_called(self, path: tuple[str, ...], module: str) -> bool:
        if not module.startswith("stepcore") or len(path) == 1:
            return False
        # The decorator of an element function is evaluated where it stands.
        return path[1] in self._operators or path[1] in _CALLED

    def _is_unknown(self, path: tuple[str, ...], module: str) -> bool:
        return module == "stepcore" and len(path) == 2 and path[1] not in {*self._operators, *_MEMBERS, "dims"}

    def _comprehension(self, node: ast.comprehension) -> None:
        if node.is_async:
            self._report("STEP220", node.iter, "`async` is not part of the program language", "write for")
        self._pending.extend((node.target, node.iter, *node.ifs))

    def _formatted(self, node: ast.FormattedValue) -> None:
        self._pending.append(node.value)
        if node.format_spec is not None or node.conversion != -1:
            where = node.format_spec if node.format_spec is not None else node.value
            self._report("STEP220", where, "a format is not part of the program language", "write {name} alone")


# Node types whose parts are all that is to be looked at, with the fields that hold them; of Dict.keys, one may be None.
_PARTS: Final[dict[type, tuple[str, ...]]] = {
    ast.Expr: ("value",),
    ast.Assign: ("targets", "value"),
    ast.AugAssign: ("target", "op", "value"),
    ast.Return: ("value",),
    ast.If: ("test", "body", "orelse"),
    ast.For: ("target", "iter", "body", "orelse"),
    ast.While: ("test", "body", "orelse"),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Dict: ("keys", "values"),
    ast.Subscript: ("value", "slice"),
    ast.BinOp: ("left", "op", "right"),
    ast.UnaryOp: ("op", "operand"),
    ast.Compare: ("left", "ops", "comparators"),
    ast.BoolOp: ("op", "values"),
    ast.IfExp: ("test", "body", "orelse"),
    ast.NamedExpr: ("target", "value"),
    ast.JoinedStr: ("values",),
    ast.Starred: ("value",),
    ast.ListComp: ("elt", "generators"),
    ast.Slice: ("lower", "upper", "step"),
    ast.keyword: ("value",),
    **dict.fromkeys(
        (
            type(None), ast.Pass, ast.Break, ast.Continue, ast.Constant, ast.Load, ast.Store,
            *ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(), *ast.cmpop.__subclasses__(),
            *ast.boolop.__subclasses__(),
        ),
        (),
    ),
}  # fmt: skip
# The others. A node type that is missing in both tables is refused.
_NODES: Final[dict[type[ast.AST], Callable[[_Walk, Any], None]]] = {
    ast.AnnAssign: _Walk._annotated,
    ast.FunctionDef: _Walk._function,
    ast.Lambda: _Walk._lambda,
    ast.Name: _Walk._name,
    ast.Attribute: _Walk._any_attribute,
    ast.Call: _Walk._call,
    ast.GeneratorExp: _Walk._generator,
    ast.comprehension: _Walk._comprehension,
    ast.FormattedValue: _Walk._formatted,
}
