"""What the text of a file says of its names: what is bound to them, kept, changed and called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Final, TypeAlias

from stepcore.fn import allow
from stepcore.fn.nodes import argument_names, parts_of
from stepcore.fn.prelude import assigned_names, comprehension_names
from stepcore.fn.source import dotted
from stepcore.frontend.sharing.outside import (
    BACKENDS,
    SETS_ATTRIBUTES,
    SETTINGS,
    changes_arguments,
    changes_its_own,
    is_single,
    may_name_a_change,
    reflects,
    results_by_position,
)
from stepcore.records import Record

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
# A name in the function that binds it (0 for the module), or what has no name, by its identity.
Key: TypeAlias = tuple[int, str]

# Methods that keep nothing of what they are given and change nothing.
_PURE_METHODS: Final = allow.TENSOR_METHODS | allow.names("get keys values items index count copy apply format join")
_LEAVES: Final = frozenset({ast.Name, ast.Constant, ast.Pass, ast.alias, ast.arg, NoneType})
_OURS: Final = ("fn", "program", "composition", "Fn")
CHANGER: Final[Key] = (-1, "a function from elsewhere that changes what it is given")
OF_STREAMS: Final = ("data", "ctx")  # what a stream is given belongs to it


class NamesInScope(Record):
    """A function, or the module, with the names that it binds."""

    number: int
    own: frozenset[str]
    around: NamesInScope | None
    key: Key | None  # of the function itself
    is_class: bool = False

    @property
    def runs_at_once(self) -> bool:
        """Whether what stands here runs where it stands: in the module, or in classes of it."""
        return self.around is None or (self.is_class and self.around.runs_at_once)

    def find(self, name: str) -> Key:
        """Return the key of a name that is read or bound here."""
        scope: NamesInScope = self
        while name not in scope.own and scope.around is not None:
            scope = scope.around
        return (scope.number, name)


class ValueFlow(Record):
    """Names that may be ``value``, or what is kept in it, so many times inside each other; or one value, without it."""

    keys: Sequence[Key]
    scope: NamesInScope
    value: ast.expr | None = None
    depth: int = 0


class ChangedPlace(Record):
    """Expressions that something is done with: at once, or by whoever calls the function around."""

    statement: int  # the number of the one at the top level
    parts: Sequence[ast.expr]
    scope: NamesInScope


class SharingFacts:
    """Reads all statements of a file; ``modules`` are the names that it imports, each with what it is in full.

    ``reflecting`` are statements that may bind or change whatever the file binds (``exec``, ``globals()``).
    """

    def __init__(
        self, statements: Sequence[ast.stmt], modules: Mapping[str, str], reflecting: Sequence[ast.stmt] = ()
    ) -> None:
        self.modules = modules
        self.patched: list[tuple[int, str]] = []  # statements that change a module, and its name
        self.own = frozenset[str]().union(*map(_bound_by, statements))
        self.bound: dict[
            Key, list[tuple[ast.expr, NamesInScope] | None]
        ] = {}  # what is bound to each name, None if anything
        self.functions: dict[int, Key] = {}  # functions, and methods that change something, by identity
        self.flows: list[ValueFlow] = []
        self.joined: list[ChangedPlace] = []  # expressions that may be one value
        self.stored: list[tuple[ast.expr, ChangedPlace]] = []  # into what, and which
        self.changed: list[ChangedPlace] = []
        self.called: list[ChangedPlace] = []
        self.handed: list[ChangedPlace] = []  # to a function that may call it
        self._statement = 0
        self._scopes = 1
        self._helpers = frozenset(_named_functions(statements))
        module = NamesInScope(0, self.own, None, None)
        everywhere = {*map(id, reflecting)}
        for self._statement, statement in enumerate(statements):
            self._visit(statement, module)
            if id(statement) in everywhere and reflects(statement, self.modules):
                self._change_all(statement, module)

    def is_outside(self, func: ast.expr, scope: NamesInScope) -> bool:
        """Return whether a function is one of Python or of a module that is imported."""
        while isinstance(func, ast.Attribute):
            func = func.value
        if not isinstance(func, ast.Name):
            return False
        at: NamesInScope | None = scope
        while at is not None:
            if func.id in at.own:
                return at.around is None and func.id in self.modules
            at = at.around
        return True

    def outside_path(self, func: ast.expr, scope: NamesInScope) -> str:
        """Return the full name of a function of Python or of a module; "" for any other."""
        path = dotted(func)
        if path is None or not self.is_outside(func, scope):
            return ""
        return ".".join((self.modules.get(path[0], path[0]), *path[1:]))

    def is_changer(self, node: ast.expr, scope: NamesInScope) -> bool:
        """Return whether an expression is a function from elsewhere that changes what it is given."""
        match node:
            case ast.Name(id=name) if name not in self.modules:
                return False
            case ast.Name() | ast.Attribute():
                path = self.outside_path(node, scope)
                return bool(path) and changes_arguments(path)
            case ast.Call(func=func, args=args):
                path = self.outside_path(func, scope)
                return path == "operator.methodcaller" and may_name_a_change([node, *args])
        return False

    def _change_all(self, statement: ast.stmt, module: NamesInScope) -> None:
        """Note that a statement, or whoever calls the function that it defines, may change all that the file binds."""
        scope = module
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            scope = NamesInScope(-1, frozenset(), module, module.find(statement.name))
        for name in sorted(self.own):
            self.bound.setdefault(module.find(name), []).append(None)
        self.changed.append(self._place([ast.Name(name, ast.Load()) for name in sorted(self.own)], scope))

    def _place(self, parts: Sequence[ast.expr], scope: NamesInScope) -> ChangedPlace:
        return ChangedPlace(self._statement, parts, scope)

    def _visit(self, node: ast.AST, scope: NamesInScope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                if not is_pure(node):
                    self._function(node, scope)
                return
            case ast.Call():
                self._call(node, scope)
                return
            case ast.Return(value=ast.expr() as value) | ast.YieldFrom(value=value) if scope.key is not None:
                self.flows.append(ValueFlow((scope.key,), scope, value))
            case ast.Yield(value=ast.expr() as value) if scope.key is not None:
                self.flows.append(ValueFlow((scope.key,), scope, ast.List([value], ast.Load())))
            case ast.Match(subject=subject, cases=cases):
                for each in cases:
                    self._captured(each.pattern, subject, scope)
            case ast.Attribute(value=value, attr=attr, ctx=ast.Load()) if changes_its_own(attr):
                self.functions[id(node)] = key = (-1, f"method {id(node)}")
                self.flows.append(ValueFlow((key,), scope, value))
                self.changed.append(self._place([value, node], NamesInScope(-1, frozenset(), scope, key)))
            case _:
                self._binding(node, scope)
        self._visit_parts(node, scope)

    def _visit_parts(self, node: ast.AST, scope: NamesInScope) -> None:
        for each in parts_of(node):
            if type(each) not in _LEAVES:
                self._visit(each, scope)

    def _binding(self, node: ast.AST, scope: NamesInScope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value, scope)
                if len(targets) > 1:
                    self.joined.append(self._place(targets, scope))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, value, scope)
            case (
                ast.For(target=target, iter=value)
                | ast.AsyncFor(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                self._bind(target, value, scope, 1)
            case ast.AugAssign(target=target, value=value):
                self._bind(target, value, scope)
                self.changed.append(self._place([target], scope))
            case ast.Delete(targets=targets):
                self.changed += [
                    self._place([each.value], scope) for each in targets if isinstance(each, ast.Subscript)
                ]

    def _captured(self, pattern: ast.pattern, subject: ast.expr, scope: NamesInScope, depth: int = 0) -> None:
        """Note what a pattern binds: the subject, or what is kept in it."""
        match pattern:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self.bound.setdefault(scope.find(name), []).append(None)
                self.flows.append(ValueFlow((scope.find(name),), scope, subject, depth))
        is_whole = isinstance(pattern, ast.MatchAs | ast.MatchOr)
        for inner in ast.iter_child_nodes(pattern):
            if isinstance(inner, ast.pattern):
                self._captured(inner, subject, scope, depth + (not is_whole))

    def _bind(self, target: ast.expr, value: ast.expr, scope: NamesInScope, depth: int = 0) -> None:
        """Note what a target gets: the value, or what is kept in it, ``depth`` times inside each other."""
        match target:
            case ast.Name(id=name):
                key = scope.find(name)
                self.bound.setdefault(key, []).append(None if depth else (value, scope))
                self.flows.append(ValueFlow((key,), scope, value, depth))
                if scope.is_class and scope.key is not None:  # read as ``A.name``
                    self.stored.append((ast.Name(scope.key[1], ast.Load()), self._place([value], scope)))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                beside = value.elts if isinstance(value, ast.Tuple | ast.List) and not depth else []
                starred = any(isinstance(each, ast.Starred) for each in (*parts, *beside))
                is_plain = len(beside) == len(parts) and not starred
                for position, part in enumerate(parts):
                    self._bind(part, beside[position] if is_plain else value, scope, 0 if is_plain else depth + 1)
            case ast.Starred(value=part):
                self._bind(part, value, scope, depth)
            case ast.Subscript(value=base):
                self._store(base, value, scope)
            case ast.Attribute(value=base, attr=attr) if attr not in OF_STREAMS:
                self._store(base, value, scope)

    def _store(self, base: ast.expr, value: ast.expr, scope: NamesInScope) -> None:
        self._patch(base)
        self.stored.append((base, self._place([value], scope)))
        self.changed.append(self._place([base], scope))

    def _patch(self, base: ast.expr) -> None:
        """Note a store into an attribute of a module, by whatever function that is done."""
        path = dotted(base)
        if path is not None and path[0] in self.modules and BACKENDS.isdisjoint(path):
            self.patched.append((self._statement, path[0]))

    def _function(self, node: Function, scope: NamesInScope) -> None:
        key = (-1, f"lambda {id(node)}") if isinstance(node, ast.Lambda) else scope.find(node.name)
        self.functions[id(node)] = key
        self.bound.setdefault(key, []).append(None)
        if scope.is_class and scope.key is not None:
            self.flows.append(ValueFlow((scope.key, key), scope))
        body: list[ast.stmt] = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
        for decorator in () if isinstance(node, ast.Lambda) else node.decorator_list:
            self._visit(decorator, scope)
            self.called.append(self._place([decorator], scope))
            self.joined.append(self._place([decorator, ast.Name(key[1], ast.Load())], scope))
        args = [] if isinstance(node, ast.ClassDef) else self._arguments(node, key, scope)
        outside, rounds = _named_in(body)
        own = (assigned_names(body) | rounds | {*args}) - outside
        number, self._scopes = self._scopes, self._scopes + 1
        inner = NamesInScope(number, own, scope, key, isinstance(node, ast.ClassDef))
        for arg in args:
            self.bound.setdefault(inner.find(arg), []).append(None)
            self.flows.append(ValueFlow((key, inner.find(arg)), inner))
        for statement in body:
            self._visit(statement, inner)
        for name in sorted(outside):
            self.bound.setdefault(inner.find(name), []).append(None)
            self.changed.append(self._place([ast.Name(name, ast.Load())], inner))

    def _arguments(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, key: Key, scope: NamesInScope
    ) -> list[str]:
        """Return the names of a function's arguments, and note their defaults."""
        given = node.args
        for default in (*given.defaults, *given.kw_defaults):
            if default is not None:
                self._visit(default, scope)
                self.flows.append(ValueFlow((key,), scope, default))
        return argument_names(given)

    def _call(self, node: ast.Call, scope: NamesInScope) -> None:
        func, given = node.func, [*node.args, *(keyword.value for keyword in node.keywords)]
        for argument in given:
            self._visit(argument, scope)
        if self.is_outside(func, scope):
            self._call_outside(node, self.outside_path(func, scope), given, scope)
            return
        named = func.attr if isinstance(func, ast.Attribute) else ""
        if not isinstance(func, ast.Attribute):
            self._visit(func, scope)
            self.joined.append(self._place([func, *given], scope))
            self.called.append(self._place([func], scope))
            return
        self._visit(func.value, scope)
        if changes_its_own(named):
            self.stored.append((func.value, self._place(given, scope)))
            self.changed.append(self._place([func.value], scope))
        elif named not in _PURE_METHODS:
            self.joined.append(self._place([func.value, *given], scope))
            self.called.append(self._place([func.value], scope))

    def _call_outside(self, node: ast.Call, path: str, given: list[ast.expr], scope: NamesInScope) -> None:
        """Note a call of a function of Python or of a module, which may change or call what it is given."""
        writes = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
        in_place = any(keyword.arg == "inplace" for keyword in node.keywords)
        if changes_arguments(path) or in_place:
            writes += [*given, *map(_item, given)]
        elif path.startswith("numpy."):
            writes += results_by_position(path.rpartition(".")[2], node.args)
        if path == "getattr" and may_name_a_change(given):
            writes += given[:1]
        if path in SETS_ATTRIBUTES and given:
            self._patch(given[0])
        if path in SETTINGS and not is_single(given):
            self.patched.append((self._statement, "torch"))
        if writes:
            self.changed.append(self._place(writes, scope))
        if any(keyword.arg == "key" for keyword in node.keywords):
            self.joined.append(self._place(given, scope))
        if any(
            self._is_function(each) or self.is_changer(each, scope) for each in given
        ):  # which may be called with what is kept in the others
            self.joined.append(self._place([*given, *map(_item, given)], scope))
        self.handed.append(self._place(given, scope))

    def _is_function(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._helpers
            case ast.Attribute(attr=attr):
                return changes_its_own(attr)
        return isinstance(node, ast.Lambda)


def _item(node: ast.expr) -> ast.expr:
    """Return an expression for what is kept in a value, whatever its key."""
    return ast.Subscript(node, ast.Constant(0), ast.Load())


def _named_functions(statements: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() | ast.Attribute() | ast.Name()):
                yield name


def _bound_by(statement: ast.stmt) -> frozenset[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({statement.name})
    return assigned_names([statement]) | _named_in([statement])[1]


def _named_in(body: Sequence[ast.stmt]) -> tuple[set[str], frozenset[str]]:
    """Return the names that statements say are bound outside of them, and those that comprehensions and patterns bind.

    Here a name of a comprehension belongs to the function around.
    """
    outside: set[str] = set()
    captured: set[str] = set()
    rounds: list[ast.comprehension] = []
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outside.update(names)
            case ast.comprehension():
                rounds.append(node)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                captured.add(name)
        pending += [each for each in parts_of(node) if type(each) not in _LEAVES]
    return outside, comprehension_names(rounds) | captured


def is_pure(node: ast.AST) -> bool:
    """Return whether something is a function of ours (``@step.fn``, ``class Sum(step.Fn)``, a program): pure."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    bases = node.bases if isinstance(node, ast.ClassDef) else node.decorator_list
    named = [each.func if isinstance(each, ast.Call) else each for each in bases]
    return any(isinstance(each, ast.Attribute) and each.attr in _OURS for each in named)
