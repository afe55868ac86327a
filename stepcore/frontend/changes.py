"""Which names the statements at the top level of a Python file bind, and what they may change.

A statement may change what it does not name: ``k = l`` and ``u = t[1:]`` let ``k.append(1)`` and ``u[0] = 1`` change
what ``l`` and ``t`` stand for, and a helper changes what it is given (:mod:`stepcore.frontend.sharing`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from stepcore.fn.nodes import Called, argument_names, loaded_names, names_and_functions
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import dotted, is_calculated
from stepcore.frontend.bindings import bound_names, imported_names
from stepcore.frontend.sharing import (
    CHANGING_FUNCTIONS,
    CHANGING_METHODS,
    KEEPING_MODULES,
    OF_STREAMS,
    REFLECTING_NAMES,
    Sharing,
    is_pure,
)
from stepcore.frontend.syntax import parse_suite
from stepcore.frontend.when_read import RunningPart, running, runs_later
from stepcore.records import Record
from stepcore.text.remembered import remembered_text

# What gives or names whatever a module binds, by texts.
_REFLECTING: Final = (
    r"(?<![.\w])(?:exec|eval|globals|locals|vars|builtins|__main__)\b(?!['\"])|\bmodules\b(?!\()"
    r"|__(?:dict|globals|builtins|import)__|\b(?:f_globals|f_locals|_getframe|currentframe|import_module|reload)\b"
)
_REFLECTS: Final = re.compile(_REFLECTING)
# Words without which no text changes anything in place but by a store into an item or attribute.
_SIGNS: Final = re.compile(
    rf"\b(?:{'|'.join(sorted((CHANGING_METHODS | CHANGING_FUNCTIONS) - {'sort'}))})\b"
    r"|\b(?:inplace|out|del|global|nonlocal|getattr|set_default_\w+|methodcaller)\b"
    r"|\bsort\b(?!\((?:dim|descending)=)"  # of a tensor, which stays as it is
    r"|[^\W_]_\b|\]\s*in\b|[-+*/%@&|^]=|<<=|>>=|[^\x00-\x7f]"
)
_MAIN: Final = "__name__"


class Changes:
    """What the statements of one file bind and may change, each among the others."""

    def __init__(self, statements: Sequence[tuple[ast.stmt, str]], *, are_quiet: bool = False) -> None:
        """Take all statements of a file, in order, each with how it is written.

        ``are_quiet``: all stand in texts that are (:func:`is_quiet`).
        """
        self._statements = [statement for statement, _ in statements]
        self._texts = {id(statement): text for statement, text in statements}
        self._named: dict[int, NamedIn] = {}  # by the identity of a statement
        self.are_quiet = are_quiet
        self._signed: list[ast.stmt] = []
        self._reflecting: list[ast.stmt] = []
        self._has_words = self.reflects = self.binds_inside = False
        self._aliases: re.Pattern[str] | None = None
        self._foreign: re.Pattern[str] | None = None
        if not are_quiet:
            self._search(statements)

    def _search(self, statements: Sequence[tuple[ast.stmt, str]]) -> None:
        """Look for signs of what changes or binds anything."""
        whole = "\n".join(text for statement, text in statements if not is_main(statement))
        self._has_words = any(
            word in whole for word in REFLECTING_NAMES
        )  # a text without has no match, and is told fast
        aliases = reflecting_names(self._modules)
        self._aliases = re.compile(rf"\b(?:{'|'.join(map(re.escape, aliases))})\b") if aliases else None
        foreign = foreign_names(self._modules)
        self._foreign = _calls_of(foreign) if foreign else None
        self._signed = [each for each in self._statements if not is_pure(each) and self._is_signed(each)]
        self._reflecting = [each for each in self._signed if self._may_reflect(each)]
        self.reflects = bool(self._reflecting) or "global" in whole
        self.binds_inside = ":=" in whole

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The names that imports bind, each with what it is by its full name."""
        imports = [each for each in self._statements if isinstance(each, ast.Import | ast.ImportFrom)]
        return dict(pair for each in imports for pair in imported_names(each))

    def named(self, statement: ast.stmt) -> NamedIn:
        """Return the names that stand in a statement."""
        known = self._named.get(id(statement))
        if known is None:
            known = self._named[id(statement)] = NamedIn(statement)
        return known

    @cached_property
    def _run(self) -> list[ast.stmt]:
        """The statements that may run as the file is read; not what is ours, which changes nothing."""
        whole = [each for each in self._statements if not is_main(each) and not is_pure(each)]
        parts = [RunningPart(bound_names(each), self.named(each).all, runs_later(each)) for each in whole]
        return [whole[number] for number in running(parts)]

    @cached_property
    def _reflecting_run(self) -> list[ast.stmt]:
        known = {*map(id, self._reflecting)}
        return [each for each in self._run if id(each) in known] if known else []

    @cached_property
    def _sharing(self) -> Sharing:
        return Sharing(self._run, self._modules, self._reflecting_run)

    @cached_property
    def rebound_inside(self) -> frozenset[str] | None:
        """The names that functions bind in the module; None where that may be any."""
        if self._reflecting_run:
            return None
        if not self.reflects:
            return frozenset()
        found = (each for each in self._run if "global" in self._texts[id(each)])
        return frozenset(
            name for each in found for node in ast.walk(each) if isinstance(node, ast.Global) for name in node.names
        )

    def changed(self, statement: ast.stmt) -> frozenset[str]:
        """Return the names whose values a statement may change, besides those that it binds."""
        if not self._signed or is_main(statement):
            return frozenset()
        return self._sharing.changed_by(statement)

    def made(self, statement: ast.stmt) -> set[str]:
        """Return the names that a statement binds or whose values it may change."""
        return self.bound(statement) | self.changed(statement)

    def bound(self, statement: ast.stmt) -> set[str]:
        """Return the names that a statement binds, or of whose values it names an item as what it binds."""
        match statement:
            case ast.FunctionDef(name=name):
                return set() if statement.decorator_list else {name}
            case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Assert() | ast.Pass():
                return set()
        if is_main(statement):
            return set()  # of a file that is run, and not read
        if ":=" in self._texts[id(statement)]:
            return {*bound_names(statement)}
        match statement:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                return {name for target in targets for name in _roots(target)}
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                return {*_roots(target)}
            case ast.Expr():
                return set()
        return {*bound_names(statement)}

    def are_settled(self, names: set[str]) -> bool:
        """Return whether nothing but bindings changes what names stand for: numbers, texts, and functions of these.

        Most files need no more than that, which costs little beside groups of names.
        """
        if not self._signed:
            return True
        if self.reflects or any(map(self._patches, self._signed)):
            return False
        if all(self._fills_apart(statement, names) for statement in self._signed):
            return True
        return all(self._binds_fixed(each, names) for each in self._binding(names))

    def _fills_apart(self, statement: ast.stmt, names: set[str]) -> bool:
        """Return whether a statement is ``ctx[E] = E_value``, for a dictionary shown here that none of ``names`` is.

        What ``names`` stand for does not hold that dictionary: who binds them would name it, and ``names`` are all that
        is named there.
        """
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Name() | ast.Constant())],
                            value=ast.Name() | ast.Constant()):  # fmt: skip
                return name not in names and all(map(_is_new_or_item, self._binding({name})))
        return False

    def _binding(self, names: set[str]) -> list[ast.stmt]:
        return [each for each in self._statements if names & self.bound(each)]

    def _binds_fixed(self, statement: ast.stmt, names: set[str]) -> bool:
        match statement:
            case ast.FunctionDef():
                return not self._is_signed(statement)
            case ast.Assign(targets=targets, value=value):
                return all(isinstance(each, ast.Name) for each in targets) and is_calculated(value, names)
            case (
                ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
                | ast.AugAssign(target=ast.Name(), value=value)
            ):
                return is_calculated(value, names)
        return False

    def _may_reflect(self, statement: ast.stmt) -> bool:
        if not self._has_words:
            return False
        text = self._texts[id(statement)]
        return _REFLECTS.search(text) is not None or (self._aliases is not None and bool(self._aliases.search(text)))

    def _patches(self, statement: ast.stmt) -> bool:
        """Return whether a statement may change a module, of which functions read another part than the one named."""
        text = self._texts[id(statement)]
        if sets_attributes(text):
            return True
        if not any(_stores(statement)):
            return False
        stored = (
            dotted(node)
            for node in ast.walk(statement)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        )
        return any(path is not None and path[0] in self._modules for path in stored)

    def _is_signed(self, statement: ast.stmt) -> bool:
        text = self._texts[id(statement)]
        if changes_something(statement, text) or self._may_reflect(statement):
            return True
        return self._foreign is not None and self._foreign.search(text) is not None


