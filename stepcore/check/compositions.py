"""Checking compositions: every line is read against what the programs of the file read and give, as tensors.

Sizes are those of ``.apply``: a symbol that stands alone in the shape of a tensor that a program reads is the size of
the tensor that it is given, and the first such tensor decides. What a composition is given has the shape of its first
reader.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from stepcore.findings import budget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.findings.near import nearest
from stepcore.fn.source import node_span, node_text
from stepcore.frontend.composed import Applied, Composed, CompositionFault, Given, Reading, Weight, read_composition
from stepcore.frontend.python import PyComposition, PyProgram
from stepcore.frontend.values import ModuleRef, Scope, is_unknown
from stepcore.graph.ir import OutputPort, Port, ProgramSpec, reference_ports
from stepcore.records import Record
from stepcore.sizes.dim import DEFAULT_SIZES, Dim, DimError, Facts, product
from stepcore.text.span import Span
from stepcore.text.wording import clipped, counted
from stepcore.types import Shape, StreamType, STuple, dtype_of, shape_text, tensor_shapes

_MAX_MESSAGE: Final = 400
_FACTS: Final = Facts()  # compositions assert nothing about sizes


class TensorType(Record):
    """The shape of a tensor, outermost first, and its dtype."""

    shape: Shape
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype} {shape_text(self.shape)}"


class Applicable(Record):
    """What a composition may know of a program: which tensors it reads, by name, and which it gives.

    ``problem`` says why no composition can apply it; ``is_known`` is False where its own findings leave it open.
    ``sizes`` are what its symbols are bound to.
    """

    name: str
    reads: tuple[tuple[str, TensorType], ...] = ()
    gives: tuple[TensorType | None, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    is_known: bool = True


@dataclass(slots=True)
class CheckedComposition:
    """One checked composition. ``text`` is None where it has faults; ``ports`` type its arguments as its readers do.

    ``span`` is its name, ``extent`` all of it with its decorators. ``types`` are those of all tensors, in its sizes;
    None where nothing is known of one.
    """

    name: str
    node: ast.FunctionDef
    text: Composed | None
    sizes: dict[str, int]
    ports: dict[str, TensorType]
    diagnostics: list[Diagnostic]
    span: Span
    extent: Span
    types: Mapping[Given, TensorType | None] = field(default_factory=dict)

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings with which it is not run."""
        return [item for item in self.diagnostics if item.severity is Severity.ERROR]


def applicable(program: PyProgram) -> Applicable:
    """Return what compositions may know of a program of their file: what its head declares."""
    spec, name = program.spec, program.node.name
    is_typed = len(spec.inputs) == len(program.inputs) and all(port is not None for _, port, _ in program.inputs)
    if not is_typed or program.broken or (spec.outputs is None and program.node.returns is not None):
        return Applicable(name, is_known=False)
    problem = _problem(spec)
    if problem:
        return Applicable(name, problem=problem)
    reads = tuple((port.name, _type(port)) for port in reference_ports(spec))
    return Applicable(name, reads, tuple(map(_result, spec.outputs or ())), spec.bindings())


def _problem(spec: ProgramSpec) -> str:
    if spec.parameters:
        names = ", ".join(port.name for port in spec.parameters)
        return f"has parameters ({names}), which no composition gives; make them inputs"
    if spec.outputs is None:
        return "does not say what it returns; write -> Annotated[...] behind its arguments"
    ports: Sequence[Port | OutputPort] = (*spec.inputs, *spec.outputs)
    several = next((port.type for port in ports if isinstance(port.type.element, STuple)), None)
    if several is not None:
        return f"has a stream of tuples ({several.element}), and tensors between programs have one component"
    return ""


def _type(port: Port | OutputPort) -> TensorType:
    return TensorType(tensor_shapes(port.type)[0], _dtype(port.type))


def _dtype(stream: StreamType) -> str:
    assert not isinstance(stream.element, STuple)
    return dtype_of(stream.element)


def _result(port: OutputPort) -> TensorType | None:
    """Return the tensor that the host makes of a stream; None where its layout does not fit, which a run reports."""
    plain = _type(port)
    layout = port.layout
    if layout is None:
        return plain
    if len(layout.order) != len(plain.shape):
        return None
    if layout.sizes is not None:
        return replace(plain, shape=layout.sizes)
    rest = [plain.shape[place] for place in layout.order]
    at = len(rest) - sum(layout.groups)
    sizes: list[Dim] = []
    try:
        for count in layout.groups:
            sizes.append(product(rest[at : at + count]))
            at += count
    except DimError:  # so large an expression that nobody compares it
        return None
    return replace(plain, shape=tuple(sizes))


