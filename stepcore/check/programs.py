"""Checking one program: elaboration, affine rule, types, and the element functions that it uses."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from stepcore.check.affine import (
    by_stream,
    is_repeated,
    overuse_diagnostic,
    overuses,
    paper_count,
    paper_violations,
    repeated_diagnostic,
    unused_diagnostics,
)
from stepcore.check.copies import CopyFix, FreshNames, NoFix
from stepcore.check.straighten import straighten
from stepcore.check.typing import type_graph
from stepcore.diagnostics import Diagnostic, Fix
from stepcore.dim import Dim
from stepcore.fn.decl import FnScope
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.python import PyProgram
from stepcore.frontend.syntax import fault_diagnostics, parse_suite
from stepcore.frontend.values import UNKNOWN, FnValue, ModuleRef, Scope, Use, Value
from stepcore.ir import Graph, Port, ProgramSpec
from stepcore.ops.base import TypingContext
from stepcore.span import Embedded, Span
from stepcore.task import TaskFile
from stepcore.types import StreamType

AffineRule: TypeAlias = Literal["strict", "paper"]
# A stream that is consumed more often than this is a mistake that no copies mend.
MAX_COPIES: Final = 512
# Says whether a fix that was worked out leaves its file with fewer findings and no new ones.
TryFix: TypeAlias = Callable[[Fix], bool]


@dataclass(slots=True)
class Checked:
    """One checked program. ``affine_count`` is the number of missing copies under the chosen rule.

    ``graph`` holds typed streams and can be run when ``runnable``; ``uses`` are all consumptions in program order.
    """

    name: str
    spec: ProgramSpec
    graph: Graph
    diagnostics: list[Diagnostic] = field(default_factory=list)
    affine_count: int = 0
    uses: list[Use] = field(default_factory=list)
    span: Span = field(default=Span(0, 0))

    @property
    def runnable(self) -> bool:
        """True when every operator is built and every stream typed, so that the simulator can run it."""
        graph = self.graph
        return graph.complete and bool(graph.returns) and all(stream.type is not None for stream in graph.streams)


@dataclass(slots=True)
class _Body:
    """What differs between the two ways to write a program."""

    statements: list[ast.stmt]
    code: Embedded
    scope: Scope
    inputs: Iterable[tuple[str, StreamType | None, Span]]
    op_module: str
    broken: bool


def _check_body(
    spec: ProgramSpec, body: _Body, bindings: dict[str, int], affine: AffineRule, try_fix: TryFix | None
) -> Checked:
    el = Elaborator(spec.name, bindings, body.op_module)
    for name, stream_type, span in body.inputs:
        ref = el.new_stream(name, span, None, 0)
        el.graph.streams[ref.index].type = stream_type
        el.graph.inputs.append(ref.index)
        body.scope.names[name] = ref
    el.suppress_unused = body.broken
    el.graph.complete = not body.broken
    el.run(body.statements, body.scope, body.code)
    ctx = TypingContext(bindings)
    checked = Checked(spec.name, spec, el.graph, el.diagnostics, uses=el.uses)
    checked.diagnostics.extend(type_graph(el.graph, spec, ctx))
    _check_affine(el, checked, body, affine, try_fix)
    return checked


def _check_affine(el: Elaborator, checked: Checked, body: _Body, affine: AffineRule, try_fix: TryFix | None) -> None:
    uses = by_stream(el)
    found: list[Diagnostic] = []
    count = 0
    repeated = [use for use in el.uses if is_repeated(use, el.homes[use.stream])]
    reported: set[int] = set()
    for use in repeated:
        if use.stream not in reported:
            reported.add(use.stream)
            found.append(repeated_diagnostic(el, use))
            count += 1
    names = None
    for over in overuses(el, uses):
        if over.stream in reported:
            continue
        if names is None:
            names = FreshNames(body.code.text)
        fix = None
        if over.needed <= MAX_COPIES:
            fix = _copy_fix(CopyFix(el, over, names), try_fix) or _written_out(el, body, try_fix)
        found.append(replace(overuse_diagnostic(el, over), fix=fix))
        count += over.needed - 1
    if affine == "paper":
        fixes = {item.span: item.fix for item in found}
        found = [replace(item, fix=fixes.get(item.span)) for item in paper_violations(body.statements, body.code)]
        count = paper_count(body.statements)
    checked.affine_count = count
    checked.diagnostics.extend(found)
    checked.diagnostics.extend(unused_diagnostics(el, uses))


def _copy_fix(builder: CopyFix, try_fix: TryFix | None) -> Fix | None:
    try:
        fix = builder.build()
    except NoFix:
        return None
    # Renaming direct arguments cannot go wrong; whatever rewrites loops or calls is tried out first.
    if builder.is_direct or try_fix is None or try_fix(fix):
        return fix
    return None


def _written_out(el: Elaborator, body: _Body, try_fix: TryFix | None) -> Fix | None:
    try:
        fix = straighten(el, body.statements, body.code)
    except NoFix:
        return None
    return fix if try_fix is not None and try_fix(fix) else None


class ImplChecker:
    """Checks answers to one task; what does not depend on the answer is done once.

    ``dims`` binds sizes as a run will, where the task does not fix them; conditions on sizes are decided by it.
    """

    def __init__(self, task: TaskFile, dims: dict[str, int] | None = None) -> None:
        if task.spec is None:
            raise ValueError(f"{task.source.path} describes no task")
        self.task = task
        self.spec = spec = task.spec
        self._bindings = bindings = spec.bindings(dims)
        names: dict[str, Value] = {"step": ModuleRef("stepcore")}
        symbols = {*("M", "N", "K", "D", "E"), *bindings, *_symbols(spec)}
        names.update({symbol: Dim.symbol(symbol) for symbol in symbols})
        names.update({f"{symbol}_value": value for symbol, value in bindings.items()})
        names["ctx"] = {Dim.symbol(symbol): value for symbol, value in bindings.items()}
        for decl in spec.fns:
            names[decl.func_name] = UNKNOWN if decl.func_name in task.untyped else FnValue(decl)
        self._names = names
        self._inputs = [
            (port.name, None if port.name in task.untyped else port.type, port.span) for port in spec.inputs
        ]
        outputs = spec.outputs
        lost = "outputs" in task.incomplete
        if outputs is not None and (lost or any(output.name in task.untyped for output in outputs)):
            self.spec = replace(spec, outputs=None)

    def check(self, code: Embedded, affine: AffineRule = "strict", try_fix: TryFix | None = None) -> Checked:
        """Check one answer; ``code`` knows where it stands in its file."""
        suite = parse_suite(code.text)
        # Text in a task file belongs to a function body; blank text is reported by the elaborator.
        broken = bool(suite.faults) or not suite.body
        body = _Body(suite.body, code, Scope(dict(self._names)), self._inputs, "step", broken)
        if self.task.incomplete:
            body.scope = _Lenient(body.scope.names)
        checked = _check_body(self.spec, body, self._bindings, affine, try_fix)
        checked.spec = self.spec
        checked.span = code.outer
        if not suite.body and not suite.faults:
            checked.diagnostics.append(Diagnostic("STEP219", code.outer, "impl is empty; end it with `return STREAM`"))
        checked.diagnostics[:0] = fault_diagnostics(suite, code, "STEP902")
        return checked


class _Lenient(Scope):
    """A scope for a file of which something was lost: a name that is not there may have been."""

    def find(self, name: str) -> Value:
        from stepcore.frontend.expressions import BUILTINS

        if name not in self.names and name not in BUILTINS:
            return UNKNOWN
        return super().find(name)


def _symbols(spec: ProgramSpec) -> set[str]:
    ports: list[Port] = [*spec.inputs, *spec.parameters]
    types = [port.type for port in ports] + [output.type for output in spec.outputs or ()]
    return {symbol for stream_type in types for size in stream_type.shape for symbol in size.symbols()}


def check_impl(task: TaskFile, impl_text: str, affine: AffineRule = "strict") -> Checked:
    """Check one answer given as text. For many answers to one task keep an :class:`ImplChecker`."""
    return ImplChecker(task).check(Embedded.whole(impl_text), affine)


def check_program(
    program: PyProgram,
    fn_scope: FnScope,
    affine: AffineRule = "strict",
    try_fix: TryFix | None = None,
    dims: dict[str, int] | None = None,
) -> Checked:
    """Check one program of a Python file. Its spec then lists the functions that it uses."""
    scope = Scope({}, program.scope)
    for port in program.spec.parameters:
        scope.names[port.name] = UNKNOWN
    body = _Body(program.node.body, program.code, scope, program.inputs, program.op_module, program.broken)
    checked = _check_body(program.spec, body, program.spec.bindings(dims), affine, try_fix)
    parameters = tuple(port.name for port in program.spec.parameters)
    used = dict.fromkeys(
        param.decl for node in checked.graph.nodes for param in node.params.values() if isinstance(param, FnValue)
    )
    checked.spec = replace(program.spec, fns=tuple(used), scope=replace(fn_scope, parameters=parameters))
    checked.span = program.spec.span
    return checked
