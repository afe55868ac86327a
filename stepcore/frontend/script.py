"""Scripts without ``@step.program``: streams made by ``step.Stream(...)``, as published Python programs are written.

The whole script is followed as Python would run it: its statements in order, the functions that it calls, and then the
functions that nothing calls (``test_...``, or a program whose parameters are named like streams of the script). What is
no part of STeP (torch, asserts, printing) is passed over: a script is Python, and only its streams are ours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from stepcore.findings.codes import about
from stepcore.findings.diagnostics import Fix, Related
from stepcore.frontend import functions
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.python import PyModule
from stepcore.frontend.state import Abandon, Frame
from stepcore.frontend.values import UNKNOWN, EvaluationContext, FnClass, Scope, TypeMaker, Value, is_unknown
from stepcore.sizes.dim import DEFAULT_SIZES, Dim, is_size
from stepcore.text.span import Embedded, Span
from stepcore.types import Scalar, StreamType, STuple

_CHECKS: Final = frozenset({"assert_close", "assert_allclose", "assert_array_equal", "assert_equal", "allclose"})
_STREAM: Final = ("name", "dtype", "rank", "shape")


class ScriptElaborator(Elaborator):
    """Follows a script; ``graph`` then holds its streams, those of ``step.Stream`` as inputs.

    ``is_followed``: what becomes of each of them is known, whatever a run of the script decides.
    """

    def __init__(self, name: str, module: PyModule) -> None:
        super().__init__(name, _bindings(module.scope), dialect=module.dialect)
        self.module = module
        self.prints = True

    def follow(self, tree: ast.Module, code: Embedded) -> None:
        """Run the script; never raises on user input."""
        self.suppress_unused = True  # what a script does with a stream besides (printing, plots) is not followed
        scope = Scope({}, self.module.scope)
        self.frame = Frame(scope, code, EvaluationContext("root", code, body=tree.body))
        try:
            self.suite(tree.body)
            for node in _uncalled(tree):
                self._enter(node, scope, code)
        except Abandon:
            self.lost = True
        except RecursionError:
            self.lost = True
            self.report("STEP221", tree.body[0], "the script is nested too deeply to be followed", "split it up")
        self.bindings = {**self.bindings, **_stored(tree, scope)}
        self.graph.complete = False  # it runs as Python only

    @property
    def is_followed(self) -> bool:
        """Whether all streams were followed, each to operators that apply to it in every run, and once."""
        return not self.lost and not any(
            use.path or any(context.endless for context in use.context.chain()) for use in self.uses
        )

    def _enter(self, node: ast.FunctionDef, scope: Scope, code: Embedded) -> None:
        """Follow a function that nothing calls, with the script's streams for parameters of their names."""
        arguments = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        names: dict[str, Value] = {name: scope.names.get(name, UNKNOWN) for name in arguments}
        outer = self.frame
        self.frame = Frame(Scope(names, scope), code, EvaluationContext("root", code, body=node.body))
        try:
            self.suite(node.body)
        finally:
            self.frame = outer

    def report(
        self,
        code: str,
        where: ast.AST | Span,
        message: str,
        way_out: str = "",
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        """Add a finding if it is about streams; see :class:`Elaborator`."""
        if about(code).in_scripts:
            super().report(code, where, message, way_out, related, fix)

    def _refuse(self, statement: ast.stmt) -> None:
        """Follow statements that only Python knows."""
        names = self.frame.scope.names
        match statement:
            case ast.ClassDef():
                is_fn = any(_is_fn(self.evaluate(base)) for base in statement.bases)
                names[statement.name] = FnClass(statement, self.frame.scope, self.frame.code) if is_fn else UNKNOWN
            case ast.With():
                self.suite(statement.body)
            case ast.Try():
                self.suite([*statement.body, *statement.orelse, *statement.finalbody])
            case ast.Import() | ast.ImportFrom():
                # Those at the top are known already: the module was read for its names.
                for alias in statement.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    if self.frame.scope.parent is not self.module.scope:
                        names[bound] = self.module.scope.names.get(bound, UNKNOWN)
            case ast.Assert():
                self.evaluate(statement.test)
            case _:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        names[node.id] = UNKNOWN

    def make_stream(self, node: ast.Call) -> Value | None:
        """Return the stream of ``step.Stream(name, dtype, rank, shape)``: an input of the graph."""
        given = dict(zip(_STREAM, node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in _STREAM})
        values = {key: self.evaluate(value) for key, value in given.items()}
        name = values.get("name")
        ref = self.new_stream(name if isinstance(name, str) else "", self.span(node), producer=None, slot=0)
        self.graph.inputs.append(ref.index)
        self.graph.streams[ref.index].type = self._type(node, given, values)
        return ref

    def _type(self, node: ast.Call, given: Mapping[str, ast.expr], values: Mapping[str, Value]) -> StreamType | None:
        element, rank, shape = values.get("dtype"), values.get("rank"), values.get("shape")
        if isinstance(element, str) and "dtype" in given:
            try:
                element = Scalar(element)
            except ValueError as error:
                self.report("STEP222", given["dtype"], str(error))
                return None
        if isinstance(element, list | tuple) and element and all(isinstance(e, functions.ELEMENTS) for e in element):
            element = STuple(element)
        if not isinstance(shape, list | tuple) or not shape or any(map(is_unknown, shape)):
            return None
        if not isinstance(element, functions.ELEMENTS):
            return None
        if not all(isinstance(size, Dim) or is_size(size) for size in shape):
            self.report("STEP217", given["shape"], "a size of this shape is no size", "sizes are symbols and integers")
            return None
        if isinstance(rank, int) and rank != len(shape) - 1:
            text = f"a stream of rank {rank} has {rank + 1} sizes, found {len(shape)}"
            self.report("STEP207", node, text, f"write rank {len(shape) - 1}, or another shape")
            return None
        return self.stream_type(node, element, shape)


def with_marks(text: str, mark: str) -> ast.Module:
    """Return a script in which ``mark(...)`` is called with what each of its checks gives, where it is reached.

    A check is an ``assert``, or a call such as ``torch.testing.assert_close``.
    """
    tree = ast.parse(text)
    _Marks(mark).visit(tree)
    return ast.fix_missing_locations(tree)


class _Marks(ast.NodeTransformer):
    def __init__(self, mark: str) -> None:
        self._mark = mark

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Mark the condition of an assert."""
        self.generic_visit(node)
        node.test = self._marked(node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Mark the result of a comparing call."""
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return self._marked(node) if name in _CHECKS else node

    def _marked(self, node: ast.expr) -> ast.Call:
        return ast.copy_location(ast.Call(ast.Name(self._mark, ast.Load()), [node], []), node)


def tests_of(tree: ast.Module) -> list[str]:
    """Return the functions that a test runner would call and the script itself does not: ``test...()``."""
    return [node.name for node in _uncalled(tree) if node.name.startswith("test") and not _takes_arguments(node)]


def _takes_arguments(node: ast.FunctionDef) -> bool:
    spec = node.args
    return len(spec.posonlyargs) + len(spec.args) > len(spec.defaults) or None in spec.kw_defaults


def _uncalled(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a script that nothing in it names, and that are not decorated."""
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name not in named and not node.decorator_list:
            yield node


def _is_fn(value: Value) -> bool:
    return isinstance(value, TypeMaker) and value.name == "Fn"


def _bindings(scope: Scope) -> dict[str, int]:
    """Return the sizes that a script binds: ``ctx = {M: M_value}``, and whatever else maps symbols to integers."""
    found = dict(DEFAULT_SIZES)
    for value in scope.names.values():
        if isinstance(value, dict):
            found.update({str(key): size for key, size in value.items() if isinstance(key, Dim) and is_size(size)})
    return found


def _stored(tree: ast.Module, scope: Scope) -> dict[str, int]:
    """Return the sizes of a script that stores one of them later: of ``ctx = {...}`` and of ``ctx[E] = E_value``."""
    found: dict[str, int] = {}
    for statement in tree.body:
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        match statement:
            case ast.Assign([ast.Subscript(ast.Name(), place)], given):
                pairs = [(place, given)]
            case ast.Assign([ast.Name()], ast.Dict(keys, values)):
                pairs = list(zip(keys, values, strict=True))
        for key, value in pairs:
            symbol = scope.names.get(key.id) if isinstance(key, ast.Name) else None
            size = scope.names.get(value.id) if isinstance(value, ast.Name) else getattr(value, "value", None)
            if isinstance(symbol, Dim) and isinstance(size, int) and is_size(size):
                found[str(symbol)] = size
    return found
