"""What a body must not change in place: its inputs, its state, the weights, and certain views of them.

Only what is certain counts: ``x = input[0][1:]`` is a view, ``x = input[0][i]`` may be a copy and is left to the
simulator, which knows the memory.
"""

from __future__ import annotations

import ast
from typing import Final

from stepcore.fn import allow

# Methods that certainly return a view of their tensor.
_VIEW_METHODS: Final = allow.names(
    "view unsqueeze squeeze transpose permute narrow select t detach expand diagonal swapaxes movedim"
)
_VIEW_ATTRIBUTES: Final = allow.names("T mT H mH")


class Ownership:
    """Names of a body and what they hold. ``arguments`` maps ``input`` and ``state`` to their component counts."""

    def __init__(self, weights: frozenset[str], may_bind: bool) -> None:
        self.arguments: dict[str, int] = {}
        self.foreign: frozenset[str] = frozenset()  # names that ``global`` bound, and the body did not bind anew
        self.aliases: set[str] = set()  # names that certainly view an input, the state or a weight
        self._weights = weights  # parameters that are readable by their bare names
        self._may_bind = may_bind  # ``ctx`` may change: global blocks

    def assign(self, name: str, value: ast.expr | None) -> None:
        """Record that ``name`` now holds ``value`` (None: something else)."""
        view = value is not None and self.protected(value)
        self.aliases.discard(name)
        if view:
            self.aliases.add(name)
        self.hide({name})

    def hide(self, names: set[str]) -> None:
        """Forget arguments and names of ``global`` that inner names hide."""
        self.foreign -= names
        if not names.isdisjoint(self.arguments):
            self.arguments = {key: count for key, count in self.arguments.items() if key not in names}

    def container(self, base: ast.expr) -> bool:
        """Return whether ``base`` is what a body gets: ``input``, ``state``, what ``global`` made, data or sizes."""
        if not isinstance(base, ast.Name):
            return False
        if base.id in self.foreign:
            return True
        return base.id in self.arguments or (base.id in ("input_data", "ctx") and not self._may_bind)

    def protected(self, node: ast.expr) -> bool:
        """Return whether an expression is certainly an input, the state or a weight, or a view of one."""
        match node:
            case ast.Name(id=name):
                return name in self.aliases or name in self._weights
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.arguments:
                return isinstance(index, ast.Constant | ast.UnaryOp)
            case ast.Subscript(value=ast.Name(id="input_data")):
                return True
            case ast.Subscript(value=base, slice=index):
                return _is_view_index(index) and self.protected(base)
            case ast.Attribute(value=base, attr=name):
                return name in _VIEW_ATTRIBUTES and self.protected(base)
            case ast.Call(func=ast.Attribute(value=base, attr=name)):
                return name in _VIEW_METHODS and self.protected(base)
        return False

    def complaint(self, base: ast.expr) -> str:
        """Return the message for a change of ``base``."""
        root = base
        while isinstance(root, ast.Subscript | ast.Attribute | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = root.id if isinstance(root, ast.Name) else "this tensor"
        if name in self.aliases:
            return f"{name} is a view of an input, the state or a weight and must not change in place; use clone()"
        return f"{name} must not change in place: functions are pure; compute a new tensor"


def constant_index(node: ast.expr) -> int | None:
    """Return the integer that an index is, written as such."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _is_view_index(index: ast.expr) -> bool:
    match index:
        case ast.Slice():
            return True
        case ast.Tuple(elts=parts):
            return all(_is_view_index(part) for part in parts)
        case ast.Constant(value=value) if value is None or value is Ellipsis:
            return True
    return constant_index(index) is not None
