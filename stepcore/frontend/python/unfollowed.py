"""Names of a module that do not stand for what elaboration took them for, once the whole file is read.

Elaboration takes assignments, definitions and imports, one after the other. What a loop, ``if`` or ``:=`` binds, and
what a statement changes in place (:mod:`stepcore.frontend.sharing`), it does not follow, nor what is made of that; and
annotations, defaults and class bodies are evaluated behind the statement that has them, where their names may be bound
again. A program that reads such a name is refused: Python would run another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.fn.nodes import loaded_names, parts_of
from stepcore.frontend.bindings import bound_names, imported_names
from stepcore.frontend.changes import Changes, MadeNames, chosen, is_main
from stepcore.frontend.sharing import is_pure
from stepcore.frontend.values import LosingStatement, OnePass, Scope, Value
from stepcore.text.wording import clipped

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WITHOUT_VALUES: Final = frozenset({"reference", "weights", "data", "name", "layouts"})  # which Python alone evaluates
_LIBRARIES: Final = ("step", "sympy", "torch", "typing", "math")
_SHOWN: Final = 60  # characters of a statement in a message


def forget_unfollowed(
    scope: Scope,
    statements: Sequence[ast.stmt],
    changes: Changes,
    programs: Sequence[ast.FunctionDef],
    imported: Mapping[str, str],
) -> Mapping[int, dict[str, LosingStatement]]:
    """Take the names out of the scope of a module whose values are not known, and note what binds or changes them.

    ``programs`` are those that are still to be read, ``imported`` the modules by the names that a file gives them. The
    result are names that the head of one program reads and that are bound again behind it, each with what binds it, by
    the identity of the program's node.
    """
    values = scope.names
    if changes.are_quiet and not _bound_again(statements, values):
        return {}
    changeable = {name for name, value in values.items() if _is_changeable(value)}
    changeable |= {name for statement in statements for name in _filled(statement)}
    odd = changes.reflects or any(map(_is_odd, statements)) or changes.binds_inside
    if not (odd or changeable or _bound_again(statements, values)):
        return {}
    groups = changes.reflects or (bool(changeable) and _are_read(changeable, statements, changes, programs))
    rebound = changes.rebound_inside
    changeable = {*values} if rebound is None else changeable | rebound
    found = _Followed(values, changes, {*map(id, programs)}, imported, changeable if groups else set())
    for statement in statements:
        found.take(statement)
    if found.lost:
        scope.unfollowed = _told(found.lost)
        for name in found.lost:
            values.pop(name, None)
    return {node: _told(names) for node, names in found.outdated.items()}


@contextmanager
def forgotten(scope: Scope, names: Mapping[str, LosingStatement] | None) -> Iterator[None]:
    """Take some more names out of the scope of a module, each with what binds it, while a program's head is read."""
    if not names:
        yield
        return
    values, unfollowed = scope.names.copy(), scope.unfollowed
    scope.unfollowed = {**(unfollowed or {}), **names}
    for name in names:
        scope.names.pop(name, None)
    try:
        yield
    finally:
        scope.names.clear()
        scope.names.update(values)
        scope.unfollowed = unfollowed


def _is_changeable(value: Value) -> bool:
    kind = type(value)
    return kind in (list, dict, OnePass) or (isinstance(value, tuple) and any(map(_is_changeable, value)))


def _filled(statement: ast.stmt) -> Iterator[str]:
    """Yield the names into whose items or attributes an assignment stores: their values are not known any more."""
    match statement:
        case ast.Assign(targets=targets):
            pending = [target for target in targets if type(target) is not ast.Name]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            pending = [target]
        case _:
            return
    while pending:
        match pending.pop():
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pending += parts
            case ast.Starred(value=part):
                pending.append(part)
            case ast.Subscript(value=base) | ast.Attribute(value=base):
                yield from (node.id for node in ast.walk(base) if isinstance(node, ast.Name))


