"""The beginning of a walk over a block: its state, its findings, and who takes each expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from stepcore.findings import budget
from stepcore.fn.bulk import Bulk
from stepcore.fn.decl import FnScope
from stepcore.fn.members import OTHERWISE
from stepcore.fn.ownership.body import Ownership
from stepcore.fn.prelude import prelude_names
from stepcore.fn.walk.finding import BodyFinding, BodyKind
from stepcore.sizes.dim import DEFAULT_SIZES

_FORBIDDEN: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.ImportFrom: ("import", ""),
    ast.ClassDef: ("class", "; write a def, or a lambda"),
    ast.Global: ("global", "; remove it: names of global are in scope"),
    ast.Nonlocal: ("nonlocal", "; remove it"),
    ast.With: ("with", "; write its body alone: no gradients are kept, and nothing is to be closed"),
    ast.Try: ("try", "; write its body alone: nothing is caught"),
    ast.While: ("while", "; write a for loop over a range"),
    ast.Delete: ("del", "; remove it"),
    ast.Raise: ("raise", "; remove it"),
    ast.Assert: ("assert", "; remove it: shapes are checked by the types"),
    ast.AsyncFunctionDef: ("async", "; write def"),
    ast.AsyncFor: ("async", "; write for"),
    ast.AsyncWith: ("async", ""),
    ast.Match: ("match", "; write if and else"),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", "; return a list"),
    ast.YieldFrom: ("yield", "; return a list"),
    ast.Set: ("a set", "; write a list"),
    ast.SetComp: ("a set", "; write a list"),
}

Handlers: TypeAlias = Mapping[type[ast.expr], Callable[[Any, Any], None]]


class BlockWalk:
    """The state of a walk over one block; the classes on it take its names, targets, values, calls and statements."""

    handlers: ClassVar[Handlers]  # of expressions; what stands in no line is refused

    def __init__(self, kind: BodyKind, scope: FnScope, names: set[str]) -> None:
        self.kind = kind
        self.scope = scope
        self.names = names
        self.arguments: tuple[str, ...] = ()  # of the function whose body this is
        self.findings: list[BodyFinding] = []
        weights = frozenset(scope.parameters) if scope.bare_parameters else frozenset()
        self._modules = dict(scope.modules)
        self._later: dict[str, str] = {}  # names of modules that a statement further down binds
        self.own = Ownership(weights, self._modules, may_bind=kind is BodyKind.PRELUDE)
        self._is_fn = kind is BodyKind.FUNCTION  # no helper of a module, which only a reference may use
        self._bulk = Bulk(dict(scope.sizes) or DEFAULT_SIZES, None if kind is BodyKind.PRELUDE else scope.prelude)
        if kind is not BodyKind.PRELUDE:
            self.own.foreign = prelude_names(scope.prelude) - self._modules.keys()
        self._arms = 0  # of conditions that other sizes may decide otherwise
        self._body: list[ast.stmt] = []
        self._lengthens = False  # whether anything so far changes the length of a list
        self._looked_at = 0  # statements of the body that were asked for that
        self._depth = 0  # of loops, in which a name has more than one value
        self._looks_ahead = False  # at helpers, before their findings are told
        self._walrus: set[str] = set()  # names that := binds
        self._rebound: set[str] = set()  # names of modules that a finding says are given another meaning
        self._told = False  # whether the call around is a mistake already
        self._level = 0  # of suites inside each other; only at the outermost one a name may stand for a module

    def read(self, text: str) -> None:
        """Take ``text`` for that of the statements that follow; less is searched than where nobody tells."""
        self._bulk.read(text)

    def report(self, code: str, node: ast.AST, message: str) -> None:
        """Add a finding."""
        self.findings.append(BodyFinding(code, node, message))

    def expression(self, node: ast.expr) -> None:
        """Walk over an expression."""
        budget.spend(1)
        self.handlers.get(type(node), BlockWalk._forbidden)(self, node)

    def _forbidden(self, node: ast.AST) -> None:
        word, hint = _FORBIDDEN.get(type(node), (type(node).__name__, ""))
        if isinstance(node, ast.Delete) and isinstance(node.targets[0], ast.Subscript):
            hint = "; take an item out of a list by its position: xs.pop(0)"
        if isinstance(node, ast.ImportFrom):
            hint = self._in_scope()
        self.report("STEP302", node, f"{word} is forbidden in the function language{hint or OTHERWISE}")

    def _in_scope(self) -> str:
        names = sorted(self._modules)
        return f"; {' and '.join(names)} {'is' if len(names) == 1 else 'are'} in scope" if names else "; remove it"
