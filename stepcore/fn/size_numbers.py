"""A size has one number: what ``global`` may do with ``M_value`` and ``ctx[M]``.

A file that a task is converted to has ``M_value`` from its first line on, and functions read it after all of
``global``. Both mean what the task means while nothing else is bound to that name and nobody reads the number before
it is bound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stepcore.fn.decl import FnScope
from stepcore.fn.nodes import argument_names
from stepcore.fn.prelude import Evaluator, NotConstant, SymbolRef, assigned_names, comprehension_names
from stepcore.fn.walk.finding import BodyFinding
from stepcore.sizes.dim import DEFAULT_SIZES

_END: Final = "_value"


def number_faults(body: Sequence[ast.stmt], text: str, scope: FnScope) -> list[BodyFinding]:
    """Return where ``global`` gives the name of a size's number another one, or reads it too early (STEP302).

    ``text`` is the one of ``body``; ``scope`` says which sizes the file has. A module binds what it likes: its
    functions read what Python does.
    """
    if scope.bare_parameters or ("ctx" not in text and _END not in text):
        return []
    sizes = {**DEFAULT_SIZES, **dict(scope.sizes)}
    facts = _Facts(sizes)
    for position, statement in enumerate(body):
        facts.take(position, statement)
    found = [*facts.keys, *_rebound(facts, {*sizes, *scope.symbols}), *_read_early(facts)]
    return found[:1]  # what follows from it would be told as well


class _Facts:
    """What the statements of a block do with numbers of sizes, each by its position among them."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.keys: list[BodyFinding] = []  # of ``ctx``, that are no sizes
        self.stored: dict[str, list[tuple[int, ast.AST, ast.stmt]]] = {}  # X_value
        self.bound: dict[str, list[tuple[int, ast.expr | None]]] = {}  # ctx[X], and what to
        self.read: list[tuple[int, str, str, ast.AST]] = []  # the size, how it is written
        self.numbers: dict[str, object] = {}  # what X_value is bound to, where that is known
        self.evaluator = Evaluator(dict(sizes))
        self._names: dict[str, ast.expr | None] = {}  # what the block binds, None where it is anything
        self._later: dict[str, list[tuple[str, str, ast.AST]]] = {}  # what helpers read when they are called
        self._called: dict[str, set[str]] = {}  # helpers that they name
        self._now = 0
        self._statement: ast.stmt = ast.Pass()

    def take(self, position: int, statement: ast.stmt) -> None:
        """Note what one statement does."""
        self._now, self._statement = position, statement
        if isinstance(statement, ast.FunctionDef):
            self._helper(statement)
        else:
            self._visit(statement, frozenset())
        self.evaluator.run(statement)
        for size, places in self.stored.items():
            if places[-1][0] == position:
                self.numbers[size] = self.evaluator.names.get(f"{size}{_END}")
        for name in assigned_names([statement]):
            plain = isinstance(statement, ast.Assign) and [*map(type, statement.targets)] == [ast.Name]
            self._names[name] = statement.value if plain and isinstance(statement, ast.Assign) else None

    def _helper(self, statement: ast.FunctionDef) -> None:
        self._store(statement.name, statement)
        own = frozenset(argument_names(statement.args)) | assigned_names(statement.body)
        before = len(self.read)
        for default in (*statement.args.defaults, *statement.args.kw_defaults):
            if default is not None:
                self._visit(default, frozenset())
        outside = len(self.read)
        for inner in statement.body:
            self._visit(inner, own)
        self._later[statement.name] = [(size, word, node) for _, size, word, node in self.read[outside:]]
        named = {node.id for inner in statement.body for node in ast.walk(inner) if isinstance(node, ast.Name)}
        self._called[statement.name] = named & {*self._later} - {statement.name}
        self.read[before:] = self.read[before:outside]

    def _visit(self, node: ast.AST, own: frozenset[str]) -> None:
        match node:
            case ast.Subscript(value=ast.Name(id="ctx"), slice=key) if "ctx" not in own:
                self._context(node, key, own)
            case ast.Name(id=name, ctx=ast.Store()) if name not in own:
                self._store(name, node)
                return
            case ast.Name(id=name) if name not in own:
                self._load(name, node)
                return
            case ast.Lambda():
                own |= {*argument_names(node.args)}
            case ast.FunctionDef():
                own |= {*argument_names(node.args)} | assigned_names(node.body)
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() | ast.SetComp():
                inside = comprehension_names(node.generators)
                bound = {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
                own |= inside - bound
        for child in ast.iter_child_nodes(node):
            self._visit(child, own)

    def _store(self, name: str, node: ast.AST) -> None:
        if name.endswith(_END):
            self.stored.setdefault(name.removesuffix(_END), []).append((self._now, node, self._statement))

    def _load(self, name: str, node: ast.AST) -> None:
        if name.endswith(_END):
            self.read.append((self._now, name.removesuffix(_END), name, node))
        pending, done = [name], set[str]()
        while pending:
            helper = pending.pop()
            if helper in self._later and helper not in done:
                done.add(helper)
                pending += self._called[helper]
                self.read += [(self._now, size, word, node) for size, word, _ in self._later[helper]]

    def _context(self, node: ast.Subscript, key: ast.expr, own: frozenset[str]) -> None:
        size = self._size(key, own)
        if isinstance(node.ctx, ast.Load):
            given = self._names.get(key.id) if isinstance(key, ast.Name) else None
            if isinstance(key, ast.Name) and key.id in self._names and not _is_symbol_of(given, key.id):
                text = f"{key.id} is bound in this block, and ctx[{key.id}] is the number of a size"
                self.keys.append(BodyFinding("STEP302", node, f"{text}; choose another name for what is bound"))
            elif size is not None:
                self.read.append((self._now, size, f"ctx[{size}]", node))
        elif size is None:
            text = f"ctx holds numbers of sizes, and `{ast.unparse(key)[:40]}` is none"
            self.keys.append(BodyFinding("STEP302", node, f"{text}; write ctx[E] = 3 for a size E"))
        else:
            self.bound.setdefault(size, []).append((self._now, _value_of(self._statement, node)))

    def _size(self, key: ast.expr, own: frozenset[str]) -> str | None:
        """Return the size that a key of ``ctx`` is, None where it is none; what nobody can tell is one."""
        if isinstance(key, ast.Name) and (key.id in own or key.id not in self._names):
            return key.id
        try:
            value = self.evaluator.value(key)
        except NotConstant:
            return key.id if isinstance(key, ast.Name) else ast.unparse(key)
        return value.name if isinstance(value, SymbolRef) else None


def _is_symbol_of(value: ast.expr | None, name: str) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=given)]):
            return bool(given == name)
    return False


