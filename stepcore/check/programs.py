"""Checking one program: elaboration, affine rule, types, and the element functions that it uses."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from stepcore.check.affine import (
    Overuse,
    by_stream,
    is_repeated,
    overuse_diagnostic,
    overuses,
    paper_count,
    paper_violations,
    published_diagnostics,
    repeated_diagnostic,
    unused_diagnostics,
)
from stepcore.check.deciding import numbers_decide
from stepcore.check.sizes import Followed, candidates, followed_sizes, follows_sizes, steps_of, untaken
from stepcore.check.typing import type_graph, with_names
from stepcore.findings import budget
from stepcore.findings.budget import OutOfBudget
from stepcore.findings.codes import Phase, Subject, about
from stepcore.findings.diagnostics import Diagnostic, Fix, Severity
from stepcore.fn.check import check_fn
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.prelude import constant_bindings
from stepcore.fn.source import node_span
from stepcore.frontend import closed
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import fault_diagnostics, parse_suite
from stepcore.frontend.values import UNKNOWN, ContextSizes, ModuleRef, Scope, Seen, Use, Value
from stepcore.graph.ir import Graph, Port, ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.graph.typed import TypedGraph, is_typed
from stepcore.jobdata.choices import AffineRule
from stepcore.ops import GENERATION_1
from stepcore.ops.base import TypingContext
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import Dim
from stepcore.system.collector import no_collection
from stepcore.system.unwarned import unwarned
from stepcore.text.span import Embedded, Span
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.check.copies import FreshNames
    from stepcore.frontend.python import PyModule, PyProgram

# A stream that is consumed more often than this is a mistake that no copies mend.
MAX_COPIES: Final = 512
# Says whether a fix that was worked out leaves its file with fewer findings and no new ones; without it, none is made.
TryFix: TypeAlias = Callable[[Fix], bool]


@dataclass(slots=True)
class Checked:
    """One checked program. ``affine_count`` is the number of missing copies under the chosen rule.

    ``graph`` may lack what a finding tells of; where it lacks nothing the program is ``runnable`` and has a ``typed``
    graph. ``uses`` are all consumptions in program order, ``seen`` all names that evaluation met. ``followed`` tells on
    which sizes the graph may depend, None that it is the same at all. ``undecided`` is why a graph may not be complete
    without a finding: what the text does not tell. ``span`` is the program's head (all of it in a
    task file), ``end`` its last character's end.
    """

    name: str
    spec: ProgramSpec
    graph: Graph
    diagnostics: list[Diagnostic]
    affine_count: int
    uses: list[Use]
    seen: list[Seen]
    span: Span
    end: int
    followed: Followed | None = None
    _typed: TypedGraph | None = field(default=None, repr=False, compare=False)
    undecided: Diagnostic | None = field(default=None, repr=False, compare=False)

    @property
    def runnable(self) -> bool:
        """True when every operator is built and every stream typed: there is a :attr:`typed` graph."""
        return self._typed is not None or is_typed(self.graph)

    @property
    def typed(self) -> TypedGraph:
        """The graph for whatever runs or measures it; checking is over when it is asked for.

        Raises:
            ValueError: it is not :attr:`runnable`.
        """
        if self._typed is None:
            self._typed = TypedGraph(self.graph)
        return self._typed


@dataclass(slots=True)
class _Body:
    """What differs between the two ways to write a program."""

    statements: list[ast.stmt]
    code: Embedded
    scope: Scope
    inputs: Iterable[tuple[str, StreamType | None, Span]]
    op_module: str
    fn_scope: FnScope
    strict: bool  # nothing but STeP is in scope
    broken: bool
    takes_lines: bool  # False: the text around it, such as the quotes of a YAML scalar, may not survive new lines
    head: Span
    end: int
    dialect: Dialect = GENERATION_1
    at: Callable[[dict[str, int]], Scope] | None = None  # the scope at other sizes, where ``--dims`` may bind them


def _followed(name: str, body: _Body, bindings: dict[str, int]) -> Elaborator:
    """Return the elaboration of a body alone, before anything is checked."""
    el = Elaborator(name, bindings, body.op_module, body.dialect)
    el.is_task = body.strict
    for port, stream_type, span in body.inputs:
        ref = el.new_stream(port, span, producer=None, slot=0)  # pragma: no mutate: an input has no slot
        el.graph.streams[ref.index].type = stream_type
        el.graph.inputs.append(ref.index)
        body.scope.names[port] = ref
    el.suppress_unused = body.broken
    el.graph.complete = not body.broken
    el.run(body.statements, body.scope, body.code)
    return el


def _elaborated(
    spec: ProgramSpec, body: _Body, bindings: dict[str, int], affine: AffineRule, try_fix: TryFix | None
) -> tuple[Checked, Elaborator]:
    el = _followed(spec.name, body, bindings)
    if not body.broken:  # a line that was left out may have bound any name
        scope, fns = body.scope, body.fn_scope
        el.diagnostics += closed.outside(
            body.statements,
            body.code,
            scope,
            fns,
            el.diagnostics,
            strict=body.strict,
            refused=el.refused,
            whole=el.whole,
            dialect=body.dialect,
        )
    count, typed, undecided = 0, None, None
    changeable = _changeable(spec, bindings)
    try:
        uses = by_stream(el)
        for item in with_names(type_graph(el.graph, spec, TypingContext(bindings)), body.scope.outermost):
            el.diagnostics.append(_with_fix(el, item, spec, bindings))  # one by one: they stay where the budget ends
        if el.loops and all(node.op is not None for node in el.graph.nodes):  # else nobody knows what leads where
            from stepcore.check.loops import loop_diagnostics  # few programs have some

            el.diagnostics += loop_diagnostics(el.graph, el.operator("EagerMerge"))
        count = _check_affine(el, uses, body, affine, try_fix, changeable)
        el.diagnostics += [*unused_diagnostics(el, uses), *published_diagnostics(el)]
        undecided = _undecided(el)
        if undecided is not None and el.open_lengths:
            el.diagnostics += el.open_lengths
        elif undecided is not None and el.is_task and el.graph.complete:
            el.diagnostics.append(undecided)
        if any(port.written for port in spec.parameters):
            from stepcore.check.stored import stored_diagnostics  # few programs store

            el.diagnostics += stored_diagnostics(el.graph, spec.name)
        if _reads_late(el.graph) and not _has_errors(el):
            from stepcore.check.waiting import waiting_diagnostics  # few programs may have to wait

            typed = TypedGraph(el.graph)
            el.diagnostics += waiting_diagnostics(el, typed, spec, body.takes_lines, try_fix)
    except OutOfBudget as error:
        el.out_of_budget(error.at(spec.span))
    checked = Checked(
        spec.name, spec, el.graph, el.diagnostics, count, el.uses, el.seen, body.head, body.end,
        followed_sizes(el, changeable, body.code.text), typed, undecided,
    )  # fmt: skip
    return checked, el


def _has_errors(el: Elaborator) -> bool:
    return any(item.severity is Severity.ERROR for item in el.diagnostics)


def _undecided(el: Elaborator) -> Diagnostic | None:
    """Return an error where something has no value although nothing is wrong with it, None where all is known.

    In a task everything has to have one: Python would go on with the value, by steps that nobody has counted. A Python
    file may use what its module computes, but where an operator takes it there is no graph to verify or run.
    """
    if el.undecided is None or _has_errors(el):
        return None
    span, text = el.undecided
    way_out = "write it with numbers, sizes, texts and streams"
    return Diagnostic("STEP224", span, f"what {text} is cannot be told from the program; {way_out}")


_FORKED: Final = 1  # what a stream comes from: a fork,
_LATE: Final = 2  # a fold of what comes from a fork


def _reads_late(graph: Graph) -> bool:
    """Whether some operator reads a fold of what comes from a fork beside what comes from a fork (``check.depths``)."""
    comes_from = [0] * len(graph.streams)
    for node in graph.nodes:
        op = node.op
        pace = op.pace if op is not None else None
        if pace is None:
            continue
        flags = 0
        for index in node.inputs:
            own = comes_from[index]
            if own:
                if flags and (flags | own) & _LATE:
                    return is_typed(graph)
                flags |= own
        if flags and (pace.folds or pace.ahead):
            flags |= _LATE
        elif len(node.outputs) > 1:
            flags |= _FORKED
        if flags:
            for index in node.outputs:
                comes_from[index] = flags
    return False


def _with_fix(el: Elaborator, found: Diagnostic, spec: ProgramSpec, bindings: dict[str, int]) -> Diagnostic:
    info = about(found.code)
    if info.subject is Subject.SELECTOR:
        from stepcore.check.swaps import with_swap

        return with_swap(el, found)
    if info.phase is Phase.OUTPUTS and info.subject is Subject.SHAPE:
        from stepcore.check.promises import with_promise

        return with_promise(el, found, spec, bindings)
    return found


def _check_at_other_sizes(
    spec: ProgramSpec,
    body: _Body,
    names: Callable[[dict[str, int]], Scope],
    bindings: dict[str, int],
    affine: AffineRule,
    try_fix: TryFix | None,
) -> Checked:
    """Check a program at the sizes that are bound, and at others whatever it does not do at those."""
    body.at = names
    checked, el = _elaborated(spec, body, bindings, affine, try_fix)
    changeable = _changeable(spec, bindings)

    def exists(sizes: Mapping[str, int]) -> bool:
        return _bound_at(spec, bindings, sizes).keys() == bindings.keys()

    def follow(sizes: Mapping[str, int]) -> Elaborator:
        at = _bound_at(spec, bindings, sizes)
        return _followed("", replace(body, scope=names(at)), at)

    def check(sizes: Mapping[str, int]) -> tuple[Checked, Elaborator]:
        at = _bound_at(spec, bindings, sizes)
        # Its fixes are tried in any case: they have to leave the bound sizes without a finding, too.
        return _elaborated(spec, replace(body, scope=names(at), takes_lines=False), at, affine, try_fix)

    decide = checked.followed is not None and el.graph.complete and numbers_decide(el)
    if decide or untaken([el]):
        from stepcore.check.arms import OtherSizes  # few programs look at sizes

        moved = _bound_at(spec, bindings, {name: size + 1 for name, size in changeable.items()})
        computed = {name for name, size in spec.fixed if moved.get(name) != size}
        OtherSizes(checked, el, changeable, computed, exists, follow, check).look(numbers=decide)
    return checked


def _bound_at(spec: ProgramSpec, bindings: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return all sizes of a run with these: what the file computes from them is left out where it is no size there."""
    at = {**bindings, **sizes}
    prelude = spec.scope.prelude
    if not spec.fixed or prelude is None:
        return at
    fixed = dict(spec.fixed)
    for name in fixed:
        del at[name]
    computed = constant_bindings(prelude, at)
    return {**at, **{name: computed[name] for name in fixed if name in computed}}


