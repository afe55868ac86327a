"""The text of a composition as data: which programs are applied to which tensors. Nothing is run.

A composition is a function under ``@step.composition(...)`` with a body of two forms: ``a, b = PROGRAM.apply(tensors)``
and, at the end, ``return a``. A tensor is an argument, a result of an earlier line, or ``weights["NAME"]``, where
``weights`` is the last argument.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor of the module, by its path."""

    name: str


Given = str | Weight  # a tensor by its name in the composition


@dataclass(frozen=True, slots=True)
class Applied:
    """One line: ``targets = program.apply(given)``."""

    program: str
    given: tuple[Given, ...]
    targets: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition: its arguments (that of the weights left out), its lines in order, and what it returns."""

    name: str
    arguments: tuple[str, ...]
    calls: tuple[Applied, ...]
    results: tuple[Given, ...]
    line: int


class NotComposed(ValueError):
    """What stands in a composition and is none of its forms; ``line`` is where."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def composed(node: ast.FunctionDef, *, weighted: bool) -> Composed:
    """Return the composition that ``node`` defines; ``weighted``: its last argument stands for the weights.

    Raises:
        NotComposed: it holds something else than applied programs.
    """
    return _Reader(node, weighted).read()


class _Reader:
    def __init__(self, node: ast.FunctionDef, weighted: bool) -> None:
        args = node.args
        others = [*args.posonlyargs, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        if others or args.defaults:
            raise NotComposed("a composition takes plain arguments", node.lineno)
        names = [argument.arg for argument in args.args]
        if weighted and not names:
            raise NotComposed("a composition with weights= takes them as its last argument", node.lineno)
        self._node = node
        self._weights = names.pop() if weighted else ""
        self._arguments = tuple(names)
        self._bound = set(names)

    def read(self) -> Composed:
        body = list(self._node.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            del body[0]
        if not body:
            raise NotComposed("a composition ends with return and its tensors", self._node.lineno)
        last = body.pop()
        calls = tuple(map(self._call, body))
        if not isinstance(last, ast.Return) or last.value is None:
            raise NotComposed("a composition ends with return and its tensors", last.lineno)
        results = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
        given = tuple(self._given(each) for each in results)
        return Composed(self._node.name, self._arguments, calls, given, self._node.lineno)

    def _call(self, statement: ast.stmt) -> Applied:
        match statement:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=program), attr="apply"), args=args, keywords=[]),
            ):
                given = tuple(self._given(each) for each in args)
                targets = self._targets(target)
                if program in self._bound:
                    raise NotComposed(f"{program} is a tensor here, and no program", statement.lineno)
                self._bound.update(targets)
                return Applied(program, given, targets, statement.lineno)
        text = "a composition applies programs, one a line: y = layer.apply(x), and returns tensors"
        raise NotComposed(text, statement.lineno)

    def _targets(self, target: ast.expr) -> tuple[str, ...]:
        parts: Sequence[ast.expr] = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if len(names) != len(parts) or self._weights in names:
            raise NotComposed("the results of a program get plain names", target.lineno)
        return tuple(names)

    def _given(self, node: ast.expr) -> Given:
        match node:
            case ast.Name(id=name) if name in self._bound:
                return name
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(weight))) if name == self._weights:
                return Weight(weight)
            case ast.Name(id=name):
                raise NotComposed(f"there is no tensor {name} before this line", node.lineno)
        raise NotComposed('a tensor is named here, or is weights["NAME"]', node.lineno)


__all__ = ["Applied", "Composed", "Given", "NotComposed", "Weight", "composed"]