def _value_of(statement: ast.stmt, target: ast.expr) -> ast.expr | None:
    """Return what a plain assignment gives its only target."""
    match statement:
        case ast.Assign(targets=[only], value=value) if only is target:
            return value
        case ast.AnnAssign(target=only, value=value) if only is target:
            return value
    return None


def _rebound(facts: _Facts, sizes: Iterable[str]) -> Iterator[BodyFinding]:
    """Yield bindings of the number of a size that are not its only one, or not what ``ctx`` is bound to."""
    known = {*sizes, *facts.bound}
    for size, places in facts.stored.items():
        if size not in known:
            continue
        name, (_, node, statement) = f"{size}{_END}", places[-1]
        once = f"write `{name} = ...` once, in a line of its own, and ctx[{size}] = {name} behind it"
        if len(places) > 1 or not _is_plain(statement, node):
            text = f"{name}, the number of the size {size}, is bound in more than one place or inside of a statement"
            yield BodyFinding("STEP302", node, f"{text}; {once}")
        elif not _agrees(facts, size, name):
            text = f"{name} is the number of the size {size}, and is bound here to something else"
            yield BodyFinding("STEP302", node, f"{text}; write ctx[{size}] = {name} behind it, or choose another name")


def _is_plain(statement: ast.stmt, node: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return target is node
    return False


def _agrees(facts: _Facts, size: str, name: str) -> bool:
    """Return whether the last binding of a size is to the name of its number, or to the same number."""
    if size not in facts.bound:
        return False
    number, bound = facts.numbers.get(size), facts.evaluator.bound.get(size)
    if isinstance(number, int) and bound is not None:
        return number == bound
    match facts.bound[size][-1][1]:
        case ast.Name(id=given):
            return given == name
    return False


def _read_early(facts: _Facts) -> Iterator[BodyFinding]:
    """Yield reads of the number of a size before it has the one that the file gives it."""
    for position, size, word, node in facts.read:
        if size not in facts.bound:
            continue
        named = facts.stored.get(size)
        by_name = named is not None and not word.startswith("ctx")
        end = named[0][0] if by_name and named is not None else facts.bound[size][-1][0]
        of_its_own = not by_name and any(position == at for at, _ in facts.bound[size])
        if position < end + by_name and not of_its_own:
            text = f"{word} is read here, and the size {size} gets its number later"
            yield BodyFinding(
                "STEP302", node, f"{text}; bind ctx[{size}] before, or choose another name for this number"
            )
