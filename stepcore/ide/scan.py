"""Which names stand in one block of Python text, and which scope binds each: Python's own rules, on the syntax alone.

Lines that do not parse contribute the words on them, so that one half-typed line hides no name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from typing import Any, Final, TypeAlias

from stepcore.frontend.syntax import Suite, parse_suite
from stepcore.ide.cut import last_name
from stepcore.ide.scopes import ROOT, Form, Member, NameScope, NameTable, Occurrence, Pattern
from stepcore.sizes.dim import MARKS, OPEN
from stepcore.text.remembered import remembered, remembered_text
from stepcore.text.span import SourceFile, Span

_WORD: Final = re.compile(
    r"#.*|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\d[\w.]*|\.\s*(?P<member>[^\W\d]\w*)|(?P<name>[^\W\d]\w*)(?P<key>\s*=(?!=))?"
)
_DEFINITION: Final = re.compile(r"(?:def|class)\s+([^\W\d]\w*)")
_AS: Final = re.compile(r"\bas\s+([^\W\d]\w*)")
_REST: Final = re.compile(r"\*\*\s*([^\W\d]\w*)")
_FIRST_TEXT: Final = re.compile(r"""\s*\(\s*(?P<quote>["'])(?P<name>\w+)(?P=quote)""")
_LONGEST_CHAIN: Final = 64
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@remembered_text
def table(text: str) -> NameTable:
    """Return the names of ``text``. Never raises; results are shared: do not change them."""
    return _table(text, ())


@remembered
def body_table(text: str, arguments: tuple[str, ...]) -> NameTable:
    """The same of the body of a function with ``arguments``."""
    return _table(text, arguments)


def _table(text: str, arguments: tuple[str, ...]) -> NameTable:
    scan = _Scan(text, parse_suite(text), arguments)
    try:
        scan.suite(scan.body, ROOT)
    except RecursionError:
        return NameTable(text, (NameScope("root", -1, "", Span(0, len(text))),), (), (), (), {}, frozenset(), True)
    return scan.table()


class _Scan:
    def __init__(self, text: str, suite: Suite, arguments: tuple[str, ...]) -> None:
        self.text = text
        self.body = suite.body
        self.is_unread = bool(suite.faults) and not suite.body
        self.has_faults = bool(suite.faults)
        self.source = SourceFile("", text)
        self.starts = self.source.line_starts
        self.is_ascii = self.source.is_ascii
        root = NameScope("root", -1, "", Span(0, len(text)), -1, bound=set(arguments), parameters=arguments)
        self.scopes = [root]
        self.found: list[Occurrence] = []
        self.members: list[Member] = []
        self.patterns: list[Pattern] = []
        self.functions: list[tuple[int, str, int]] = []
        self.imported: set[str] = set()

    def table(self) -> NameTable:
        """Return what was found, every name with the scope that binds it."""
        names = [self._resolved(item) for item in self.found]
        names.sort(key=lambda item: item.span)
        functions = {(self._home(scope, name), name): index for scope, name, index in self.functions}
        members = tuple(sorted(self.members, key=lambda item: item.span))
        return NameTable(
            self.text,
            tuple(self.scopes),
            tuple(names),
            members,
            tuple(self.patterns),
            functions,
            frozenset(self.imported),
            self.is_unread,
        )

    # -- positions --------------------------------------------------------------------------------------

    def _span(self, node: Any) -> Span:
        if self.is_ascii:
            return Span(
                self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset
            )
        offset = self.source.offset_from_utf8
        return Span(offset(node.lineno - 1, node.col_offset), offset(node.end_lineno - 1, node.end_col_offset))

    # -- names ------------------------------------------------------------------------------------------

    def _resolved(self, item: Occurrence) -> Occurrence:
        if item.form is not Form.NAME:
            return item
        home = self._home(item.scope, item.name)
        return item if home == item.home else Occurrence(item.span, item.name, item.scope, home, item.is_store)

    def _home(self, scope: int, name: str) -> int:
        """Return the scope that binds ``name`` as it is seen in ``scope``."""
        at = scope
        while at > ROOT:
            here = self.scopes[at]
            if name in here.module_names:
                return ROOT
            if name in here.bound and (at == scope or here.kind != "class"):
                return at
            at = here.parent
        return ROOT

    def _add(self, span: Span, name: str, scope: int, is_store: bool) -> None:
        if is_store:
            here = self.scopes[scope]
            if name not in here.module_names and name not in here.outer_names:
                here.bound.add(name)
        self.found.append(Occurrence(span, name, scope, -1, is_store))

    def _add_by(self, pattern: re.Pattern[str], where: Span, name: str, scope: int, is_store: bool = True) -> None:
        """Add a name that has no node of its own; ``pattern`` finds it in ``where``."""
        match = pattern.search(self.text, where.start, where.end)
        if match is None:  # written in another form of the same identifier, or behind a continued line
            self.scopes[scope].bound.add(name)
            return
        self._add(Span(*match.span(1)), name, scope, is_store)

    # -- statements ----------------------------------------------------------------------------------------

    def suite(self, body: Iterable[ast.stmt], scope: int) -> None:
        """Add all names of statements."""
        for statement in body:
            self.visit(statement, scope)

    def visit(self, node: ast.AST, scope: int) -> None:
        """Add the names of one node and what it holds."""
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
        else:
            self.children(node, scope)

    def children(self, node: ast.AST, scope: int) -> None:
        """Add the names of what ``node`` holds."""
        for child in ast.iter_child_nodes(node):
            self.visit(child, scope)

    def _name(self, node: ast.Name, scope: int) -> None:
        self._add(self._span(node), node.id, scope, isinstance(node.ctx, ast.Store))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: int) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator, scope)
        span = self._span(node)
        self._add_by(_DEFINITION, span, node.name, scope)
        self._outside(node.args, scope)
        if node.returns is not None:
            self.visit(node.returns, scope)
        role = next((name for name in map(last_name, node.decorator_list) if name in ("program", "fn")), "")
        here = self.scopes[scope]
        if here.kind == "class" and here.role == "fn":
            role = "fn"
        inner = self._open("function", node, scope, node.name, role)
        self.functions.append((scope, node.name, inner))
        if here.kind == "class" and node.name == "__init__":
            self.functions.append((here.parent, here.name, inner))
        if role == "program":
            self._ports(node.decorator_list, scope, inner)
        self._inside(node, node.args, inner)
        self.suite(node.body, inner)

    def _lambda(self, node: ast.Lambda, scope: int) -> None:
        self._outside(node.args, scope)
        inner = self._open("function", node, scope, "lambda", "")
        self._inside(node, node.args, inner)
        self.visit(node.body, inner)

    def _outside(self, args: ast.arguments, scope: int) -> None:
        """Defaults and annotations belong to the scope around the function."""
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self.visit(default, scope)
        for argument in _arguments(args):
            if argument.annotation is not None:
                self.visit(argument.annotation, scope)

    def _inside(self, node: _Function, args: ast.arguments, inner: int) -> None:
        here = self.scopes[inner]
        here.parameters = tuple(argument.arg for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs))
        here.keyword_only = frozenset(argument.arg for argument in args.kwonlyargs)
        here.takes_any = args.kwarg is not None
        for parameter in getattr(node, "type_params", ()):
            here.bound.add(parameter.name)
        for argument in _arguments(args):
            start = self._span(argument).start
            end = start
            while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
                end += 1
            self._add(Span(start, end), argument.arg, inner, True)

    def _open(self, kind: Any, node: ast.AST, scope: int, name: str, role: str) -> int:
        column = node.col_offset  # type: ignore[attr-defined]
        self.scopes.append(NameScope(kind, scope, name, self._span(node), column, role))
        return len(self.scopes) - 1

    def _class(self, node: ast.ClassDef, scope: int) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part, scope)
        self._add_by(_DEFINITION, self._span(node), node.name, scope)
        role = "fn" if any(last_name(base) == "Fn" for base in node.bases) else ""
        inner = self._open("class", node, scope, node.name, role)
        self.suite(node.body, inner)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: int) -> None:
        for alias in node.names:
            span = self._span(alias)
            if alias.asname is not None:
                self._add_by(_AS, span, alias.asname, scope)
            elif alias.name == "*":
                self.imported.add("*")
            else:
                name = alias.name.partition(".")[0]
                self.imported.add(name)
                self._add(Span(span.start, span.start + len(name)), name, scope, True)

    def _declared(self, node: ast.Global | ast.Nonlocal, scope: int) -> None:
        here = self.scopes[scope]
        target = here.module_names if isinstance(node, ast.Global) else here.outer_names
        target |= set(node.names)
        here.bound -= target
        span = self._span(node)
        for name in node.names:
            self._add_by(re.compile(rf"(?<!\w)({re.escape(name)})(?!\w)"), span, name, scope, False)

    def _handler(self, node: ast.ExceptHandler, scope: int) -> None:
        if node.type is not None:
            self.visit(node.type, scope)
            if node.name is not None:
                where = Span(self._span(node.type).end, self._span(node.body[0]).start)
                self._add_by(_AS, where, node.name, scope)
        self.suite(node.body, scope)

    def _capture(self, node: ast.MatchAs | ast.MatchStar, scope: int) -> None:
        self.children(node, scope)
        if node.name is not None:
            end = self._span(node).end
            self._add(Span(end - len(node.name), end), node.name, scope, True)

    def _match_mapping(self, node: ast.MatchMapping, scope: int) -> None:
        self.children(node, scope)
        if node.rest is not None:
            self._add_by(_REST, self._span(node), node.rest, scope)

    def _broken(self, node: ast.stmt, value: ast.expr, scope: int) -> None:
        """Add the words of a line that was taken out: ``...`` stands where something else is written."""
        span = self._span(value)
        line, _ = self.source.line_col(span.start)
        start = self._span(node).start
        raw = self.source.line_text(line).rstrip("\r\n")
        if not self.has_faults or self.text[span.start : span.end] == "...":
            return
        if isinstance(node, ast.Assign):
            start = max(start, self.starts[line] + raw.find("=", start - self.starts[line]) + 1)
        path: list[str] = []
        root = end = -1
        for match in _WORD.finditer(self.text, start, self.starts[line] + len(raw)):
            name, member = match["name"], match["member"]
            if member and match.start() == end and path:
                path.append(member)
                self.members.append(Member(Span(*match.span("member")), tuple(path), root))
            else:
                path = [name] if name else []
                root = match.start()
            end = match.end()
            if path and path[-1] in MARKS:
                self._half_typed_size(path[-1], match, scope)
            if name and not match["key"] and not iskeyword(name):
                self._add(Span(*match.span("name")), name, scope, False)

    def _half_typed_size(self, maker: str, match: re.Match[str], scope: int) -> None:
        text = _FIRST_TEXT.match(self.text, match.end())
        if text is not None and text["name"].isidentifier():
            name = MARKS[maker] + text["name"]
            callee = match.end() - len(maker)
            self.found.append(Occurrence(Span(*text.span("name")), name, scope, -1, True, Form.SIZE, callee))

    def _expression(self, node: ast.Expr, scope: int) -> None:
        if _is_ellipsis(node.value):
            self._broken(node, node.value, scope)
        self.visit(node.value, scope)

    def _assign(self, node: ast.Assign, scope: int) -> None:
        for target in node.targets:
            self.visit(target, scope)
        if _is_ellipsis(node.value):
            self._broken(node, node.value, scope)
        self.visit(node.value, scope)
        first = node.targets[0]
        if isinstance(node.value, ast.Lambda) and isinstance(first, ast.Name):
            inner = next(i for i, s in enumerate(self.scopes) if s.span == self._span(node.value) and i > scope)
            self.functions.append((scope, first.id, inner))

    # -- expressions -----------------------------------------------------------------------------------------

    def _comprehension(self, node: _Comprehension, scope: int) -> None:
        first, *others = node.generators
        self.visit(first.iter, scope)  # evaluated outside
        inner = self._open("comprehension", node, scope, "", "")
        self.visit(first.target, inner)
        for test in first.ifs:
            self.visit(test, inner)
        for generator in others:
            self.children(generator, inner)
        if isinstance(node, ast.DictComp):
            self.visit(node.key, inner)
            self.visit(node.value, inner)
        else:
            self.visit(node.elt, inner)

    def _walrus(self, node: ast.NamedExpr, scope: int) -> None:
        self.visit(node.value, scope)
        while self.scopes[scope].kind == "comprehension":  # := binds around comprehensions
            scope = self.scopes[scope].parent
        self.visit(node.target, scope)

    def _attribute(self, node: ast.Attribute, scope: int) -> None:
        self.visit(node.value, scope)
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            if len(path) > _LONGEST_CHAIN:
                return  # no name of ours has so many parts, and each would walk over all before it
            path.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            end = self._span(node).end
            path.append(root.id)
            span = Span(end - len(node.attr), end)
            self.members.append(Member(span, tuple(reversed(path)), self._span(root).start))

    def _call(self, node: ast.Call, scope: int) -> None:
        self.children(node, scope)
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        callee = self._span(node.func).end - len(name)
        for keyword in node.keywords:
            if keyword.arg is not None:
                start = self._span(keyword).start
                span = Span(start, start + len(keyword.arg))
                self.found.append(Occurrence(span, keyword.arg, scope, -1, form=Form.KEYWORD, callee=callee))
        if name in ("Symbol", "symbol") and len(node.args) == 1:
            self._string(node.args[0], scope, -1, Form.SIZE)
        elif name in MARKS and len(node.args) == 1:
            self._string(node.args[0], scope, -1, Form.SIZE, MARKS[name], callee)
            self._pattern(node.args[0], MARKS[name])

    def _subscript(self, node: ast.Subscript, scope: int) -> None:
        self.children(node, scope)
        if not isinstance(node.value, ast.Name) or node.value.id != "input_data":
            return
        self._string(node.slice, scope, -1, Form.DATA)
        self._pattern(node.slice)

    def _pattern(self, node: ast.expr, mark: str = "") -> None:
        """Add what a name may be that is put together; ``mark`` stands before it."""
        if not isinstance(node, ast.Constant):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            regex = "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in parts)
            self.patterns.append(Pattern(self._span(node), regex, mark))

    def _string(self, node: ast.expr, scope: int, home: int, form: Form, mark: str = "", callee: int = -1) -> None:
        """Add a name that is written as a string, known by ``mark`` and it; one with escapes in it is left alone."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return
        start, end = self._span(node)
        name = node.value
        at = self.text.find(name, start, end) if name.isidentifier() else -1
        if at >= 0:
            span = Span(at, at + len(name))
            self.found.append(Occurrence(span, mark + name, scope, home, callee >= 0, form, callee))

    def _ports(self, decorators: list[ast.expr], scope: int, program: int) -> None:
        for decorator in decorators:
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg in ("data", "layouts") and isinstance(keyword.value, ast.Dict):
                    for key in keyword.value.keys:
                        if key is not None:
                            self._string(key, scope, program, Form.PORT)
                elif keyword.arg == "sizes" and isinstance(keyword.value, ast.Dict):
                    for key in keyword.value.keys:
                        self._drawn(key, scope)
                elif keyword.arg == "reference" and not _is_none(keyword.value):
                    self.scopes[program].reference = keyword.value.id if isinstance(keyword.value, ast.Name) else ""

    def _drawn(self, key: ast.expr | None, scope: int) -> None:
        """Add the name of a key of ``sizes=``, which is written with its mark."""
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value[:1] in tuple(OPEN):
            name = key.value[1:]
            start, end = self._span(key)
            at = self.text.find(key.value, start, end) if name.isidentifier() else -1
            if at >= 0:
                span = Span(at + 1, at + 1 + len(name))
                self.found.append(Occurrence(span, key.value, scope, -1, form=Form.SIZE))


def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args)
    if args.vararg is not None:
        yield args.vararg
    yield from args.kwonlyargs
    if args.kwarg is not None:
        yield args.kwarg


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


_HANDLERS: Final[dict[type[ast.AST], Any]] = {
    ast.Name: _Scan._name,
    ast.FunctionDef: _Scan._function,
    ast.AsyncFunctionDef: _Scan._function,
    ast.Lambda: _Scan._lambda,
    ast.ClassDef: _Scan._class,
    ast.Import: _Scan._import,
    ast.ImportFrom: _Scan._import,
    ast.Global: _Scan._declared,
    ast.Nonlocal: _Scan._declared,
    ast.ExceptHandler: _Scan._handler,
    ast.MatchAs: _Scan._capture,
    ast.MatchStar: _Scan._capture,
    ast.MatchMapping: _Scan._match_mapping,
    ast.Expr: _Scan._expression,
    ast.Assign: _Scan._assign,
    ast.ListComp: _Scan._comprehension,
    ast.SetComp: _Scan._comprehension,
    ast.GeneratorExp: _Scan._comprehension,
    ast.DictComp: _Scan._comprehension,
    ast.NamedExpr: _Scan._walrus,
    ast.Attribute: _Scan._attribute,
    ast.Call: _Scan._call,
    ast.Subscript: _Scan._subscript,
}
