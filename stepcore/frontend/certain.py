"""What a script asks for at its top level that is certainly not there: an item, a size over a number, a size's number.

A script is Python, where lists grow by many ways and arms may not run. So only what stands in a statement of its own is
looked at, outside of arms, loops, ``try`` and ``with``, and only names that the script binds once and uses for nothing
that could change them. What may have ended the script before ends the look, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.values import StreamRef, Value
from stepcore.text.wording import counted
from stepcore.types import components

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

_LOOKED_AT: Final = re.compile(r"\[ *-? *\d+ *\]|_value\b|/")
_NUMBER_OF_SIZE: Final = re.compile(r"[A-Za-z]\w*_value")
_SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert, ast.Return)
_HARMLESS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)
_ENDS: Final = frozenset({"exit", "quit", "_exit", "abort", "skip", "fail", "kill", "execv"})
_OPEN: Final = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "__import__"})
_READERS: Final = frozenset({"len", "print", "enumerate", "sum", "zip", "sorted", "list", "tuple", "repr", "str"})


def report_missing(el: Elaboration, tree: ast.Module, text: str) -> None:
    """Report what the statements of a script, whose names are those of ``el``, certainly do not find."""
    if _LOOKED_AT.search(text) is None:
        return
    asked = _Asked(el, tree)
    for statement in tree.body:
        if isinstance(statement, _SIMPLE):
            for node in _evaluated(statement):
                asked.look(node)
        if not _goes_on(statement):
            break
    asked.look_at_functions()


def _goes_on(statement: ast.stmt) -> bool:
    """Whether a script certainly comes to what stands behind a statement, if that raises nothing."""
    if isinstance(statement, _HARMLESS):
        return True
    if not isinstance(statement, (*_SIMPLE, ast.For, ast.If)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _called(node) in _ENDS):
            return False
    return True


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are evaluated whenever it runs."""
    pending = [node]
    while pending:
        now = pending.pop()
        yield now
        match now:
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Yield():
                continue
            case ast.IfExp(test=first) | ast.BoolOp(values=[first, *_]):
                pending.append(first)
            case ast.Compare(left=left, comparators=[first, *_]):
                pending += [left, first]
            case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]):
                pending.append(first.iter)
            case ast.GeneratorExp(generators=[first, *_]) | ast.DictComp(generators=[first, *_]):
                pending.append(first.iter)
            case ast.Assert(test=test):
                pending.append(test)
            case ast.If() | ast.For() | ast.While() | ast.Try() | ast.With() | ast.Match():
                continue
            case _:
                pending += ast.iter_child_nodes(now)


@dataclass(slots=True)
class _Uses:
    """How often a script binds each name, and what else it does with it."""

    bound: dict[str, int] = field(default_factory=dict)
    read: dict[str, list[ast.Name]] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)  # that are set
    sizes: set[str] = field(default_factory=set)  # imported from stepcore.dims
    subscripted: set[int] = field(default_factory=set)  # names that are read by an index, or by what changes nothing
    is_open: bool = False  # names may come and go by other ways

    @staticmethod
    def of(tree: ast.Module) -> _Uses:
        found = _Uses()
        for node in ast.walk(tree):
            found._take(node)
        return found

    def _take(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.read.setdefault(name, []).append(node)
                self.is_open |= name in _OPEN
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                self._bind(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._bind(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    self._bind(name, 2)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self._bind(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                self._import(node, aliases)
            case _:
                self._use(node)

    def _use(self, node: ast.AST) -> None:
        match node:
            case (
                ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
                | ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Store() | ast.Del())
                | ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name)))  # E0.data.append(...)
            ):
                self.attributes.add(name)
            case ast.Subscript(value=ast.Name() as owner, ctx=ast.Load()):
                self.subscripted.add(id(owner))
            case ast.Call(func=ast.Name(id=reader), args=args) if reader in _READERS:
                self.subscripted |= {id(each) for each in args}
            case ast.For(iter=ast.Name() as owner) | ast.comprehension(iter=ast.Name() as owner):
                self.subscripted.add(id(owner))

    def _import(self, node: ast.AST, aliases: list[ast.alias]) -> None:
        for alias in aliases:
            self.is_open |= alias.name == "*"
            name = alias.asname or alias.name.partition(".")[0]
            self._bind(name)
            if isinstance(node, ast.ImportFrom) and node.module == "stepcore.dims":
                self.sizes.add(name)

    def _bind(self, name: str, times: int = 1) -> None:
        self.bound[name] = self.bound.get(name, 0) + times

    def is_once(self, name: str) -> bool:
        return not self.is_open and self.bound.get(name) == 1

    def is_read_only(self, name: str) -> bool:
        """Whether a list of this name stays as it is: nobody else gets it, and no method of it is called."""
        return all(id(node) in self.subscripted for node in self.read.get(name, ()))