class NamedIn:
    """The names that stand in a statement, which is walked through once."""

    def __init__(self, statement: ast.stmt) -> None:
        self.statement = statement

    @cached_property
    def _found(self) -> tuple[list[ast.Name], list[Called]]:
        return names_and_functions([self.statement])

    @cached_property
    def all(self) -> set[str]:
        """All names."""
        return {node.id for node in self._found[0]}

    @property
    def has_functions(self) -> bool:
        """Whether functions stand in the statement."""
        return bool(self._found[1])

    @cached_property
    def read_later(self) -> set[str]:
        """The names that functions in the statement read of the module: when they are called, whenever that is."""
        found: set[str] = set()
        for node in self._found[1]:
            body: list[ast.stmt] = node.body if isinstance(node, ast.FunctionDef) else [ast.Expr(node.body)]
            found |= loaded_names(body) - {*argument_names(node.args)} - assigned_names(body)
        return found


class MadeNames(Record):
    """A statement with the names that it binds, and those whose values it may change."""

    named: NamedIn
    bound: set[str]
    changed: frozenset[str] = frozenset()

    def makes(self, wanted: set[str]) -> bool:
        """Return whether one of some names is among them."""
        return not (self.bound.isdisjoint(wanted) and self.changed.isdisjoint(wanted))


