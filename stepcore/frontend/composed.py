"""The text of a composition as data: which programs are applied to which tensors. Nothing is run.

A composition is a function under ``@step.composition(...)`` with a body of two forms: ``a, b = PROGRAM.apply(tensors)``
and, at the end, ``return a``. A tensor is an argument, a result of an earlier line, or ``weights["NAME"]``, where
``weights`` is the last argument.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from stepcore.frontend.bindings import bound_names
from stepcore.records import Record

_FORM: Final = "a composition applies programs, one a line: y = layer.apply(x), and returns tensors"
_END: Final = "a composition ends with return and its tensors"
_TENSOR: Final = 'a tensor is named here, or is weights["NAME"]'


class Weight(Record):
    """A tensor of the module, by its path."""

    name: str


Given = str | Weight  # a tensor by its name in the composition


class Applied(Record):
    """One line: ``targets = program.apply(given)``. ``node`` is None in what was not read from a text."""

    program: str
    given: tuple[Given, ...]
    targets: tuple[str, ...]
    line: int
    node: ast.Assign | None = field(default=None, compare=False, repr=False)

    @property
    def call(self) -> ast.Call:
        """The call in the text."""
        assert self.node is not None
        assert isinstance(self.node.value, ast.Call)
        return self.node.value


class Composed(Record):
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


class CompositionFault(Record):
    """What is wrong at ``node``, with its code; where that is the function itself its name is meant.

    ``name`` is that of a tensor which is not there; the first ``known`` of :attr:`Reading.names` are.
    """

    node: ast.AST
    code: str
    text: str
    name: str = ""
    known: int = 0


class Reading(Record):
    """All that can be read of a composition, and what cannot.

    Where there are faults, ``text`` lacks the lines that they are in. ``names`` are those of all tensors, as
    they are bound one after the other.
    """

    text: Composed
    faults: tuple[CompositionFault, ...]
    names: tuple[str, ...]


def composed(node: ast.FunctionDef, *, weighted: bool) -> Composed:
    """Return the composition that ``node`` defines; ``weighted``: its last argument stands for the weights.

    Raises:
        NotComposed: it holds something else than applied programs.
    """
    found = read_composition(node, weighted=weighted)
    for fault in found.faults:
        raise NotComposed(fault.text, getattr(fault.node, "lineno", node.lineno))
    return found.text


def read_composition(node: ast.FunctionDef, *, weighted: bool, torn: bool = False) -> Reading:
    """Return what can be read of a composition; never raises.

    ``torn``: lines of it do not parse. They were replaced by ``...``, and nothing is said of what they may have held.
    """
    return _Reader(node, weighted, torn).read()


class _Reader:
    def __init__(self, node: ast.FunctionDef, weighted: bool, torn: bool) -> None:
        self._node = node
        self._torn = torn
        self._faults: list[CompositionFault] = []
        args = node.args
        others = [*args.posonlyargs, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg)), *args.defaults]
        if others:
            self._fault(others[0], "STEP220", "a composition takes plain arguments")
        names = [argument.arg for argument in args.args]
        if weighted and not names:
            self._fault(node, "STEP220", "a composition with weights= takes them as its last argument")
        self._weights = names.pop() if weighted and names else ""
        self._arguments = tuple(names)
        self._bound = dict.fromkeys([*names, *(each.arg for each in others if isinstance(each, ast.arg))])

    def _fault(self, node: ast.AST, code: str, text: str, name: str = "", known: int = 0) -> None:
        self._faults.append(CompositionFault(node, code, text, name, known))

    def read(self) -> Reading:
        body = list(self._node.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and body[0].value.value is not ...:
            del body[0]
        calls = [found for statement in body[:-1] if (found := self._call(statement)) is not None]
        results: tuple[Given, ...] = ()
        last = body[-1] if body else self._node
        if isinstance(last, ast.Return) and last.value is not None:
            parts = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
            results = tuple(given for each in parts if (given := self._given(each)) is not None)
        else:
            if _is_applied(last) and (found := self._call(last)) is not None:
                calls.append(found)
            if not self._torn:
                self._fault(last, "STEP219", _END)
        name, line = self._node.name, self._node.lineno
        text = Composed(name, self._arguments, tuple(calls), results, line)
        return Reading(text, tuple(self._faults), tuple(self._bound))

    def _call(self, statement: ast.stmt) -> Applied | None:
        match statement:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=program) as head, attr="apply"), args=args) as call,
            ):
                before = len(self._faults)
                if program in self._bound:
                    self._fault(head, "STEP224", f"{program} is a tensor here, and no program")
                given = [self._given(each) for each in args]
                for keyword in call.keywords:
                    self._fault(keyword, "STEP220", "tensors are given without names, in the order of the reference")
                targets = self._targets(target)
                if len(self._faults) == before:
                    kept = tuple(each for each in given if each is not None)
                    return Applied(program, kept, targets, statement.lineno, statement)
                return None
        self._bound.update(dict.fromkeys(bound_names(statement)))
        if not (self._torn and _is_gap(statement)):
            self._fault(statement, "STEP220", _FORM)
        return None

    def _targets(self, target: ast.expr) -> tuple[str, ...]:
        parts: Sequence[ast.expr] = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if len(names) != len(parts) or self._weights in names:
            self._fault(target, "STEP220", "the results of a program get plain names")
        self._bound.update(dict.fromkeys(names))
        return tuple(names)

    def _given(self, node: ast.expr) -> Given | None:
        match node:
            case ast.Name(id=name) if name in self._bound:
                return name
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(weight))) if name == self._weights:
                return Weight(weight)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())) if name in self._bound:
                text = f"{ast.unparse(node)} is a weight, and the composition has none"
                self._fault(node, "STEP224", f"{text}; write weights=MODULE in its decorator")
            case ast.Name(id=name) if name == self._weights:
                self._fault(node, "STEP224", f'{name} holds all weights; write {name}["NAME"]')
            case ast.Name(id=name):
                self._fault(node, "STEP202", f"there is no tensor {name} before this line", name, len(self._bound))
            case _:
                self._fault(node, "STEP220", _TENSOR)
        return None


def _is_applied(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="apply"))):
            return True
    return False


def _is_gap(statement: ast.stmt) -> bool:
    """Whether a line stands for one that does not parse."""
    value = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    return isinstance(value, ast.Constant) and value.value is ...
