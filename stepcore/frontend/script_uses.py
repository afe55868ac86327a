"""How often a script binds each name, and what else it does with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Final

_OPEN: Final = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "__import__"})
_READERS: Final = frozenset({"len", "print", "enumerate", "sum", "zip", "sorted", "list", "tuple", "repr", "str"})


_TAKEN: Final = frozenset(
    {ast.arg, ast.ExceptHandler, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal}
    | {ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.Import, ast.ImportFrom, ast.keyword}
    | {ast.Attribute, ast.Subscript, ast.Call, ast.For, ast.comprehension}
)


@dataclass(slots=True)
class ScriptUses:
    """How often a script binds each name, and what else it does with it."""

    bound: dict[str, int] = field(default_factory=dict)
    read: dict[str, list[ast.Name]] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)  # that are set
    keywords: set[str] = field(default_factory=set)  # of calls
    sizes: set[str] = field(default_factory=set)  # imported from stepcore.dims
    subscripted: set[int] = field(default_factory=set)  # names that are read by an index, or by what changes nothing
    appended: dict[str, set[int]] = field(default_factory=dict)  # where ``name.append(...)`` is called
    is_open: bool = False  # names may come and go by other ways

    @staticmethod
    def of(tree: ast.Module) -> ScriptUses:
        """Return those of a script."""
        found = ScriptUses()
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            kind = type(node)
            if isinstance(node, ast.Name):
                found.take_name(node)
                continue
            if kind in _TAKEN:
                found.take(node)
            for name in node._fields:
                value = getattr(node, name)
                if type(value) is list:
                    pending += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST) and name != "ctx":
                    pending.append(value)
        return found

    def take_name(self, node: ast.Name) -> None:
        """Count a name."""
        if isinstance(node.ctx, ast.Load):
            self.read.setdefault(node.id, []).append(node)
            self.is_open |= node.id in _OPEN
        else:
            self._bind(node.id)

    def take(self, node: ast.AST) -> None:
        """Count one node."""
        match node:
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
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
            case ast.keyword(arg=str(name)):
                self.keywords.add(name)
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
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as owner, attr="append")):
                self.appended.setdefault(name, set()).add(id(owner))
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
        """Whether one place binds a name, and no other way does."""
        return not self.is_open and self.bound.get(name) == 1

    def is_read_only(self, name: str) -> bool:
        """Whether a list of this name stays as it is, but for what is appended: nobody else gets it."""
        harmless = self.subscripted | self.appended.get(name, set())
        return all(id(node) in harmless for node in self.read.get(name, ()))
