"""What the names of a body stand for: values, helpers, functions of torch."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from stepcore.fn import allow
from stepcore.fn.ownership.effects import HelperEffects
from stepcore.fn.ownership.heap import Heap
from stepcore.fn.ownership.held import (
    GIVEN,
    GIVEN_NUMBERS,
    GIVEN_TENSORS,
    OWN,
    TENSOR,
    Held,
    HeldFunction,
    TorchFunction,
)
from stepcore.fn.source import dotted


@dataclass(slots=True)
class Foreign:
    """What bodies find in scope: ``names`` that ``global`` bound to what can change, and what its functions do."""

    names: frozenset[str] = frozenset()
    helpers: dict[str, HelperEffects] = field(default_factory=dict)
    callables: dict[str, ast.expr] = field(default_factory=dict)  # names of functions and modules of torch
    tensors: frozenset[str] = frozenset()  # names that hold what torch gave, and nothing else
    iterators: frozenset[str] = frozenset()  # names that hold what a reader uses up
    kept: frozenset[HeldFunction] = frozenset()  # functions that its lists and dictionaries may hold


class BodyNames:
    """Names of a body and what they hold. ``arguments`` maps ``input`` and ``state`` to their component counts."""

    def __init__(self, weights: frozenset[str], modules: Mapping[str, str], may_bind: bool) -> None:
        self.arguments: dict[str, int] = {}
        self.foreign: frozenset[str] = frozenset()  # names that ``global`` bound, and the body did not bind anew
        self.scope = Foreign()
        self.names: dict[str, Held] = {}
        self.helpers: dict[str, HelperEffects] = {}
        self.callables: dict[str, ast.expr] = {}  # names that the body gave to functions and modules of torch
        self.heap = Heap()
        self._weights = weights  # parameters that are readable by their bare names
        self._modules = modules
        self._may_bind = may_bind  # ``ctx`` may change: global blocks

    def hide(self, names: set[str]) -> None:
        """Forget arguments and names of ``global`` that inner names hide."""
        self.foreign -= names
        if not names.isdisjoint(self.arguments):
            self.arguments = {key: count for key, count in self.arguments.items() if key not in names}

    def assign(self, name: str, held: Held, value: ast.expr | None = None) -> None:
        """Record that ``name`` now holds this, the value of ``value`` where that is known."""
        self.helpers.pop(name, None)
        self.callables.pop(name, None)
        if isinstance(value, ast.Name) and (helper := self.helper(value)) is not None:
            self.helpers[name] = helper
        elif value is not None and self.torch_function(value) is not None:
            self.callables[name] = self.function(value)
        self.names[name] = self.heap.few(held)
        self.hide({name})

    def anything(self) -> Held:
        """Return what a call that nobody follows hands over: a tensor, or what else ``global`` made."""
        return TENSOR if self.scope.names <= self.scope.tensors else GIVEN

    def named(self, name: str) -> Held:
        """Return what a name holds."""
        held = self._bound(name)
        callee: HeldFunction | None = self._helper_named(name)
        if callee is None and name in self.foreign and name in self.scope.callables:
            callee = self.torch_function(self.scope.callables[name])
        return held if callee is None else held | Held.function(callee)

    def _bound(self, name: str) -> Held:
        if name in self.names:
            return self.names[name]
        if name in self.arguments or name == "input_data":
            return GIVEN_TENSORS
        if name in self._weights:
            return TENSOR
        if name == "ctx":
            return GIVEN_NUMBERS
        if name not in self.foreign or name not in self.scope.names:
            return OWN
        return TENSOR if name in self.scope.tensors else GIVEN

    def function(self, node: ast.expr) -> ast.expr:
        """Return what a name stands for that ``global`` or the body gave to a function or module of torch."""
        if not isinstance(node, ast.Name):
            return node
        if node.id in self.callables:
            return self.callables[node.id]
        return self.scope.callables.get(node.id, node) if node.id in self.foreign else node

    def torch_function(self, function: ast.expr) -> TorchFunction | None:
        """Return the function or module of torch that this is, None for anything else."""
        function = self.function(function)
        if isinstance(function, ast.Call):  # torch.nn.Flatten()(x)
            found = self.torch_function(function.func)
            return found if found is not None and found.space == "torch.nn" else None
        path = dotted(function)
        if path is None or len(path) < 2 or path[0] not in self._modules:
            return None
        full = [*self._modules[path[0]].split("."), *path[1:]]
        if full[:3] == ["torch", "ops", "aten"]:
            return TorchFunction("torch.ops.aten", full[3] if len(full) > 3 else "")
        return TorchFunction(".".join(full[:-1]), full[-1])

    def is_builtin(self, function: ast.expr) -> TypeGuard[ast.Name]:
        """Return whether this is a function of Python's own."""
        return isinstance(function, ast.Name) and function.id in allow.BUILTINS and function.id not in self.names

    def helper(self, function: ast.expr) -> HelperEffects | None:
        """Return what is known of the helper function that this is."""
        return self._helper_named(function.id) if isinstance(function, ast.Name) else None

    def _helper_named(self, name: str) -> HelperEffects | None:
        return self.helpers.get(name) or (self.scope.helpers.get(name) if name in self.foreign else None)
