"""Scripts without ``@step.program``: streams made by ``step.Stream.of(tensor)``, or by ``step.Stream(...)`` as in
published Python programs.

The whole script is followed as Python would run it: its statements in order, the functions that it calls, and then the
functions that nothing calls (``test_...``, or a program whose parameters are named like streams of the script). What is
no part of STeP (torch, asserts, printing) is passed over: a script is Python, and only its streams are ours. Of tensors
only dtypes and sizes count, where the text says them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stepcore.findings.codes import about
from stepcore.findings.diagnostics import Fix, Related, StepError
from stepcore.fn.nodes import loaded_names
from stepcore.fn.source import node_span
from stepcore.frontend import functions, tensors
from stepcore.frontend.bindings import bound_names
from stepcore.frontend.certain import report_missing
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.python import PyModule
from stepcore.frontend.sequences import items_of
from stepcore.frontend.state import Abandon, Frame
from stepcore.frontend.tensor_streams import carries, made_of, symbols_of
from stepcore.frontend.values import (
    UNKNOWN,
    EvaluationContext,
    FnClass,
    Method,
    ModuleRef,
    Scope,
    StreamRef,
    TensorValue,
    TypeMaker,
    Value,
    holds_stream,
    is_unknown,
)
from stepcore.sizes.dim import DEFAULT_SIZES, Dim, is_size
from stepcore.text.span import Embedded, Span
from stepcore.types import Scalar, StreamType, STuple

_CHECKS: Final = frozenset({"assert_close", "assert_allclose", "assert_array_equal", "assert_equal", "allclose"})
_STREAM: Final = ("name", "dtype", "rank", "shape")
# What Python finds at a stream of :mod:`stepcore.surface.stream`, and at any object.
STREAM_MEMBERS: Final = frozenset(
    {"consumed_at", "consumed_in", "ctx", "data", "dtype", "facts", "has_data", "label", "name", "of", "origin"}
    | {"rank", "shape", "type", "typed", "values", "waits"}
)
_OF: Final = ("tensors", "dtype", "shape", "ctx", "name")


class ScriptElaborator(Elaborator):
    """Follows a script; ``graph`` then holds its streams, those of ``step.Stream`` as inputs.

    ``is_followed``: what becomes of each of them is known, whatever a run of the script decides.
    """

    takes_generators = True

    def __init__(self, name: str, module: PyModule) -> None:
        bound = _bindings(module.scope)
        super().__init__(name, {**DEFAULT_SIZES, **bound}, dialect=module.dialect)
        self._bound = bound
        self._unsized = False  # a stream has sizes that only a run knows, or others than those of the rest
        self._floating: str | None = "float32"  # of tensors that say no dtype
        self.module = module
        self.prints = True
        self._guarded = 0  # statements around that catch what is raised
        self._tree = ast.Module([], [])
        self._came_to_its_end = False
        self._set: frozenset[str] | None = None  # attributes that the script sets, once somebody asked

    def follow(self, tree: ast.Module, code: Embedded) -> None:
        """Run the script; never raises on user input."""
        self._tree = tree
        self.suppress_unused = True  # what a script does with a stream besides (printing, plots) is not followed
        scope = Scope({"__name__": "__main__"}, self.module.scope)  # it is run, and not imported
        self.frame = Frame(scope, code, EvaluationContext("root", code, body=tree.body))
        try:
            self.suite(tree.body)
            self._came_to_its_end = True
            for node in _uncalled(tree):
                self._enter(node, scope, code)
            for apart in _apart(tree):
                self._enter_apart(apart, scope, code)
        except Abandon:
            self.lost = True
        except RecursionError:
            self.lost = True
            self.report("STEP221", tree.body[0], "the script is nested too deeply to be followed", "split it up")
        self.bindings = {**self.bindings, **_stored(tree, scope)}
        self.graph.complete = False  # it runs as Python only

    def report_missing(self) -> None:
        """Report what the script certainly does not find; the types of its streams are known."""
        if self._came_to_its_end:
            report_missing(self, self._tree, self.frame.code.text)

    @property
    def is_followed(self) -> bool:
        """Whether all streams were followed, each to operators that apply to it in every run, and once."""
        return (
            not self.lost
            and not self._unsized
            and not any(use.path or any(context.endless for context in use.context.chain()) for use in self.uses)
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

    def _enter_apart(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, code: Embedded) -> None:
        """Follow a method, or another function of which nobody can tell when it is called: the streams that it makes.

        Of its arguments, and of streams from outside, nothing is known in it.
        """
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        names: dict[str, Value] = {name: UNKNOWN for name, value in scope.names.items() if holds_stream(value)}
        names |= {argument.arg: UNKNOWN for argument in arguments if argument is not None}
        before, outer = len(self.graph.inputs), self.frame
        self.frame = Frame(Scope(names, scope), code, EvaluationContext("root", code, body=node.body))
        try:
            self.suite(node.body)
        finally:
            self.frame = outer
        self.lost = self.lost or len(self.graph.inputs) > before  # how often it runs, if it does

    def lacks(self, owner: Value, node: ast.Attribute) -> bool:
        """See :class:`Elaboration`: a stream has what Python's class has, and several are a tuple.

        Nothing is said where Python may not get there, or an attribute of this name is set somewhere.
        """
        name = node.attr
        if self._guarded or name.startswith("__"):
            return False
        if isinstance(owner, StreamRef):
            lacks = name not in STREAM_MEMBERS
        else:
            streams = isinstance(owner, tuple | list) and bool(owner) and all(isinstance(o, StreamRef) for o in owner)
            lacks = streams and not hasattr((), name) and not hasattr([], name)
        if lacks and self._set is None:
            self._set = _attributes_set(self._tree)
        return lacks and name not in (self._set or ())

    def report_certain(self, code: str, where: ast.AST | Span, message: str, way_out: str, fix: Fix | None) -> None:
        """See :class:`Elaboration`: nothing is said where the script may catch what is raised."""
        if not self._guarded:
            super().report(code, where, message, way_out, fix=fix)

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
            case ast.With(items=items) if any(_provokes(item.context_expr) for item in items):
                # What stands there is meant to be wrong, and where it stops is for the run to say.
                names |= dict.fromkeys(bound_names(statement), UNKNOWN)
                self.lost = True
            case ast.With():
                catches = any(_may_catch(item.context_expr) for item in statement.items)
                self._guarded += catches
                self.suite(statement.body)
                self._guarded -= catches
            case ast.Try():
                self._guarded += 1
                self.suite([*statement.body, *statement.orelse, *statement.finalbody])
                self._guarded -= 1
            case ast.Import() | ast.ImportFrom():
                # Those at the top are known already: the module was read for its names.
                for alias in statement.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    if self.frame.scope.parent is not self.module.scope:
                        names[bound] = self.module.scope.names.get(bound, UNKNOWN)
            case ast.Assert():
                self.evaluate(statement.test)
            case ast.Match(cases=[first, *others]):
                self.evaluate(statement.subject)
                names |= dict.fromkeys(bound_names(ast.Match(statement.subject, [_without_body(first)])), UNKNOWN)
                rest = ast.copy_location(ast.Match(ast.Constant(None), others), statement)
                self._both(first.body, [rest] if others else [])
            case _:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        names[node.id] = UNKNOWN

    def set_attribute(self, target: ast.Attribute, given: ast.expr, value: Value) -> None:
        """Report data that do not fit the type of their stream; what else is kept in attributes is not followed.

        Of a list with a name nothing is said: whoever got it may have filled it.
        """
        if target.attr != "data" or not (isinstance(given, ast.List | ast.Tuple) or isinstance(value, TensorValue)):
            return
        owner = self.evaluate(target.value)
        stream = self.graph.streams[owner.index] if isinstance(owner, StreamRef) else None
        if stream is None or stream.type is None:
            return
        try:
            carries(stream.type, value, stream.name or "a stream")
        except StepError as error:  # as a run would say it
            super().report(error.code, target, error.message)

    def make_stream(self, node: ast.Call, *, of_tensors: bool = False) -> Value | None:
        """Return the stream of ``step.Stream(name, dtype, rank, shape)`` or ``step.Stream.of(tensors, ...)``.

        It is an input of the graph.
        """
        parameters = _OF if of_tensors else _STREAM
        given = dict(zip(parameters, node.args, strict=False))
        given.update({item.arg: item.value for item in node.keywords if item.arg and item.arg in parameters})
        values = {key: self.evaluate(value) for key, value in given.items()}
        name = values.get("name")
        ref = self.new_stream(name if isinstance(name, str) else "", self.span(node), producer=None, slot=0)
        self.graph.inputs.append(ref.index)
        is_spread = any(isinstance(argument, ast.Starred) for argument in node.args)
        if is_spread or any(keyword.arg is None for keyword in node.keywords):
            return ref
        if of_tensors:
            self.graph.streams[ref.index].type = self._type_of_tensors(node, given, values)
        else:
            self.graph.streams[ref.index].type = self._type(node, given, values)
        return ref

    def make_tensor(self, callee: ModuleRef | Method, node: ast.Call) -> TensorValue | None:
        """Return the tensor that a call of torch makes, None where it is nothing that is known."""
        if isinstance(callee, Method) and not isinstance(callee.owner, TensorValue):
            return None
        if isinstance(callee, ModuleRef):
            if callee.name.startswith("torch.set_default"):
                self._floating = None
            if not callee.name.startswith("torch.") or not tensors.is_made(callee.name.removeprefix("torch.")):
                return None  # before anything is evaluated, which whoever calls does once
        args = items_of(self, node.args)
        given: dict[str, Value] = {keyword.arg or "": self.evaluate(keyword.value) for keyword in node.keywords}
        self.gives_away([*(args or ()), *given.values()])
        if isinstance(callee, ModuleRef):
            found = tensors.made(callee.name.removeprefix("torch."), args or (), given, self._floating)
        else:
            found = tensors.called(callee.owner, callee.name, args or (), given)
        is_open = args is None or "" in given or any(context.endless for context in self.frame.context.chain())
        return TensorValue(None, None) if found is not None and is_open else found

    def _type_of_tensors(
        self, node: ast.Call, given: Mapping[str, ast.expr], values: Mapping[str, Value]
    ) -> StreamType | None:
        ctx = values.get("ctx") or {}
        sizes = {str(key): size for key, size in ctx.items()} if isinstance(ctx, dict) else None
        try:
            found = made_of(self, node, given, values, sizes)
        except StepError as error:  # as a run would say it
            super().report(error.code, given.get("tensors", node), error.message)
            self._unsized = True
            return None
        if found is None:
            self._unsized = True
            return None
        type_, known = found
        self._unsized |= any(self._bound.setdefault(name, size) != size for name, size in known.items())
        self._unsized |= not symbols_of(type_) <= known.keys()
        self.bindings = {**self.bindings, **known}
        return type_

    def element(self, where: ast.expr | None, element: Value) -> Value:
        """Return what is given as an element type: a text is a number's type, a list a tuple of types."""
        if isinstance(element, str) and where is not None:
            try:
                return Scalar(element)
            except ValueError as error:
                self.report("STEP222", where, str(error))
                return UNKNOWN
        if isinstance(element, list | tuple) and element and all(isinstance(e, functions.ELEMENTS) for e in element):
            return STuple(element)
        return element

    def _type(self, node: ast.Call, given: Mapping[str, ast.expr], values: Mapping[str, Value]) -> StreamType | None:
        element, rank, shape = values.get("dtype"), values.get("rank"), values.get("shape")
        element = self.element(given.get("dtype"), element)
        if not isinstance(shape, list | tuple) or not shape or any(map(is_unknown, shape)):
            return None
        if not isinstance(element, functions.ELEMENTS):
            return None
        if not self.are_sizes(given["shape"], shape):
            return None
        if isinstance(rank, int) and rank != len(shape) - 1:
            text = f"a stream of rank {rank} has {rank + 1} sizes, found {len(shape)}"
            self.report("STEP207", node, text, f"write rank {len(shape) - 1}, or another shape")
            return None
        return self.stream_type(node, element, shape)

    def are_sizes(self, where: ast.expr, shape: Iterable[Value]) -> bool:
        """Return whether a shape holds sizes alone; report it otherwise."""
        if all(isinstance(size, Dim) or is_size(size) for size in shape):
            return True
        self.report("STEP217", where, "a size of this shape is no size", "sizes are symbols and integers")
        return False

    def report_unfollowed(self, tree: ast.Module, code: Embedded) -> bool:
        """Report the first place that makes a stream, in a script of which no stream was met; False without one."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and self._makes_stream(node.func):
                text = "this makes a stream where the script is not followed, so that nothing of it was checked"
                way_out = "make streams at its top level, or in functions that it calls"
                super().report("STEP910", node_span(code, node), text, way_out)
                return True
        return False

    def _makes_stream(self, maker: ast.expr) -> bool:
        if isinstance(maker, ast.Attribute) and maker.attr == "of":
            maker = maker.value
        names = self.module.scope.names
        match maker:
            case ast.Attribute(ast.Name(name), "Stream"):
                return names.get(name) == ModuleRef("stepcore")
            case ast.Name(name):
                return names.get(name) == TypeMaker("Stream")
        return False


def _may_catch(manager: ast.expr) -> bool:
    """Whether a block may catch what is raised in it, as that of ``pytest.raises`` does: torch's own do not."""
    while isinstance(manager, ast.Call | ast.Attribute):
        manager = manager.func if isinstance(manager, ast.Call) else manager.value
    return not (isinstance(manager, ast.Name) and manager.id == "torch")