def _changeable(spec: ProgramSpec, bindings: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes that ``--dims`` can bind otherwise: all but those that the file fixes."""
    found = dict(bindings)
    for name, _ in spec.fixed:
        found.pop(name, None)
    return found


def _check_affine(
    el: Elaborator,
    uses: list[list[Use]],
    body: _Body,
    affine: AffineRule,
    try_fix: TryFix | None,
    changeable: Mapping[str, int],
) -> int:
    """Add the affine findings, and return the number of missing copies."""
    repeated = {use.stream: use for use in reversed(el.uses) if is_repeated(use, el.homes[use.stream])}
    found = [repeated_diagnostic(el, use) for use in reversed(repeated.values())]
    count = len(repeated)
    fixes = _Fixes(el, body, try_fix, changeable) if try_fix is not None else None
    for over in overuses(uses):
        if over.stream not in repeated:
            fix = fixes.of(over) if fixes is not None else None
            found.append(replace(overuse_diagnostic(el, over), fix=fix))
            count += over.needed - 1
    if affine == "paper":
        fix_at = {item.span: item.fix for item in found}
        found = [replace(item, fix=fix_at.get(item.span)) for item in paper_violations(body.statements, body.code)]
        count = paper_count(body.statements)
    el.diagnostics += found
    return count


class _Fixes:
    """The fixes of one program's overuses."""

    def __init__(self, el: Elaborator, body: _Body, try_fix: TryFix, changeable: Mapping[str, int]) -> None:
        self._el = el
        self._changeable = changeable
        self._body = body
        self._try_fix = try_fix

    def of(self, over: Overuse) -> Fix | None:
        """Return the fix of one stream: copies in place if possible, else the program written out."""
        if over.needed > MAX_COPIES:
            return None
        return self._in_place(over) or self._written_out

    @cached_property
    def _names(self) -> FreshNames:
        """Names that are fresh in the program and in the helpers that it enters."""
        from stepcore.check.copies import FreshNames

        texts = {self._body.code.text: None, **dict.fromkeys(use.context.code.text for use in self._el.uses)}
        return FreshNames("\n".join(texts))

    def _in_place(self, over: Overuse) -> Fix | None:
        from stepcore.check.copies import CopyFix, NoFix  # most programs need no fix

        builder = CopyFix(self._el, over, self._names)
        try:
            fix = builder.build()
        except NoFix:
            return None
        # Renaming direct arguments cannot go wrong; whatever rewrites loops or calls is tried out first.
        is_safe = builder.is_direct and self._body.takes_lines
        return fix if is_safe or self._try_fix(fix) else None

    @cached_property
    def _written_out(self) -> Fix | None:
        if follows_sizes(self._el, self._changeable) and not self._is_same_elsewhere():
            return None  # what is written out would hold for the bound sizes only
        from stepcore.check.copies import NoFix
        from stepcore.check.straighten import straighten

        try:
            fix = straighten(self._el, self._body.statements, self._body.code)
        except NoFix:
            return None
        return fix if self._try_fix(fix) else None

    def _is_same_elsewhere(self) -> bool:
        """Whether the program has one graph whatever sizes it looks at: each arm was taken, and changes nothing."""
        el, body = self._el, self._body
        followed = followed_sizes(el, self._changeable, body.code.text)
        if followed is None or body.at is None:
            return followed is None
        met, scopes = [el], [body.at(dict(el.bindings))]
        tries = candidates(followed, _SAME_AT)
        for sizes in tries:
            at = {**el.bindings, **sizes}
            scopes.append(body.at(at))
            met.append(_followed("", replace(body, scope=body.at(at)), at))
            tries.met(sizes, met[-1].gaps)
            if steps_of(met[-1].graph) != steps_of(el.graph):
                return False
        return all(_is_fixed(el.conditions[condition], scopes) for condition, _ in untaken(met))


def _is_fixed(test: ast.expr, scopes: Sequence[Scope]) -> bool:
    """Whether a condition reads only what the file binds itself, to the same at all sizes."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    visible = set(scopes[0].visible())
    return names <= visible and all(scope.find(name) == scopes[0].find(name) for scope in scopes for name in names)


_SAME_AT: Final = 12  # other sizes at which a program that looks at sizes has to be the same one


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
        symbols = {*("M", "N", "K", "D", "E"), *bindings, *spec.symbols()}
        names.update({symbol: Dim.symbol(symbol) for symbol in symbols})
        names.update({f"{symbol}_value": value for symbol, value in bindings.items()})
        names["ctx"] = ContextSizes({Dim.symbol(symbol): value for symbol, value in bindings.items()})
        self._weights: dict[str, Value] = {
            name: UNKNOWN if name in task.untyped else value for name, value in _weights(spec).items()
        }
        for decl in spec.fns:
            names[decl.func_name] = UNKNOWN if decl.func_name in task.untyped else decl
        self._names = names
        self._given_fns = {id(decl) for decl in spec.fns}
        self._bound = self._outside(bindings)
        self._inputs = [
            (port.name, None if port.name in task.untyped else port.type, port.span) for port in spec.inputs
        ]
        outputs = spec.outputs
        lost = "outputs" in task.incomplete
        if outputs is not None and (lost or any(output.name in task.untyped for output in outputs)):
            self.spec = replace(spec, outputs=None)

    def _at(self, bindings: dict[str, int]) -> Scope:
        """Return the names of an answer, its sizes bound to these."""
        return self._scope(self._outside(bindings))

    def _outside(self, bindings: dict[str, int]) -> Scope:
        """Return the names around an answer: in a Python file those of the module. Its arguments are its own."""
        names = {**self._names, **{f"{symbol}_value": value for symbol, value in bindings.items()}}
        names["ctx"] = ContextSizes({Dim.symbol(symbol): value for symbol, value in bindings.items()})
        return Scope(names)

    def _scope(self, around: Scope) -> Scope:
        make = _Lenient if self.task.incomplete else Scope
        return make(dict(self._weights), around)

    def check(
        self,
        code: Embedded,
        affine: AffineRule = "strict",
        try_fix: TryFix | None = None,
        *,
        everywhere: bool = False,
    ) -> Checked:
        """Check one answer; ``code`` knows where it stands in its file.

        With ``everywhere`` also arms are looked at that other sizes than the bound ones take; the graph is that of the
        bound ones in any case.
        """
        with no_collection(), budget.limited(len(code.text)):
            return self._check(code, affine, try_fix, everywhere)

    def _check(self, code: Embedded, affine: AffineRule, try_fix: TryFix | None, everywhere: bool) -> Checked:
        suite = parse_suite(code.text)
        # Text in a task file belongs to a function body; blank text is reported by the elaborator.
        broken = bool(suite.faults) or not suite.body
        scope = self._scope(self._bound)
        takes_lines = bool(code.indent)  # the block after ``|``
        body = _Body(
            suite.body, code, scope, self._inputs, "step", self.spec.scope, not self.task.incomplete, broken,
            takes_lines, code.outer, code.outer.end, self.task.dialect,
        )  # fmt: skip
        if everywhere:
            checked = _check_at_other_sizes(self.spec, body, self._at, self._bindings, affine, try_fix)
        else:
            checked = _elaborated(self.spec, body, self._bindings, affine, try_fix)[0]
        if not suite.body and not suite.faults:
            checked.diagnostics.append(Diagnostic("STEP219", code.outer, "impl is empty; end it with `return STREAM`"))
        defined = self._defined(scope, checked.graph)  # whose bodies the program's own check has looked through as well
        checked.diagnostics += [found for found in defined if found not in checked.diagnostics]
        checked.diagnostics[:0] = fault_diagnostics(suite, code, "STEP902")
        return checked

    def _defined(self, scope: Scope, graph: Graph) -> list[Diagnostic]:
        """Return what is wrong with the element functions that an answer defines itself."""
        params = [param for node in graph.nodes for param in node.params.values()]
        own = [v for v in (*scope.names.values(), *params) if type(v) is FnDecl and id(v) not in self._given_fns]
        if not own:
            return []  # most use the task's alone
        decls = {id(decl): decl for decl in own}.values()
        if self.task.answer_may_define_fns:
            return [found for decl in decls for found in check_fn(decl, self.spec.scope)]
        return [Diagnostic("STEP220", span, _NO_OWN_FNS) for span in sorted({decl.span for decl in decls})]


_NO_OWN_FNS: Final = (
    "this task lets impl define no element functions; use those under fns, or write answer_may_define_fns: true into "
    "the task"
)


class _Lenient(Scope):
    """A scope for a file of which something was lost: a name that is not there may have been."""

    def find(self, name: str) -> Value:
        from stepcore.frontend.expressions import BUILTINS

        try:
            return super().find(name)
        except KeyError:
            if name in BUILTINS or name in self.own:
                raise
            return UNKNOWN


def _weights(spec: ProgramSpec) -> dict[str, Value]:
    """Return the parameters by name: memory off chip."""
    return {**{port.name: UNKNOWN for port in spec.parameters}, **spec.off_chip()} if spec.parameters else {}


def check_impl(task: TaskFile, impl_text: str, affine: AffineRule = "strict") -> Checked:
    """Check one answer given as text. For many answers to one task keep an :class:`ImplChecker`."""
    return ImplChecker(task).check(Embedded.whole(impl_text), affine)


UNFOLLOWED: Final = (
    "this script cannot be timed: only a run tells what becomes of its streams (they are read twice, given to other "
    "functions, or where data decide) or how large they are; put its operators into a function with @step.program"
)


def check_script(name: str, module: PyModule, text: str, affine: AffineRule = "strict") -> Checked | None:
    """Check the streams of a script without ``@step.program``; None where it makes none, or cannot be read.

    Where all that becomes of them is known, the result is runnable: one program of all its operators, whose results are
    the streams that nobody reads.
    """
    try:
        with unwarned():
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # reported where the module was read
        return None
    code = Embedded.whole(text)
    from stepcore.frontend.script import ScriptElaborator

    el = ScriptElaborator(name, module)
    try:
        el.follow(tree, code)
    except OutOfBudget as error:
        el.out_of_budget(error)
    el.settle()
    if not el.graph.inputs and not el.report_unfollowed(tree, code):
        return None
    spec = ProgramSpec(name, defaults=tuple(el.bindings.items()))
    end = Span(0, 0)
    body = _Body(
        tree.body,
        code,
        Scope({}),
        (),
        module.op_module,
        module.fn_scope,
        False,
        False,
        True,
        end,
        len(text),
        module.dialect,
    )
    found: list[Diagnostic] = []
    count = 0
    try:
        el.diagnostics += type_graph(el.graph, spec, TypingContext(dict(el.bindings)))
        el.report_missing()
        count = _check_affine(el, by_stream(el), body, affine, None, {})
    except OutOfBudget as error:
        el.out_of_budget(error.at(end))
    params = [param for node in el.graph.nodes for param in node.params.values() if isinstance(param, FnDecl)]
    for decl in dict.fromkeys(params):  # Python functions: what they call is their business, what they return is not
        found += [item for item in check_fn(decl, module.fn_scope) if about(item.code).subject is Subject.RETURNED]
    checked = Checked(name, spec, el.graph, [*el.diagnostics, *found], count, el.uses, el.seen, end, len(text))
    return _as_program(checked) if el.is_followed else checked


def _as_program(script: Checked) -> Checked:
    """Return a script that was followed as a program, unless a stream of it is read twice or has no type."""
    graph, read = script.graph, Counter(stream for node in script.graph.nodes for stream in node.inputs)
    if any(count > 1 for count in read.values()) or not graph.nodes:
        return script
    inputs = [graph.streams[index] for index in graph.inputs]
    ports = tuple(Port(stream.name, stream.type) for stream in inputs if stream.type is not None)
    if len(ports) < len(inputs):
        return script
    graph.returns = [stream.index for stream in graph.streams if stream.index not in read]
    graph.complete = True
    return replace(script, spec=replace(script.spec, inputs=ports))


def check_program(
    program: PyProgram,
    fn_scope: FnScope,
    affine: AffineRule = "strict",
    try_fix: TryFix | None = None,
    dims: dict[str, int] | None = None,
    *,
    everywhere: bool = False,
) -> Checked:
    """Check one program of a Python file. Its spec then lists the functions that it uses.

    With ``everywhere`` also arms are looked at that other sizes than the bound ones take.
    """

    def names(_sizes: dict[str, int]) -> Scope:
        given = program.node.args
        untyped = {
            each.arg: UNKNOWN for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)
        }  # as found before
        return Scope({**untyped, **_weights(program.spec)}, program.scope)

    bindings = program.spec.bindings(dims)
    head, end = program.spec.span, node_span(program.code, program.node).end
    statements, op_module = program.node.body, program.op_module
    body = _Body(
        statements, program.code, names(bindings), program.inputs, op_module, fn_scope, False, program.broken, True,
        head, end, program.dialect,
    )  # fmt: skip
    if everywhere:
        checked = _check_at_other_sizes(program.spec, body, names, bindings, affine, try_fix)
    else:
        checked = _elaborated(program.spec, body, bindings, affine, try_fix)[0]
    parameters = tuple(port.name for port in program.spec.parameters)
    used = dict.fromkeys(
        param for node in checked.graph.nodes for param in node.params.values() if isinstance(param, FnDecl)
    )
    scope = fn_scope if fn_scope.parameters == parameters else replace(fn_scope, parameters=parameters)
    checked.spec = replace(program.spec, fns=tuple(used), scope=scope)
    return checked
