"""Expressions that build values: lists, dictionaries, slices, f-strings, comprehensions, lambdas."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from stepcore.sim.fnvec.builtin import SinglePass, items
from stepcore.sim.fnvec.errors import EvaluationRefused, NoRule
from stepcore.sim.fnvec.statements import Statements
from stepcore.sim.fnvec.tape import TV

Scope = dict[str, Any]
_FORMATS: Final = frozenset("0123456789.,dfgex+ ")


_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"s": str, "r": repr, "a": ascii}


class _Inner(dict[str, Any]):
    """The names of a comprehension: a copy of those around it."""

    def __init__(self, around: Scope) -> None:
        super().__init__(around)
        self.around = around


class Displays(Statements):
    """The part of the interpreter that evaluates displays and comprehensions."""

    def _slice(self, node: ast.Slice, scope: Scope) -> Any:
        parts = [None if part is None else self.eval(part, scope) for part in (node.lower, node.upper, node.step)]
        return slice(*[int(p) if isinstance(p, torch.Tensor) else p for p in parts])

    def _items(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(items(self, self.eval(node.value, scope)))
            else:
                values.append(self.eval(node, scope))
        return values

    def _list(self, node: ast.List, scope: Scope) -> Any:
        return self._items(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._items(node.elts, scope))

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        if any(key is None for key in node.keys):
            raise EvaluationRefused("** is not part of the function language", "STEP302")
        return {
            self.eval(key, scope): self.eval(value, scope)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> Any:
        text = "".join(str(self.eval(part, scope)) for part in node.values)
        self.machine.fits(len(text))
        return text

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        if not isinstance(value, int | float | str):
            raise EvaluationRefused("an f-string may hold numbers and texts only", "STEP302")
        if node.conversion != -1:
            value = _CONVERSIONS[chr(node.conversion)](value)
        spec = "" if node.format_spec is None else self.eval(node.format_spec, scope)
        if not set(spec) <= _FORMATS or len(spec) > 4:
            raise EvaluationRefused(f"the format {spec!r} is not part of the function language", "STEP302")
        return format(value, spec)

    def _generator(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return SinglePass(iter(self._comprehension(node, scope)))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> list[Any]:
        values: list[Any] = []

        def loop(depth: int, inner: Scope) -> None:
            if depth == len(node.generators):
                values.append(self.eval(node.elt, inner))
                return
            generator = node.generators[depth]
            for item in items(self, self.eval(generator.iter, inner)):
                self.spend()
                self.bind(generator.target, item, inner)
                if all(self.decide(self.eval(test, inner)) for test in generator.ifs):
                    loop(depth + 1, inner)

        loop(0, _Inner(scope))
        return values

    def _dict_comprehension(self, node: ast.DictComp, scope: Scope) -> Any:
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        pairs = ast.copy_location(ast.ListComp(pair, node.generators), node)
        return dict(self._comprehension(pairs, scope))

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.bind(node.target, value, scope)
        while isinstance(scope, _Inner):  # Python binds in the function around
            scope = scope.around
            self.bind(node.target, value, scope)
        return value

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return self.closure(node, scope)

    def decide(self, condition: Any) -> bool:
        """Return the truth of a value that must not depend on the batch position."""
        if type(condition) is TV:
            raise NoRule
        return bool(condition)