def _provokes(manager: ast.expr) -> bool:
    """Whether a block is there for what is raised in it: that of ``pytest.raises``, or ``self.assertRaises``."""
    name = manager.func if isinstance(manager, ast.Call) else manager
    last = name.attr if isinstance(name, ast.Attribute) else name.id if isinstance(name, ast.Name) else ""
    return last in ("raises", "assertRaises", "assertRaisesRegex")


def _attributes_set(tree: ast.Module) -> frozenset[str]:
    """Return the names of attributes that a script sets, or asks about by their names."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Attribute(attr=name, ctx=ast.Store())
                | ast.Call(func=ast.Name("hasattr" | "setattr"), args=[_, ast.Constant(str(name)), *_])
            ):
                found.add(name)
    return frozenset(found)


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
    plain = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    left = {node.name for node in plain}
    for statement in reversed(tree.body):  # a script calls its functions at its end: few statements are looked at
        if not left:
            return
        left -= loaded_names([statement])
    yield from (node for node in plain if node.name in left)


def _apart(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield methods of the classes of a script that are no element functions, and asynchronous functions."""
    for statement in tree.body:
        if isinstance(statement, ast.AsyncFunctionDef):
            yield statement
        elif isinstance(statement, ast.ClassDef) and not any(map(_names_fn, statement.bases)):
            yield from (node for node in statement.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _names_fn(base: ast.expr) -> bool:
    return ast.unparse(base).rpartition(".")[2] == "Fn"


def _without_body(case: ast.match_case) -> ast.match_case:
    return ast.match_case(case.pattern, case.guard, [])


def _is_fn(value: Value) -> bool:
    return isinstance(value, TypeMaker) and value.name == "Fn"


def _bindings(scope: Scope) -> dict[str, int]:
    """Return the sizes that a script binds: ``ctx = {M: M_value}``, and whatever else maps symbols to integers."""
    found: dict[str, int] = {}
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