def sizes_at(composition: CheckedComposition, call: Applied, spec: ProgramSpec) -> dict[str, int]:
    """Return the sizes at which a line applies a program, of those that are not the program's own.

    They are the sizes of the tensors that it reads; of weights only a run knows them, and the program's own hold.
    """
    sizes, own = {**DEFAULT_SIZES, **composition.sizes}, spec.bindings()
    found: dict[str, int] = {}
    for given, port in zip(call.given, reference_ports(spec), strict=True):
        known = None if isinstance(given, Weight) else composition.types.get(given)
        for wanted, size in zip(_type(port).shape, () if known is None else known.shape, strict=False):
            if wanted.is_symbol and str(wanted) not in found:
                with suppress(DimError):  # a size without a value: a run says so
                    found[str(wanted)] = size.bind(sizes)
    return {name: size for name, size in found.items() if own.get(name) != size}


def check_composition(
    composition: PyComposition, programs: Mapping[str, Applicable], scope: Scope
) -> CheckedComposition:
    """Check one composition; ``programs`` are those of its file by the names of their functions.

    ``scope`` holds the names of the file, or at least those that the composition mentions.

    Raises:
        OutOfBudget: the document costs too much.
    """
    return _Checker(composition, programs, scope).checked()


class _Checker:
    def __init__(self, composition: PyComposition, programs: Mapping[str, Applicable], scope: Scope) -> None:
        self._composition = composition
        self._code = composition.code
        self._programs = programs
        self._scope = scope
        self._sizes = {**DEFAULT_SIZES, **composition.sizes}
        self._found: list[Diagnostic] = []
        self._types: dict[Given, TensorType | None] = {}
        self._made: dict[str, Span] = {}  # where each tensor got its name, for what is said of two places
        self._ports: dict[str, TensorType] = {}

    def checked(self) -> CheckedComposition:
        own = self._composition
        reading = read_composition(own.node, weighted=own.weighted, torn=own.broken)
        budget.spend(1 + len(reading.names) + len(reading.text.calls))
        for fault in reading.faults:
            self._fault(fault, reading)
        self._unbound: set[Given] = set(reading.text.arguments)
        for call in reading.text.calls:
            self._call(call)
        if not self._found and not own.broken:
            self._unread(reading.text)
        text = None if reading.faults or own.broken else reading.text
        return CheckedComposition(
            own.name, own.node, text, dict(own.sizes), self._ports, self._found, own.span, own.extent, self._types
        )

    def _report(
        self, code: str, where: Span, text: str, related: Iterable[Related] = (), fix: Fix | None = None
    ) -> None:
        self._found.append(Diagnostic(code, where, clipped(text, _MAX_MESSAGE), related=tuple(related), fix=fix))

    def _span(self, node: ast.AST) -> Span:
        return self._composition.span if node is self._composition.node else node_span(self._code, node)

    def _text(self, node: ast.AST) -> str:
        return node_text(self._code, node, 60)

    def _replacing(self, span: Span, text: str) -> Fix | None:
        return Fix(f"Change to {clipped(text, 60)}", (Edit(span, text),)) if self._code.verbatim else None

    # -- what is no composition ----------------------------------------------------------------------

    def _fault(self, fault: CompositionFault, reading: Reading) -> None:
        budget.spend(1 + fault.known // 64)
        span, text, fix = self._span(fault.node), fault.text, None
        if fault.name:
            near = nearest(fault.name, reading.names[: fault.known])
            text = f"{text}; did you mean {near[0]}?" if near else text
            fix = self._replacing(span, near[0]) if near else None
        elif (place := self._bare_call(fault.node)) is not None:
            text = f"{text}; write {self._text(place)}.apply(...)"
            end = self._span(place).end
            fix = Fix("Insert .apply", (Edit(Span(end, end), ".apply"),)) if self._code.verbatim else None
        elif (applied := self._returned_call(fault.node)) is not None:
            text = f"{text}; name what {applied} gives in a line before, and return that"
            fix = self._named_result(fault.node, applied, reading)
        elif about(fault.code).subject is Subject.END:
            fix = self._with_return(fault.node, reading)
        self._report(fault.code, span, text, fix=fix)

    def _bare_call(self, node: ast.AST) -> ast.Name | None:
        """Return the name of a program that is called without ``apply``."""
        match node:
            case ast.Assign(value=ast.Call(func=ast.Name(id=name) as called)) if name in self._programs:
                return called
        return None

    def _returned_call(self, node: ast.AST) -> str | None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="apply")) if name in self._programs:
                return name
        return None

    def _named_result(self, node: ast.AST, applied: str, reading: Reading) -> Fix | None:
        """Return the edit that gives a name to what is returned at once."""
        last = self._composition.node.body[-1]
        if not (self._code.verbatim and isinstance(last, ast.Return) and last.value is node):
            return None
        whole, value = self._span(last), self._span(node)
        is_plain = value == Span(whole.start + len("return "), whole.end)
        if not is_plain or len(self._programs[applied].gives) != 1:
            return None
        name = next(
            name for name in ("y", *(f"y{i}" for i in range(len(reading.names) + 1))) if name not in reading.names
        )
        back = f"{self._code.newline}{' ' * last.col_offset}return {name}"
        return Fix(
            f"Name it {name}",
            (Edit(Span(whole.start, value.start), f"{name} = "), Edit(Span(whole.end, whole.end), back)),
        )

    def _with_return(self, node: ast.AST, reading: Reading) -> Fix | None:
        """Return the edit that returns what the last line gives."""
        call = reading.text.calls[-1] if reading.text.calls else None
        if call is None or call.node is not node or not self._code.verbatim:
            return None
        end = self._span(node).end
        names = ", ".join(call.targets)
        text = f"{self._code.newline}{' ' * call.node.col_offset}return {names}"
        return Fix(f"Return {names}", (Edit(Span(end, end), text),))

    # -- lines ---------------------------------------------------------------------------------------

    def _call(self, call: Applied) -> None:
        budget.spend(1 + len(call.given) + len(call.targets))
        results = self._applied(call)
        for name, part, result in zip(call.targets, _targets(call), results, strict=True):
            self._types[name] = result
            self._made[name] = self._span(part)
            self._unbound.discard(name)

    def _applied(self, call: Applied) -> Sequence[TensorType | None]:
        """Check one line, and return what it gives, None for each tensor of which nothing is known."""
        unknown = [None] * len(call.targets)
        program = self._programs.get(call.program) if self._is_program(call.program) else None
        head = call.call.func
        assert isinstance(head, ast.Attribute)
        if program is None:
            self._no_program(call.program, self._span(head.value))
        elif program.problem:
            self._report("STEP205", self._span(head.value), f"{program.name} {program.problem}")
        elif program.is_known:
            return self._typed(call, program)
        return unknown

    def _is_program(self, name: str) -> bool:
        """Whether a name still means the program at the end of the file, which is what a run finds."""
        value = self._scope.names.get(name)
        return value is None or (isinstance(value, ModuleRef) and value.name == name)

    def _no_program(self, name: str, span: Span) -> None:
        if name in self._scope.names:
            if not is_unknown(self._scope.names[name]):  # else it may be anything: a line that is torn, for example
                text = f"{name} is no program of this file; only functions under @step.program are applied here"
                self._report("STEP224", span, text)
            return
        near = nearest(name, self._programs)
        text = f"{name} is no program of this file"
        if near:
            self._report("STEP202", span, f"{text}; did you mean {near[0]}?", fix=self._replacing(span, near[0]))
        else:
            listed = ", ".join(self._programs) or "none"
            self._report("STEP202", span, f"{text}; there are {clipped(listed, 120)}")

    def _typed(self, call: Applied, program: Applicable) -> Sequence[TensorType | None]:
        name = program.name
        if len(program.reads) != len(call.given):
            reads = ", ".join(f"{port}{shape_text(each.shape)}" for port, each in program.reads)
            text = f"{name} reads {counted(len(program.reads), 'tensor')}, and is given {len(call.given)}"
            self._report("STEP205", self._span(call.call), f"{text}; it reads {reads or 'none'}")
        sizes = self._solved(call, program)
        if len(program.reads) == len(call.given):
            for node, given, (port, wanted) in zip(call.call.args, call.given, program.reads, strict=True):
                self._read(given, self._span(node), port, wanted, sizes, program)
        if len(program.gives) != len(call.targets):
            text = f"{name} gives {counted(len(program.gives), 'tensor')}, and the line names {len(call.targets)}"
            places = [self._span(part) for part in _targets(call)]
            self._report("STEP213", places[0].cover(places[-1]), text)
        if (len(program.gives), len(program.reads)) != (len(call.targets), len(call.given)):
            return [None] * len(call.targets)
        return [None if each is None else _bound(each, sizes) for each in program.gives]

    def _solved(self, call: Applied, program: Applicable) -> dict[str, Dim]:
        """Return the sizes that the tensors of a line give to the symbols of its program: the first one decides."""
        found: dict[str, Dim] = {}
        for given, (_, wanted) in zip(call.given, program.reads, strict=False):
            known = self._types.get(given)
            if known is None or len(known.shape) != len(wanted.shape):
                continue
            for size, own in zip(wanted.shape, known.shape, strict=True):
                if size.is_symbol:
                    found.setdefault(str(size), own)
        return found

    def _read(
        self, given: Given, span: Span, port: str, wanted: TensorType, sizes: Mapping[str, Dim], program: Applicable
    ) -> None:
        """Compare a tensor with what its reader says; one of which nothing is known yet is what its reader says."""
        bound = _bound(wanted, sizes)
        known = self._types.get(given)
        if given in self._unbound:
            self._unbound.discard(given)
            assert isinstance(given, str)
            if bound is not None:
                self._ports[given] = bound
            known = None
        if known is None:
            if given not in self._made:  # what a program gives is unknown because of a finding
                self._types[given] = bound
            return
        if bound is None:
            return
        shown = f'weights["{given.name}"]' if isinstance(given, Weight) else given
        where = self._made.get(given) if isinstance(given, str) else None
        related = () if where is None else (Related(where, f"{shown} is {known} from here"),)
        if not self._same_shape(known.shape, bound.shape, wanted, sizes, program, given):
            text = f"{program.name} reads {port} of the shape {shape_text(bound.shape)}"
            self._report("STEP207", span, f"{text}, and {shown} is {shape_text(known.shape)}", related)
        elif known.dtype != bound.dtype:
            text = f"{program.name} reads {port} as {bound.dtype}, and {shown} is {known.dtype}"
            self._report("STEP208", span, text, related)

    def _same_shape(
        self, own: Shape, bound: Shape, wanted: TensorType, sizes: Mapping[str, Dim], program: Applicable, given: Given
    ) -> bool:
        """Whether two shapes are equal as expressions, or as numbers where no tensor gives a symbol of the reader."""
        if len(own) != len(bound):
            return False
        for mine, theirs, declared in zip(own, bound, wanted.shape, strict=True):
            if _FACTS.equal(mine, theirs):
                continue
            is_open = isinstance(given, Weight) or not declared.symbols() <= sizes.keys()
            if not is_open or not self._same_number(mine, theirs, program):
                return False
        return True

    def _same_number(self, mine: Dim, theirs: Dim, program: Applicable) -> bool:
        try:
            return mine.bind(self._sizes) == theirs.bind({**self._sizes, **program.sizes})
        except DimError:  # a size without a value: a run says so
            return True

    # -- the whole -----------------------------------------------------------------------------------

    def _unread(self, text: Composed) -> None:
        """Report arguments that no program reads, and tensors that nobody reads."""
        arguments = {argument.arg: argument for argument in self._composition.node.args.args}
        for name in text.arguments:
            if name in self._unbound:
                what = f"no program reads the argument {name}, so its shape is unknown; apply one to it, or remove it"
                self._report("STEP416", self._span(arguments[name]), what)
        live = {each for each in text.results if isinstance(each, str)}
        for call in reversed(text.calls):
            for name, part in zip(call.targets, _targets(call), strict=True):
                if name not in live and not name.startswith("_"):
                    way_out = "remove the line, or return it" if len(call.targets) == 1 else "call it _, or return it"
                    what = f"nobody reads {name}; {way_out}"
                    found = Diagnostic("STEP103", self._span(part), what, Severity.HINT, unnecessary=True)
                    self._found.append(found)
            live.difference_update(call.targets)
            live.update(each for each in call.given if isinstance(each, str))


def _targets(call: Applied) -> Sequence[ast.expr]:
    """Return what stands before the equals sign of a line, one of each name."""
    assert call.node is not None
    target = call.node.targets[0]
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _bound(wanted: TensorType, sizes: Mapping[str, Dim]) -> TensorType | None:
    """Return a type of a program at the sizes of the tensors that it is given; None where these make no sense."""
    budget.spend(sum(len(size.terms) for size in wanted.shape))
    try:
        return TensorType(tuple(size.substitute(sizes.get) for size in wanted.shape), wanted.dtype)
    except (DimError, ZeroDivisionError):
        return None