def _imports_all(statement: ast.stmt) -> bool:
    """Return whether a statement imports all names of a file of the user, which may bind any name again."""
    return (
        isinstance(statement, ast.ImportFrom)
        and any(alias.name == "*" for alias in statement.names)
        and (statement.module is None or not statement.module.startswith(_LIBRARIES))
    )


def _is_odd(statement: ast.stmt) -> bool:
    if _imports_all(statement):
        return True
    match statement:
        case ast.Assign() | ast.AnnAssign() | ast.Import() | ast.ImportFrom() | ast.Expr() | ast.Pass() | ast.Assert():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return False
    return not is_main(statement)


def _bound_again(statements: Sequence[ast.stmt], values: Mapping[str, Value]) -> bool:
    """Return whether a statement binds a name a second time."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case ast.Assign(targets=targets):
                names = [node.id for node in targets if isinstance(node, ast.Name)]
                if len(names) < len(targets):
                    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Import() | ast.ImportFrom():
                names = [*bound_names(statement)]
            case _:
                continue
        if not found.isdisjoint(names):
            return True
        found.update(names)
    return False


def _are_read(
    changeable: set[str], statements: Sequence[ast.stmt], changes: Changes, programs: Sequence[ast.FunctionDef]
) -> bool:
    """Return whether programs read lists or dictionaries, or what is made of them, that a statement may change."""
    wanted = loaded_names(part for program in programs for part in _read_parts(program))
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            wanted |= loaded_names(statement.decorator_list)
    made = [MadeNames(changes.named(each), changes.bound(each) | _defined(each)) for each in statements]
    _, names = chosen(made, wanted)
    return not names.isdisjoint(changeable) and not changes.are_settled(names)


def _defined(statement: ast.stmt) -> set[str]:
    """Return the name of a definition of the module's own, whose values may hold others."""
    return {statement.name} if isinstance(statement, _DEFINITIONS) and not is_pure(statement) else set()


