"""Which names the statements at the top level of a Python file bind, and what they may change.

A statement may change what it does not name: ``k = l`` and ``u = t[1:]`` let ``k.append(1)`` and ``u[0] = 1`` change
what ``l`` and ``t`` stand for, and a helper changes what it is given. So names that may share a value are one group.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from stepcore.fn import allow
from stepcore.frontend.bindings import bound_names

_Function: TypeAlias = ast.FunctionDef | ast.Lambda

# How what changes something is written: a binding inside, a method, an operation in place, a store into an item.
_SIGNS: Final = re.compile(
    rf":=|\.(?:{'|'.join(sorted(allow.CONTAINER_CHANGES))})\b|_\(|[-+*/%@&|^<>]=|\]\s*(?:=[^=]|in\b)|\bdel\b"
)
_NEW: Final = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.Lambda)  # values of their own
_MAKES_NEW: Final = allow.names("abs bool divmod float int len pow range round str sum")


class Changes:
    """What the statements of one file bind and may change, each among the others."""

    def __init__(self, statements: Sequence[tuple[ast.stmt, str]]) -> None:
        """Take all statements of a file, in order, each with how it is written."""
        self._texts = {id(statement): text for statement, text in statements}
        self._own: list[ast.stmt] = []
        self._functions: dict[str, _Function] = {}
        self._methods: dict[str, tuple[str, ...]] = {}  # names for methods such as ``l.append``, and of what they are
        self._inside: dict[str, set[str]] = {}  # what functions change
        self._together: dict[str, set[str]] | None = None
        if not any(map(_SIGNS.search, self._texts.values())):
            return
        helpers: dict[str, ast.FunctionDef] = {}
        for statement, _ in statements:
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                self._own.append(statement)
                self._name_functions(statement)
            elif isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
                helpers[statement.name] = statement
        while found := [name for name, node in helpers.items() if self._may_change(node)]:
            self._functions |= {name: helpers.pop(name) for name in found}  # those that call them may change something

    def _name_functions(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                self._functions[name] = function
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(value=value, attr=attr)):
                if _changes(attr):
                    self._methods[name] = _root(value)

    def made(self, statement: ast.stmt) -> set[str]:
        """Return the names that a statement binds or whose values it may change."""
        match statement:
            case ast.FunctionDef(name=name):
                return set() if statement.decorator_list else {name}
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return set()  # of a file that is run, and not read
            case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Assert() | ast.Pass():
                return set()
        if self._may_change(statement):
            changed = {name for node in ast.walk(statement) for name in self._changed(node)}
            return {*bound_names(statement), *changed, *(other for name in changed for other in self._sharing(name))}
        match statement:
            case ast.Assign(targets=targets):
                return {name for target in targets for name in _root(target)}
            case ast.AnnAssign(target=target):
                return {*_root(target)}
            case ast.Expr():
                return set()
        return {*bound_names(statement)}

    def _may_change(self, statement: ast.stmt) -> bool:
        """Whether a statement, as it is written, may change something in place; a search is faster than a walk."""
        text = self._texts[id(statement)]
        return bool(_SIGNS.search(text)) or any(f"{name}(" in text for name in (*self._functions, *self._methods))

    def _changed(self, node: ast.AST) -> Iterator[str]:
        """Yield the names whose values one node changes in place."""
        match node:
            case ast.AugAssign(target=target):
                yield from _root(target)
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                yield from _root(value)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if _changes(attr):
                yield from _root(value)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                yield from self._methods.get(name, ())
                function = self._functions.get(name)
                if function is None:
                    return
                changed = self._changed_by(name, function)
                yield from changed
                if changed & {argument.arg for argument in _arguments(function)}:
                    yield from (each for given in (*args, *(k.value for k in keywords)) for each in _shared(given))

    def _changed_by(self, name: str, function: _Function) -> set[str]:
        """Return the names whose values a call of a function changes, its own arguments among them."""
        if name not in self._inside:
            found = self._inside[name] = set[str]()  # which it is to a function that calls itself
            found.update(each for part in ast.walk(function) for each in self._changed(part))
        return self._inside[name]

    def _sharing(self, name: str) -> set[str]:
        """Return the names that may stand for a part of what ``name`` stands for."""
        if self._together is None:
            self._together = {}
            for statement in self._own:
                is_plain = isinstance(statement, ast.Assign | ast.AnnAssign) and ":=" not in self._texts[id(statement)]
                for node in (statement,) if is_plain else ast.walk(statement):
                    match node:
                        case ast.Assign(targets=targets, value=value):
                            self._hold([each for target in targets for each in _root(target)], value)
                        case (
                            ast.AnnAssign(target=target, value=ast.expr() as value)
                            | ast.NamedExpr(target=target, value=value)
                        ):
                            self._hold(_root(target), value)
                        case ast.For(target=target, iter=value):
                            self._hold(_root(target), value)
        return self._together.get(name, set())

    def _hold(self, names: Iterable[str], value: ast.expr) -> None:
        assert self._together is not None
        group = {*names, *_shared(value)}
        for name in [*group]:
            group |= self._together.get(name, set())
        for name in group:
            self._together[name] = group


def _changes(method: str) -> bool:
    """Whether a method of this name changes what it belongs to in place."""
    return method in allow.CONTAINER_CHANGES or allow.is_inplace(method)


def _arguments(function: _Function) -> Iterator[ast.arg]:
    yield from (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)


def _root(node: ast.expr) -> tuple[str, ...]:
    """Return the names that a target binds, or of whose values it is a part."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(name for part in parts for name in _root(part))
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            return _root(value)
        case ast.Call(func=ast.Attribute(value=value)):  # a view
            return _root(value)
    return ()


def _shared(value: ast.expr) -> set[str]:
    """Return the names of which a value may hold, or be, a part."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in _MAKES_NEW:
            return set()
        case ast.Call(func=func, args=args, keywords=keywords):
            own = func.value if isinstance(func, ast.Attribute) else None
            return {name for part in (own, *args, *(k.value for k in keywords)) if part for name in _shared(part)}
        case ast.Name(id=name):
            return {name}
    if isinstance(value, _NEW):
        return set()
    return {
        name
        for part in ast.iter_child_nodes(value)
        if isinstance(part, ast.expr | ast.comprehension)
        for name in (_shared(part) if isinstance(part, ast.expr) else _shared(part.iter))
    }