def chosen(candidates: Sequence[MadeNames], wanted: set[str]) -> tuple[list[MadeNames], set[str]]:
    """Return the statements that make what is wanted, in their order, and all names that are needed then."""
    found: list[MadeNames] = []
    names = set(wanted)
    for each in reversed(candidates):
        if each.makes(names):
            found.append(each)
            names |= each.named.all
    return found[::-1], names


def read_later(candidates: Sequence[MadeNames], wanted: set[str]) -> set[str]:
    """Return the names that functions read where they are called: whatever binds or changes one counts, behind too.

    ``candidates`` are all statements of a file, of which ``wanted`` needs some.
    """
    first, _ = chosen(candidates, wanted)
    found = set[str]().union(*(each.named.read_later for each in first))
    if not found:
        return found
    makers: dict[str, list[MadeNames]] = {}
    for each in candidates:
        for name in each.bound:
            makers.setdefault(name, []).append(each)
    changing = [each for each in candidates if each.changed]
    done: set[int] = set()
    pending = [*found]
    while pending:
        name = pending.pop()
        for each in (*makers.get(name, ()), *(each for each in changing if name in each.changed)):
            if id(each) not in done:
                done.add(id(each))
                more = (each.named.all | each.named.read_later) - found
                found |= more
                pending += more
    return found


@remembered_text
def is_quiet(text: str) -> bool:
    """Return whether a block of a file only imports what changes nothing, or has functions of ours: as most blocks do.

    Where all are quiet, no statement binds or changes a value that functions read, and none is bound but by its name.
    """
    if ":=" in text or "global" in text or any(word in text for word in REFLECTING_NAMES):
        return False
    return all(
        is_pure(each) or (_imports_known(each) and _SIGNS.search(text) is None) for each in parse_suite(text).body
    )


def _imports_known(statement: ast.stmt) -> bool:
    """Return whether a statement imports, by their names, modules of which none changes what it is given."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return False
    pairs = dict(imported_names(statement))
    return "*" not in pairs and not foreign_names(pairs)


def changes_something(statement: ast.stmt, text: str) -> bool:
    """Return whether a statement of a text may change a value in place, besides what functions do for it."""
    return _SIGNS.search(text) is not None or any(_stores(statement))


def may_reflect(text: str) -> bool:
    """Return whether a text has a sign of what may bind or change whatever a file binds."""
    return _REFLECTS.search(text) is not None


def sets_attributes(text: str) -> bool:
    """Return whether a text has a sign of what sets parts of modules but by a store."""
    return "setattr" in text or "set_default" in text


def patched(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of which a statement sets, or takes away, parts or attributes; those that it deletes, too."""
    if isinstance(statement, ast.Delete):
        yield from (name for target in statement.targets for name in _roots(target))
    if any(_stores(statement)):
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                yield from _roots(node)


def reflecting_names(modules: Mapping[str, str]) -> list[str]:
    """Return the names that a file gives to what may bind or change whatever it binds."""
    return [name for name, path in modules.items() if path.rpartition(".")[2] in REFLECTING_NAMES]


def foreign_names(modules: Mapping[str, str]) -> list[str]:
    """Return the names that a file imports from modules whose functions may change what they are given."""
    return sorted(name for name, path in modules.items() if name != "*" and _may_change(path.partition(".")[0]))


def _calls_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b[^=]*\(")


def _may_change(module: str) -> bool:
    return module == "numpy" or module not in KEEPING_MODULES


def _is_new_or_item(statement: ast.stmt) -> bool:
    """Return whether a statement binds a name to a dictionary of its own, or an item of it."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Dict(keys=keys)):
            return None not in keys
        case ast.Assign(targets=[ast.Subscript(value=ast.Name())]):
            return True
    return False


def is_main(statement: ast.stmt) -> bool:
    """Return whether a statement is what a file does when it is run, and not when it is read."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id=name))):
            return name == _MAIN
    return False


def _stores(statement: ast.stmt) -> Iterator[bool]:
    """Yield whether each store into an item or attribute, of a statement or inside of it, changes a value."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        match node:
            case ast.Assign(targets=targets):
                pending += targets
            case ast.AnnAssign(target=target):
                pending.append(target)
            case (
                ast.For(target=target, body=body, orelse=orelse) | ast.AsyncFor(target=target, body=body, orelse=orelse)
            ):
                pending += [target, *body, *orelse]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pending += parts
            case ast.Starred(value=part):
                pending.append(part)
            case ast.Subscript():
                yield True
            case ast.Attribute(attr=attr):
                yield attr not in OF_STREAMS
            case ast.Name() | ast.Expr() | ast.Return() | ast.Import() | ast.ImportFrom():
                pass
            case ast.stmt() | ast.ExceptHandler() | ast.match_case() | ast.withitem():
                pending += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)]


def _roots(node: ast.expr) -> tuple[str, ...]:
    """Return the names that a target binds, or of whose values it is a part."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(name for part in parts for name in _roots(part))
        case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
            return _roots(value)
    return ()