def _read_parts(program: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what of a program is elaborated."""
    yield program.args
    yield from program.body
    if program.returns is not None:
        yield program.returns
    for decorator in program.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg not in _WITHOUT_VALUES:
                yield keyword.value


class _Followed:
    """Takes the statements of a module in order; ``lost`` are the names that are not followed, each with the reason.

    ``outdated`` are the names that the head of a program reads and that are bound again behind it, by its identity.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        changes: Changes,
        programs: set[int],
        imported: Mapping[str, str],
        changeable: set[str],
    ) -> None:
        self.lost: dict[str, ast.stmt] = {}
        self.outdated: dict[int, dict[str, ast.stmt]] = {}
        self._values = values
        self._changes = changes
        self._programs = programs
        self._imported = imported
        self._changeable = changeable  # names whose values may change with no binding of theirs
        self._helpers: dict[str, ast.stmt] = {}
        self._origins: dict[str, str] = {}  # what imports bound last
        # Names that are read later than Python reads them, by defaults of helpers: by the names of these; and heads.
        self._early: dict[str, set[str]] = {}
        self._heads: dict[str, set[int]] = {}  # of programs

    def take(self, statement: ast.stmt) -> None:
        """Note what one statement makes known, and what it makes unknown."""
        if is_main(statement):
            return
        if isinstance(statement, _DEFINITIONS):
            self._define(statement)
        elif _imports_all(statement):
            self._lose({name for name in self._values if name not in self._origins}, statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self._import(statement)
        elif isinstance(statement, ast.Assign | ast.AugAssign) or (
            isinstance(statement, ast.AnnAssign) and statement.value is not None
        ):
            self._assign(statement)
        elif not isinstance(statement, ast.AnnAssign):
            self._lose({*bound_names(statement), *self._changes.bound(statement)}, statement)
        if self._changeable:
            self._lose(self._changes.changed(statement) & self._changeable, statement)

    def _define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        name = statement.name
        at_once = loaded_names(_at_once(statement))
        is_program = id(statement) in self._programs
        self._bind({name}, statement, set() if is_program else at_once)
        self._helpers[name] = statement
        if is_program:
            for each in at_once:
                self._heads.setdefault(each, set()).add(id(statement))
        elif not isinstance(self._values.get(name), FnDecl):  # of what is ours, these are read where they stand
            self._read_early(at_once, {name})

    def _read_early(self, names: set[str], readers: set[str]) -> None:
        for each in names:
            self._early.setdefault(each, set()).update(readers)

    def _assign(self, statement: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        plain = {name for target in targets for name in _plain_names(target)}
        named = self._changes.named(statement)
        self._bind(plain, statement, named.all)
        if named.has_functions and statement.value is not None:
            self._read_early(loaded_names(_defaults_inside(statement.value)), plain)
        if isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name):
            plain = set()
        others = {*bound_names(statement), *self._changes.bound(statement)} - plain
        self._lose({name for name in others if not self._is_elsewhere(name)}, statement)

    def _is_elsewhere(self, name: str) -> bool:
        """Return whether a name is a module of others, of which an attribute may be set (``torch.backends``)."""
        return name in self._imported and not self._imported[name].startswith("step")

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Take an import; one that was made before, and is in force, changes nothing."""
        dots = "." * statement.level if isinstance(statement, ast.ImportFrom) else ""
        found = {name: dots + path for name, path in imported_names(statement)}
        self._bind({name for name, origin in found.items() if self._origins.get(name) != origin}, statement, set())
        self._origins |= found

    def _bind(self, names: set[str], statement: ast.stmt, reads: set[str]) -> None:
        reason = self._reason(reads)
        for name in names:
            if reason is not None:
                self.lost[name] = reason
            else:
                self.lost.pop(name, None)
            for head in self._heads.get(name, ()):
                self.outdated.setdefault(head, {})[name] = statement
            self._helpers.pop(name, None)
            self._origins.pop(name, None)
        for name in names & self._early.keys():
            self._lose(self._early.pop(name) - names, statement)

    def _reason(self, reads: set[str]) -> ast.stmt | None:
        """Return what makes unknown what is made of some names; helpers read theirs when they are called."""
        if not self.lost:
            return None
        pending, done = [*reads], {*reads}
        while pending:
            name = pending.pop()
            if name in self.lost:
                return self.lost[name]
            helper = self._helpers.get(name)
            if helper is not None:
                more = self._changes.named(helper).all - done
                done |= more
                pending += more
        return None

    def _lose(self, names: Iterator[str] | set[str] | frozenset[str], statement: ast.stmt) -> None:
        for name in names:
            self.lost[name] = statement
            self._helpers.pop(name, None)
            self._origins.pop(name, None)


def _plain_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _plain_names(part)


def _at_once(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[ast.AST]:
    """Yield what Python evaluates where a definition stands."""
    yield from statement.decorator_list
    if isinstance(statement, ast.ClassDef):
        yield from statement.bases
        for inner in statement.body:
            if isinstance(inner, _DEFINITIONS):
                yield from _at_once(inner)
            else:
                yield inner
        return
    args = statement.args
    yield from args.defaults
    yield from (each for each in args.kw_defaults if each is not None)
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.annotation is not None:
            yield arg.annotation
    if statement.returns is not None:
        yield statement.returns


def _defaults_inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the defaults of functions without a name."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Lambda):
            yield from each.args.defaults
            yield from (given for given in each.args.kw_defaults if given is not None)
        pending += [part for part in parts_of(each) if part is not None]


def _told(lost: Mapping[str, ast.stmt]) -> dict[str, LosingStatement]:
    """Return what is said of the statements after which names are not followed, once for each."""
    statements = {id(each): each for each in lost.values()}
    told = {key: LosingStatement(_shown(each), _imports_all(each)) for key, each in statements.items()}
    return {name: told[id(each)] for name, each in lost.items()}


def _shown(statement: ast.stmt) -> str:
    return clipped(ast.unparse(statement).partition("\n")[0], _SHOWN)
