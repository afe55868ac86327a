"""Expressions that build values: lists, dictionaries, slices, f-strings, comprehensions, lambdas."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import torch

from stepcore.fn.prelude import comprehension_names
from stepcore.sim.fnvec.builtin import SinglePass, items
from stepcore.sim.fnvec.errors import EvaluationRefused, NoRule
from stepcore.sim.fnvec.scopes import Scope, ScopeNames, of_function
from stepcore.sim.fnvec.shared import countable
from stepcore.sim.fnvec.statements import Statements
from stepcore.sim.fnvec.tape import TV

_FORMATS: Final = frozenset("0123456789.,dfgex+ ")


_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"s": str, "r": repr, "a": ascii}


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
            _key(self.eval(key, scope)): self.eval(value, scope)
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
        return SinglePass(self._results(node, scope))

    def _comprehension(self, node: ast.ListComp, scope: Scope) -> list[Any]:
        return list(self._results(node, scope))

    def _results(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Iterator[Any]:
        """Return the items, each of which is computed when it is asked for."""
        inner = ScopeNames(own=comprehension_names(node.generators), around=scope, is_comprehension=True)
        # What the first goes over is evaluated outside, and at once.
        return self._rounds(node, 0, items(self, self.eval(node.generators[0].iter, scope)), inner)

    def _rounds(
        self, node: ast.ListComp | ast.GeneratorExp, depth: int, around: Iterable[Any], inner: Scope
    ) -> Iterator[Any]:
        generator = node.generators[depth]
        for item in around:
            self.spend()
            self.bind(generator.target, item, inner)
            if not all(self.decide(self.eval(test, inner)) for test in generator.ifs):
                continue
            if depth + 1 < len(node.generators):
                further = items(self, self.eval(node.generators[depth + 1].iter, inner))
                yield from self._rounds(node, depth + 1, further, inner)
            else:
                yield self.eval(node.elt, inner)

    def _dict_comprehension(self, node: ast.DictComp, scope: Scope) -> Any:
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        pairs = ast.copy_location(ast.ListComp(pair, node.generators), node)
        return {_key(key): value for key, value in self._comprehension(pairs, scope)}

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.bind(node.target, value, of_function(scope))
        return value

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return self.closure(node, scope)

    def decide(self, condition: Any) -> bool:
        """Return the truth of a value that must not depend on the batch position."""
        if type(condition) is TV:
            raise NoRule
        return bool(condition)


def _key(value: Any) -> Any:
    """Return a key of a dictionary, of which Python hashes each part as often as it stands there."""
    countable(value)
    return value
