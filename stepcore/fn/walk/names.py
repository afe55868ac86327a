"""Names in bodies: which stand for modules, which may be read, which must not be bound."""

from __future__ import annotations

import ast
from typing import Final

from stepcore.fn import aliases, allow
from stepcore.fn.members import OTHERWISE, unknown_name
from stepcore.fn.source import dotted
from stepcore.fn.walk.block import BlockWalk
from stepcore.fn.walk.finding import BodyKind

# What people call the first argument of a function that has an init.
STATES: Final = ("state", "acc")
# Names of tasks that stand for one thing everywhere. Sizes are none of them: E = Symbol("E") is how tasks make some.
_PREDECLARED: Final = frozenset({"input_data", "ctx", "Symbol"})


def _owner(path: str) -> str:
    return path.rpartition(".")[0]


class NameWalk(BlockWalk):
    """Knows what names stand for."""

    def _expect(self, body: tuple[ast.stmt, ...]) -> None:
        """Take note of the names that statements of the block make stand for modules: each does so from there on."""
        self._later = {
            name: module
            for name, module in aliases.aliases(body, self._modules).items()
            if name != "torch" and name not in self.own.arguments
        }
        for name in self._later:
            self._modules.pop(name, None)

    def _names_modules(self, statement: ast.stmt) -> bool:
        """Whether a statement says that names stand for modules, which is interpreted here and never executed."""
        found = aliases.bound_modules(statement, self._modules)
        for name, module in found:
            known = self._modules.get(name, dict(self.scope.modules).get(name))
            problem = aliases.why_not(name, module)
            if not problem and known not in (None, module):
                problem = f"{name} stands for {known} already; choose another name"
            elif not problem and name not in self._modules and self._is_taken(name):
                problem = f"{name} has another meaning and cannot stand for {module}; choose another name"
            if problem:
                self.report("STEP302", statement, problem)
                break
            self._modules[name] = module
            self._later.pop(name, None)
        return bool(found)

    def _is_taken(self, name: str) -> bool:
        scope = self.scope
        sizes = (*allow.PREDECLARED_SYMBOLS, *scope.symbols)
        ours = (*scope.parameters, *scope.tensors, *self.arguments, *self.own.arguments, *sizes)
        return name in ours or name.removesuffix("_value") in sizes

    def _is_module(self, node: ast.expr) -> bool:
        """Report a module that stands where a value does: only its functions are values."""
        module = aliases.module_of(node, self._modules)
        if module is None:
            return False
        path = dotted(node)
        if self._told or (path is not None and path[0] in self._rebound):
            return True
        text = f"{module} is a module, and no value"
        way_out = f"write {ast.unparse(node)}.NAME; `F = {module}` gives it a short name at the beginning of a block"
        self.report("STEP302", node, f"{text}; {way_out}")
        return True

    def _module_of(self, path: tuple[str, ...] | None) -> str | None:
        return self._modules.get(path[0]) if path is not None else None

    def _check_bound(self, node: ast.AST, name: str) -> None:
        """Report a name that must not be bound: a private one, or one that means something in every body."""
        if self._check_private(node, name):
            return
        if self._check_module(node, name):
            return
        if name in self._modules or (name in _PREDECLARED and not self.scope.bare_parameters):
            self.report("STEP302", node, f"{name} is predeclared and cannot be bound anew; choose another name")

    def _check_module(self, node: ast.AST, name: str) -> bool:
        """Report a name that stands for a module and is given another meaning."""
        module = self._modules.get(name, self._later.get(name))
        if module is None or name == module or module not in aliases.ALIASED:
            return False
        self._rebound.add(name)
        self.report("STEP302", node, f"{name} stands for {module} and cannot be bound anew; choose another name")
        return True

    def _check_private(self, node: ast.AST, name: str) -> bool:
        if name.startswith("__"):
            self.report("STEP302", node, f"{name} is forbidden in the function language{OTHERWISE}")
            return True
        return False

    def _name(self, node: ast.AST, name: str) -> None:
        if name in self._later:
            text = f"{name} stands for {self._later[name]} only further down; move the line that says so up"
            self.report("STEP303", node, text)
            return
        module = self._modules.get(name, "torch")
        if (self._is_fn or self.scope.bare_parameters) and module.partition(".")[0] not in ("torch", "math"):
            self.report("STEP304", node, f"{module} is not part of the function language{OTHERWISE}")
            return
        if self.scope.bare_parameters and module.partition(".")[0] != module and module not in allow.NAMESPACES:
            self.report(
                "STEP303", node, f"{name} is a part of a module here; import {_owner(module)} and write {module}"
            )
            return
        if name in self.names or name in allow.BUILTINS or self._check_private(node, name):
            return
        if name in allow.FORBIDDEN_BUILTINS:
            hint = "; functions compute from their arguments and parameters alone"
            if name == "print":
                hint = "; remove it: `stepsmith simulate` shows values"
            self.report("STEP302", node, f"{name} is forbidden in the function language{hint}")
            return
        self.report("STEP303", node, self._unknown(name))

    def _unknown(self, name: str) -> str:
        text = f"unknown name {name!r}"
        if name in self.scope.parameters or (self.kind is BodyKind.REFERENCE and name in self.scope.tensors):
            return f"{text}; write input_data[{name!r}]"
        if self.kind is BodyKind.FUNCTION and name in self.scope.tensors:
            return f"{text}: functions get the elements of streams as input"
        if name in STATES and len(self.arguments) == 1:
            return f"{text}; a function gets a state when it has an init, such as init: [0]"
        if self.arguments and name in ("x", "inp", "inputs", "data", "args", "tensor"):
            return f"{text}; the components of an element are {self.arguments[-1]}[0] and so on"
        return unknown_name(name, self.names, allow.BUILTINS)

    def _read(self, node: ast.Name) -> None:
        if not self._is_module(node):
            self._name(node, node.id)
            if node.id in self.own.foreign and node.id in self.own.scope.iterators:
                text = f"global made {node.id} an iterator, and the first call would use it up; make a list of it there"
                self.report("STEP310", node, text)