@dataclass(slots=True)
class _Asked:
    el: Elaboration
    tree: ast.Module
    _uses: _Uses | None = None

    @property
    def uses(self) -> _Uses:
        if self._uses is None:
            self._uses = _Uses.of(self.tree)
        return self._uses

    @property
    def _names(self) -> Mapping[str, Value]:
        return self.el.frame.scope.names

    def look(self, node: ast.AST) -> None:
        """Report an item or a division that no run gets past."""
        match node:
            case ast.Subscript(value=ast.Name(id=name) as owner, ctx=ast.Load()):
                index = _integer(node.slice)
                if index is not None:
                    self._item(node, owner, name, index)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="data" | "shape" as attr) as owner):
                index = _integer(node.slice)
                if index is not None:
                    self._part(node, owner, name, attr, index)
            case ast.BinOp(left=ast.Name(id=name), op=ast.Div(), right=ast.Constant(value=int() as number)):
                if name in self.uses.sizes and self.uses.is_once(name):
                    self._divided(node, name, number)

    def _item(self, node: ast.Subscript, owner: ast.Name, name: str, index: int) -> None:
        value = self._names.get(name)
        streams = isinstance(value, tuple) and bool(value) and all(isinstance(item, StreamRef) for item in value)
        size = len(value) if streams and isinstance(value, tuple) else self._displayed(name)
        if size is None or -size <= index < size or not self.uses.is_once(name):
            return
        if streams or self.uses.is_read_only(name):
            what = f"{self.el.text(owner)} holds {counted(size, 'stream' if streams else 'item')}"
            self._missing(node, what, self.el.text(owner), index, size)

    def _displayed(self, name: str) -> int | None:
        """Return how many items the list or tuple holds that the script binds a name to, None for anything else."""
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=ast.List(elts=items) | ast.Tuple(elts=items)):
                    if bound == name:
                        return None if any(isinstance(item, ast.Starred) for item in items) else len(items)
        return None

    def _part(self, node: ast.Subscript, owner: ast.Attribute, name: str, attr: str, index: int) -> None:
        value = self._names.get(name)
        type_ = self.el.graph.streams[value.index].type if isinstance(value, StreamRef) else None
        if type_ is None:
            return
        size = len(type_.shape) if attr == "shape" else len(components(type_.element))
        if -size <= index < size or not self.uses.is_once(name) or attr in self.uses.attributes:
            return
        parts = counted(size, "size") if attr == "shape" else counted(size, "tensor")
        self._missing(node, f"{self.el.text(owner)} holds {parts}", self.el.text(owner), index, size)

    def _missing(self, node: ast.AST, what: str, shown: str, index: int, size: int) -> None:
        there = f"{shown}[0]" if size == 1 else f"{shown}[0] to {shown}[{size - 1}]"
        way_out = f"write {there}" if size else "put something in"
        self.el.report_certain("STEP224", node, f"{what}, and there is none at {index}", way_out, None)

    def _divided(self, node: ast.BinOp, name: str, number: int) -> None:
        text = f"{name} is a size, and {self.el.text(node)} may be no whole number"
        fix = Fix(f"Change to {name} // {number}", (Edit(self.el.span(node), f"{name} // {number}"),))
        self.el.report_certain("STEP224", node, text, f"write {name} // {number}", fix)

    def look_at_functions(self) -> None:
        """Report numbers of sizes that a function reads, which the script uses, and that nothing binds."""
        for statement in self.tree.body:
            for function in _functions(statement):
                for part in function.body:
                    for node in _evaluated(part) if isinstance(part, _SIMPLE) else ():
                        if isinstance(node, ast.Name) and _NUMBER_OF_SIZE.fullmatch(node.id):
                            self._unbound(node, statement)

    def _unbound(self, node: ast.Name, owner: ast.stmt) -> None:
        name = getattr(owner, "name", "")
        if self.uses.is_open or node.id in self.uses.bound or not self.uses.is_once(name) or name not in self.uses.read:
            return
        text = f"the script binds {node.id} nowhere"
        size = node.id.removesuffix("_value")
        self.el.report_certain("STEP202", node, text, f"write {node.id} = ... above, the number of {size}", None)


def _functions(statement: ast.stmt) -> Iterator[ast.FunctionDef]:
    """Yield a function, and the methods of a class."""
    if isinstance(statement, ast.FunctionDef):
        yield statement
    elif isinstance(statement, ast.ClassDef):
        yield from (each for each in statement.body if isinstance(each, ast.FunctionDef))


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as number) if type(number) is int:
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if type(number) is int:
            return -number
    return None
